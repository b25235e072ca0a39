"""Two-player board games as reinforcement-learning environments: C&C and four others.

Importing this package registers the environments:

    gymnasium.make("cc_env/CaptureConquer-v0", size=6, opponent="random")
    gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=1024, size=6)
    pettingzoo.make("aec", "cc_env/CaptureConquer-v0", size=6)     (extra `pettingzoo`)
"""

from importlib.util import find_spec

import gymnasium

from cc_env import trust
from cc_env.catalogue import GAMES

__all__ = ["__version__", "register"]
__version__ = "0.1.0"


def register(game: str, environment: str) -> None:
    """Register the environments of a game under an id, with Gymnasium and PettingZoo.

    `game` is a name in the catalogue, or the name of a module that defines a game; names in files
    are then trusted to import that module. Gymnasium raises gymnasium.error.Error for a malformed
    id; a game that does not exist is an UnknownOption as soon as an environment is made.
    """
    trust.allow(game)
    kwargs = {"game": game}
    gymnasium.register(
        environment,
        entry_point="cc_env.envs.single:BoardGameEnv",
        vector_entry_point="cc_env.envs.vector:BoardGameVectorEnv",
        kwargs=kwargs,
    )
    if find_spec("pettingzoo") is not None:
        import pettingzoo

        if hasattr(pettingzoo, "register"):  # since 1.27; before that there is only aec.env()
            pettingzoo.register("aec", environment, "cc_env.envs.aec:env", kwargs=kwargs)


for _name, _game in GAMES.items():
    register(_name, _game.environment)
