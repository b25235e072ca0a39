"""Steps and jumps along the diagonals, which checkers and mini checkers share.

Sets of cells have bit 8r + c, whatever the size of the board. An action is a step or a single jump,
with an id by its start and end. Shapes: A such actions, D directions.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ZERO, lowest_bit, lowest_index
from cc_env.core.grid import Cell, Grid
from cc_env.errors import BadPosition
from cc_env.jit.compiler import jit

Word = np.uint64

FORWARD = ((-1, -1), (-1, 1))  # in the mover's frame
BACKWARD = ((1, -1), (1, 1))

_7, _9 = np.uint64(7), np.uint64(9)
_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)  # columns
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)


class JumpTables(NamedTuple):
    """The cells of the actions, and the actions of the cells."""

    starts: NDArray[np.uint64]  # [A] where each starts, as a bit
    ends: NDArray[np.uint64]  # [A] where each ends
    jumped: NDArray[np.uint64]  # [A] the set of the cell that each passes, ZERO for a step
    step_id: NDArray[np.int32]  # [64, D] the step from a cell in a direction
    jump_id: NDArray[np.int32]  # [64, D] the jump


def tables(cells: Sequence[Cell], directions: Sequence[Cell]) -> JumpTables:
    """Return the tables of all steps and jumps on an empty board; ids ascend by start, then end."""
    ids = np.zeros((2, 64, len(directions)), np.int32)
    cells_of: list[tuple[int, int]] = []
    for row, column in cells:
        ways = [
            ((row + far * down, column + far * right), far, direction)
            for direction, (down, right) in enumerate(directions)
            for far in (1, 2)
        ]
        for end, far, direction in sorted(ways):
            if end in cells:
                ids[far - 1, 8 * row + column, direction] = len(cells_of)
                cells_of.append((8 * row + column, 8 * end[0] + end[1]))
    starts, ends = np.array(cells_of, np.uint64).T.copy()
    passed = np.uint64(1) << (starts + ends) // np.uint64(2)
    is_jump = np.maximum(starts, ends) - np.minimum(starts, ends) > _9
    return JumpTables(starts, ends, np.where(is_jump, passed, ZERO), *ids)


@jit
def up_left(cells: Word) -> Word:
    """Return the cells one step away in this direction."""
    return (cells & _NOT_FIRST) >> _9


@jit
def up_right(cells: Word) -> Word:
    """As `up_left`."""
    return (cells & _NOT_LAST) >> _7


@jit
def down_left(cells: Word) -> Word:
    """As `up_left`."""
    return (cells & _NOT_FIRST) << _7


@jit
def down_right(cells: Word) -> Word:
    """As `up_left`."""
    return (cells & _NOT_LAST) << _9


@jit
def write(pieces: Word, ways: Any, ids: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Write the ids of the actions of these pieces into `out`, ascending; return how many.

    `ways` are D sets, the pieces that can go in each direction; `ids`, int32[64, D], is one of
    the `JumpTables`, `out` int32[>= A].
    """
    count = 0
    while pieces:
        piece = lowest_bit(pieces)
        pieces ^= piece
        row = ids[lowest_index(piece)]
        for direction in range(len(ways)):
            if ways[direction] & piece:
                out[count] = row[direction]
                count += 1
    return count


def move_text(start: Cell, end: Cell) -> str:
    """Return 53-42, or 53x31 for a jump."""
    is_jump = abs(start[0] - end[0]) == 2
    return f"{start[0]}{start[1]}{'x' if is_jump else '-'}{end[0]}{end[1]}"


def read_position(
    grid: Grid, text: str, letters: tuple[str, str], most: int, rest: str = ""
) -> tuple[dict[Cell, str], int, list[str]]:
    """As `Grid.read_position`; raise BadPosition also where a side has more than `most` pieces."""
    pieces, player, words = grid.parse_position(text, letters, rest)
    for own in letters:
        count = sum(letter in own for letter in pieces.values())
        if count > most:
            raise BadPosition(f"{count} pieces of {own[0]}; there are {most}")
    return pieces, player, words
