"""Lanes: numbers side by side."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from agents.simd import NARROW, WIDE, fma, larger, load, rectified, splat, store
from cc_env.jit.compiler import jit


@jit
def calculate(first, second, out):
    """Write each operation's result to a row of `out`."""
    width = first.shape[1]
    for place in range(0, width, WIDE):
        a, b = load(first, place, WIDE), load(second, place, WIDE)
        store(out, place, a + b)
        store(out, width + place, a - b)
        store(out, 2 * width + place, fma(first[0, 1], a, b))
        store(out, 3 * width + place, fma(a, b, splat(first[0, 0], WIDE)))
        store(out, 4 * width + place, larger(a, b))
        store(out, 5 * width + place, rectified(a))


@pytest.fixture
def both():
    return np.random.default_rng(0).standard_normal((2, 1, 2 * WIDE)).astype(np.float32)


def test_all_lanes_are_calculated_as_numbers_are(both):
    a, b = both
    out = np.zeros((6, 2 * WIDE), np.float32)
    calculate(a, b, out)
    wanted = [a + b, a - b, a[0, 1] * a + b, a * b + a[0, 0], np.maximum(a, b), np.maximum(a, 0)]
    np.testing.assert_allclose(out, np.concatenate(wanted), rtol=1e-5, atol=1e-6)


def test_what_is_not_a_number_stays_so_and_in_its_lane(both):
    a, b = both
    out, wanted = np.zeros((6, 2 * WIDE), np.float32), np.zeros((6, 2 * WIDE), np.float32)
    calculate(a, b, wanted)
    a[0, 5] = np.nan
    calculate(a, b, out)
    assert np.isnan(out[[0, 1, 2, 3, 5], 5]).all()
    others = np.arange(2 * WIDE) != 5
    assert np.array_equal(out[:, others], wanted[:, others])


@pytest.mark.parametrize("array", [np.zeros(64), np.zeros((64, 2), np.float32)[:, 0]])
def test_arrays_of_other_numbers_or_with_gaps_are_refused(array):
    @jit
    def double(numbers):
        lanes = load(numbers, 0, NARROW)
        store(numbers, 0, lanes + lanes)

    with pytest.raises(TypingError):
        double(array)
