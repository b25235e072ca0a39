"""The random generator of compiled code: SplitMix64, with one word of state for each game played.

It is counter-based and branch-free, so each of thousands of boards can have its own. The states
come from `np.random.SeedSequence`, which makes the streams independent.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import scramble
from cc_env.core.rules import Int
from cc_env.errors import BadOption, is_integer
from cc_env.jit.compiler import jit

MOST_SEED = 2**128 - 1
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def streams(seed: int | None, count: int) -> NDArray[np.uint64]:
    """Return initial states, uint64[count]; a greater `count` appends states to the same ones.

    Raises BadOption as `check_seed`.
    """
    check_seed(seed)
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)


def check_seed(seed: object) -> None:
    """Raise BadOption unless this is a whole number from 0 to MOST_SEED, or None."""
    if seed is not None and not is_integer(seed, 0, MOST_SEED):
        raise BadOption(f"seed={seed!r}; it is a whole number from 0, or None")


@jit
def advance(state: np.uint64) -> np.uint64:
    """Return the next state."""
    return state + _GAMMA


@jit
def below(state: np.uint64, bound: Int) -> Int:
    """Return the number drawn in this state, 0..bound-1; the relative bias is < bound / 2**32."""
    return np.int64(((scramble(state) >> _HALF) * np.uint64(bound)) >> _HALF)
