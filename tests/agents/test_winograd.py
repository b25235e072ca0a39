"""The steps of Winograd's convolution; test_compiled.py compares whole networks with torch."""

from itertools import product

import numpy as np
import pytest

from agents.winograd import (
    FILTERS,
    MAX_POINTS,
    SIZES,
    TILE_MULTIPLE,
    Line,
    evaluate,
    interpolate,
    points,
    tiling,
)
from cc_env.jit.compiler import jit
from cc_env.jit.simd import FLOAT_LANES

BOARDS = [*product((3, 4, 6, 7, 9), (3, 5, 6, 8, 10)), (1, 7), (2, 2)]


@jit
def to_points(size, numbers, values):
    evaluate(size, Line(numbers, 0, FLOAT_LANES), Line(values, 0, FLOAT_LANES))


@jit
def from_points(size, values, numbers):
    interpolate(size, Line(values, 0, FLOAT_LANES), Line(numbers, 0, FLOAT_LANES))


@pytest.mark.parametrize("size", SIZES)
def test_line_convolution_matches_numpy(size):
    rng = np.random.default_rng(size)
    numbers = rng.integers(-9, 10, (size + 2, FLOAT_LANES)).astype(np.float32)
    weights = rng.integers(-9, 10, 3)
    values, out = np.zeros_like(numbers), np.zeros((size, FLOAT_LANES), np.float32)
    to_points(size, numbers.copy(), values)
    values *= (FILTERS[size] @ weights).astype(np.float32)[:, None]
    from_points(size, values, out)
    expected = [np.correlate(line, weights, "valid") for line in numbers.T]
    np.testing.assert_allclose(out.T, expected, atol=1e-3)


@pytest.mark.parametrize("size", SIZES)
def test_line_can_be_transformed_in_place(size):
    numbers = np.random.default_rng(0).standard_normal((size + 2, FLOAT_LANES)).astype(np.float32)
    values = np.zeros_like(numbers)
    to_points(size, numbers.copy(), values)
    to_points(size, numbers, numbers)
    assert np.array_equal(numbers, values)


@pytest.mark.parametrize("size", SIZES)
def test_filters_are_transformed_by_rows_and_columns(size):
    filters = np.random.default_rng(0).standard_normal((2, 3, 3, 3)).astype(np.float32)
    line = FILTERS[size]
    expected = [[line @ kernel @ line.T for kernel in row] for row in filters]
    values = points(filters, size)
    assert values.shape == ((size + 2) ** 2, 2, 3)
    np.testing.assert_allclose(
        np.moveaxis(values, 0, -1), np.reshape(expected, (2, 3, -1)), atol=1e-6
    )


@pytest.mark.parametrize("reach", [1, 2, 3])
@pytest.mark.parametrize(("rows", "columns"), BOARDS)
def test_every_cell_is_in_a_tile_with_its_neighbors(rows, columns, reach):
    tiles = tiling(rows, columns, reach)
    size, outside = tiles.size, rows * columns + 1
    assert len(tiles.sources) % TILE_MULTIPLE == 0
    assert tiles.sources.shape[1] == (size + 2) ** 2 <= MAX_POINTS
    covered = np.sort(tiles.targets[tiles.targets >= 0])
    assert covered.tolist() == list(range(rows * columns))
    for sources, targets in zip(tiles.sources, tiles.targets, strict=True):
        square = sources.reshape(size + 2, size + 2)
        for (row, column), target in np.ndenumerate(targets.reshape(size, size)):
            if target < 0:
                continue
            cell = divmod(target, columns)
            for down, right in product(range(3), repeat=2):
                neighbor = cell[0] + reach * (down - 1), cell[1] + reach * (right - 1)
                inside = 0 <= neighbor[0] < rows and 0 <= neighbor[1] < columns
                expected = neighbor[0] * columns + neighbor[1] if inside else outside
                assert square[row + down, column + right] == expected
