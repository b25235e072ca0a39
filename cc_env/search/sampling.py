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

# The score of a certain win, for the probabilities: about 20 pieces.
MAX_SCORE = 2000


def check_temperature(temperature: float) -> None:
    """Raise BadOption unless this is a valid temperature, 0 or more."""
    if not is_number(temperature, 0):
        raise BadOption(f"temperature={temperature!r}; expected: 0 or more")


@jit(nogil=True)
def sample(scores: NDArray[np.int64], temperature: float, state: np.uint64) -> Int:
    """Return the index of an action drawn by the scores, int64[L], with the random number `state`.

    `temperature` is positive and in units of scores. A certain win counts as MAX_SCORE, so that
    high temperatures overlook it; if one is drawn, the action with the highest score is taken.
    """
    best = 0
    for index in range(len(scores)):
        if scores[index] > scores[best]:
            best = index
    highest = _clip(scores[best])
    total = 0.0
    for score in scores:
        total += exp((_clip(score) - highest) / temperature)
    threshold = total * random_streams.fraction(state)
    for index in range(len(scores)):
        threshold -= exp((_clip(scores[index]) - highest) / temperature)
        if threshold < 0.0:
            return np.int64(best if scores[index] >= PROVEN else index)
    # Rounding errors.
    return np.int64(best)


@jit
def _clip(score: Int) -> Int:
    return min(max(score, -MAX_SCORE), MAX_SCORE)
