"""Recorded positions of each game, which `verification.reference_positions` compares.

A line of a file is a JSON object, whose fields depend on the game. For a game of the catalogue the
module of its name in this folder has the function `read_recordings`; the module of any other game
may have it itself.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import UnknownOption
from cc_env.games.factory import game_module
from cc_env.registry.catalogue import GAMES


class Recording(NamedTuple):
    """What is known of a position, to compare the rules with; None is what is not known."""

    game: Game
    position: Position
    played: tuple[str, ...] = ()  # turns, or decisions, to the position of which the rest is known
    reached: Position | None = None  # what that is, as far as its key goes
    outcome: int | None = None  # as `rules.outcome`
    ending: str | None = None  # as `Game.ending`, of a finished game
    turns: Mapping[str, Position | None] | None = None  # all legal turns, and where they lead
    actions: frozenset[str] | None = None  # all legal decisions, in every way to write them
    counts: tuple[int, ...] = ()  # perft for 1, 2, ... turns
    in_decisions: bool = False  # whether that counts decisions instead


Reader = Callable[[Mapping[str, Any]], Iterator[Recording]]


def reader(game: str) -> Reader:
    """Return the function that reads a line of recorded positions of this game.

    It raises KeyError or CcEnvError where a field is missing or wrong. Raises UnknownOption where
    there is no such function, or no such game.
    """
    module = game_module(game)
    if game in GAMES:
        try:
            module = import_module(f"{__name__}.{game}")
        except ModuleNotFoundError as error:
            raise UnknownOption(f"{game} has no recorded positions: {error}") from None
    read: Reader | None = getattr(module, "read_recordings", None)
    if read is None:
        raise UnknownOption(f"{game} has no recorded positions: no function read_recordings")
    return read
