"""The policy and value network as compiled code, for processors without matrix units.

`agents.network.Network` defines the computation and is trained by torch. This module repeats its
forward pass for inference: weights are transformed once, convolutions take fewer multiplications
(`agents.winograd`), and FLOAT_LANES positions at a time fill the SIMD vectors (`cc_env.jit.simd`).
A call runs in its own thread, without the GIL. The output for a position is bitwise independent of
the other positions in the batch.

Shapes: B positions, A actions; C planes of an observation, H rows, W columns; F features of a cell
and K numbers in a query or a key, both rounded up to a multiple of OUTPUTS; T tiles and P points of
`agents.winograd`; I channels in and O channels out of a layer; N lanes. A board has S cells, a
multiple of ABREAST and at least H·W + 2: its own, "nowhere" (the mean of all) and what is outside.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents import weight_files
from agents.winograd import (
    ABREAST,
    MOST_POINTS,
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

OUTPUTS = 4  # channels out that `multiply` calculates at the same time
ONE, ZERO = np.float32(1), np.float32(0)
_PAIR = "first", "second"  # convolutions of a block


class Dense(NamedTuple):
    """A layer of O outputs and I inputs, for `multiply`."""

    weights: Floats  # [O / OUTPUTS, I, OUTPUTS]
    bias: Floats  # [O]


class Convolutions(NamedTuple):
    """3×3 convolutions of the same shape, at the points of their tiles."""

    tiles: Tiling
    weights: Floats  # [layers, P, O / OUTPUTS, I, OUTPUTS]
    bias: Floats  # [layers, P, O]


class Weights(NamedTuple):
    """A network, ready for `forward`."""

    stem: Convolutions  # one
    first: Convolutions  # one for each block
    second: Convolutions  # one for each block, dilated
    keys: Dense  # 2 K of F: query and key of a cell
    board: Dense  # 2 K of 2 F: what mean and maximum of the board add to these
    hidden: Dense  # F of 2 F: of the value head
    value: Dense  # OUTPUTS of F: the first is meant
    pairs: NDArray[np.int64]  # [A, 2]: the cells where an action starts and ends


class Room(NamedTuple):
    """Memory for a forward pass of FLOAT_LANES positions."""

    cells: Floats  # [F, S * FLOAT_LANES]
    between: Floats  # [F or C, S * FLOAT_LANES]: the planes; cells between a block's convolutions
    near: Workspace  # of `stem` and `first`
    far: Workspace  # of `second`, in the same memory
    whole: Floats  # [2 F, WIDE_FLOAT_LANES]: mean and maximum
    keys: Floats  # [2 K, S * FLOAT_LANES]
    board: Floats  # [2 K, WIDE_FLOAT_LANES]
    hidden: Floats  # [F, WIDE_FLOAT_LANES]
    value: Floats  # [OUTPUTS, WIDE_FLOAT_LANES]
    logits: Floats  # [FLOAT_LANES], of one action


class Answer(NamedTuple):
    """What a network says of positions."""

    logits: Floats  # [B, A]
    values: Floats  # [B]


@jit(nogil=True)
def forward(network: Weights, room: Room, planes: NDArray[np.int8], answer: Answer) -> None:
    """Write the answer to planes [B, C, H, W]."""
    network, room = as_raw(network), as_raw(room)
    planes, answer = as_raw(planes), as_raw(answer)
    count = planes.shape[2] * planes.shape[3]
    for begin in range(0, len(planes), FLOAT_LANES):
        _place(planes, begin, room.between)
        _convolve(network.stem, 0, room.between, room.near)
        collect(network.stem.tiles, room.near, room.cells, False)
        for block in range(len(network.first.weights)):
            _convolve(network.first, block, room.cells, room.near)
            collect(network.first.tiles, room.near, room.between, False)
            _convolve(network.second, block, room.between, room.far)
            collect(network.second.tiles, room.far, room.cells, True)
        _pool(room, count)
        _values(network, room, begin, answer)
        _keys(network, room, count)
        _logits(network, room, begin, answer)


@jit
def _place(planes: NDArray[np.int8], begin: int, cells: Floats) -> None:
    """Write the planes of FLOAT_LANES positions as lanes; 0 where there are fewer."""
    _, kinds, rows, columns = planes.shape
    for lane in range(FLOAT_LANES):
        position = begin + lane
        for channel in range(kinds):
            for row in range(rows):
                for column in range(columns):
                    number = ZERO
                    if position < len(planes):
                        number = np.float32(planes[position, channel, row, column])
                    cells[channel, (row * columns + column) * FLOAT_LANES + lane] = number


@jit
def _convolve(layers: Convolutions, index: int, cells: Floats, work: Workspace) -> None:
    """Write the products of a convolution of cells [I, S * FLOAT_LANES]."""
    weights, bias = layers.weights[index], layers.bias[index]
    spread(layers.tiles, cells, weights.shape[2], work)
    _, count, width = work.products.shape
    for point in range(count):
        target = Line(work.products, point * width, count * width)
        multiply(Dense(weights[point], bias[point]), work.values[point], target)


@jit
def multiply(layer: Dense, inputs: Floats, outputs: Line) -> None:
    """Write a layer's outputs [O, N] of inputs [I, N]; N is a multiple of WIDE_FLOAT_LANES."""
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
            place = outputs.start + row * outputs.step + column
            store(outputs.array, place, first)
            store(outputs.array, place + outputs.step, second)
            store(outputs.array, place + 2 * outputs.step, third)
            store(outputs.array, place + 3 * outputs.step, fourth)


