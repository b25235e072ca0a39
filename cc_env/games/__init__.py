"""The games, by name, each in a module of this folder that is imported when first asked for.

A name with a dot is somebody else's game: the module is found as Python finds modules, and has the
same functions, `make(**options)` and `read_recordings(line)`.
"""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from cc_env.errors import UnknownOption, listed
from cc_env.game import Game
from cc_env.table import GAMES


def make(name: str, **options: Any) -> Game:
    """Return the game `name` with these options; raise UnknownOption, saying what there is."""
    known = option_defaults(name)
    if unknown := sorted(set(options) - set(known)):
        raise UnknownOption(f"{name} has no option {listed(unknown)}; it has: {listed(known)}")
    game = cast(Game, module(name).make(**options))
    if game.name != name:  # records would not find it again
        raise UnknownOption(f"the game {name} calls itself {game.name!r}; wanted: its name here")
    return game


def option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the game `name` with their defaults; raise UnknownOption."""
    parameters = inspect.signature(module(name).make).parameters
    return {option: parameter.default for option, parameter in parameters.items()}


def module(name: str) -> ModuleType:
    """Return the module of the game `name`; raise UnknownOption with the games that there are."""
    if name in GAMES:
        return import_module(GAMES[name].module)
    if not isinstance(name, str) or "." not in name:
        has = f"{listed(sorted(GAMES))}, and dotted names of modules of yours"
        raise UnknownOption(f"there is no game {name!r}; there are: {has}")
    try:
        found = import_module(name)
    except ImportError as error:
        raise UnknownOption(f"game {name} cannot be imported: {error}") from error
    if not hasattr(found, "make"):
        raise UnknownOption(f"the module {name} is no game: it has no function make")
    return found
