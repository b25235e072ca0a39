"""Scores: values of positions in about hundredths of a piece, and the results they predict.

Evaluations in other units, such as C&C's `published`, predict results less well.
"""

import numpy as np

from cc_env.core import rules
from cc_env.core.rules import DRAW, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import tanh
from cc_env.tablebase.values import DRAW_VALUE, LOST, margin_of, turns_of

# Score of a win, minus the number of decisions to it.
WIN = 1_000_000
# Score of every point of margin above the smallest win.
MARGIN = 1_000
# Greater than every score.
INFINITE = 2_000_000
# Least score of a proven win.
PROVEN = WIN - 10_000
# Score at which the odds of winning are e**2 : 1.
SCALE = 200.0


@jit
def terminal_score(position: Position, result: Int, player: Int, ply: Int) -> Int:
    """Return the score of a finished game to `player`.

    A win with a greater margin scores higher, then an earlier one; a loss with a smaller margin
    scores higher, then a later one.
    """
    if result == DRAW:
        return np.int64(0)
    score = WIN + MARGIN * (rules.margin(position) - 1) - ply
    return np.int64(score if result == player else -score)


@jit
def exact_score(value: Int, ply: Int) -> Int:
    """Return the score to the player to move of a position with an exact value of a table.

    It is that of the end of the game; every remaining turn counts as one decision.
    """
    if value == DRAW_VALUE:
        return np.int64(0)
    score = WIN + MARGIN * (margin_of(value) - 1) - ply - turns_of(value)
    return np.int64(-score if value & LOST else score)


@jit
def repetition_score(position: Position, player: Int) -> Int:
    """Return the score to `player` of a position that occurred before on the path.

    0 for a draw. If a rule of the game gives a repetition a winner, the score is just below PROVEN:
    the repetition is not forced yet.
    """
    result = rules.repetition_outcome(position)
    if result == DRAW:
        return np.int64(0)
    score = PROVEN - MARGIN + rules.margin(position)
    return np.int64(score if result == player else -score)


def proven_margin(score: int) -> int | None:
    """Return the margin of a proven win (negative: loss); None if the score proves nothing."""
    if abs(score) < PROVEN:
        return None
    # A proven score is WIN + MARGIN * (margin - 1), minus decisions that are rounded away here.
    margin = 1 - (WIN - abs(score)) // MARGIN
    return margin if score > 0 else -margin


@jit
def expected_result(score: Int) -> float:
    """Return the expected result for a score, -1 to 1."""
    if score >= PROVEN:
        return 1.0
    if score <= -PROVEN:
        return -1.0
    return tanh(score / SCALE)
