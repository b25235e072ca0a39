"""The evaluation of morris positions, fitted to self-play and validated by matches."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, lowest_index, popcount
from cc_env.core.rules import Int
from cc_env.games.morris.rules import ALL, ALL_MILLS, NEIGHBORS, Position, Word
from cc_env.jit.compiler import jit

# Indices of the weights of `Standard`: for the placing phase, then again for the moving phase.
BEAD, MILL, TWO, STEP, BLOCKED, FREE, DUE, TO_MOVE, CROSSING = range(9)
NUM_FEATURES = 9


class Standard(NamedTuple):
    """The default evaluation: beads, mills, lines that lack one bead, mobility and free moves.

    It is a weighted sum of the differences between both sides' features. `weights` (int64[2 *
    NUM_FEATURES]) has one half for positions with beads in hand and one for all others.
    """

    weights: NDArray[np.int64]


@jit
def evaluate_standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """Return the evaluation of a position for `player`, in hundredths of a piece."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, mover, _ = position
    placing = own_hand or enemy_hand
    weights = evaluation.weights[:NUM_FEATURES] if placing else evaluation.weights[NUM_FEATURES:]
    value: Int = _evaluate_side(own, own_hand, enemy, weights) - _evaluate_side(
        enemy, enemy_hand, own, weights
    )
    value += (np.int64(own_free) - np.int64(enemy_free)) * weights[FREE]
    value += np.int64(pending) * weights[DUE] + weights[TO_MOVE]
    return value if player == np.int64(mover) else -value


@jit
def _evaluate_side(own: Word, hand: np.uint64, enemy: Word, weights: NDArray[np.int64]) -> Int:
    """Return the value of one side's beads."""
    empty = ALL & ~(own | enemy)
    value: Int = (popcount(own) + np.int64(hand)) * weights[BEAD]
    for mill in ALL_MILLS:
        count = popcount(own & mill)
        if count == 3:
            value += weights[MILL]
        elif count == 2 and empty & mill:
            value += weights[TWO]
    beads = own
    while beads:
        neighbors = NEIGHBORS[lowest_index(beads)]
        beads &= beads - ONE
        steps = popcount(neighbors & empty)
        value += steps * weights[STEP]
        if steps == 0:
            value += weights[BLOCKED]
        if popcount(neighbors) == 4:
            value += weights[CROSSING]
    return value


rules.register_evaluation(Position, Standard, evaluate_standard)

# `cc_env tune --game morris` fits such weights and prints its matches. Scores against weights
# chosen by hand, 400 games: depth 3 66.2 % (62.3 – 70.0), depth 5 68.6 % (64.9 – 72.2).
_PLACING = 98, -30, 43, 11, -7, 4, 80, 45, 5
_MOVING = 81, 31, 56, 12, -5, 149, 80, 33, 9
STANDARD = Standard(np.array([*_PLACING, *_MOVING], np.int64))
