"""The policy and value network as compiled code, for CPUs.

`agents.network.Network` defines the computation and is trained by torch. This module repeats its
forward pass for inference, without torch, with the convolutions and the projection to queries and
keys quantized to int8 (`agents.convolutions`). Biases, residual sums and the value head are in
float32. FLOAT_LANES positions at a time fill the SIMD vectors (`cc_env.jit.simd`). A call releases
the GIL. The output for a position is bitwise independent of the other positions in the batch, and
the same on every processor.

Shapes: B positions, A actions; C planes of an observation, H rows, W columns; F features of a cell,
padded to a multiple of `channel_multiple`, and K elements of a query or a key, padded to a multiple
of half of it; I inputs and O outputs of a layer; S cells: those of the board and the last one,
"nowhere", the mean of all. The four channels of a *group* are the bytes of an int32; G is the
number of groups.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents import convolutions
from agents.convolutions import (
    GROUP,
    MAX_BLOCK,
    MAX_LEVEL,
    Convolutions,
    Floats,
    Groups,
    begin_products,
    channel_multiple,
    end_products,
    pad,
    sum_products,
)
from agents.network_weights import NetworkWeights
from cc_env.errors import TrainingDiverged
from cc_env.jit import aligned_arrays
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import tanh
from cc_env.jit.matrix_units import request_matrix_units
from cc_env.jit.raw_arrays import as_raw
from cc_env.jit.simd import (
    FLOAT_LANES,
    fma,
    load,
    maximum,
    pack_bytes,
    relu,
    splat,
    store,
    to_floats,
)

# Outputs of a dense layer that are computed together.
DENSE_OUTPUTS = 4
ONE, ZERO = np.float32(1), np.float32(0)


class DenseLayer(NamedTuple):
    """A fully connected layer with O outputs and I inputs, in float32."""

    weights: Floats  # [O, I]
    bias: Floats  # [O]


class Weights(NamedTuple):
    """The weights of a network, transformed for `forward`.

    `first` and `second` have a convolution per block. `keys` computes query and key of a cell,
    `board` the contribution of the board's mean and maximum to them, `hidden` and `value` the value
    head. `pairs` are the start and end cells of actions.
    """

    stem: Convolutions  # 2 C to F
    first: Convolutions
    second: Convolutions
    keys: Convolutions  # F to 2 K, of single cells
    board: DenseLayer  # 2 F to 2 K
    hidden: DenseLayer  # 2 F to F
    value: DenseLayer  # F to DENSE_OUTPUTS, of which the first is the value
    pairs: NDArray[np.int64]  # [A, 2]


class Buffers(NamedTuple):
    """Memory for a forward pass of FLOAT_LANES positions.

    `quantized` has the features of cells in units of `feature_scales`. `maxima` are the maxima of
    the features last written to `cells` or `inner`. `whole` has the mean and the maximum of all
    cells.
    """

    cells: Floats  # [S, F, FLOAT_LANES]
    inner: Floats  # [S, max(F, 2 C) in whole groups, FLOAT_LANES]
    maxima: Floats  # [FLOAT_LANES]
    feature_scales: Floats  # [FLOAT_LANES]
    factors: Floats  # [FLOAT_LANES]
    quantized: Groups  # [S, G, FLOAT_LANES]
    sums: Groups  # [MAX_BLOCK, FLOAT_LANES]
    whole: Floats  # [2 F, FLOAT_LANES]
    keys: Floats  # [S, 2 K, FLOAT_LANES]
    board: Floats  # [2 K, FLOAT_LANES]
    hidden: Floats  # [F, FLOAT_LANES]
    value: Floats  # [DENSE_OUTPUTS, FLOAT_LANES]
    logits: Floats  # [FLOAT_LANES]


class Output(NamedTuple):
    """The output of a network for B positions."""

    logits: Floats  # [B, A]
    values: Floats  # [B]


@jit(nogil=True)
def forward(network: Weights, buffers: Buffers, planes: NDArray[np.int8], output: Output) -> None:
    """Write the output for planes [B, C, H·W]."""
    network, buffers = as_raw(network), as_raw(buffers)
    planes, output = as_raw(planes), as_raw(output)
    count, features = planes.shape[2], buffers.cells.shape[1]
    begin_products(network.stem)
    for begin in range(0, len(planes), FLOAT_LANES):
        _write_planes(planes, begin, buffers)
        _quantize(buffers.inner, count, 2 * planes.shape[1], buffers)
        _convolve(network.stem, 0, buffers, buffers.cells, False)
        for block in range(len(network.first.weights)):
            _quantize(buffers.cells, count, features, buffers)
            _convolve(network.first, block, buffers, buffers.inner, False)
            _quantize(buffers.inner, count, features, buffers)
            _convolve(network.second, block, buffers, buffers.cells, True)
        _pool(buffers)
        _write_values(network, buffers, begin, output)
        _write_queries_and_keys(network, buffers)
        _write_logits(network, buffers, begin, output)
    end_products(network.stem)


@jit
def _write_planes(planes: NDArray[np.int8], begin: int, buffers: Buffers) -> None:
    """Write the planes of FLOAT_LANES positions to `inner`, and their maxima to `maxima`.

    Missing positions are 0. Features are not negative, so channel C + c is the negative part of
    plane c.
    """
    _, channels, cells = planes.shape
    count = min(FLOAT_LANES, len(planes) - begin)
    for lane in range(FLOAT_LANES):
        buffers.maxima[lane] = ZERO
    for cell in range(cells):
        for channel in range(channels):
            for lane in range(FLOAT_LANES):
                number = ZERO
                if lane < count:
                    number = np.float32(planes[begin + lane, channel, cell])
                buffers.inner[cell, channel, lane] = max(number, ZERO)
                buffers.inner[cell, channels + channel, lane] = max(-number, ZERO)
                buffers.maxima[lane] = max(buffers.maxima[lane], abs(number))
        # Padding; the previous positions have left features there.
        for channel in range(2 * channels, -(-2 * channels // GROUP) * GROUP):
            buffers.inner[cell, channel] = ZERO


@jit
def _quantize(cells: Floats, count: int, channels: int, buffers: Buffers) -> None:
    """Quantize `channels` of the first `count` cells [S, I, FLOAT_LANES] to `quantized`."""
    for lane in range(FLOAT_LANES):
        largest = buffers.maxima[lane]
        buffers.feature_scales[lane] = largest / MAX_LEVEL
        buffers.factors[lane] = MAX_LEVEL / largest if largest > ZERO else ZERO
    factors = load(buffers.factors, 0, FLOAT_LANES)
    for cell in range(count):
        for group in range(-(-channels // GROUP)):
            place = (cell * cells.shape[1] + group * GROUP) * FLOAT_LANES
            first = load(cells, place, FLOAT_LANES) * factors
            second = load(cells, place + FLOAT_LANES, FLOAT_LANES) * factors
            third = load(cells, place + 2 * FLOAT_LANES, FLOAT_LANES) * factors
            fourth = load(cells, place + 3 * FLOAT_LANES, FLOAT_LANES) * factors
            target = (cell * buffers.quantized.shape[1] + group) * FLOAT_LANES
            store(buffers.quantized, target, pack_bytes(first, second, third, fourth))


@jit
def _convolve(
    layers: Convolutions, index: int, buffers: Buffers, cells: Floats, is_residual: bool
) -> None:
    """Write the relu of a convolution of `quantized` to cells [S, O, FLOAT_LANES].

    With `is_residual`, the previous features are added before the relu. The maximum of each
    position is written to `maxima`.
    """
    feature_scales = load(buffers.feature_scales, 0, FLOAT_LANES)
    largest = splat(ZERO, FLOAT_LANES)
    blocks = layers.weights.shape[1]
    size = layers.bias.shape[1] // blocks
    for block in range(blocks):
        for cell in range(len(layers.begins) - 1):
            sum_products(layers, index, block, cell, buffers.quantized, buffers.sums)
            for number in range(size):
                channel = block * size + number
                place = (cell * cells.shape[1] + channel) * FLOAT_LANES
                total = splat(layers.bias[index, channel], FLOAT_LANES)
                if is_residual:
                    total = total + load(cells, place, FLOAT_LANES)
                weight_scale = splat(layers.weight_scales[index, channel], FLOAT_LANES)
                sums = to_floats(load(buffers.sums, number * FLOAT_LANES, FLOAT_LANES))
                total = relu(fma(sums, weight_scale * feature_scales, total))
                store(cells, place, total)
                largest = maximum(total, largest)
    store(buffers.maxima, 0, largest)


@jit
def _multiply(layer: DenseLayer, inputs: Floats, outputs: Floats) -> None:
    """Write a layer's outputs [O, FLOAT_LANES] for inputs [I, FLOAT_LANES]."""
    for row in range(0, len(layer.weights), DENSE_OUTPUTS):
        first = splat(layer.bias[row], FLOAT_LANES)
        second = splat(layer.bias[row + 1], FLOAT_LANES)
        third = splat(layer.bias[row + 2], FLOAT_LANES)
        fourth = splat(layer.bias[row + 3], FLOAT_LANES)
        for index in range(layer.weights.shape[1]):
            lanes = load(inputs, index * FLOAT_LANES, FLOAT_LANES)
            first = fma(layer.weights[row, index], lanes, first)
            second = fma(layer.weights[row + 1, index], lanes, second)
            third = fma(layer.weights[row + 2, index], lanes, third)
            fourth = fma(layer.weights[row + 3, index], lanes, fourth)
        store(outputs, row * FLOAT_LANES, first)
        store(outputs, (row + 1) * FLOAT_LANES, second)
        store(outputs, (row + 2) * FLOAT_LANES, third)
        store(outputs, (row + 3) * FLOAT_LANES, fourth)


