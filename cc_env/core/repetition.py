"""Repetition counts for compiled code.

Shapes: N positions.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core.rules import Int
from cc_env.jit.compiler import jit


@jit
def count_key(keys: NDArray[np.uint64], key: np.uint64) -> Int:
    """Return the number of occurrences of a position's key in `keys` (uint64[N])."""
    count: Int = np.int64(0)
    for other in keys:
        if other == key:
            count += 1
    return count
