"""Who plays, by spoken names: `random`, `minimax:depth=3`, `mcts:simulations=400`.

    NAME                       with its default options
    NAME:LEVEL                 a level is a name for several options
    NAME:OPTION=VALUE,…        with these
    PACKAGE.MODULE.CLASS:…     somebody else's class, found as Python finds modules

The class, or any function, is called with the game and the options as keywords, and returns a
`cc_env.referee.Player`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from cc_env import options
from cc_env.errors import UnknownOption, listed
from cc_env.game import Game
from cc_env.referee import Clock, Decision, Player
from cc_env.rules import Position

Factory = Callable[..., Player]


@dataclass(frozen=True)
class RandomPlayer:
    """Plays every legal action with the same probability."""

    game: Game

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a random decision."""
        return Decision(int(rng.choice(self.game.legal_actions(position))))


PLAYERS: dict[str, Factory] = {
    "random": RandomPlayer,
}


def make(name: str, game: Game) -> Player:
    """Return the player with this spoken name, for `game`.

    Raises UnknownOption where there is no such player, option or value, saying what there is.
    """
    factory, given = _parse(name)
    return factory(game, **given)


def check(name: str) -> None:
    """Raise UnknownOption where `make` would because of the name or the names of the options."""
    _parse(name)


def register(name: str, factory: Factory) -> None:
    """Give somebody else's player a spoken name in this process."""
    if not name.isidentifier():
        raise UnknownOption(f"a player cannot be called {name!r}: letters, digits and _ only")
    PLAYERS[name] = factory


def option_defaults(factory: Factory) -> dict[str, Any]:
    """Return the options of a player with their defaults."""
    _, *parameters = inspect.signature(factory).parameters.values()
    return {each.name: each.default for each in parameters}


def _parse(name: str) -> tuple[Factory, dict[str, Any]]:
    kind, _, rest = name.partition(":")
    factory = _imported(kind) if "." in kind else PLAYERS.get(kind)
    if factory is None:
        raise UnknownOption(f"there is no player {kind!r}; there are: {listed(sorted(PLAYERS))}")
    known = option_defaults(factory)
    words = [f"level={word}" if "=" not in word else word for word in rest.split(",") if word]
    given = options.read(words)
    if unknown := sorted(set(given) - set(known)):
        has = listed(f"{key}={value}" for key, value in known.items()) or "none"
        raise UnknownOption(f"player {kind} has no option {listed(unknown)}; it has: {has}")
    return factory, given


def _imported(path: str) -> Factory:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UnknownOption(f"player {path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise UnknownOption(f"player {path!r} is no class and no function: {found!r}")
    return found  # type: ignore[no-any-return]