@jit
def _pool(buffers: Buffers) -> None:
    """Write the mean of the board's cells to "nowhere", and mean and maximum to `whole`."""
    cells, features, _ = buffers.cells.shape
    weight = splat(ONE / np.float32(cells - 1), FLOAT_LANES)
    for channel in range(features):
        place = channel * FLOAT_LANES
        total = largest = load(buffers.cells, place, FLOAT_LANES)
        for cell in range(1, cells - 1):
            lanes = load(buffers.cells, cell * features * FLOAT_LANES + place, FLOAT_LANES)
            total = total + lanes
            largest = maximum(largest, lanes)
        mean = weight * total
        store(buffers.cells, (cells - 1) * features * FLOAT_LANES + place, mean)
        store(buffers.whole, place, mean)
        store(buffers.whole, features * FLOAT_LANES + place, largest)


@jit
def _write_values(network: Weights, buffers: Buffers, begin: int, output: Output) -> None:
    """Write the values of FLOAT_LANES positions from the value head."""
    _multiply(network.hidden, buffers.whole, buffers.hidden)
    for row in range(len(buffers.hidden)):
        lanes = load(buffers.hidden, row * FLOAT_LANES, FLOAT_LANES)
        store(buffers.hidden, row * FLOAT_LANES, relu(lanes))
    _multiply(network.value, buffers.hidden, buffers.value)
    for lane in range(min(FLOAT_LANES, len(output.values) - begin)):
        output.values[begin + lane] = np.float32(tanh(np.float64(buffers.value[0, lane])))


