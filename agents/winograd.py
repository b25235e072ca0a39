"""Convolutions with fewer multiplications: Winograd's algorithm, on the cells of a board.

A 3×3 convolution takes 9 multiplications per cell, pair of channels and position. Lavin and Gray,
"Fast Algorithms for Convolutional Neural Networks" (2015), divide the board into tiles of m×m
outputs, which depend on t×t inputs, t = m + 2. Inputs and filters are evaluated as polynomials at
t×t points, multiplied point by point, and the m×m outputs interpolated: t² multiplications for m²
cells, 2.25 to 4 times fewer. A two-dimensional transform processes all rows, then all columns. The
points of a line are the first m + 1 of 0, 1, -1, 2, -2, and infinity.

A convolution dilated by d ("reach") is d×d convolutions, of every d-th row and column.

Shapes: H rows and W columns of a board, T tiles, P = t² points, I channels in, O channels out. A
board has S >= H·W + 2 cells: cell H·W + 1 represents the outside and is 0. The innermost dimension
of every array has FLOAT_LANES positions (`cc_env.jit.simd`).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.jit.compiler import jit
from cc_env.jit.simd import FLOAT_LANES, WIDE_FLOAT_LANES, fma, load, relu, store

Floats = NDArray[np.float32]

# Values of m, and the maximum of P.
SIZES = 2, 3, 4
MAX_POINTS = 36
# The number of tiles is a multiple of this number.
TILE_MULTIPLE = WIDE_FLOAT_LANES // FLOAT_LANES
# By m: matrix of the values at the points of a filter with three weights, float64[t, 3].
FILTERS = {
    2: np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]) / 2,
    3: np.array([[3, 0, 0], [-3, -3, -3], [-1, 1, -1], [1, 2, 4], [0, 0, 6]]) / 6,
    4: np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24,
}
TWO, THREE, FOUR, FIVE, EIGHT = map(np.float32, (2, 3, 4, 5, 8))


class Tiling(NamedTuple):
    """The tiles of a board, of m×m cells; the last ones may lie outside.

    `sources` are the cells that a tile depends on, row by row; `targets` are the cells of a tile,
    -1 for the outside.
    """

    size: int
    sources: NDArray[np.int32]  # [T, P]
    targets: NDArray[np.int32]  # [T, m * m]


class Workspace(NamedTuple):
    """Memory for a convolution: values and products at the points, and a tile."""

    # Unused rows keep points out of the same cache lines.
    values: Floats  # [P, I + 1, T * FLOAT_LANES]
    products: Floats  # [O, P, T * FLOAT_LANES]
    tile: Floats  # [MAX_POINTS * FLOAT_LANES]


class Line(NamedTuple):
    """SIMD vectors at a constant stride in an array."""

    array: Floats
    start: int
    step: int


@cache
def tiling(rows: int, columns: int, reach: int) -> Tiling:
    """Return the tiling of a board with the fewest multiplications."""
    sizes = (_tiling_of_size(rows, columns, reach, size) for size in SIZES)
    return min(sizes, key=lambda tiles: tiles.sources.size)


def _tiling_of_size(rows: int, columns: int, reach: int, size: int) -> Tiling:
    """Return the tiling of a board with tiles of `size` × `size` cells."""
    cells = np.full((rows + 1, columns + 1), -1)
    cells[:rows, :columns] = np.arange(rows * columns).reshape(rows, columns)
    row_groups = _tile_lines(rows, reach, size)
    column_groups = _tile_lines(columns, reach, size)
    tiles = [cells[np.ix_(row, column)].ravel() for row in row_groups for column in column_groups]
    sources = np.array(tiles, np.int32)
    sources = np.pad(sources, ((0, -len(sources) % TILE_MULTIPLE), (0, 0)), constant_values=-1)
    inner = sources.reshape(-1, size + 2, size + 2)[:, 1:-1, 1:-1].reshape(len(sources), -1)
    outside = np.int32(rows * columns + 1)
    return Tiling(size, np.where(sources < 0, outside, sources), inner.copy())


def _tile_lines(side: int, reach: int, size: int) -> list[NDArray[np.int64]]:
    """Return the t rows (or columns) that each tile depends on; `side` represents the outside."""
    starts = [
        phase + reach * first
        for phase in range(min(reach, side))
        for first in range(0, -(-(side - phase) // reach), size)
    ]
    lines = [start + reach * np.arange(-1, size + 1) for start in starts]
    return [np.where((line < 0) | (line >= side), side, line) for line in lines]


def points(filters: Floats, size: int) -> Floats:
    """Return the values of 3×3 filters [O, I, 3, 3] at the points of tiles of m, [P, O, I]."""
    square = np.kron(FILTERS[size], FILTERS[size])
    values = square @ filters.reshape(-1, 9).T.astype(np.float64)
    return values.reshape(-1, *filters.shape[:2]).astype(np.float32)


@jit
def spread(tiles: Tiling, cells: Floats, inputs: int, work: Workspace) -> None:
    """Evaluate cells, [I, S * FLOAT_LANES], at the points of all tiles; write them to `work`."""
    side, width = tiles.size + 2, cells.shape[1]
    point_stride = work.values.shape[1] * work.values.shape[2]
    for channel in range(inputs):
        for tile in range(len(tiles.sources)):
            for index in range(side * side):
                source = channel * width + tiles.sources[tile, index] * FLOAT_LANES
                store(work.tile, index * FLOAT_LANES, load(cells, source, FLOAT_LANES))
            for row in range(side):
                line = Line(work.tile, row * side * FLOAT_LANES, FLOAT_LANES)
                evaluate(tiles.size, line, line)
            start = channel * work.values.shape[2] + tile * FLOAT_LANES
            for column in range(side):
                line = Line(work.tile, column * FLOAT_LANES, side * FLOAT_LANES)
                target = Line(work.values, start + column * point_stride, side * point_stride)
                evaluate(tiles.size, line, target)


@jit
def collect(tiles: Tiling, work: Workspace, cells: Floats, add: bool) -> None:
    """Interpolate the products in `work` and write relu(outputs) to cells [O, S * FLOAT_LANES].

    With `add`, write relu(outputs + cells).
    """
    size, side, width = tiles.size, tiles.size + 2, cells.shape[1]
    channels, count, gap = work.products.shape
    for channel in range(channels):
        for tile in range(len(tiles.targets)):
            start = channel * count * gap + tile * FLOAT_LANES
            for column in range(side):
                line = Line(work.tile, column * FLOAT_LANES, side * FLOAT_LANES)
                interpolate(size, Line(work.products, start + column * gap, side * gap), line)
            for row in range(size):
                line = Line(work.tile, row * side * FLOAT_LANES, FLOAT_LANES)
                interpolate(size, line, line)
                for column in range(size):
                    cell = tiles.targets[tile, row * size + column]
                    if cell >= 0:
                        index = channel * width + cell * FLOAT_LANES
                        _write_output(_read(line, column), cells, index, add)


@jit
def _write_output(vector: Any, cells: Floats, index: int, add: bool) -> None:
    if add:
        store(cells, index, relu(vector + load(cells, index, FLOAT_LANES)))
    else:
        store(cells, index, relu(vector))


@jit
def evaluate(size: int, source: Line, target: Line) -> None:
    """Write the values of a line of t inputs at its t points; source and target may be the same."""
    a, b, c, d = _read(source, 0), _read(source, 1), _read(source, 2), _read(source, 3)
    if size == 2:
        _write(target, 0, a - c)
        _write(target, 1, c + b)
        _write(target, 2, c - b)
        _write(target, 3, d - b)
        return
    e = _read(source, 4)
    if size == 3:
        inner, outer = d - b, b - d
        _write(target, 0, fma(TWO, a - c, inner))
        _write(target, 1, fma(-TWO, b, d - c))
        _write(target, 2, fma(TWO, b, fma(-THREE, c, d)))
        _write(target, 3, inner)
        _write(target, 4, fma(TWO, outer, e - c))
        return
    f = _read(source, 5)
    even, odd = fma(-FOUR, c, e), fma(-FOUR, b, d)
    even_difference = e - c
    odd_difference = d - b
    _write(target, 0, fma(FOUR, a, fma(-FIVE, c, e)))
    _write(target, 1, even + odd)
    _write(target, 2, even - odd)
    _write(target, 3, fma(TWO, odd_difference, even_difference))
    _write(target, 4, fma(-TWO, odd_difference, even_difference))
    _write(target, 5, fma(FOUR, b, fma(-FIVE, d, f)))


@jit
def interpolate(size: int, source: Line, target: Line) -> None:
    """Interpolate the m outputs of a line from its values at t points."""
    a, b, c, d = _read(source, 0), _read(source, 1), _read(source, 2), _read(source, 3)
    even, odd = b + c, b - c
    if size == 2:
        _write(target, 0, a + even)
        _write(target, 1, odd + d)
        return
    e = _read(source, 4)
    if size == 3:
        _write(target, 0, a + even + d)
        _write(target, 1, fma(TWO, d, odd))
        _write(target, 2, fma(FOUR, d, even) + e)
        return
    f = _read(source, 5)
    evens, odds = d + e, d - e
    _write(target, 0, a + even + evens)
    _write(target, 1, fma(TWO, odds, odd))
    _write(target, 2, fma(FOUR, evens, even))
    _write(target, 3, fma(EIGHT, odds, odd) + f)


@jit
def _read(line: Line, index: int) -> Any:
    return load(line.array, line.start + index * line.step, FLOAT_LANES)


@jit
def _write(line: Line, index: int, vector: Any) -> None:
    store(line.array, line.start + index * line.step, vector)
