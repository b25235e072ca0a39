"""SIMD vectors in compiled code."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from cc_env.jit import simd
from cc_env.jit.compiler import jit
from cc_env.jit.simd import (
    ACCUMULATORS,
    FLOAT_LANES,
    add_byte_products,
    add_product,
    fma,
    load,
    maximum,
    pack_bytes,
    relu,
    splat,
    store,
    to_floats,
    zero_accumulators,
)

# More than one register.
LANES = 2 * FLOAT_LANES


@jit
def calculate(first, second, out):
    """Write each operation's result to a row of `out`."""
    width = first.shape[1]
    for index in range(0, width, LANES):
        a = load(first, index, LANES)
        b = load(second, index, LANES)
        store(out, index, a + b)
        store(out, width + index, a - b)
        store(out, 2 * width + index, fma(first[0, 1], a, b))
        store(out, 3 * width + index, fma(a, b, splat(first[0, 0], LANES)))
        store(out, 4 * width + index, maximum(a, b))
        store(out, 5 * width + index, relu(a))
        store(out, 6 * width + index, a * b)


@pytest.fixture
def operands():
    rng = np.random.default_rng(0)
    return rng.standard_normal((2, 1, 2 * LANES)).astype(np.float32)


def test_vector_operations_equal_numpy(operands):
    a, b = operands
    out = np.zeros((7, 2 * LANES), np.float32)
    calculate(a, b, out)
    expected = [a + b, a - b, a[0, 1] * a + b, a * b + a[0, 0], np.maximum(a, b), np.maximum(a, 0)]
    expected += [a * b]
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_fused", [True, False])
def test_product_and_sum_are_rounded_once(is_fused, monkeypatch):
    if not is_fused:
        # As for a processor without the instruction.
        monkeypatch.setattr(simd, "_HAS_FMA", False)

    @numba.njit
    def multiply_and_add(factors, vectors, totals, out):
        for index in range(0, len(out), FLOAT_LANES):
            vector, total = load(vectors, index, FLOAT_LANES), load(totals, index, FLOAT_LANES)
            store(out, index, fma(load(factors, index, FLOAT_LANES), vector, total))

    # Sums whose parts overlap, also just so, and sums that cancel.
    rng = np.random.default_rng(0)
    factors, vectors = rng.standard_normal((2, 2**13)).astype(np.float32)
    products = factors.astype(np.float64) * vectors
    scales = 2.0 ** rng.integers(-40, 40, 2**13)
    totals = (rng.choice((-1, 1), 2**13) * products * scales).astype(np.float32)
    # Exact sums so close to the middle of two float32 that float64 rounds them to it.
    factors[:4], vectors[:4] = 2.0**-24 * (1 + 2.0**-23), 1 - 2.0**-23
    factors[2:4] *= -1
    totals[:4] = 1 + 2.0**-23
    totals[1:4:2] *= -1
    out = np.empty_like(totals)
    multiply_and_add(factors, vectors, totals, out)
    exact = [
        Fraction(float(factor)) * Fraction(float(vector)) + Fraction(float(total))
        for factor, vector, total in zip(factors, vectors, totals, strict=True)
    ]
    for number, expected in zip(out.tolist(), exact, strict=True):
        error = abs(Fraction(number) - expected)
        for side in (-np.inf, np.inf):
            neighbor = float(np.nextafter(np.float32(number), np.float32(side)))
            assert error <= abs(Fraction(neighbor) - expected)


def test_nan_stays_in_its_lane(operands):
    a, b = operands
    out, expected = np.zeros((2, 7, 2 * LANES), np.float32)
    calculate(a, b, expected)
    a[0, 5] = np.nan
    calculate(a, b, out)
    assert np.isnan(out[[0, 1, 2, 3, 5, 6], 5]).all()
    other_lanes = np.arange(2 * LANES) != 5
    assert np.array_equal(out[:, other_lanes], expected[:, other_lanes])


def test_integer_vectors_add_and_subtract():
    @jit
    def add_and_subtract(first, second, out):
        a, b = load(first, 0, 64), load(second, 0, 64)
        store(out, 0, a + b)
        store(out, 64, a - b)

    a, b = np.arange(64, dtype=np.int16), np.arange(64, dtype=np.int16)[::-1].copy()
    out = np.zeros((2, 64), np.int16)
    add_and_subtract(a, b, out)
    assert np.array_equal(out, [a + b, a - b])


@pytest.mark.parametrize("active", [0, 1, 2, 63, 128])
def test_product_of_a_vector_with_zeros_is_exact(active):
    @jit
    def multiply(vector, weights, sums, out):
        product = add_product(load(vector, 0, 128), weights, load(sums, 0, 32))
        store(out, 0, product)

    rng = np.random.default_rng(active)
    vector, out = np.zeros(128, np.int16), np.zeros(32, np.int32)
    vector[rng.choice(128, active, replace=False)] = rng.integers(-1023, 1024, active)
    pairs = rng.integers(-(2**14), 2**14, (64, 32, 2)).astype(np.int16)
    sums = rng.integers(-(2**20), 2**20, 32).astype(np.int32)
    multiply(vector, pairs.ravel(), sums, out)
    matrix = pairs.transpose(0, 2, 1).reshape(128, 32)
    assert np.array_equal(out, sums + np.int64(vector) @ matrix)


def test_products_of_bytes_are_exact():
    @jit
    def multiply(numbers, weights, out):
        sums = zero_accumulators()
        for row in range(len(numbers)):
            vector = load(numbers, row * FLOAT_LANES, FLOAT_LANES)
            sums = add_byte_products(vector, weights, row * ACCUMULATORS, sums)
        for number in range(ACCUMULATORS):
            store(out, number * FLOAT_LANES, to_floats(sums[number]))

    rng = np.random.default_rng(0)
    for count in (1, 100):
        numbers = rng.integers(0, 128, (count, FLOAT_LANES, 4)).astype(np.int8)
        weights = rng.integers(-127, 128, (count, ACCUMULATORS, 4)).astype(np.int8)
        # The largest products.
        numbers[0, :2], weights[0, 0], weights[0, 1] = 127, 127, -127
        out = np.zeros((ACCUMULATORS, FLOAT_LANES), np.float32)
        multiply(numbers.view(np.int32)[..., 0], weights.view(np.int32)[..., 0], out)
        assert np.array_equal(out, np.einsum("clb,csb->sl", *map(np.int64, (numbers, weights))))


def test_floats_are_rounded_to_bytes():
    @jit
    def convert(floats, out):
        first, second = load(floats, 0, 16), load(floats, 16, 16)
        third, fourth = load(floats, 32, 16), load(floats, 48, 16)
        store(out, 0, pack_bytes(first, second, third, fourth))

    floats = np.random.default_rng(0).uniform(0, 127, (4, FLOAT_LANES)).astype(np.float32)
    floats[:, 0] = 0, 0.49, 126.51, 127
    out = np.zeros(FLOAT_LANES, np.int32)
    convert(floats, out)
    assert np.array_equal(out.view(np.uint8).reshape(FLOAT_LANES, 4), np.floor(floats + 0.5).T)


@pytest.mark.parametrize("array", [np.zeros(64), np.zeros((64, 2), np.float32)[:, 0]])
def test_other_dtypes_and_strided_arrays_are_rejected(array):
    @jit
    def double(numbers):
        vector = load(numbers, 0, FLOAT_LANES)
        store(numbers, 0, vector + vector)

    with pytest.raises(TypingError):
        double(array)
