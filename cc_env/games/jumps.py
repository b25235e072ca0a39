"""Diagonal steps and jumps of checkers and mini checkers.

Cell (r, c) is bit 8r + c of a set on boards of every size. An action is a step or a single jump;
its id depends on its start and end.

Shapes: A actions, D directions.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ZERO, lowest_bit, lowest_index
from cc_env.core.grid import Cell, Grid
from cc_env.errors import BadPosition
from cc_env.jit.compiler import jit

Word = np.uint64

# Directions in the mover's frame.
FORWARD = ((-1, -1), (-1, 1))
BACKWARD = ((1, -1), (1, 1))

_7, _9 = np.uint64(7), np.uint64(9)
# Columns 1 to 7 and 0 to 6.
_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)


class JumpTables(NamedTuple):
    """The cells of actions, and the actions by cell and direction.

    `starts` and `ends` are bit indices. `jumped` is the set of the cell that a jump passes, ZERO
    for a step.
    """

    starts: NDArray[np.uint64]  # [A]
    ends: NDArray[np.uint64]  # [A]
    jumped: NDArray[np.uint64]  # [A]
    step_id: NDArray[np.int32]  # [64, D]
    jump_id: NDArray[np.int32]  # [64, D]


def make_jump_tables(cells: Sequence[Cell], directions: Sequence[Cell]) -> JumpTables:
    """Return the tables of all steps and jumps on an empty board; ids ascend by start, then end."""
    ids = np.zeros((2, 64, len(directions)), np.int32)
    cell_pairs: list[tuple[int, int]] = []
    for row, column in cells:
        jumps_and_steps = [
            ((row + distance * down, column + distance * right), distance, direction)
            for direction, (down, right) in enumerate(directions)
            for distance in (1, 2)
        ]
        for end, distance, direction in sorted(jumps_and_steps):
            if end in cells:
                ids[distance - 1, 8 * row + column, direction] = len(cell_pairs)
                cell_pairs.append((8 * row + column, 8 * end[0] + end[1]))
    starts, ends = np.array(cell_pairs, np.uint64).T.copy()
    middles = np.uint64(1) << (starts + ends) // np.uint64(2)
    is_jump = np.maximum(starts, ends) - np.minimum(starts, ends) > _9
    return JumpTables(starts, ends, np.where(is_jump, middles, ZERO), *ids)


@jit
def up_left(cells: Word) -> Word:
    """Return the cells one step away in this direction."""
    return (cells & _NOT_FIRST) >> _9


@jit
def up_right(cells: Word) -> Word:
    """Return the cells one step away in this direction."""
    return (cells & _NOT_LAST) >> _7


@jit
def down_left(cells: Word) -> Word:
    """Return the cells one step away in this direction."""
    return (cells & _NOT_FIRST) << _7


@jit
def down_right(cells: Word) -> Word:
    """Return the cells one step away in this direction."""
    return (cells & _NOT_LAST) << _9


class Movers(NamedTuple):
    """The sets of pieces that can move in each direction."""

    up_left: Word
    up_right: Word
    down_left: Word
    down_right: Word


@jit
def jumpers(pieces: Word, kings: Word, enemy: Word, empty: Word) -> Movers:
    """Return the pieces that can jump over a piece of `enemy`; only `kings` jump backward."""
    return Movers(
        pieces & down_right(down_right(empty) & enemy),
        pieces & down_left(down_left(empty) & enemy),
        kings & up_right(up_right(empty) & enemy),
        kings & up_left(up_left(empty) & enemy),
    )


@jit
def steppers(pieces: Word, kings: Word, empty: Word) -> Movers:
    """Return the pieces that can step; only `kings` step backward."""
    return Movers(
        pieces & down_right(empty),
        pieces & down_left(empty),
        kings & up_right(empty),
        kings & up_left(empty),
    )


@jit
def movable(movers: Movers) -> Word:
    """Return the pieces that can move in any direction."""
    return movers.up_left | movers.up_right | movers.down_left | movers.down_right


@jit
def write(movers: Movers, ids: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Write the action ids of all moves into `out` (int32[>= A]), ascending; return their number.

    `ids` (int32[64, D]) is a field of `JumpTables`, whose directions are the first D of `Movers`.
    """
    count = 0
    pieces = movable(movers)
    while pieces:
        piece = lowest_bit(pieces)
        pieces ^= piece
        row = ids[lowest_index(piece)]
        for direction in range(len(movers)):
            if movers[direction] & piece:
                out[count] = row[direction]
                count += 1
    return count


def cell_text(cell: Cell) -> str:
    """Return the notation of a cell: 53."""
    return f"{cell[0]}{cell[1]}"


def move_text(start: Cell, end: Cell, name: Callable[[Cell], str]) -> str:
    """Return the text of an action by the names of its cells: 53-42, or 53x31 for a jump."""
    separator = "x" if abs(start[0] - end[0]) == 2 else "-"
    return f"{name(start)}{separator}{name(end)}"


def read_position(
    grid: Grid, text: str, letters: tuple[str, str], max_pieces: int, rest: str = ""
) -> tuple[dict[Cell, str], int, list[str]]:
    """Return the pieces of a position's text, the player to move, and the words that follow.

    `rest` describes the words that may follow, for error messages. Raises BadPosition if the text
    is invalid or a side has more than `max_pieces` pieces.
    """
    pieces, player, words = grid.parse_position(text, letters, rest)
    for own in letters:
        count = sum(letter in own for letter in pieces.values())
        if count > max_pieces:
            raise BadPosition(f"{count} pieces of {own[0]}; expected: at most {max_pieces}")
    return pieces, player, words
