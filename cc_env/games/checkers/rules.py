"""The compiled rules of checkers; the head of the package describes positions and actions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.bits import ONE, ZERO, lowest, lowest_bit, reverse
from cc_env.compile import jit
from cc_env.game import Cell
from cc_env.rules import DRAW, ONGOING, Bool, Int

Word = np.uint64

SIZE = 8
FORWARD = ((-1, -1), (-1, 1))  # in the mover's frame
DIRECTIONS = *FORWARD, (1, -1), (1, 1)  # in the order of the cells that they lead to
PLANES = "own men", "own kings", "enemy men", "enemy kings", "piece that jumps on"

_7, _9 = np.uint64(7), np.uint64(9)
_FAR_ROW = np.uint64(0xFF)  # row 0 in the mover's frame
_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)  # columns
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)


def is_used(cell: Cell) -> bool:
    """Return whether the game is played on this cell."""
    return sum(cell) % 2 == 0


CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if is_used((r, c))]

# Tables: STARTS[id], ENDINGS[id] the cells of an action; STEP_ID[start, direction] and
# JUMP_ID[start, direction] the way back.
STARTS = np.zeros(170, np.uint64)
ENDINGS = np.zeros(170, np.uint64)
STEP_ID = np.zeros((64, 4), np.int32)
JUMP_ID = np.zeros((64, 4), np.int32)
NUM_ACTIONS = 0
for _row, _column in CELLS:
    _ends = [
        (_row + far * down, _column + far * right, direction, table)
        for direction, (down, right) in enumerate(DIRECTIONS)
        for far, table in ((1, STEP_ID), (2, JUMP_ID))
    ]
    for _end_row, _end_column, _direction, _table in sorted(_ends, key=lambda end: end[:2]):
        if {_end_row, _end_column} <= set(range(SIZE)):
            STARTS[NUM_ACTIONS] = 8 * _row + _column
            ENDINGS[NUM_ACTIONS] = 8 * _end_row + _end_column
            _table[8 * _row + _column, _direction] = NUM_ACTIONS
            NUM_ACTIONS += 1


class Position(NamedTuple):
    """Two sides, their kings, a capture that goes on; see the head of the package."""

    own: np.uint64
    enemy: np.uint64
    kings: np.uint64
    jumper: np.uint64
    idle: np.uint64
    player: np.uint64
    options: np.uint64


class Ways(NamedTuple):
    """The pieces that can go each way: a set of cells for each of DIRECTIONS."""

    up_left: np.uint64
    up_right: np.uint64
    down_left: np.uint64
    down_right: np.uint64


def initial(crowning_ends_move: bool, no_progress_limit: int) -> Position:
    """Return the start position; the limit is 0 for none."""
    own = sum(1 << (8 * row + column) for row, column in CELLS if row > 4)
    enemy = sum(1 << (8 * row + column) for row, column in CELLS if row < 3)
    options = np.uint64(2 * no_progress_limit + crowning_ends_move)
    return Position(np.uint64(own), np.uint64(enemy), ZERO, ZERO, ZERO, ZERO, options)


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.legal_actions`."""
    movers = position.jumper if position.jumper else position.own
    ways = jumping(position, movers)
    if position.jumper or _any(ways):
        return _write(ways, JUMP_ID, out)
    return _write(stepping(position), STEP_ID, out)


@jit
def jumping(position: Position, movers: Word) -> Ways:
    """Return which of the movers can jump, each way."""
    enemy, empty = position.enemy, ~(position.own | position.enemy)
    kings = movers & position.kings
    return Ways(
        movers & _down_right(_down_right(empty) & enemy),
        movers & _down_left(_down_left(empty) & enemy),
        kings & _up_right(_up_right(empty) & enemy),
        kings & _up_left(_up_left(empty) & enemy),
    )


@jit
def stepping(position: Position) -> Ways:
    """Return which pieces of the player to move can step, each way."""
    own, empty = position.own, ~(position.own | position.enemy)
    kings = own & position.kings
    return Ways(
        own & _down_right(empty),
        own & _down_left(empty),
        kings & _up_right(empty),
        kings & _up_left(empty),
    )


