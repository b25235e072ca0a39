"""The games, by name, each in a module of this folder that is imported when first asked for.

Any other name is that of a module with somebody else's game, found as Python finds modules, with
the same functions: `make(**options)` and `read_recordings(line)`. A file may name such a game only
if `cc_env.trust` says so.
"""

import copyreg
import inspect
from importlib import import_module
from types import ModuleType
from typing import Any, get_type_hints

from cc_env import trust
from cc_env.errors import CcEnvError, UnknownOption, listed
from cc_env.game import Game
from cc_env.table import GAMES


def make(name: str, /, **options: Any) -> Game:
    """Return the game `name` with these options; raise UnknownOption, saying what there is."""
    known = option_defaults(name)
    if unknown := sorted(set(options) - set(known)):
        raise UnknownOption(f"{name} has no option {listed(unknown)}; it has: {listed(known)}")
    try:
        game = module(name).make(**options)
    except (CcEnvError, ImportError, OSError):
        raise
    except Exception as error:  # of somebody else's module
        why = f"{type(error).__name__}: {error}"
        raise UnknownOption(f"the game {name} cannot be made: {why}") from error
    if not isinstance(game, Game):
        raise UnknownOption(f"there is no game {name!r} (what its make returns is not a Game)")
    if game.name != name:  # records would not find it again
        raise UnknownOption(f"the game {name} calls itself {game.name!r}; wanted: its name here")
    trust.allow(name)
    return game


def _again(name: str, options: dict[str, Any]) -> Game:
    return make(name, **options)


copyreg.pickle(Game, lambda game: (_again, (game.name, dict(game.options))))


def option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the game `name` with their defaults; raise UnknownOption."""
    found = module(name).make
    parameters = inspect.signature(found).parameters if inspect.isfunction(found) else None
    if parameters is None or any(each.default is each.empty for each in parameters.values()):
        raise UnknownOption(f"there is no game {name!r} (its make wants more than options)")
    return {option: parameter.default for option, parameter in parameters.items()}


def option_values(name: str) -> dict[str, list[Any]]:
    """Return, of the options of the game `name` that have few values, all of them.

    They are what the `Annotated` types of its `make` say. Raises UnknownOption.
    """
    option_defaults(name)
    hints = get_type_hints(module(name).make, include_extras=True)
    found = {option: getattr(hint, "__metadata__", ()) for option, hint in hints.items()}
    return {option: list(values[0]) for option, values in found.items() if values}


def module(name: str) -> ModuleType:
    """Return the module of the game `name`; raise UnknownOption with the games that there are."""
    there = f"there are: {listed(sorted(GAMES))}, and any module that has a game"
    if not isinstance(name, str):
        raise UnknownOption(f"there is no game {name!r}; {there}")
    if name in GAMES:
        return import_module(GAMES[name].module)
    try:
        found = trust.load(name, name)
    except ImportError as error:
        raise UnknownOption(f"there is no game {name!r} ({error}); {there}") from error
    if not hasattr(found, "make"):
        raise UnknownOption(f"there is no game {name!r} (the module has no function make); {there}")
    return found
