"""Counts of repeated positions for compiled code."""

import numpy as np
from numpy.typing import NDArray

from cc_env.core.rules import Int
from cc_env.jit.compiler import jit


@jit
def count_key(keys: NDArray[np.uint64], key: np.uint64) -> Int:
    """Return how often a position with this key occurs in `keys`."""
    count: Int = np.int64(0)
    for other in keys:
        if other == key:
            count += 1
    return count
