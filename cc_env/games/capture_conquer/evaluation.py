"""The evaluations of C&C positions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, popcount, table_sum
from cc_env.core.rules import Int
from cc_env.games.capture_conquer.chains import NOT_FIRST, NOT_LAST, Word, between, count_hops
from cc_env.games.capture_conquer.fitted import WEIGHTS
from cc_env.games.capture_conquer.rules import BOARD, SIZES, Position, all_cells, rotate
from cc_env.jit.compiler import jit

_1, _8, _9 = (np.uint64(n) for n in (1, 8, 9))

# RINGS[size, n]: the cells n steps from the far corner, in the mover's frame.
RINGS = np.zeros((9, 8), np.uint64)
for _size in SIZES:
    for _row, _column in all_cells(_size):
        _steps = _size - 1 - min(_row, _column)
        RINGS[_size, _steps] |= np.uint64(1 << (8 * _row + _column))

# Indices of the weights of `Standard`: one for each cell, then the features below.
FEW, CONNECTED, STEPS, HOPS, PREY, ANY_PREY, DANGER, MORE_DANGER, TEMPO = range(64, 73)
RACE, RACE_OTHER = 73, 81
NUM_WEIGHTS = 89


class Standard(NamedTuple):
    """The default evaluation: material, race, pieces in danger, mobility and structure.

    It is a weighted sum (`weights`, int64[NUM_WEIGHTS]) of features. Those of both sides, by their
    difference: a piece on each cell, few pieces, connected pieces, possible steps, possible hops.
    Those of the player to move: the tempo; enemy pieces that it can hop over at once, minus own
    pieces that can be hopped over; and the distance of the foremost piece from an empty target.
    """

    weights: NDArray[np.int64]


@jit
def evaluate_standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """Return the evaluation of a position for `player`, in hundredths of a piece."""
    weights, size = evaluation.weights, position.size
    own, enemy = position.own, rotate(position.enemy, size)
    own_empty = BOARD[size] & ~(own | position.enemy)
    enemy_empty = rotate(own_empty, size)
    value: Int = _side(own, own_empty, weights) - _side(enemy, enemy_empty, weights)
    value += weights[TEMPO]
    occupied = position.own | position.enemy
    hops = count_hops(position.own, occupied, own_empty)
    value += (hops - count_hops(position.enemy, occupied, own_empty)) * weights[HOPS]
    prey = popcount(between(own, own_empty, position.enemy))
    danger = popcount(between(position.enemy, own_empty, own))
    value += prey * weights[PREY] - danger * weights[DANGER]
    if prey:
        value += weights[ANY_PREY]
    if danger > 1:
        value -= weights[MORE_DANGER]
    target = ONE << (size - ONE) * _9
    if own_empty & target:
        value += weights[RACE + _distance(own, size)]
    if own_empty & ONE:
        value -= weights[RACE_OTHER + _distance(enemy, size)]
    return value if player == np.int64(position.player) else -value


@jit
def _side(own: Word, empty: Word, weights: NDArray[np.int64]) -> Int:
    """Return the value of one side's pieces without interaction, in its own frame."""
    value: Int = np.int64(0)
    if popcount(own) <= 2:
        value += weights[FEW]
    east, west = (own & NOT_LAST) << _1, (own & NOT_FIRST) >> _1
    row = own | east | west
    value += popcount(own & (east | west | row << _8 | row >> _8)) * weights[CONNECTED]
    steps = popcount(east & empty) + popcount(own << _8 & empty) + popcount(east << _8 & empty)
    value += steps * weights[STEPS]
    return value + table_sum(own, weights)


@jit
def _distance(own: Word, size: Word) -> int:
    """Return the number of steps from the foremost piece to its target."""
    distance = 1
    while distance < np.int64(size) - 1 and not own & RINGS[size, distance]:
        distance += 1
    return distance


class Published(NamedTuple):
    """The published evaluation of the "smart" player, in its own units.

    For each own piece `(size - dr)**2 + (size - dc)**2 + 10`, where `dr` and `dc` are the rows and
    columns to its target; minus the same for the opponent, with `size - 1` for `size`. The
    published values of finished games (win 1000, loss -9999999, draw 100) are omitted.
    """

    piece: np.int64 = np.int64(10)


# SQUARES[i, size, cell]: the published value of a piece on a cell; i is 1 for the opponent's.
SQUARES = np.zeros((2, 9, 64), np.int64)
for _size in SIZES:
    for _row, _column in all_cells(_size):
        SQUARES[:, _size, 8 * _row + _column] = (
            (_row + 1) ** 2 + (_column + 1) ** 2,
            _row**2 + _column**2,
        )


@jit
def evaluate_published(position: Position, player: Int, evaluation: Published) -> Int:
    """Return the published evaluation of a position for `player`, in its own units."""
    size = position.size
    own, enemy = position.own, rotate(position.enemy, size)
    if player != np.int64(position.player):
        own, enemy = enemy, own
    value = evaluation.piece * (popcount(own) - popcount(enemy))
    return value + table_sum(own, SQUARES[0, size]) - table_sum(enemy, SQUARES[1, size])


rules.register_evaluation(Position, Standard, evaluate_standard)
rules.register_evaluation(Position, Published, evaluate_published)

STANDARD = {size: Standard(np.array(WEIGHTS[size], np.int64)) for size in SIZES}
