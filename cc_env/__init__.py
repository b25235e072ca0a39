"""Two-player board games as reinforcement-learning environments: C&C and four others.

Importing this package registers the environments:

    gymnasium.make("cc_env/CaptureConquer-v0", size=6, opponent="random")
    gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=1024, size=6)
    pettingzoo.make("aec", "cc_env/CaptureConquer-v0", size=6)     (extra `pettingzoo`)
    gymnasium.make("cc_env/TextGame-v0", game="checkers")          (in words, for language models)

Games, players and matches are imported on first use:

    game = cc_env.make_game("checkers")
    player = cc_env.make_player("minimax:depth=3", game)
    cc_env.play_match(game, player, player)

Networks can be loaded as torch modules, and their residual trunk is a features extractor of
Stable-Baselines3 (extra `train`):

    network = cc_env.load_network("alphazero", game)
    policy_kwargs = {"features_extractor_class": cc_env.ResidualExtractor}
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gymnasium

from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.registry.lazy import lazy_attributes
from cc_env.registry.plugins import import_plugin
from cc_env.version import __version__

if TYPE_CHECKING:
    from cc_env.games.factory import make_game
    from cc_env.match.referee import play_match
    from cc_env.players.specs import make_player

__all__ = ["__version__", "make_game", "make_player", "play_match", "register"]
_get_attribute = lazy_attributes(
    __name__,
    {
        "make_game": "cc_env.games.factory",
        "make_player": "cc_env.players.specs",
        "play_match": "cc_env.match.referee",
    },
)
# Attributes in modules of `agents`, which need the extra `train`.
_AGENTS_ATTRIBUTES = {
    "ResidualExtractor": "agents.sb3_extractor",
    "load_network": "agents.network",
}


def __getattr__(name: str) -> Any:
    """Return a lazy attribute; `arena` is the module `training.arena`, in a wheel too.

    Raises MissingExtra if a library that the attribute needs is missing.
    """
    if name == "arena":
        return import_plugin("training.arena")
    if name in _AGENTS_ATTRIBUTES:
        return getattr(import_plugin(_AGENTS_ATTRIBUTES[name]), name)
    return _get_attribute(name)


def register(game: str, environment: str) -> None:
    """Register the environments of a game under an id, with Gymnasium and PettingZoo.

    `game` is a name in the catalogue, or the name of a module that defines a game; files that name
    it may then import that module. Raises gymnasium.error.Error for a malformed id. An unknown game
    raises UnknownOption when an environment is created.

    Examples:

        >>> import cc_env, gymnasium
        >>> cc_env.register("checkers", "my_project/Checkers-v0")
        >>> env = gymnasium.make("my_project/Checkers-v0", opponent="random")
        >>> env.unwrapped.game
        make_game('checkers', crowning='continue', no_progress_limit=80)
    """
    import_allowlist.allow(game)
    gymnasium.register(
        environment,
        entry_point="cc_env.envs.single:BoardGameEnv",
        vector_entry_point="cc_env.envs.vector:BoardGameVectorEnv",
        kwargs={"game": game},
    )
    _register_aec(environment, "cc_env.envs.aec:env", game=game)


def _register_aec(environment: str, entry_point: str, **arguments: Any) -> None:
    """Register an environment with PettingZoo if it is installed."""
    if find_spec("pettingzoo") is not None:
        import pettingzoo

        if hasattr(pettingzoo, "register"):  # since 1.27; before that there is only aec.env()
            pettingzoo.register("aec", environment, entry_point, kwargs=arguments)


for _name, _game in GAMES.items():
    register(_name, _game.environment)
gymnasium.register("cc_env/TextGame-v0", entry_point="cc_env.envs.text:TextGameEnv")
_register_aec("cc_env/TextGame-v0", "cc_env.envs.text_aec:env")
