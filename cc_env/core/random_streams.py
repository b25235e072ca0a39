"""The random number generator of compiled code: SplitMix64, with one word of state per stream.

It is counter-based and branch-free, so each of thousands of boards can have a stream. Initial
states come from `np.random.SeedSequence`, which makes the streams independent.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import mix
from cc_env.core.rules import Int
from cc_env.errors import BadOption, is_integer
from cc_env.jit.compiler import jit

States = TypeVar("States", np.uint64, NDArray[np.uint64])

MAX_SEED = 2**128 - 1
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_EXPONENT_BITS, _ULP = np.uint64(11), 2.0**-53


def streams(seed: int | None, count: int) -> NDArray[np.uint64]:
    """Return the initial states of `count` streams, uint64[count]; raise BadOption for a bad seed.

    The first states do not depend on `count`.
    """
    check_seed(seed)
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)


def check_seed(seed: object) -> None:
    """Raise BadOption unless `seed` is None or an integer from 0 to MAX_SEED."""
    if seed is not None and not is_integer(seed, 0, MAX_SEED):
        raise BadOption(f"seed={seed!r}; expected: an integer, 0 to 2**128 - 1, or None")


@jit
def advance(state: States) -> States:
    """Return the next state, or the next states of an array."""
    return state + _GAMMA


@jit
def below(state: np.uint64, bound: Int) -> Int:
    """Return the random number of a state, 0..bound-1; the relative bias is < bound / 2**32."""
    return np.int64(((mix(state) >> _HALF) * np.uint64(bound)) >> _HALF)


@jit
def fraction(state: np.uint64) -> float:
    """Return the random number of a state, 0 <= x < 1."""
    return np.float64(mix(state) >> _EXPONENT_BITS) * _ULP
