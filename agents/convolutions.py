"""Convolutions with int8 weights and quantized features, as compiled code.

Weights are quantized symmetrically for each output channel, -127 to 127, features for each
position, 0 to 127. Sums of their products are exact, so they are the same on every processor.
Matrix units compute them if the processor has some (`cc_env.jit.matrix_units`), otherwise SIMD
instructions (`cc_env.jit.simd`), for FLOAT_LANES positions at a time. Taps outside the board are
skipped.

Shapes: I input and O output channels of a layer; L layers; S cells of a layer. The four channels of
a *group* are the bytes of an int32; G is the number of groups, R that of groups in a product of
matrices. A *block* is N output channels whose sums are computed together; M is the number of
blocks.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.jit import aligned_arrays
from cc_env.jit.compiler import jit, rule
from cc_env.jit.matrix_units import (
    ACCUMULATOR_TILES,
    TILE_ROWS,
    add_tile_products,
    configure_tiles,
    release_tiles,
    store_tiles,
    zero_tiles,
)
from cc_env.jit.simd import (
    ACCUMULATORS,
    FLOAT_LANES,
    add_byte_products,
    load,
    store,
    zero_accumulators,
)

# Channels in a group.
GROUP = 4
# Largest quantized feature or weight.
MAX_LEVEL = np.float32(127)
# Maximum number of output channels of a block.
MAX_BLOCK = ACCUMULATOR_TILES * TILE_ROWS
# Tiles and channels of a block of matrix units, unless MAX_BLOCK divides the number of channels.
_SMALL_TILES = 2
_SMALL_BLOCK = _SMALL_TILES * TILE_ROWS

Floats = NDArray[np.float32]
Groups = NDArray[np.int32]


class VectorConvolutions(NamedTuple):
    """Convolutions of one shape, for SIMD instructions.

    The taps of cell s are taps[begins[s] : begins[s + 1]]: the index of a weight, and the cell that
    it multiplies.
    """

    begins: NDArray[np.int64]  # [S + 1]
    taps: NDArray[np.int64]  # [number, 2]
    weights: Groups  # [L, M, indices, G, N, 1]
    weight_scales: Floats  # [L, O]
    bias: Floats  # [L, O]


class TileConvolutions(NamedTuple):
    """Convolutions of one shape, for matrix units; other fields as in `VectorConvolutions`."""

    begins: NDArray[np.int64]
    taps: NDArray[np.int64]
    weights: Groups  # [L, M, indices, G / R, N, R], R = TILE_ROWS
    weight_scales: Floats
    bias: Floats


Convolutions = VectorConvolutions | TileConvolutions


@rule
def begin_products(layers: Convolutions) -> None:
    """Prepare the thread for `sum_products`; `end_products` follows in the same compiled call."""


@rule
def end_products(layers: Convolutions) -> None:
    """Undo `begin_products`."""


@rule
def sum_products(
    layers: Convolutions, index: int, block: int, cell: int, quantized: Groups, sums: Groups
) -> None:
    """Write the sums of products of a block of layer `index` at a cell.

    `quantized` [cells, G, FLOAT_LANES] are the features, `sums` [MAX_BLOCK, FLOAT_LANES].
    """


@jit
def _do_nothing(layers: VectorConvolutions) -> None:
    pass


@jit
def _sum_vector_products(
    layers: VectorConvolutions, index: int, block: int, cell: int, quantized: Groups, sums: Groups
) -> None:
    _, blocks, indices, groups, _, _ = layers.weights.shape
    stride = quantized.shape[1] * FLOAT_LANES
    first = (index * blocks + block) * indices * groups * ACCUMULATORS
    totals = zero_accumulators()
    for tap in range(layers.begins[cell], layers.begins[cell + 1]):
        weights = first + layers.taps[tap, 0] * groups * ACCUMULATORS
        source = layers.taps[tap, 1] * stride
        for group in range(groups):
            vector = load(quantized, source + group * FLOAT_LANES, FLOAT_LANES)
            begin = weights + group * ACCUMULATORS
            totals = add_byte_products(vector, layers.weights, begin, totals)
    for number in range(ACCUMULATORS):
        store(sums, number * FLOAT_LANES, totals[number])


@jit
def _configure_tiles(layers: TileConvolutions) -> None:
    configure_tiles()


@jit
def _release_tiles(layers: TileConvolutions) -> None:
    release_tiles()


@jit
def _sum_tile_products(
    layers: TileConvolutions, index: int, block: int, cell: int, quantized: Groups, sums: Groups
) -> None:
    _, blocks, indices, parts, channels, _ = layers.weights.shape
    stride = quantized.shape[1] * FLOAT_LANES
    size = channels * TILE_ROWS
    first = (index * blocks + block) * indices * parts * size
    zero_tiles()
    for tap in range(layers.begins[cell], layers.begins[cell + 1]):
        weights = first + layers.taps[tap, 0] * parts * size
        source = layers.taps[tap, 1] * stride
        for part in range(parts):
            begin, start = weights + part * size, source + part * TILE_ROWS * FLOAT_LANES
            if channels == _SMALL_BLOCK:
                add_tile_products(layers.weights, begin, quantized, start, _SMALL_TILES)
            else:
                add_tile_products(layers.weights, begin, quantized, start, ACCUMULATOR_TILES)
    store_tiles(sums)


for _rule, _vector_function, _tile_function in (
    (begin_products, _do_nothing, _configure_tiles),
    (end_products, _do_nothing, _release_tiles),
    (sum_products, _sum_vector_products, _sum_tile_products),
):
    _rule.add(VectorConvolutions, function=_vector_function)  # type: ignore[union-attr]
    _rule.add(TileConvolutions, function=_tile_function)  # type: ignore[union-attr]


def square_taps(rows: int, columns: int, reach: int) -> list[list[tuple[int, int]]]:
    """Return the taps of each cell: indices of 3×3 weights, and cells at distance `reach`."""
    lines = range(-reach, reach + 1, reach)
    return [
        [
            (index, (row + down) * columns + column + right)
            for index, (down, right) in enumerate(product(lines, lines))
            if 0 <= row + down < rows and 0 <= column + right < columns
        ]
        for row, column in product(range(rows), range(columns))
    ]


def single_taps(cells: int) -> list[list[tuple[int, int]]]:
    """Return the taps of a layer that processes each cell by itself."""
    return [[(0, cell)] for cell in range(cells)]


def channel_multiple(has_tiles: bool) -> int:
    """Return the number to whose multiples output channels are padded."""
    return _SMALL_BLOCK if has_tiles else ACCUMULATORS


def input_groups(layers: Convolutions) -> int:
    """Return the number of groups of input channels, with padding."""
    groups: int = layers.weights.shape[3] * layers.weights.shape[5]
    return groups


def quantize(
    layers: Sequence[tuple[Floats, Floats]],
    taps: Sequence[Sequence[tuple[int, int]]],
    has_tiles: bool,
    parts: int = 1,
) -> Convolutions:
    """Return quantized layers, given weights [O, I, indices] and biases [O] of each.

    The outputs consist of `parts` equal parts, which are padded equally. `has_tiles` states whether
    matrix units compute the sums.
    """
    multiple = channel_multiple(has_tiles)
    rows = TILE_ROWS if has_tiles else 1
    weights = np.stack([pad(weights, 0, multiple // parts, parts) for weights, _ in layers])
    weights = pad(weights, 2, max(multiple, GROUP * rows))
    scales = np.abs(weights).max((2, 3)) / MAX_LEVEL
    levels = np.rint(weights / np.where(scales > 0, scales, np.float32(1))[:, :, None, None])
    count, outputs, inputs, indices = levels.shape
    block = MAX_BLOCK if has_tiles and outputs % MAX_BLOCK == 0 else multiple
    split = count, outputs // block, block, inputs // GROUP // rows, rows, GROUP, indices
    groups = levels.astype(np.int8).reshape(split).transpose(0, 1, 6, 3, 2, 4, 5)
    words = np.ascontiguousarray(groups).view(np.int32)[..., 0]
    aligned = aligned_arrays.zeros(words.shape, words.dtype)
    aligned[:] = words
    return (TileConvolutions if has_tiles else VectorConvolutions)(
        begins=np.cumsum([0, *map(len, taps)]),
        taps=np.array([tap for of_cell in taps for tap in of_cell], np.int64),
        weights=aligned,
        weight_scales=scales,
        bias=np.stack([pad(bias, 0, multiple // parts, parts) for _, bias in layers]),
    )


def pad(array: Floats, axis: int, multiple: int, parts: int = 1) -> Floats:
    """Return an array whose equal parts along an axis are each zero-padded to a multiple."""
    missing = [(0, 0)] * array.ndim
    missing[axis] = 0, -(array.shape[axis] // parts) % multiple
    pieces = [np.pad(part, missing) for part in np.split(array, parts, axis)]
    return np.concatenate(pieces, axis)
