"""The evaluations of checkers positions: the default one and the published one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_index, popcount, reverse_bits, table_sum
from cc_env.core.rules import Int
from cc_env.games.checkers.fitted import WEIGHTS
from cc_env.games.checkers.rules import CELLS, Position, stepping
from cc_env.games.jumps import Word
from cc_env.jit.compiler import jit

# Indices of the weights of `Standard`: a man on each cell, a king on each cell, the features below,
# and the lead in pieces by stage, the number of pieces on the board divided by 4.
MEN, KINGS = 0, 64
TEMPO, STEPS = 128, 129
LEAD = 130
STAGES = 7
NEARNESS = LEAD + STAGES
NUM_WEIGHTS = NEARNESS + 1
# The weaker side is chased if it has at most this many pieces.
FEW = 2
# More than the greatest distance of two cells.
MAX_NEARNESS = 8


class Standard(NamedTuple):
    """The default evaluation: men and kings by cell, possible steps, the tempo, the lead.

    It is a weighted sum (`weights`, int64[NUM_WEIGHTS]) of the differences between both sides'
    features. The value of a lead depends on the number of pieces. A weaker side with few pieces is
    penalized for the nearness of enemy kings.
    """

    weights: NDArray[np.int64]


@jit
def evaluate_standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """Return the evaluation of a position for `player`, in hundredths of a piece."""
    weights = evaluation.weights
    own, enemy, kings = position.own, position.enemy, position.kings
    value: Int = _side(own & ~kings, own & kings, weights)
    value -= _side(reverse_bits(enemy & ~kings), reverse_bits(enemy & kings), weights)
    value += weights[TEMPO]
    turned = Position(
        reverse_bits(enemy), reverse_bits(own), reverse_bits(kings), ZERO, ZERO, ZERO, ZERO
    )
    value += (_steps(position) - _steps(turned)) * weights[STEPS]
    own_count, enemy_count = popcount(own), popcount(enemy)
    value += (own_count - enemy_count) * weights[LEAD + (own_count + enemy_count) // 4]
    if enemy_count < own_count and enemy_count <= FEW:
        value += _nearness(own & kings, enemy) * weights[NEARNESS]
    elif own_count < enemy_count and own_count <= FEW:
        value -= _nearness(enemy & kings, own) * weights[NEARNESS]
    return value if player == np.int64(position.player) else -value


@jit
def _side(men: Word, kings: Word, weights: NDArray[np.int64]) -> Int:
    """Return the value of one side's pieces by their cells, in its own frame."""
    return table_sum(men, weights[MEN:]) + table_sum(kings, weights[KINGS:])


@jit
def _steps(position: Position) -> Int:
    movers = stepping(position)
    up = popcount(movers.up_left) + popcount(movers.up_right)
    return up + popcount(movers.down_left) + popcount(movers.down_right)


@jit
def _nearness(kings: Word, pieces: Word) -> Int:
    """Return the sum, over the kings, of MAX_NEARNESS minus the distance to the nearest piece."""
    total: Int = np.int64(0)
    while kings:
        cell = np.int64(lowest_index(kings))
        kings &= kings - ONE
        distance: Int = np.int64(MAX_NEARNESS)
        remaining = pieces
        while remaining:
            other = np.int64(lowest_index(remaining))
            remaining &= remaining - ONE
            rows, columns = abs((cell >> 3) - (other >> 3)), abs((cell & 7) - (other & 7))
            distance = min(distance, max(rows, columns))
        total += MAX_NEARNESS - distance
    return total


class Published(NamedTuple):
    """The published evaluation, in its own units: a man counts 300, a king 600.

    For black, each black piece adds its distance from the center, 1 to 4, and its row from the top,
    1 to 8. With `both`, red pieces count alike, with rows from the bottom.
    """

    man: np.int64 = np.int64(300)
    both: np.int64 = np.int64(0)


# TILES[cell]: the published value of a black piece on a cell, in the fixed frame of the board.
TILES = np.zeros(64, np.int64)
for _row, _column in CELLS:
    _off_centre = int(max(abs(3.5 - _row), abs(3.5 - _column)) + 0.5)
    TILES[8 * _row + _column] = _off_centre + _row + 1


@jit
def evaluate_published(position: Position, player: Int, evaluation: Published) -> Int:
    """Return the published evaluation of a position for `player`, in its own units."""
    own, enemy = position.own, position.enemy
    value = popcount(own) + popcount(own & position.kings)
    value -= popcount(enemy) + popcount(enemy & position.kings)
    value *= evaluation.man
    if position.player or evaluation.both:
        value += table_sum(reverse_bits(own), TILES)
    if not position.player or evaluation.both:
        value -= table_sum(enemy, TILES)
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Standard, evaluate_standard)
rules.register_evaluation(Position, Published, evaluate_published)

STANDARD = Standard(np.array(WEIGHTS, np.int64))
SYMMETRIC = Published(both=np.int64(1))
