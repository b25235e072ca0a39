"""The count of a position's occurrences."""

import numpy as np
import pytest

from cc_env.core.repetition import count_occurrences


@pytest.mark.parametrize(
    ("keys", "turns", "count", "count_without_start"),
    [
        ([5, 0, 0], 0, 1, 0),
        ([5, 6, 5], 2, 2, 1),
        ([5, 6, 6], 2, 2, 2),
        # Keys of later positions are not written yet.
        ([5, 6, 6], 1, 1, 1),
        # The key after turn 3 has replaced that of the start.
        ([6, 7, 6], 3, 2, 2),
    ],
)
def test_occurrences_are_counted_up_to_the_turn(keys, turns, count, count_without_start):
    array = np.array(keys, np.uint64)
    assert count_occurrences(array, turns, False) == count
    assert count_occurrences(array, turns, True) == count_without_start
