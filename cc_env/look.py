"""How a game looks in pictures: its pieces, its board, and what a turn did there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cc_env.grid import Cell
from cc_env.notation import Turn
from cc_env.rules import Position


class Track(NamedTuple):
    """What a turn did on the board: the cells its piece went through, the pieces it took."""

    path: tuple[Cell, ...]
    captured: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What pictures show. What is left out is as the methods of `Game` say.

    A board has squares, or points where it has `lines`. `shooters` are the pieces any of which may
    be said to play an action that moves nothing but hits the end of its track; other actions have
    none.
    """

    pieces: Callable[[Position], Mapping[Cell, str]] | None = None  # letters, as in `Game.letters`
    track: Callable[[Position, Turn], Track] | None = None
    figures: Mapping[str, str] = field(default_factory=dict)  # by letter; else discs, see shapes.py
    kinds: Mapping[str, str] = field(default_factory=dict)  # of pieces, in a word, by letter: king
    goals: tuple[Cell, Cell] | tuple[()] = ()  # a cell to mark for each player
    dark: int = 1  # the dark cells are those whose row + column is odd; 0: even
    lines: tuple[tuple[Cell, Cell], ...] = ()  # of a board of points
    names: Mapping[Cell, str] = field(default_factory=dict)  # of its points, as in notation
    rows: Sequence[str] = ()  # what rows are called, as in notation, from the top; default: 0, 1, …
    columns: Sequence[str] = ()  # the same of columns, from the left
    remark: Callable[[Position], str] = lambda position: ""  # what is due and no piece shows
    shooters: Callable[[Position, int], Iterable[Cell]] = lambda position, action: ()