@jit
def _pool(room: Room, count: int) -> None:
    """Write the mean of `count` cells to "nowhere", and mean and maximum to `whole`."""
    share, (features, width) = ONE / np.float32(count), room.cells.shape
    for channel in range(features):
        start = channel * width
        total = most = load(room.cells, start, FLOAT_LANES)
        for cell in range(1, count):
            lanes = load(room.cells, start + cell * FLOAT_LANES, FLOAT_LANES)
            total, most = total + lanes, maximum(most, lanes)
        mean = fma(share, total, splat(ZERO, FLOAT_LANES))
        store(room.cells, start + count * FLOAT_LANES, mean)
        store(room.whole, channel * WIDE_FLOAT_LANES, mean)
        store(room.whole, (features + channel) * WIDE_FLOAT_LANES, most)


@jit
def _values(network: Weights, room: Room, begin: int, answer: Answer) -> None:
    multiply(network.hidden, room.whole, Line(room.hidden, 0, WIDE_FLOAT_LANES))
    for row in range(len(room.hidden)):
        store(
            room.hidden,
            row * WIDE_FLOAT_LANES,
            relu(load(room.hidden, row * WIDE_FLOAT_LANES, FLOAT_LANES)),
        )
    multiply(network.value, room.hidden, Line(room.value, 0, WIDE_FLOAT_LANES))
    for lane in range(min(FLOAT_LANES, len(answer.values) - begin)):
        answer.values[begin + lane] = np.float32(math.tanh(room.value[0, lane]))


@jit
def _keys(network: Weights, room: Room, count: int) -> None:
    """Write queries and keys of `count` cells and of "nowhere"."""
    multiply(network.keys, room.cells, Line(room.keys, 0, room.keys.shape[1]))
    multiply(network.board, room.whole, Line(room.board, 0, WIDE_FLOAT_LANES))
    for row in range(len(room.keys)):
        board = load(room.board, row * WIDE_FLOAT_LANES, FLOAT_LANES)
        for cell in range(count + 1):
            place = row * room.keys.shape[1] + cell * FLOAT_LANES
            store(room.keys, place, load(room.keys, place, FLOAT_LANES) + board)


