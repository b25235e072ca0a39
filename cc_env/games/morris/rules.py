"""The compiled rules of morris; the package's docstring describes positions and actions.

Shapes: A actions; C planes, H rows and W columns of an observation; K sets of a numbering.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_index, popcount
from cc_env.core.grid import Cell
from cc_env.core.rules import ONGOING, Bool, Int
from cc_env.jit.compiler import jit

Word = np.uint64

POINTS = "ABCDEFGHIJKLMNOPQRSTUVWX"
CELLS: tuple[Cell, ...] = (
    *((0, 0), (0, 3), (0, 6), (1, 1), (1, 3), (1, 5), (2, 2), (2, 3), (2, 4)),
    *((3, 0), (3, 1), (3, 2), (3, 4), (3, 5), (3, 6)),
    *((4, 2), (4, 3), (4, 4), (5, 1), (5, 3), (5, 5), (6, 0), (6, 3), (6, 6)),
)
SIZE = 7
LINES = (
    # Rows.
    *("ABC", "DEF", "GHI", "JKL", "MNO", "PQR", "STU", "VWX"),
    # Columns.
    *("AJV", "DKS", "GLP", "BEH", "QTW", "IMR", "FNU", "COX"),
)
# Beads of each player.
BEADS = 9
# A player with this many beads may fly, if flying is allowed, and loses with fewer.
MIN_BEADS = 3
PLANES = (
    "own beads",
    "enemy beads",
    "points of the board",
    "own move is free",
    "enemy move is free",
    "a removal is due",
    "two removals are due",
    *(f"own beads in hand: {count} or more" for count in range(1, BEADS + 1)),
    *(f"enemy beads in hand: {count} or more" for count in range(1, BEADS + 1)),
)
NUM_POINTS = len(POINTS)
ALL = np.uint64(2**NUM_POINTS - 1)
NUM_ACTIONS = NUM_POINTS * (NUM_POINTS + 1)

# Bits of `options`.
PROTECT, ONE_REMOVAL, NEVER_FREE, FREE_WHEN_MOVING, FLYING, COUNT_HAND = (
    np.uint64(1 << bit) for bit in range(6)
)

# Bits of `network_inputs` above the points: the number of beads in hand, and free moves.
_IN_HAND = np.uint64(NUM_POINTS)
_IS_FREE = np.uint64(NUM_POINTS + BEADS + 1)

# Tables by point: the mills through it, without the point itself, and its neighbors.
MILLS = np.zeros((NUM_POINTS, 2), np.uint64)
NEIGHBORS = np.zeros(NUM_POINTS, np.uint64)
ALL_MILLS = np.zeros(len(LINES), np.uint64)
_ROWS = np.array([row for row, _ in CELLS], np.int64)
_COLUMNS = np.array([column for _, column in CELLS], np.int64)
for _number, _line in enumerate(LINES):
    _places = [POINTS.index(point) for point in _line]
    ALL_MILLS[_number] = sum(1 << point for point in _places)
    for _place in _places:
        _free = int(MILLS[_place, 0] != 0)
        MILLS[_place, _free] = int(ALL_MILLS[_number]) & ~(1 << _place)
    for _near, _other in ((_places[0], _places[1]), (_places[1], _places[2])):
        NEIGHBORS[_near] |= np.uint64(1 << _other)
        NEIGHBORS[_other] |= np.uint64(1 << _near)


class Position(NamedTuple):
    """A position; the package's docstring describes the fields."""

    own: np.uint64
    enemy: np.uint64
    own_hand: np.uint64
    enemy_hand: np.uint64
    own_free: np.uint64
    enemy_free: np.uint64
    pending: np.uint64
    player: np.uint64
    options: np.uint64


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> Int:
    """Write the legal actions, ascending, into `out` (int32[>= A]); return their number."""
    empty = ALL & ~(position.own | position.enemy)
    if position.pending:
        return _write(removable(position), np.int64(0), out, np.int64(0))
    if position.own_hand:
        return _write(empty, np.int64(0), out, np.int64(0))
    is_free = can_fly(position)
    count: Int = np.int64(0)
    beads = position.own
    while beads:
        start = lowest_index(beads)
        beads &= beads - ONE
        ends = empty if is_free else empty & NEIGHBORS[start]
        count = _write(ends, NUM_POINTS * (1 + np.int64(start)), out, count)
    return count


@jit
def _write(points: Word, first: Int, out: NDArray[np.int32], count: Int) -> Int:
    """Append `first` plus the index of each point to `out`; return the new count."""
    while points:
        out[count] = first + np.int64(lowest_index(points))
        points &= points - ONE
        count += 1
    return count


@jit
def removable(position: Position) -> Word:
    """Return the opponent's beads that may be removed."""
    enemy = position.enemy
    if position.options & PROTECT:
        unprotected = enemy & ~in_mills(enemy)
        return unprotected if unprotected else enemy
    return enemy


@jit
def in_mills(beads: Word) -> Word:
    """Return the beads that are in mills."""
    members = ZERO
    for mill in ALL_MILLS:
        if beads & mill == mill:
            members |= mill
    return members