@jit
def _up_left(cells: Word) -> Word:
    return (cells & _NOT_FIRST) >> _9


@jit
def _up_right(cells: Word) -> Word:
    return (cells & _NOT_LAST) >> _7


@jit
def _down_left(cells: Word) -> Word:
    return (cells & _NOT_FIRST) << _7


@jit
def _down_right(cells: Word) -> Word:
    return (cells & _NOT_LAST) << _9


@jit
def _any(ways: Ways) -> Bool:
    return bool(ways.up_left | ways.up_right | ways.down_left | ways.down_right)


@jit
def _write(ways: Ways, ids: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Write the ids of the actions, ascending; return how many."""
    pieces = ways.up_left | ways.up_right | ways.down_left | ways.down_right
    count = 0
    while pieces:
        piece = lowest_bit(pieces)
        pieces ^= piece
        row = ids[lowest(piece)]
        for direction in range(4):
            if ways[direction] & piece:
                out[count] = row[direction]
                count += 1
    return count


@jit
def apply(position: Position, action: Int) -> Position:
    """As `rules.apply`."""
    start, end = ONE << STARTS[action], ONE << ENDINGS[action]
    captured = jumped(action)
    is_man = not position.kings & start
    is_crowned = is_man and end & _FAR_ROW
    kings = position.kings & ~(start | captured)
    if is_crowned or not is_man:
        kings |= end
    own, enemy = position.own ^ start ^ end, position.enemy ^ captured
    ends_move = is_crowned and position.options & ONE
    if captured and not ends_move:
        after = Position(own, enemy, kings, end, ZERO, position.player, position.options)
        if _any(jumping(after, end)):
            return after
    idle = ZERO if captured or is_man else position.idle + ONE
    return Position(
        reverse(enemy),
        reverse(own),
        reverse(kings),
        ZERO,
        idle,
        position.player ^ ONE,
        position.options,
    )


@jit
def jumped(action: Int) -> Word:
    """Return the cell that an action jumps over, ZERO for a step."""
    start, end = STARTS[action], ENDINGS[action]
    is_step = max(start, end) - min(start, end) <= _9
    return ZERO if is_step else ONE << ((start + end) >> ONE)


@jit
def to_move(position: Position) -> Int:
    """As `rules.to_move`."""
    return np.int64(position.player)


@jit
def mid_turn(position: Position) -> bool:
    """As `rules.mid_turn`."""
    return True if position.jumper else False  # noqa: SIM210 (compiled)


@jit
def outcome(position: Position) -> Int:
    """As `rules.outcome`."""
    if position.jumper:
        return ONGOING
    if not _any(stepping(position)) and not _any(jumping(position, position.own)):
        return 1 - np.int64(position.player)
    return DRAW if is_idle(position) else ONGOING


@jit
def is_idle(position: Position) -> Bool:
    """Return whether so long nothing was captured, and no man stepped, that it is a draw."""
    limit = no_progress_limit(position)
    return bool(limit and position.idle >= limit)


@jit
def no_progress_limit(position: Position) -> np.uint64:
    """Return after how many turns without progress the game is a draw, 0 for none."""
    return position.options >> ONE


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """As `rules.observe`; the planes are named in PLANES."""
    own, enemy, kings, jumper = position.own, position.enemy, position.kings, position.jumper
    if player != np.int64(position.player):
        own, enemy, kings, jumper = reverse(enemy), reverse(own), reverse(kings), reverse(jumper)
    shown = own & ~kings, own & kings, enemy & ~kings, enemy & kings, jumper
    for plane, cells in enumerate(shown):
        for cell in range(64):
            planes[plane, cell >> 3, cell & 7] = cells >> np.uint64(cell) & ONE


@jit
def loud_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.loud_actions`: the captures."""
    movers = position.jumper if position.jumper else position.own
    return _write(jumping(position, movers), JUMP_ID, out)


@jit
def key(position: Position) -> np.uint64:
    """As `rules.key`: how long nothing happened makes no other position."""
    own, enemy, kings, jumper, _, player, options = position
    return rules.hash_fields(Position(own, enemy, kings, jumper, ZERO, player, options))


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    to_move=to_move,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
    loud_actions=loud_actions,
    key=key,
)