@jit
def _logits(network: Weights, room: Room, begin: int, answer: Answer) -> None:
    """Write the products of the query where an action starts and the key where it ends."""
    size, width = len(room.keys) // 2, room.keys.shape[1]
    for action in range(len(network.pairs)):
        start = network.pairs[action, 0] * FLOAT_LANES
        end = network.pairs[action, 1] * FLOAT_LANES + size * width
        even = odd = splat(ZERO, FLOAT_LANES)  # two sums: an addition waits for the one before
        for place in range(0, size * width, 2 * width):
            queries = load(room.keys, start + place, FLOAT_LANES)
            even = fma(queries, load(room.keys, end + place, FLOAT_LANES), even)
            queries = load(room.keys, start + place + width, FLOAT_LANES)
            odd = fma(queries, load(room.keys, end + place + width, FLOAT_LANES), odd)
        store(room.logits, 0, even + odd)
        for lane in range(min(FLOAT_LANES, len(answer.values) - begin)):
            answer.logits[begin + lane, action] = room.logits[lane]


class CompiledNetwork:
    """A network that plays by compiled code: NumPy arrays in and out, in float32.

    Making one takes up to 0.1 s, of 64 channels on 10×10 cells. It has the weights about three
    times, and 1 to 5 megabytes for each thread that calls it at the same time.
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
        BadCheckpoint if the weights do not fit each other, TrainingDiverged if one is not finite.
        """
        _check(weights, shape[0])
        self._shape = shape
        self._weights = _transformed(weights, shape, reach, np.ascontiguousarray(pairs, np.int64))
        self._idle: list[Room] = []  # which no call uses at present
        self(np.zeros((0, *shape), np.int8))  # compiles

    def __call__(self, planes: NDArray[np.int8]) -> tuple[Floats, Floats]:
        """Return logits float32[B, A] and values float32[B] of planes int8[B, C, H, W].

        Raises ValueError for planes of another shape.
        """
        if planes.shape[1:] != self._shape:
            wanted = ", ".join(map(str, self._shape))
            raise ValueError(f"planes{planes.shape}; wanted: (any number, {wanted})")
        shape = len(planes), len(self._weights.pairs)
        answer = Answer(np.empty(shape, np.float32), np.empty(len(planes), np.float32))
        try:
            room = self._idle.pop()
        except IndexError:
            room = _room(self._weights, self._shape)
        forward(self._weights, room, np.ascontiguousarray(planes, np.int8), answer)
        self._idle.append(room)
        return answer.logits, answer.values


def _check(weights: Mapping[str, Floats], planes: int) -> None:
    """Raise BadCheckpoint if shapes do not match, TrainingDiverged if a weight is not finite."""
    features, keys = len(weights.get("stem.bias", ())), len(weights.get("keys.bias", ()))
    convolutions = [f"tower.{block}.{name}" for block in range(_blocks(weights)) for name in _PAIR]
    shapes = {
        "stem": (features, planes, 3, 3),
        **dict.fromkeys(convolutions, (features, features, 3, 3)),
        "keys": (keys, features),
        "view": (keys, 2 * features),
        "value.0": (features, 2 * features),
        "value.2": (1, features),
    }
    for name, shape in shapes.items():
        for part, wanted in (("bias", shape[:1]), ("weight", shape)):
            array = weight_files.expect(weights, f"{name}.{part}", wanted, np.float32)
            if not np.isfinite(array).all():
                raise TrainingDiverged(
                    f"{name}.{part} of the network has values that are not finite"
                )


def _blocks(weights: Mapping[str, Floats]) -> int:
    return sum(name.endswith("first.weight") for name in weights)


def _transformed(
    weights: Mapping[str, Floats],
    shape: tuple[int, int, int],
    reach: int,
    pairs: NDArray[np.int64],
) -> Weights:
    """Return the weights as `forward` wants them; K^-0.5 is within queries."""
    _, rows, columns = shape
    near, far = tiling(rows, columns, 1), tiling(rows, columns, reach)
    names = [[f"tower.{block}.{name}" for block in range(_blocks(weights))] for name in _PAIR]
    keys = len(weights["keys.bias"]) // 2
    scale = np.repeat(np.array([keys**-0.5, 1], np.float32), keys)
    halves = [
        (scale[:, None] * weights[f"{name}.weight"], scale * weights[f"{name}.bias"])
        for name in ("keys", "view")
    ]
    return Weights(
        stem=_convolutions(weights, ["stem"], near),
        first=_convolutions(weights, names[0], near),
        second=_convolutions(weights, names[1], far),
        keys=_dense(*halves[0], (2, 1)),
        board=_dense(*halves[1], (2, 2)),
        hidden=_dense(weights["value.0.weight"], weights["value.0.bias"], (1, 2)),
        value=_dense(weights["value.2.weight"], weights["value.2.bias"], (1, 1)),
        pairs=pairs,
    )