@jit
def _write_queries_and_keys(network: Weights, buffers: Buffers) -> None:
    """Write the queries and keys of all cells and of "nowhere"."""
    _multiply(network.board, buffers.whole, buffers.board)
    cells, features, _ = buffers.cells.shape
    _quantize(buffers.cells, cells, features, buffers)
    feature_scales = load(buffers.feature_scales, 0, FLOAT_LANES)
    layers = network.keys
    blocks = layers.weights.shape[1]
    size = layers.bias.shape[1] // blocks
    for block in range(blocks):
        for cell in range(cells):
            sum_products(layers, 0, block, cell, buffers.quantized, buffers.sums)
            for number in range(size):
                channel = block * size + number
                board = load(buffers.board, channel * FLOAT_LANES, FLOAT_LANES)
                weight_scale = splat(layers.weight_scales[0, channel], FLOAT_LANES)
                place = (cell * buffers.keys.shape[1] + channel) * FLOAT_LANES
                sums = to_floats(load(buffers.sums, number * FLOAT_LANES, FLOAT_LANES))
                total = fma(sums, weight_scale * feature_scales, board)
                store(buffers.keys, place, total)


@jit
def _write_logits(network: Weights, buffers: Buffers, begin: int, output: Output) -> None:
    """Write the dot product of each action's query (start cell) and key (end cell)."""
    half = buffers.keys.shape[1] // 2 * FLOAT_LANES
    for action in range(len(network.pairs)):
        start = network.pairs[action, 0] * 2 * half
        end = network.pairs[action, 1] * 2 * half + half
        # Two independent sums hide the latency of additions.
        even = odd = splat(ZERO, FLOAT_LANES)
        for place in range(0, half, 2 * FLOAT_LANES):
            queries = load(buffers.keys, start + place, FLOAT_LANES)
            even = fma(queries, load(buffers.keys, end + place, FLOAT_LANES), even)
            queries = load(buffers.keys, start + place + FLOAT_LANES, FLOAT_LANES)
            odd = fma(queries, load(buffers.keys, end + place + FLOAT_LANES, FLOAT_LANES), odd)
        store(buffers.logits, 0, even + odd)
        for lane in range(min(FLOAT_LANES, len(output.values) - begin)):
            output.logits[begin + lane, action] = buffers.logits[lane]


@jit(nogil=True)
def all_finite(numbers: Floats) -> bool:
    """Return whether all numbers, float[N], are finite, as `np.isfinite`, without the GIL."""
    count = 0
    for index in range(len(numbers)):
        # The difference of infinities is NaN.
        count += numbers[index] - numbers[index] == 0
    return count == len(numbers)


