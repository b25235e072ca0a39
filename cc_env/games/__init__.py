"""The games, by name, each in a module of this folder that is imported when first asked for."""

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
    return cast(Game, module(name).make(**options))


def option_defaults(name: str) -> dict[str, Any]:
    """Return the options of the game `name` with their defaults; raise UnknownOption."""
    parameters = inspect.signature(module(name).make).parameters
    return {option: parameter.default for option, parameter in parameters.items()}


def module(name: str) -> ModuleType:
    """Return the module of the game `name`; raise UnknownOption with the games that there are."""
    if name not in GAMES:
        raise UnknownOption(f"there is no game {name!r}; there are: {listed(sorted(GAMES))}")
    return import_module(GAMES[name].module)
