"""What Cannon positions are worth: our own evaluation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard128 import (
    EMPTY,
    Bitboard128,
    count,
    difference,
    intersection,
    is_empty,
    lowest_cell,
    union,
    without_lowest,
)
from cc_env.core.rules import Int
from cc_env.games.cannon.rules import (
    STRIDE,
    Ground,
    Position,
    bombed,
    capturing_sideways,
    ground,
    near_enemies,
    rears,
    sides,
    stepping,
    turned,
)
from cc_env.jit.compiler import jit

# Where the weights of `Standard` lie: a soldier on each row from the far one, then these.
ROWS = 10
SOLDIER, HALL, CANNON, AIM, HALL_AIM, THREAT, HALL_THREAT, TO_MOVE = range(10, 18)
NUM_WEIGHTS = 18


class Standard(NamedTuple):
    """Our own evaluation: soldiers and how far they got, halls, cannons, and threats.

    It is the sum of `weights` (int64[NUM_WEIGHTS]), times what they count on the mover's side
    minus what they count on the opponent's.
    """

    weights: NDArray[np.int64]


@jit
def standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """As `rules.evaluate`."""
    weights, pieces, options = evaluation.weights, sides(position), position.options
    at = ground(position)
    value: Int = _side(at, weights, options) - _side(turned_ground(at, position), weights, options)
    value += (count(pieces.halls) - count(pieces.enemy_halls)) * weights[HALL] + weights[TO_MOVE]
    return value if player == np.int64(position.player) else -value


@jit
def turned_ground(at: Ground, position: Position) -> Ground:
    """Return the ground of a position as the opponent's moves depend on it, in their frame."""
    pieces, shape = sides(position), position.shape
    return Ground(
        turned(at.enemies, shape),
        turned(at.empty, shape),
        turned(at.soldiers, shape),
        turned(union(pieces.soldiers, pieces.halls), shape),
        at.board,
    )


@jit
def _side(at: Ground, weights: NDArray[np.int64], options: np.uint64) -> Int:
    """Return what one side's soldiers are worth, in its own frame."""
    value: Int = np.int64(count(at.soldiers) * weights[SOLDIER])
    left = at.soldiers
    while not is_empty(left):
        value += weights[lowest_cell(left) // STRIDE]
        left = without_lowest(left)
    for way in range(4):
        value += count(rears(at, way)) * weights[CANNON]
    halls = difference(at.targets, at.enemies)
    hit = bombed(at, options)
    value += count(intersection(hit, at.enemies)) * weights[AIM]
    value += count(intersection(hit, halls)) * weights[HALL_AIM]
    attackers = near_enemies(at, options)
    value += count(attackers) * weights[THREAT]
    value += count(_attacked(at, halls)) * weights[HALL_THREAT]
    return value


@jit
def _attacked(at: Ground, targets: Bitboard128) -> Bitboard128:
    """Return the soldiers that can step onto one of the targets, or take it sideways."""
    only = Ground(at.soldiers, EMPTY, at.enemies, targets, at.board)
    attackers = EMPTY
    for way in range(3):
        attackers = union(attackers, stepping(only, way))
    for way in range(3, 5):
        attackers = union(attackers, capturing_sideways(only, way))
    return attackers


rules.register_evaluation(Position, Standard, standard)

# By how many rows the board has; `cc_env tune --game cannon -o rows=10 -o columns=10`
# makes such weights and shows its matches. Against those chosen by hand before, depth 3, 200 games:
# 10×10 66.5 % (59.5 – 72.8), 10×8 55.5 % (48.3 – 62.5), 8×10 60.5 % (54.2 – 66.5), 8×8 50.5 %
# (43.4 – 57.6; 400 games 55.0 %, depth 4 52.5 %).
_WEIGHTS = {
    8: (-22, 24, 79, 17, 7, -5, -16, -28, 0, 0, 55, 239, 15, 21, 63, 29, 148, 34),
    10: (-50, 9, 115, 39, 14, 0, -8, -15, -21, -32, 51, 274, 7, 21, 76, 29, 183, 23),
}
STANDARD = {rows: Standard(np.array(weights, np.int64)) for rows, weights in _WEIGHTS.items()}
