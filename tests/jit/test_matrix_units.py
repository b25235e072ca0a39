"""Products of matrices are compared with NumPy."""

import ctypes
import sys

import numpy as np
import pytest

from cc_env.jit import matrix_units
from cc_env.jit.compiler import jit
from cc_env.jit.matrix_units import (
    ACCUMULATOR_TILES,
    TILE_BYTES,
    TILE_ROWS,
    add_tile_products,
    configure_tiles,
    release_tiles,
    request_matrix_units,
    store_tiles,
    zero_tiles,
)

FEATURES = {"+amx-tile", "+amx-int8", "+avx512f"}
TILE_WORDS = TILE_ROWS * TILE_BYTES // 4


@jit
def sum_tile_products(weights, features, sums):
    """Write the sums of products of all tiles of features; the last tile has two of weights."""
    configure_tiles()
    # These are not in the result.
    add_tile_products(weights, 0, features, 0, ACCUMULATOR_TILES)
    zero_tiles()
    for tile in range(len(features) - 1):
        begin = tile * ACCUMULATOR_TILES * TILE_WORDS
        add_tile_products(weights, begin, features, tile * TILE_WORDS, ACCUMULATOR_TILES)
    last = len(features) - 1
    begin = last * ACCUMULATOR_TILES * TILE_WORDS
    add_tile_products(weights, begin, features, last * TILE_WORDS, 2)
    store_tiles(sums)
    release_tiles()


@pytest.mark.skipif(not request_matrix_units(), reason="the processor lacks matrix units")
def test_sums_of_products_match_numpy():
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (3, ACCUMULATOR_TILES, TILE_ROWS, TILE_BYTES), np.int8)
    features = rng.integers(0, 256, (3, TILE_ROWS, 16, 4), np.uint8)
    sums = np.empty((ACCUMULATOR_TILES, TILE_ROWS, 16), np.int32)
    sum_tile_products(weights.view(np.int32), features.view(np.int32)[..., 0], sums)
    groups = weights.astype(np.int64).reshape(3, ACCUMULATOR_TILES, TILE_ROWS, TILE_ROWS, 4)
    groups[-1, 2:] = 0
    assert np.array_equal(sums, np.einsum("tarkb,tkcb->arc", groups, features.astype(np.int64)))


@pytest.fixture
def with_amx(monkeypatch):
    """Pretend that Linux runs on a processor with AMX."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(matrix_units, "FEATURES", FEATURES)
    request_matrix_units.cache_clear()
    yield
    request_matrix_units.cache_clear()


def permit(monkeypatch, error):
    """Replace the C library by one whose system call for the permission returns `error`."""

    class Library:
        def __init__(self, name):
            pass

        def syscall(self, number, request, component):
            arguments = number.value, request.value, component.value
            assert arguments == (158, 0x1023, 18)
            return error

    monkeypatch.setattr(ctypes, "CDLL", Library)


@pytest.mark.parametrize(("error", "expected"), [(0, True), (-1, False)])
def test_matrix_units_need_the_permission_of_linux(monkeypatch, with_amx, error, expected):
    permit(monkeypatch, error)
    assert request_matrix_units() is expected


@pytest.mark.parametrize("missing", sorted(FEATURES))
def test_matrix_units_need_features_of_the_processor(monkeypatch, with_amx, missing):
    permit(monkeypatch, 0)
    monkeypatch.setattr(matrix_units, "FEATURES", FEATURES - {missing})
    assert not request_matrix_units()


def test_matrix_units_need_linux(monkeypatch, with_amx):
    permit(monkeypatch, 0)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not request_matrix_units()
