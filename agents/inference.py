"""The policy and value network as compiled code, for processors without matrix units.

`agents.network.Network` defines the computation and is trained by torch. This module repeats its
forward pass for inference: weights are transformed once, convolutions take fewer multiplications
(`agents.winograd`), and FLOAT_LANES positions at a time fill the SIMD vectors (`cc_env.jit.simd`).
A call runs in its own thread, without the GIL. The output for a position is bitwise independent of
the other positions in the batch.

Shapes: B positions, A actions; C planes of an observation, H rows, W columns; F features of a cell
and K elements of a query or a key, both rounded up to a multiple of OUTPUTS; T tiles and P points
of `agents.winograd`; I input and O output channels of a layer; N lanes. A board has S cells, a
multiple of TILE_MULTIPLE and at least H·W + 2: its own, "nowhere" (the mean of all) and "outside".
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.winograd import (
    MAX_POINTS,
    TILE_MULTIPLE,
    Floats,
    Line,
    Tiling,
    Workspace,
    collect,
    points,
    spread,
    tiling,
)
from cc_env.errors import TrainingDiverged
from cc_env.jit import aligned_arrays
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.jit.simd import FLOAT_LANES, WIDE_FLOAT_LANES, fma, load, maximum, relu, splat, store

# Output channels that `multiply` computes at the same time.
OUTPUTS = 4
ONE, ZERO = np.float32(1), np.float32(0)


class DenseLayer(NamedTuple):
    """A fully connected layer with O outputs and I inputs, packed for `multiply`."""

    weights: Floats  # [O / OUTPUTS, I, OUTPUTS]
    bias: Floats  # [O]


class Convolutions(NamedTuple):
    """3×3 convolutions of one shape, transformed to the points of their tiles."""

    tiles: Tiling
    weights: Floats  # [layers, P, O / OUTPUTS, I, OUTPUTS]
    bias: Floats  # [layers, P, O]


class Weights(NamedTuple):
    """The weights of a network, transformed for `forward`.

    `first` and `second` have a convolution per block. `keys` computes query and key of a cell,
    `board` the contribution of the board's mean and maximum to them, `hidden` and `value` the value
    head (the first of the outputs is the value). `pairs` are the start and end cells of actions.
    """

    stem: Convolutions
    first: Convolutions
    second: Convolutions
    keys: DenseLayer  # F to 2 K
    board: DenseLayer  # 2 F to 2 K
    hidden: DenseLayer  # 2 F to F
    value: DenseLayer  # F to OUTPUTS
    pairs: NDArray[np.int64]  # [A, 2]


class Buffers(NamedTuple):
    """Memory for a forward pass of FLOAT_LANES positions.

    `inner` has the planes, then the cells between a block's convolutions. `near` (for the stem and
    first convolutions) and `far` (for the second ones) share their memory. `whole` has the mean and
    the maximum of all cells.
    """

    cells: Floats  # [F, S * FLOAT_LANES]
    inner: Floats  # [F or C, S * FLOAT_LANES]
    near: Workspace
    far: Workspace
    whole: Floats  # [2 F, WIDE_FLOAT_LANES]
    keys: Floats  # [2 K, S * FLOAT_LANES]
    board: Floats  # [2 K, WIDE_FLOAT_LANES]
    hidden: Floats  # [F, WIDE_FLOAT_LANES]
    value: Floats  # [OUTPUTS, WIDE_FLOAT_LANES]
    logits: Floats  # [FLOAT_LANES]


class Output(NamedTuple):
    """The output of a network for B positions."""

    logits: Floats  # [B, A]
    values: Floats  # [B]


@jit(nogil=True)
def forward(network: Weights, buffers: Buffers, planes: NDArray[np.int8], output: Output) -> None:
    """Write the output for planes [B, C, H, W]."""
    network, buffers = as_raw(network), as_raw(buffers)
    planes, output = as_raw(planes), as_raw(output)
    count = planes.shape[2] * planes.shape[3]
    for begin in range(0, len(planes), FLOAT_LANES):
        _write_planes(planes, begin, buffers.inner)
        _convolve(network.stem, 0, buffers.inner, buffers.near)
        collect(network.stem.tiles, buffers.near, buffers.cells, False)
        for block in range(len(network.first.weights)):
            _convolve(network.first, block, buffers.cells, buffers.near)
            collect(network.first.tiles, buffers.near, buffers.inner, False)
            _convolve(network.second, block, buffers.inner, buffers.far)
            collect(network.second.tiles, buffers.far, buffers.cells, True)
        _pool(buffers, count)
        _write_values(network, buffers, begin, output)
        _write_queries_and_keys(network, buffers, count)
        _write_logits(network, buffers, begin, output)


@jit
def _write_planes(planes: NDArray[np.int8], begin: int, cells: Floats) -> None:
    """Write the planes of FLOAT_LANES positions as lanes; missing positions are 0."""
    _, channels, rows, columns = planes.shape
    for lane in range(FLOAT_LANES):
        position = begin + lane
        for channel in range(channels):
            for row in range(rows):
                for column in range(columns):
                    number = ZERO
                    if position < len(planes):
                        number = np.float32(planes[position, channel, row, column])
                    cells[channel, (row * columns + column) * FLOAT_LANES + lane] = number


@jit
def _convolve(layers: Convolutions, index: int, cells: Floats, work: Workspace) -> None:
    """Write the products of a convolution with cells [I, S * FLOAT_LANES]."""
    weights, bias = layers.weights[index], layers.bias[index]
    spread(layers.tiles, cells, weights.shape[2], work)
    _, count, width = work.products.shape
    for point in range(count):
        target = Line(work.products, point * width, count * width)
        multiply(DenseLayer(weights[point], bias[point]), work.values[point], target)


@jit
def multiply(layer: DenseLayer, inputs: Floats, outputs: Line) -> None:
    """Write a layer's outputs [O, N] for inputs [I, N]; N is a multiple of WIDE_FLOAT_LANES."""
    count, width = layer.weights.shape[1], inputs.shape[1]
    for column in range(0, width, WIDE_FLOAT_LANES):
        for block in range(len(layer.weights)):
            row = block * OUTPUTS
            first = splat(layer.bias[row], WIDE_FLOAT_LANES)
            second = splat(layer.bias[row + 1], WIDE_FLOAT_LANES)
            third = splat(layer.bias[row + 2], WIDE_FLOAT_LANES)
            fourth = splat(layer.bias[row + 3], WIDE_FLOAT_LANES)
            for index in range(count):
                lanes = load(inputs, index * width + column, WIDE_FLOAT_LANES)
                first = fma(layer.weights[block, index, 0], lanes, first)
                second = fma(layer.weights[block, index, 1], lanes, second)
                third = fma(layer.weights[block, index, 2], lanes, third)
                fourth = fma(layer.weights[block, index, 3], lanes, fourth)
            target = outputs.start + row * outputs.step + column
            store(outputs.array, target, first)
            store(outputs.array, target + outputs.step, second)
            store(outputs.array, target + 2 * outputs.step, third)
            store(outputs.array, target + 3 * outputs.step, fourth)


