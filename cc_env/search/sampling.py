"""Random choice of an action by scores, with a temperature.

The probability of an action is proportional to exp(score / temperature), as in a Boltzmann
distribution: the smaller a mistake, the more probable it is.

Shapes: L legal actions.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams
from cc_env.core.rules import Int
from cc_env.errors import BadOption, is_number
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import exp
from cc_env.search.scores import PROVEN

# Advantage of a certain win over all other actions: about 20 pieces.
WIN_ADVANTAGE = 2000


def check_temperature(temperature: float) -> None:
    """Raise BadOption unless this is a valid temperature, 0 or more."""
    if not is_number(temperature, 0):
        raise BadOption(f"temperature={temperature!r}; expected: 0 or more")


@jit(nogil=True)
def sample(scores: NDArray[np.int64], temperature: float, state: np.uint64) -> Int:
    """Return the index of an action drawn by the scores, int64[L], with the random number `state`.

    `temperature` is positive and in units of scores. A certain win counts as WIN_ADVANTAGE more
    than the best other action, so that only high temperatures overlook it; if one is drawn, the
    action with the highest score is taken. A certain loss counts as WIN_ADVANTAGE less than the
    worst other action.
    """
    best = 0
    low: Int = np.int64(0)
    high: Int = np.int64(0)
    for index in range(len(scores)):
        if scores[index] > scores[best]:
            best = index
        if abs(scores[index]) < PROVEN:
            low, high = min(low, scores[index]), max(high, scores[index])
    low, high = low - WIN_ADVANTAGE, high + WIN_ADVANTAGE
    highest = min(scores[best], high)
    total = 0.0
    for score in scores:
        total += exp((_clip(score, low, high) - highest) / temperature)
    threshold = total * random_streams.fraction(state)
    for index in range(len(scores)):
        threshold -= exp((_clip(scores[index], low, high) - highest) / temperature)
        if threshold < 0.0:
            return np.int64(best if scores[index] >= PROVEN else index)
    # Rounding errors.
    return np.int64(best)


@jit
def _clip(score: Int, low: Int, high: Int) -> Int:
    return min(max(score, low), high)