class CompiledNetwork:
    """A network for inference by compiled code, with NumPy arrays.

    Its outputs differ from those in float32 by the quantization of weights and features to int8.
    Construction takes a few milliseconds; each concurrent call takes about a megabyte.
    """

    def __init__(self, weights: NetworkWeights) -> None:
        """Transform the weights; raise TrainingDiverged if one is not finite."""
        for name, array in weights.arrays.items():
            if not np.isfinite(array).all():
                raise TrainingDiverged(f"{name} of the network has values that are not finite")
        self._original = weights
        self._shape = weights.observation_shape
        # Outputs that overflow are not finite, which callers check.
        with np.errstate(over="ignore", invalid="ignore"):
            self._weights = _transform(weights)
        self._free_buffers: list[Buffers] = []
        # Compile.
        self(np.zeros((0, *weights.observation_shape), np.int8))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle the original weights: another process may use other instructions."""
        return CompiledNetwork, (self._original,)

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
        flat = np.ascontiguousarray(planes, np.int8).reshape(
            len(planes), self._shape[0], math.prod(self._shape[1:])
        )
        forward(self._weights, buffers, flat, output)
        self._free_buffers.append(buffers)
        return output.logits, output.values


def _transform(network: NetworkWeights) -> Weights:
    """Return the weights for `forward`; queries include the factor K^-0.5."""
    (_, rows, columns), size, weights = network.observation_shape, network.size, network.arrays
    has_tiles = request_matrix_units()
    multiple = channel_multiple(has_tiles)
    first, second = (
        [f"tower.{block}.{name}" for block in range(size.blocks)] for name in ("first", "second")
    )
    stem = weights["stem.weight"]
    scale = np.repeat(np.array([size.keys**-0.5, 1], np.float32), size.keys)
    bias = scale * (weights["keys.bias"] + weights["view.bias"])
    near = convolutions.square_taps(rows, columns, 1)
    far = convolutions.square_taps(rows, columns, size.reach)
    single = convolutions.single_taps(rows * columns + 1)
    # The second half of the planes is their negative part.
    inputs = [(_flatten(np.concatenate((stem, -stem), 1)), weights["stem.bias"])]
    projection = scale[:, None, None] * weights["keys.weight"][:, :, None]
    return Weights(
        stem=convolutions.quantize(inputs, near, has_tiles),
        first=convolutions.quantize([_kernel(weights, name) for name in first], near, has_tiles),
        second=convolutions.quantize([_kernel(weights, name) for name in second], far, has_tiles),
        keys=convolutions.quantize([(projection, np.zeros_like(bias))], single, has_tiles, parts=2),
        board=_pad_dense(
            scale[:, None] * weights["view.weight"], bias, (multiple // 2, multiple), (2, 2)
        ),
        hidden=_pad_dense(*_layer(weights, "value.0"), (multiple, multiple), (1, 2)),
        value=_pad_dense(*_layer(weights, "value.2"), (DENSE_OUTPUTS, multiple), (1, 1)),
        pairs=np.ascontiguousarray(network.action_cells, np.int64),
    )


def _layer(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    """Return weights and bias of a layer."""
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _kernel(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    """Return weights [O, I, indices] and bias of a convolution."""
    weight, bias = _layer(weights, name)
    return _flatten(weight), bias


def _flatten(weight: Floats) -> Floats:
    return weight.reshape(*weight.shape[:2], -1)


def _pad_dense(
    weights: Floats, bias: Floats, multiples: tuple[int, int], parts: tuple[int, int]
) -> DenseLayer:
    """Return a layer with weights [O, I]; each part of outputs and inputs is padded."""
    padded = pad(pad(weights, 0, multiples[0], parts[0]), 1, multiples[1], parts[1])
    return DenseLayer(np.ascontiguousarray(padded), pad(bias, 0, multiples[0], parts[0]))


def _buffers(network: Weights, shape: tuple[int, int, int]) -> Buffers:
    """Return the memory for a forward pass."""
    _, rows, columns = shape
    features, keys = len(network.hidden.bias), len(network.board.bias)
    groups = max(map(convolutions.input_groups, (network.stem, network.keys)))
    cells = rows * columns + 1
    return Buffers(
        cells=_zeros(cells, features),
        inner=_zeros(cells, GROUP * groups),
        maxima=_zeros(),
        feature_scales=_zeros(),
        factors=_zeros(),
        quantized=aligned_arrays.zeros((cells, groups, FLOAT_LANES), np.dtype(np.int32)),
        sums=aligned_arrays.zeros((MAX_BLOCK, FLOAT_LANES), np.dtype(np.int32)),
        whole=_zeros(2 * features),
        keys=_zeros(cells, keys),
        board=_zeros(keys),
        hidden=_zeros(features),
        value=_zeros(len(network.value.bias)),
        logits=_zeros(),
    )


def _zeros(*shape: int) -> Floats:
    return aligned_arrays.zeros((*shape, FLOAT_LANES), np.dtype(np.float32))