@jit
def _pool(buffers: Buffers, count: int) -> None:
    """Write the mean of `count` cells to "nowhere", and the mean and the maximum to `whole`."""
    features, width = buffers.cells.shape
    weight = ONE / np.float32(count)
    for channel in range(features):
        start = channel * width
        total = largest = load(buffers.cells, start, FLOAT_LANES)
        for cell in range(1, count):
            lanes = load(buffers.cells, start + cell * FLOAT_LANES, FLOAT_LANES)
            total = total + lanes
            largest = maximum(largest, lanes)
        mean = fma(weight, total, splat(ZERO, FLOAT_LANES))
        store(buffers.cells, start + count * FLOAT_LANES, mean)
        store(buffers.whole, channel * WIDE_FLOAT_LANES, mean)
        store(buffers.whole, (features + channel) * WIDE_FLOAT_LANES, largest)


@jit
def _write_values(network: Weights, buffers: Buffers, begin: int, output: Output) -> None:
    """Write the values of FLOAT_LANES positions from the value head."""
    multiply(network.hidden, buffers.whole, Line(buffers.hidden, 0, WIDE_FLOAT_LANES))
    for row in range(len(buffers.hidden)):
        store(
            buffers.hidden,
            row * WIDE_FLOAT_LANES,
            relu(load(buffers.hidden, row * WIDE_FLOAT_LANES, FLOAT_LANES)),
        )
    multiply(network.value, buffers.hidden, Line(buffers.value, 0, WIDE_FLOAT_LANES))
    for lane in range(min(FLOAT_LANES, len(output.values) - begin)):
        output.values[begin + lane] = np.float32(math.tanh(buffers.value[0, lane]))


