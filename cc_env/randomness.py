"""The generator that compiled code draws from: SplitMix64, one word of state for each game played.

Counter-based and branch-free, so thousands of boards carry one each; seeded from
`np.random.SeedSequence`, which keeps them apart.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.bits import scramble
from cc_env.compile import jit
from cc_env.errors import UnknownOption, is_whole
from cc_env.rules import Int

MOST_SEED = 2**128 - 1
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def streams(seed: int | None, count: int) -> NDArray[np.uint64]:
    """Return initial states, uint64[count], of which the first ones do not depend on `count`.

    Raises UnknownOption as `check_seed`.
    """
    check_seed(seed)
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)


def check_seed(seed: object) -> None:
    """Raise UnknownOption where this is no seed, nor None."""
    if seed is not None and not is_whole(seed, 0, MOST_SEED):
        raise UnknownOption(f"seed={seed!r}; it is a whole number from 0, or None")


@jit
def advance(state: np.uint64) -> np.uint64:
    """Return the state after one draw."""
    return state + _GAMMA


@jit
def below(state: np.uint64, bound: Int) -> Int:
    """Return the draw of this state, uniform on 0..bound-1 to one part in 2**32 / bound."""
    return np.int64(((scramble(state) >> _HALF) * np.uint64(bound)) >> _HALF)
