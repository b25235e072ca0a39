"""The compiled rules of C&C; the package's docstring describes positions and actions.

Shapes: A actions; C planes, H rows and W columns of an observation; K sets of a numbering.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount, reverse_bits
from cc_env.core.grid import Cell
from cc_env.core.rules import DRAW, ONGOING, Bool, Int
from cc_env.games.capture_conquer.chains import (
    NOT_FIRST,
    Word,
    captures,
    hops_over,
    jumpers,
    reachable,
    takeoffs,
)
from cc_env.jit.compiler import jit

SIZES = range(4, 9)
# Displacements of steps, towards the far corner, in the mover's frame.
STEPS = (0, 1), (1, 0), (1, 1)
PLANES = "own pieces", "enemy pieces", "start of the pending jump", "end of the pending jump"

_1, _3, _7, _8, _9, _63 = (np.uint64(n) for n in (1, 3, 7, 8, 9, 63))


def bit(row: int, column: int) -> int:
    """Return the set of one cell as a Python integer."""
    return 1 << (8 * row + column)


def all_cells(size: int) -> list[Cell]:
    """Return the cells of a board in reading order."""
    return [(row, column) for row in range(size) for column in range(size)]


def _has_action(start: Cell, end: Cell) -> bool:
    """Return whether a step or a jump chain can go from `start` to `end` on an open board."""
    down, right = end[0] - start[0], end[1] - start[1]
    is_jump = (down, right) != (0, 0) and down % 2 == 0 and right % 2 == 0
    return (down, right) in STEPS or is_jump


# Tables by size: BOARD, all cells; ENDS[start], the end cells of actions from `start`;
# FIRST_ID[start], the id of the first of these actions; STARTS[id] and ENDINGS[id], the cells of an
# action; NUM_JUMPS, the number of these actions and the id of the first capture decision.
BOARD = np.zeros(9, np.uint64)
ENDS = np.zeros((9, 64), np.uint64)
FIRST_ID = np.zeros((9, 64), np.int64)
STARTS = np.zeros((9, 1121), np.uint8)
ENDINGS = np.zeros((9, 1121), np.uint8)
NUM_JUMPS = np.zeros(9, np.int64)
for _size in SIZES:
    for _row, _column in all_cells(_size):
        _start = 8 * _row + _column
        BOARD[_size] |= np.uint64(1 << _start)
        FIRST_ID[_size, _start] = NUM_JUMPS[_size]
        for _end in [cell for cell in all_cells(_size) if _has_action((_row, _column), cell)]:
            ENDS[_size, _start] |= np.uint64(bit(*_end))
            STARTS[_size, NUM_JUMPS[_size]] = _start
            ENDINGS[_size, NUM_JUMPS[_size]] = 8 * _end[0] + _end[1]
            NUM_JUMPS[_size] += 1


class Position(NamedTuple):
    """A position; the package's docstring describes the fields."""

    own: np.uint64
    enemy: np.uint64
    pending: np.uint64
    player: np.uint64
    size: np.uint64