@jit
def _write_queries_and_keys(network: Weights, buffers: Buffers, count: int) -> None:
    """Write the queries and keys of `count` cells and of "nowhere"."""
    multiply(network.keys, buffers.cells, Line(buffers.keys, 0, buffers.keys.shape[1]))
    multiply(network.board, buffers.whole, Line(buffers.board, 0, WIDE_FLOAT_LANES))
    for row in range(len(buffers.keys)):
        board = load(buffers.board, row * WIDE_FLOAT_LANES, FLOAT_LANES)
        for cell in range(count + 1):
            place = row * buffers.keys.shape[1] + cell * FLOAT_LANES
            store(buffers.keys, place, load(buffers.keys, place, FLOAT_LANES) + board)


@jit
def _write_logits(network: Weights, buffers: Buffers, begin: int, output: Output) -> None:
    """Write the dot product of each action's query (start cell) and key (end cell)."""
    size, width = len(buffers.keys) // 2, buffers.keys.shape[1]
    for action in range(len(network.pairs)):
        start = network.pairs[action, 0] * FLOAT_LANES
        end = network.pairs[action, 1] * FLOAT_LANES + size * width
        # Two independent sums hide the latency of additions.
        even = odd = splat(ZERO, FLOAT_LANES)
        for place in range(0, size * width, 2 * width):
            queries = load(buffers.keys, start + place, FLOAT_LANES)
            even = fma(queries, load(buffers.keys, end + place, FLOAT_LANES), even)
            queries = load(buffers.keys, start + place + width, FLOAT_LANES)
            odd = fma(queries, load(buffers.keys, end + place + width, FLOAT_LANES), odd)
        store(buffers.logits, 0, even + odd)
        for lane in range(min(FLOAT_LANES, len(output.values) - begin)):
            output.logits[begin + lane, action] = buffers.logits[lane]


