"""What checkers positions are worth: our own evaluation, and the published one."""

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

# Where the weights of `Standard` lie: one for a man on each cell, one for a king; then those of the
# features below, and of the lead in pieces, by how many pieces there are.
MEN, KINGS = 0, 64
TEMPO, STEPS = 128, 129
LEAD = 130
STAGES = 7  # 0 to 3 pieces, 4 to 7, ... 24
NEARNESS = LEAD + STAGES
NUM_WEIGHTS = NEARNESS + 1
FEW = 2  # pieces, with which the weaker side is chased
FAR = 8  # rows or columns, more than any two cells are apart


class Standard(NamedTuple):
    """Our own evaluation: men and kings by their cells, possible steps, being to move, the lead.

    It is the sum of `weights` (int64[NUM_WEIGHTS]), times what they count on the mover's side
    minus what they count on the opponent's. The fewer pieces there are the more a lead is worth; a
    side with few pieces, and less than the other, is worse off the nearer its opponent's kings are.
    """

    weights: NDArray[np.int64]


@jit
def standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """As `rules.evaluate`."""
    weights = evaluation.weights
    own, enemy, kings = position.own, position.enemy, position.kings
    value: Int = _side(own & ~kings, own & kings, weights)
    value -= _side(reverse_bits(enemy & ~kings), reverse_bits(enemy & kings), weights)
    value += weights[TEMPO]
    turned = Position(
        reverse_bits(enemy), reverse_bits(own), reverse_bits(kings), ZERO, ZERO, ZERO, ZERO
    )
    value += (_steps(position) - _steps(turned)) * weights[STEPS]
    count, others = popcount(own), popcount(enemy)
    value += (count - others) * weights[LEAD + (count + others) // 4]
    if others < count and others <= FEW:
        value += _nearness(own & kings, enemy) * weights[NEARNESS]
    elif count < others and count <= FEW:
        value -= _nearness(enemy & kings, own) * weights[NEARNESS]
    return value if player == np.int64(position.player) else -value


@jit
def _side(men: Word, kings: Word, weights: NDArray[np.int64]) -> Int:
    """Return what one side's pieces are worth by their cells, in its own frame."""
    return table_sum(men, weights[MEN:]) + table_sum(kings, weights[KINGS:])


@jit
def _steps(position: Position) -> Int:
    ways = stepping(position)
    up = popcount(ways.up_left) + popcount(ways.up_right)
    return up + popcount(ways.down_left) + popcount(ways.down_right)


@jit
def _nearness(kings: Word, pieces: Word) -> Int:
    """Return the sum, over the kings, of FAR less the distance from the nearest of these pieces."""
    total: Int = np.int64(0)
    while kings:
        cell = np.int64(lowest_index(kings))
        kings &= kings - ONE
        distance: Int = np.int64(FAR)
        others = pieces
        while others:
            other = np.int64(lowest_index(others))
            others &= others - ONE
            rows, columns = abs((cell >> 3) - (other >> 3)), abs((cell & 7) - (other & 7))
            distance = min(distance, max(rows, columns))
        total += FAR - distance
    return total


class Published(NamedTuple):
    """The published evaluation, in its own units: a man counts 300, a king 600.

    To black, each black piece adds its distance from the centre, 1 to 4, and its row from the
    top, 1 to 8. With `both` the same goes for red, in whose frame it is the row from below.
    """

    man: np.int64 = np.int64(300)
    both: np.int64 = np.int64(0)


# TILES[cell]: what is published for a black piece there, in the fixed frame of the board.
TILES = np.zeros(64, np.int64)
for _row, _column in CELLS:
    _off_centre = int(max(abs(3.5 - _row), abs(3.5 - _column)) + 0.5)
    TILES[8 * _row + _column] = _off_centre + _row + 1


@jit
def published(position: Position, player: Int, evaluation: Published) -> Int:
    """As `rules.evaluate`."""
    own, enemy = position.own, position.enemy
    value = popcount(own) + popcount(own & position.kings)
    value -= popcount(enemy) + popcount(enemy & position.kings)
    value *= evaluation.man
    if position.player or evaluation.both:
        value += table_sum(reverse_bits(own), TILES)
    if not position.player or evaluation.both:
        value -= table_sum(enemy, TILES)
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Standard, standard)
rules.register_evaluation(Position, Published, published)

STANDARD = Standard(np.array(WEIGHTS, np.int64))
SYMMETRIC = Published(both=np.int64(1))