@jit
def can_fly(position: Position) -> Bool:
    """Return whether the player to move may move to any empty point."""
    flies = position.options & FLYING and popcount(position.own) <= MIN_BEADS
    return bool(position.own_free or flies)


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a legal action."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options = position
    if pending:
        enemy ^= ONE << np.uint64(action)
        pending -= ONE
    else:
        point = np.uint64(action)
        is_move = action >= NUM_POINTS
        if is_move:
            own ^= ONE << np.uint64(action // NUM_POINTS - 1)
            point = np.uint64(action % NUM_POINTS)
        else:
            own_hand -= ONE
        pending = _removals_due(mills(own, point), enemy, options)
        own |= ONE << point
        own_free = ZERO
        if pending and _earns_free_move(is_move, options):
            own_free = ONE
    if pending:
        return Position(
            own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options
        )
    return Position(
        enemy, own, enemy_hand, own_hand, enemy_free, own_free, ZERO, player ^ ONE, options
    )


@jit
def mills(own: Word, point: np.uint64) -> Int:
    """Return the number of mills that a bead on this point completes."""
    first, second = MILLS[point, 0], MILLS[point, 1]
    return np.int64(own & first == first) + np.int64(own & second == second)


@jit
def _removals_due(num_mills: Int, enemy: Word, options: np.uint64) -> np.uint64:
    """Return the number of removals that completed mills grant, at most one per enemy bead."""
    removals = np.int64(num_mills > 0) if options & ONE_REMOVAL else num_mills
    return np.uint64(min(removals, popcount(enemy)))


@jit
def _earns_free_move(is_move: Bool, options: np.uint64) -> Bool:
    """Return whether a turn with a removal grants a free move."""
    if options & NEVER_FREE:
        return False
    return bool(is_move or not options & FREE_WHEN_MOVING)


@jit
def mid_turn(position: Position) -> bool:
    """Return whether a removal is due."""
    return True if position.pending else False  # noqa: SIM210 (compiled)


@jit
def outcome(position: Position) -> Int:
    """Return the winner if a player has too few beads or no move, else ONGOING."""
    if position.pending:
        return ONGOING
    player = np.int64(position.player)
    if has_too_few_beads(position.enemy, position.enemy_hand, position.options):
        return player
    if has_too_few_beads(position.own, position.own_hand, position.options) or is_blocked(position):
        return 1 - player
    return ONGOING


@jit
def has_too_few_beads(beads: Word, hand: np.uint64, options: np.uint64) -> Bool:
    """Return whether a player has fewer than MIN_BEADS.

    Beads in hand count with COUNT_HAND; otherwise a player with beads in hand has enough.
    """
    if options & COUNT_HAND:
        return popcount(beads) + np.int64(hand) < MIN_BEADS
    return not hand and popcount(beads) < MIN_BEADS


@jit
def is_blocked(position: Position) -> Bool:
    """Return whether the player to move has no legal action at the start of a turn."""
    empty = ALL & ~(position.own | position.enemy)
    if position.own_hand or can_fly(position):
        return not empty
    beads = position.own
    while beads:
        if NEIGHBORS[lowest_index(beads)] & empty:
            return False
        beads &= beads - ONE
    return True


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the planes named in PLANES, in the frame of `player`, into int8[C, H, W]."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, mover, _ = position
    if player != np.int64(mover):
        own, enemy, own_hand, enemy_hand = enemy, own, enemy_hand, own_hand
        own_free, enemy_free = enemy_free, own_free
    planes[:3] = 0
    for point in range(NUM_POINTS):
        row, column = _ROWS[point], _COLUMNS[point]
        planes[0, row, column] = own >> np.uint64(point) & ONE
        planes[1, row, column] = enemy >> np.uint64(point) & ONE
        planes[2, row, column] = 1
    planes[3], planes[4] = own_free, enemy_free
    planes[5], planes[6] = np.int8(pending > ZERO), np.int8(pending > ONE)
    for count in range(BEADS):
        planes[7 + count] = np.int8(np.int64(own_hand) > count)
        planes[7 + BEADS + count] = np.int8(np.int64(enemy_hand) > count)


@jit
def tactical_actions(position: Position, out: NDArray[np.int32]) -> Int:
    """Write removals, and actions that complete a mill, into int32[>= A]; return their number."""
    if position.pending:
        return _write(removable(position), np.int64(0), out, np.int64(0))
    count = legal_actions(position, out)
    tactical: Int = 0
    for index in range(count):
        action = np.int64(out[index])
        own, point = position.own, np.uint64(action)
        if action >= NUM_POINTS:
            own ^= ONE << np.uint64(action // NUM_POINTS - 1)
            point = np.uint64(action % NUM_POINTS)
        if mills(own, point) and position.enemy:
            out[tactical] = action
            tactical += 1
    return tactical


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
    tactical_actions=tactical_actions,
)


@jit
def to_sets(position: Position) -> tuple[Word, Word]:
    """Return the own and the enemy beads."""
    return position.own, position.enemy


@jit
def numbering_state(position: Position) -> Int:
    """Return whose moves are free, in the moving phase; other positions are not numbered."""
    if position.pending or position.own_hand or position.enemy_hand:
        return np.int64(-1)
    return np.int64(position.own_free) + 2 * np.int64(position.enemy_free)


@jit
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets (uint64[K]), the first player to move."""
    own_free, enemy_free = np.uint64(state & 1), np.uint64(state >> 1)
    return Position(sets[0], sets[1], ZERO, ZERO, own_free, enemy_free, ZERO, ZERO, like.options)


rules.register_numbering(
    Position, to_sets=to_sets, from_sets=from_sets, numbering_state=numbering_state
)


@jit
def network_inputs(position: Position) -> tuple[Word, Word]:
    """Return own and enemy beads, each with the number in hand and whether moves are free."""
    own_hand = ONE << (_IN_HAND + position.own_hand)
    enemy_hand = ONE << (_IN_HAND + position.enemy_hand)
    own = position.own | own_hand | position.own_free << _IS_FREE
    enemy = position.enemy | enemy_hand | position.enemy_free << _IS_FREE
    return own, enemy


rules.register_inputs(Position, network_inputs)