class CompiledNetwork:
    """A network for inference by compiled code, with NumPy arrays and in float32.

    Construction takes up to 0.1 s for 64 channels on 10×10 cells. The transformed weights take
    about three times the memory; each concurrent call takes 1 to 5 megabytes.
    """

    def __init__(
        self,
        weights: Mapping[str, Floats],
        shape: tuple[int, int, int],
        reach: int,
        pairs: NDArray[np.int64],
    ) -> None:
        """Transform the `state_dict` of a network of observations [C, H, W].

        `reach` is the dilation, `pairs`, int64[A, 2], are the cells of actions, 0 to H·W. Raises
        TrainingDiverged if a weight is not finite.
        """
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise TrainingDiverged(f"{name} of the network has values that are not finite")
        self._shape = shape
        self._weights = _transform(weights, shape, reach, np.ascontiguousarray(pairs, np.int64))
        self._free_buffers: list[Buffers] = []
        # Compile.
        self(np.zeros((0, *shape), np.int8))

    def __call__(self, planes: NDArray[np.int8]) -> tuple[Floats, Floats]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W].

        Raises ValueError for planes of another shape.
        """
        if planes.shape[1:] != self._shape:
            expected = ", ".join(map(str, self._shape))
            raise ValueError(f"planes{planes.shape}; expected: (any number, {expected})")
        shape = len(planes), len(self._weights.pairs)
        output = Output(np.empty(shape, np.float32), np.empty(len(planes), np.float32))
        try:
            buffers = self._free_buffers.pop()
        except IndexError:
            buffers = _buffers(self._weights, self._shape)
        forward(self._weights, buffers, np.ascontiguousarray(planes, np.int8), output)
        self._free_buffers.append(buffers)
        return output.logits, output.values


def _transform(
    weights: Mapping[str, Floats],
    shape: tuple[int, int, int],
    reach: int,
    pairs: NDArray[np.int64],
) -> Weights:
    """Return the weights for `forward`; queries include the factor K^-0.5."""
    _, rows, columns = shape
    near, far = tiling(rows, columns, 1), tiling(rows, columns, reach)
    blocks = sum(name.endswith("first.weight") for name in weights)
    first, second = (
        [f"tower.{block}.{name}" for block in range(blocks)] for name in ("first", "second")
    )
    keys = len(weights["keys.bias"]) // 2
    scale = np.repeat(np.array([keys**-0.5, 1], np.float32), keys)
    halves = [
        (scale[:, None] * weights[f"{name}.weight"], scale * weights[f"{name}.bias"])
        for name in ("keys", "view")
    ]
    return Weights(
        stem=_pack_convolutions(weights, ["stem"], near),
        first=_pack_convolutions(weights, first, near),
        second=_pack_convolutions(weights, second, far),
        keys=_pack_dense(*halves[0], (2, 1)),
        board=_pack_dense(*halves[1], (2, 2)),
        hidden=_pack_dense(weights["value.0.weight"], weights["value.0.bias"], (1, 2)),
        value=_pack_dense(weights["value.2.weight"], weights["value.2.bias"], (1, 1)),
        pairs=pairs,
    )


def _pack_convolutions(
    weights: Mapping[str, Floats], names: Sequence[str], tiles: Tiling
) -> Convolutions:
    """Return the convolutions with these names.

    A constant equals its value at the point 1 of a line, so biases are added at (1, 1).
    """
    filters, biases = [], []
    for name in names:
        padded = _pad(weights[f"{name}.weight"], 0)
        padded = padded if name == "stem" else _pad(padded, 1)
        filters.append(_pack(points(padded, tiles.size)))
        bias = np.zeros((tiles.sources.shape[1], len(padded)), np.float32)
        bias[tiles.size + 2 + 1] = _pad(weights[f"{name}.bias"], 0)
        biases.append(bias)
    return Convolutions(tiles, np.stack(filters), np.stack(biases))


def _pack_dense(weights: Floats, bias: Floats, parts: tuple[int, int]) -> DenseLayer:
    """Return a layer with weights [O, I]; `parts` are numbers of output and input parts."""
    padded = _pad(_pad(weights, 0, parts[0]), 1, parts[1])
    return DenseLayer(_pack(padded), _pad(bias, 0, parts[0]))


def _pad(array: Floats, axis: int, parts: int = 1) -> Floats:
    """Return an array with each part along an axis zero-padded to a multiple of OUTPUTS."""
    missing = [(0, 0)] * array.ndim
    missing[axis] = 0, -(array.shape[axis] // parts) % OUTPUTS
    pieces = [np.pad(part, missing) for part in np.split(array, parts, axis)]
    return np.concatenate(pieces, axis)


def _pack(weights: Floats) -> Floats:
    """Return weights [..., O, I] as [..., O / OUTPUTS, I, OUTPUTS]."""
    *rest, outputs, inputs = weights.shape
    blocks = weights.reshape(*rest, outputs // OUTPUTS, OUTPUTS, inputs)
    return np.ascontiguousarray(blocks.swapaxes(-1, -2))


def _buffers(network: Weights, shape: tuple[int, int, int]) -> Buffers:
    """Return the memory for a forward pass."""
    planes, rows, columns = shape
    features, keys = len(network.hidden.bias), len(network.keys.bias)
    inputs = max(features, planes)
    width = -(-(rows * columns + 2) // TILE_MULTIPLE) * WIDE_FLOAT_LANES
    near, far = _workspaces((network.first.tiles, network.second.tiles), inputs, features)
    return Buffers(
        cells=_zeros(features, width),
        inner=_zeros(inputs, width),
        near=near,
        far=far,
        whole=_zeros(2 * features, WIDE_FLOAT_LANES),
        keys=_zeros(keys, width),
        board=_zeros(keys, WIDE_FLOAT_LANES),
        hidden=_zeros(features, WIDE_FLOAT_LANES),
        value=_zeros(OUTPUTS, WIDE_FLOAT_LANES),
        logits=_zeros(FLOAT_LANES),
    )


def _workspaces(tilings: Sequence[Tiling], inputs: int, outputs: int) -> list[Workspace]:
    """Return a workspace per tiling; they share their memory."""
    size = FLOAT_LANES * max(tiles.sources.size for tiles in tilings)
    values, products = _zeros((inputs + 1) * size), _zeros(outputs * size)
    tile = _zeros(MAX_POINTS * FLOAT_LANES)

    def workspace(tiles: Tiling) -> Workspace:
        width, count = len(tiles.sources) * FLOAT_LANES, tiles.sources.shape[1]
        return Workspace(
            values[: count * (inputs + 1) * width].reshape(count, inputs + 1, width),
            products[: outputs * count * width].reshape(outputs, count, width),
            tile,
        )

    return [workspace(tiles) for tiles in tilings]


def _zeros(*shape: int) -> Floats:
    return aligned_arrays.zeros(shape, np.dtype(np.float32))