def _convolutions(
    weights: Mapping[str, Floats], names: Sequence[str], tiles: Tiling
) -> Convolutions:
    """Return the convolutions with these names.

    A constant is itself at the point 1 of a line: biases are added at (1, 1).
    """
    filters, biases = [], []
    for name in names:
        padded = _padded(weights[f"{name}.weight"], 0)
        padded = padded if name == "stem" else _padded(padded, 1)
        filters.append(_packed(points(padded, tiles.size)))
        bias = np.zeros((tiles.sources.shape[1], len(padded)), np.float32)
        bias[tiles.size + 2 + 1] = _padded(weights[f"{name}.bias"], 0)
        biases.append(bias)
    return Convolutions(tiles, np.stack(filters), np.stack(biases))


def _dense(weights: Floats, bias: Floats, parts: tuple[int, int]) -> Dense:
    """Return a layer with weights [O, I] whose outputs and inputs are of so many parts."""
    padded = _padded(_padded(weights, 0, parts[0]), 1, parts[1])
    return Dense(_packed(padded), _padded(bias, 0, parts[0]))


def _padded(array: Floats, axis: int, parts: int = 1) -> Floats:
    """Return an array whose parts along an axis have 0 added up to a multiple of OUTPUTS."""
    missing = [(0, 0)] * array.ndim
    missing[axis] = 0, -(array.shape[axis] // parts) % OUTPUTS
    pieces = [np.pad(part, missing) for part in np.split(array, parts, axis)]
    return np.concatenate(pieces, axis)


def _packed(weights: Floats) -> Floats:
    """Return weights [..., O, I] as [..., O / OUTPUTS, I, OUTPUTS]."""
    *rest, outputs, inputs = weights.shape
    blocks = weights.reshape(*rest, outputs // OUTPUTS, OUTPUTS, inputs)
    return np.ascontiguousarray(blocks.swapaxes(-1, -2))


def _room(network: Weights, shape: tuple[int, int, int]) -> Room:
    """Return the memory for a forward pass."""
    planes, rows, columns = shape
    features, keys = len(network.hidden.bias), len(network.keys.bias)
    inputs, width = max(features, planes), -(-(rows * columns + 2) // ABREAST) * WIDE_FLOAT_LANES
    near, far = _workspaces((network.first.tiles, network.second.tiles), inputs, features)
    return Room(
        cells=_zeros(features, width),
        between=_zeros(inputs, width),
        near=near,
        far=far,
        whole=_zeros(2 * features, WIDE_FLOAT_LANES),
        keys=_zeros(keys, width),
        board=_zeros(keys, WIDE_FLOAT_LANES),
        hidden=_zeros(features, WIDE_FLOAT_LANES),
        value=_zeros(OUTPUTS, WIDE_FLOAT_LANES),
        logits=_zeros(FLOAT_LANES),
    )


def _workspaces(kinds: Sequence[Tiling], inputs: int, outputs: int) -> list[Workspace]:
    """Return workspaces that share their memory."""
    most = FLOAT_LANES * max(tiles.sources.size for tiles in kinds)
    values, products = _zeros((inputs + 1) * most), _zeros(outputs * most)
    tile = _zeros(MOST_POINTS * FLOAT_LANES)

    def workspace(tiles: Tiling) -> Workspace:
        width, count = len(tiles.sources) * FLOAT_LANES, tiles.sources.shape[1]
        places = values[: count * (inputs + 1) * width].reshape(count, inputs + 1, width)
        return Workspace(
            places, products[: outputs * count * width].reshape(outputs, count, width), tile
        )

    return [workspace(tiles) for tiles in kinds]


def _zeros(*shape: int) -> Floats:
    return aligned_arrays.zeros(shape, np.dtype(np.float32))
