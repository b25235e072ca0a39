"""The Capturing & Conquering family of board games as reinforcement-learning environments.

Importing this package registers the environments:

    gymnasium.make("cc_env/CaptureConquer-v0", size=6, opponent="random")
    gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=1024, size=6)
    pettingzoo.make("aec", "cc_env/CaptureConquer-v0", size=6)     (extra `pettingzoo`)
"""

from importlib.util import find_spec

import gymnasium

from cc_env.table import GAMES

__version__ = "0.1.0"


def _register() -> None:
    for name, game in GAMES.items():
        gymnasium.register(
            game.environment,
            entry_point="cc_env.envs.single:BoardGameEnv",
            vector_entry_point="cc_env.envs.vector:BoardGameVectorEnv",
            kwargs={"game": name},
        )
    if find_spec("pettingzoo") is not None:
        _register_with_pettingzoo()


def _register_with_pettingzoo() -> None:
    import pettingzoo

    if hasattr(pettingzoo, "register"):  # since 1.27; before that there is only aec.env()
        for name, game in GAMES.items():
            kwargs = {"game": name}
            pettingzoo.register("aec", game.environment, "cc_env.envs.aec:env", kwargs=kwargs)


_register()
