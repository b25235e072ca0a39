"""Readers of recorded positions, for `cc_env.verification.reference_positions`.

A line of a file is a JSON object whose fields depend on the game. The function `read_recordings` is
in the module of this package with the name of the game, or in the module of the game itself if it
is not in the catalogue.
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
    """Recorded facts of a position, compared with the rules; None for unrecorded facts.

    `path` has the turns or decisions from `position` to the final position, which all other fields
    describe. `final` is compared by its key. `ending` is the word for how a finished game ended.
    `turns` maps the legal turns to the positions after them; `actions` has all notations of the
    legal decisions. `counts` are perft counts from depth 1, of decisions if `counts_decisions`.
    """

    game: Game
    position: Position
    path: tuple[str, ...] = ()
    final: Position | None = None
    outcome: int | None = None
    ending: str | None = None
    turns: Mapping[str, Position | None] | None = None
    actions: frozenset[str] | None = None
    counts: tuple[int, ...] = ()
    counts_decisions: bool = False


Reader = Callable[[Mapping[str, Any]], Iterator[Recording]]


def find_reader(game: str) -> Reader:
    """Return the function that reads a line of recorded positions of a game.

    The function raises KeyError or CcEnvError for a missing or wrong field. Raises UnknownOption if
    there is no such game or function.
    """
    module = game_module(game)
    if game in GAMES:
        try:
            module = import_module(f"{__name__}.{game}")
        except ModuleNotFoundError as error:
            raise UnknownOption(f"{game} has no recorded positions: {error}") from None
    reader: Reader | None = getattr(module, "read_recordings", None)
    if reader is None:
        raise UnknownOption(f"{game} has no recorded positions: no function read_recordings")
    return reader
