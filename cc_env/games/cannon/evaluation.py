"""The evaluation of Cannon positions."""

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
    Board,
    Position,
    bomb_targets,
    cannon_rears,
    make_board,
    rotate,
    side_capture_starts,
    sides,
    soldiers_near_enemies,
    step_starts,
)
from cc_env.jit.compiler import jit

# Indices of the weights of `Standard`: a soldier on each row, from the far row; then these.
ROWS = 10
SOLDIER, HALL, CANNON, AIM, HALL_AIM, THREAT, HALL_THREAT, TO_MOVE = range(10, 18)
NUM_WEIGHTS = 18


class Standard(NamedTuple):
    """The default evaluation: soldiers and their rows, halls, cannons, and threats.

    It is the weighted sum (`weights`, int64[NUM_WEIGHTS]) of the differences between both sides'
    features.
    """

    weights: NDArray[np.int64]


@jit
def evaluate_standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """Return the evaluation of a position for `player`, in hundredths of a piece."""
    weights, pieces, options = evaluation.weights, sides(position), position.options
    board = make_board(position)
    value: Int = _side_value(board, weights, options) - _side_value(
        opponent_board(board, position), weights, options
    )
    value += (count(pieces.halls) - count(pieces.enemy_halls)) * weights[HALL] + weights[TO_MOVE]
    return value if player == np.int64(position.player) else -value


@jit
def opponent_board(board: Board, position: Position) -> Board:
    """Return the board of a position in the frame of the opponent."""
    pieces, shape = sides(position), position.shape
    return Board(
        rotate(board.enemies, shape),
        rotate(board.empty, shape),
        rotate(board.soldiers, shape),
        rotate(union(pieces.soldiers, pieces.halls), shape),
        board.cells,
    )


@jit
def _side_value(board: Board, weights: NDArray[np.int64], options: np.uint64) -> Int:
    """Return the weighted sum of a side's features except its halls, in its own frame."""
    value: Int = np.int64(count(board.soldiers) * weights[SOLDIER])
    remaining = board.soldiers
    while not is_empty(remaining):
        value += weights[lowest_cell(remaining) // STRIDE]
        remaining = without_lowest(remaining)
    for direction in range(4):
        value += count(cannon_rears(board, direction)) * weights[CANNON]
    halls = difference(board.targets, board.enemies)
    hits = bomb_targets(board, options)
    value += count(intersection(hits, board.enemies)) * weights[AIM]
    value += count(intersection(hits, halls)) * weights[HALL_AIM]
    attackers = soldiers_near_enemies(board, options)
    value += count(attackers) * weights[THREAT]
    value += count(_attackers(board, halls)) * weights[HALL_THREAT]
    return value


@jit
def _attackers(board: Board, targets: Bitboard128) -> Bitboard128:
    """Return the soldiers that can capture one of the targets by a step or sideways."""
    only = Board(board.soldiers, EMPTY, board.enemies, targets, board.cells)
    attackers = EMPTY
    for direction in range(3):
        attackers = union(attackers, step_starts(only, direction))
    for direction in range(3, 5):
        attackers = union(attackers, side_capture_starts(only, direction))
    return attackers


rules.register_evaluation(Position, Standard, evaluate_standard)

# By number of rows; `cc_env tune --game cannon -o rows=10 -o columns=10` fits them and prints its
# matches. Scores against weights chosen by hand, depth 3, 200 games:
# 10×10 66.5 % (59.5 – 72.8), 10×8 55.5 % (48.3 – 62.5), 8×10 60.5 % (54.2 – 66.5), 8×8 50.5 %
# (43.4 – 57.6; 400 games 55.0 %, depth 4 52.5 %).
_WEIGHTS = {
    8: (-22, 24, 79, 17, 7, -5, -16, -28, 0, 0, 55, 239, 15, 21, 63, 29, 148, 34),
    10: (-50, 9, 115, 39, 14, 0, -8, -15, -21, -32, 51, 274, 7, 21, 76, 29, 183, 23),
}
STANDARD = {rows: Standard(np.array(weights, np.int64)) for rows, weights in _WEIGHTS.items()}
