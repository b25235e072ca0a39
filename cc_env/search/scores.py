"""Scores: what positions are worth, about hundredths of a piece, and what result that promises.

Evaluations with units of their own, such as C&C's `published`, promise it less well.
"""

import math

import numpy as np

from cc_env import rules
from cc_env.compile import jit
from cc_env.rules import DRAW, Int, Position

WIN = 1_000_000  # less one for every decision that it takes
MARGIN = 1_000  # more for each by which the win is greater than the least
INFINITE = 2_000_000
PROVEN = WIN - 10_000  # scores from here on are won games
SCALE = 200.0  # a lead of so much wins at odds of e squared


@jit
def final(position: Position, result: Int, player: Int, ply: Int) -> Int:
    """Return the score of a finished game to `player`.

    Of wins greater ones are better, then sooner ones; of losses smaller ones, then later ones.
    """
    if result == DRAW:
        return np.int64(0)
    score = WIN + MARGIN * (rules.margin(position) - 1) - ply
    return np.int64(score if result == player else -score)


@jit
def repeated(position: Position, player: Int) -> Int:
    """Return the score to `player` of a position that occurred before.

    A draw, or what the rules then make of it, see `rules.repetition_outcome`: just below PROVEN, as
    the repetition is not forced yet.
    """
    result = rules.repetition_outcome(position)
    if result == DRAW:
        return np.int64(0)
    score = PROVEN - MARGIN + rules.margin(position)
    return np.int64(score if result == player else -score)


def margin(score: int) -> int | None:
    """Return by how much a score says that the game is won, below 0 lost; None if it says not."""
    if abs(score) < PROVEN:
        return None
    by = 1 - (WIN - abs(score)) // MARGIN
    return by if score > 0 else -by


@jit
def expected(score: Int) -> float:
    """Return the result that a score promises, -1 to 1."""
    if score >= PROVEN:
        return 1.0
    if score <= -PROVEN:
        return -1.0
    return math.tanh(score / SCALE)