def initial(size: int, corner: int) -> Position:
    """Return the start position: a triangle of edge `corner` for each side."""
    own = sum(bit(r, c) for r, c in all_cells(size) if r + c < corner)
    enemy = sum(bit(size - 1 - r, size - 1 - c) for r, c in all_cells(size) if r + c < corner)
    return Position(np.uint64(own), np.uint64(enemy), ZERO, ZERO, np.uint64(size))


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal actions, ascending, into `out` (int32[>= A]); return their number."""
    if position.pending:
        return _legal_captures(position, out)
    occupied = position.own | position.enemy
    empty = BOARD[position.size] & ~occupied
    hops = hops_over(occupied, empty)
    jumping = takeoffs(hops)
    pieces = position.own
    count = 0
    while pieces:
        start = lowest_bit(pieces)
        pieces ^= start
        ends = steps(start, empty)
        if start & jumping:
            ends |= reachable(start, hops, occupied, empty) ^ start
        count = _write(position.size, lowest_index(start), ends, out, count)
    return count


@jit
def steps(cells: Word, empty: Word) -> Word:
    """Return the cells of `empty` one step from any of `cells`."""
    return ((cells << _1 | cells << _9) & NOT_FIRST | cells << _8) & empty


@jit
def _write(size: Word, start: Word, ends: Word, out: NDArray[np.int32], count: int) -> int:
    """Append the ids of the actions from the cell `start` to `ends`; return the new count."""
    while ends:
        end = lowest_bit(ends)
        ends ^= end
        out[count] = FIRST_ID[size, start] + popcount(ENDS[size, start] & (end - ONE))
        count += 1
    return count


@jit
def _legal_captures(position: Position, out: NDArray[np.int32]) -> int:
    start, end = jump(position, np.int64(position.pending) - 1)
    victims, is_optional = choices(position, start, end)
    size = np.int64(position.size)
    count = 0
    while victims:
        cell = lowest_index(victims)
        victims ^= ONE << cell
        out[count] = NUM_JUMPS[size] + np.int64(cell >> _3) * size + np.int64(cell & _7)
        count += 1
    if is_optional:
        out[count] = NUM_JUMPS[size] + size * size
        count += 1
    return count


@jit
def jump(position: Position, action: Int) -> tuple[Word, Word]:
    """Return the start and end cells of a step or jump."""
    start, end = STARTS[position.size, action], ENDINGS[position.size, action]
    return ONE << np.uint64(start), ONE << np.uint64(end)


@jit
def choices(position: Position, start: Word, end: Word) -> tuple[Word, bool]:
    """Return the possible victims of a legal jump chain, and whether it may capture nothing."""
    empty = BOARD[position.size] & ~(position.own | position.enemy)
    return captures(start, end, position.own, position.enemy, empty)


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a legal action."""
    if position.pending:
        start, end = jump(position, np.int64(position.pending) - 1)
        return play_jump(position, start, end, _victim(position, action))
    start, end = jump(position, action)
    if steps(start, end):
        return play_jump(position, start, end, ZERO)
    victims, is_optional = choices(position, start, end)
    if popcount(victims) + np.int64(is_optional) > 1:
        own, enemy, player, size = position.own, position.enemy, position.player, position.size
        return Position(own, enemy, np.uint64(action + 1), player, size)
    return play_jump(position, start, end, victims)


@jit
def _victim(position: Position, action: Int) -> Word:
    size = np.int64(position.size)
    cell = action - NUM_JUMPS[size]
    if cell == size * size:
        return ZERO
    return ONE << np.uint64(cell // size * 8 + cell % size)


@jit
def play_jump(position: Position, start: Word, end: Word, victim: Word) -> Position:
    """Return the position after a turn, in the frame of the opponent."""
    own = rotate(position.enemy ^ victim, position.size)
    enemy = rotate(position.own ^ start ^ end, position.size)
    return Position(own, enemy, ZERO, position.player ^ ONE, position.size)


@jit
def rotate(cells: Word, size: Word) -> Word:
    """Return the cells after a rotation of the board by 180 degrees."""
    return reverse_bits(cells) >> (_63 - (size - _1) * _9)


@jit
def mid_turn(position: Position) -> bool:
    """Return whether a capture is to be decided."""
    return True if position.pending else False  # noqa: SIM210 (compiled)


@jit
def outcome(position: Position) -> Int:
    """Return the winner by conquest or capture, DRAW if no move is left, else ONGOING."""
    if position.pending:
        return ONGOING
    if is_won(position):
        return 1 - np.int64(position.player)
    return DRAW if _is_blocked(position) else ONGOING


@jit
def is_won(position: Position) -> Bool:
    """Return whether the last turn won, by conquest or by capture."""
    return position.enemy & ONE != ZERO or is_last(position)


@jit
def is_last(position: Position) -> Bool:
    """Return whether the player to move has one piece and the opponent has more."""
    return popcount(position.own) == 1 and popcount(position.enemy) > 1


@jit
def _is_blocked(position: Position) -> bool:
    occupied = position.own | position.enemy
    empty = BOARD[position.size] & ~occupied
    return not (steps(position.own, empty) | jumpers(position.own, occupied, empty))


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the planes named in PLANES, in the frame of `player`, into int8[C, H, W]."""
    own, enemy, start, end = position.own, position.enemy, ZERO, ZERO
    if position.pending:
        start, end = jump(position, np.int64(position.pending) - 1)
    if player != np.int64(position.player):
        own, enemy = rotate(enemy, position.size), rotate(own, position.size)
        start, end = rotate(start, position.size), rotate(end, position.size)
    for plane, cells in enumerate((own, enemy, start, end)):
        for row in range(planes.shape[1]):
            for column in range(planes.shape[2]):
                planes[plane, row, column] = cells >> np.uint64(8 * row + column) & ONE


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
)


@jit
def to_sets(position: Position) -> tuple[Word, Word]:
    """Return the own and the enemy pieces."""
    return position.own, position.enemy


@jit
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets (uint64[K]), the first player to move."""
    return Position(sets[0], sets[1], ZERO, ZERO, like.size)


rules.register_numbering(Position, to_sets=to_sets, from_sets=from_sets)
rules.register_inputs(Position, to_sets)
