"""Scores: what positions are worth, about hundredths of a piece, and what result that promises.

Evaluations with units of their own, such as C&C's `published`, promise it less well.
"""

import math

import numpy as np

from cc_env.compile import jit
from cc_env.rules import DRAW, Int

WIN = 1_000_000  # less one for every decision that it takes
INFINITE = 2_000_000
PROVEN = WIN - 10_000  # scores from here on are won games
SCALE = 200.0  # a lead of so much wins at odds of e squared


@jit
def final(result: Int, player: Int, ply: Int) -> Int:
    """Return the score of a finished game to `player`: sooner wins and later losses are better."""
    if result == DRAW:
        return np.int64(0)
    return np.int64(WIN - ply if result == player else ply - WIN)


@jit
def expected(score: Int) -> float:
    """Return the result that a score promises, -1 to 1."""
    if score >= PROVEN:
        return 1.0
    if score <= -PROVEN:
        return -1.0
    return math.tanh(score / SCALE)
