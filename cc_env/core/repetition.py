"""The count of a position's occurrences in a game, compiled.

Shapes: K keys of a game's positions.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core.rules import Bool, Int
from cc_env.jit.compiler import jit


@jit
def count_occurrences(keys: NDArray[np.uint64], turns: Int, excludes_start: Bool) -> Int:
    """Return how often the position after `turns` turns has occurred, this time included.

    `keys`, uint64[K], are the keys of the positions after 0, 1, 2, ... turns; after K turns, the
    newest replace the oldest. With `excludes_start` the start of the game is not counted, as by the
    rules of games that end by repetition (`Game.repetition_limit`).
    """
    newest = keys[turns % len(keys)]
    count: Int = np.int64(0)
    for index in range(turns + 1 if turns < len(keys) else len(keys)):
        if keys[index] == newest:
            count += 1
    if excludes_start and turns < len(keys) and keys[0] == newest:
        count -= 1
    return count
