"""A small integer network that corrects the evaluation of a game, in compiled code.

    active inputs --table, int16--> 128 units --int16--> 32 units --int32--> points

The inputs, in the frame of the player to move, are the cells of each set of `rules.network_inputs`,
or of the first few, and windows of 2 by 2 cells, by their contents in the first two sets, own and
enemy. Few inputs are active, so the first layer is a sum of rows; empty windows add nothing and are
skipped. Integer arithmetic gives the same results on every machine, and `check` rejects weights
with which a sum could overflow.

Shapes: S sets, each a word of 64 cells; W windows; WIDTH and UNITS the units of the layers.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, lowest_bit, lowest_index, popcount
from cc_env.core.rules import Int, Position, network_inputs
from cc_env.errors import BadNetwork
from cc_env.jit import aligned_arrays
from cc_env.jit.compiler import jit
from cc_env.jit.simd import (
    INT16_LANES,
    INT32_LANES,
    add_product,
    clip,
    load,
    weighted_sum,
    window_states,
)

# Units of the first and of the second layer.
WIDTH = 2 * INT16_LANES
UNITS = INT32_LANES
# Cells of a set.
CELLS = 64
# States of a window: 4 cells, each empty, own or enemy.
STATES = 81
# The integer that represents 1 in the first layer and in the output of the second.
FIRST_SCALE = 128
# The sums of the second and of the third layer are shifted right by these numbers of bits.
SECOND_SHIFT = 10
THIRD_SHIFT = 13
# Units are clipped to 0..MAX_ACTIVATION.
MAX_ACTIVATION = 1023
# The greatest absolute correction, in points.
MAX_CORRECTION = 2_000

_8 = np.uint64(8)


class IntegerNetwork(NamedTuple):
    """The weights, in contiguous arrays.

    `windows` are the bits of the windows' first cells, ascending. `cells` and `states` are rows of
    the first layer; the rows of empty windows are 0. `simd.add_product` describes the layout of
    `second`.
    """

    windows: NDArray[np.uint64]  # [W]
    cells: NDArray[np.int16]  # [S * CELLS * WIDTH]
    states: NDArray[np.int16]  # [W * STATES * WIDTH]
    first_bias: NDArray[np.int16]  # [WIDTH]
    second: NDArray[np.int16]  # [WIDTH * UNITS]
    second_bias: NDArray[np.int32]  # [UNITS]
    third: NDArray[np.int32]  # [UNITS]
    third_bias: np.int64

    @property
    def num_sets(self) -> int:
        """The number of sets of cells among the inputs, S."""
        return len(self.cells) // (CELLS * WIDTH)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields; `_unpickle` aligns the arrays in the receiving process."""
        return _unpickle, tuple(self)


def _unpickle(*fields: Any) -> IntegerNetwork:
    return aligned(IntegerNetwork(*fields))


def aligned(network: IntegerNetwork) -> IntegerNetwork:
    """Return the network with aligned arrays in native byte order.

    No row of the first layer then straddles a cache line.
    """
    arrays = network._asdict()
    bias = np.int64(arrays.pop("third_bias"))
    return IntegerNetwork(
        **{name: _aligned(array) for name, array in arrays.items()}, third_bias=bias
    )


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    copy = aligned_arrays.zeros(array.size, array.dtype.newbyteorder("="))
    copy[:] = array.ravel()
    return copy


class Learned(NamedTuple):
    """The evaluation `base` of any game, corrected by a network."""

    base: Any
    network: IntegerNetwork


@jit
def learned(position: Position, player: Int, evaluation: Learned) -> Int:
    """Return the evaluation of a position for `player`; within a turn, that of the base."""
    value = np.int64(rules.evaluate(position, player, evaluation.base))
    if rules.mid_turn(position):
        return value
    points = correction(position, evaluation.network)
    return value + points if rules.to_move(position) == player else value - points


@jit
def correction(position: Position, network: IntegerNetwork) -> Int:
    """Return the correction for the player to move, in points."""
    sets = network_inputs(position)
    low = load(network.first_bias, 0, INT16_LANES)
    high = load(network.first_bias, INT16_LANES, INT16_LANES)
    own, enemy = sets[0], sets[1]
    origins = np.uint64(0)
    for index in range(len(network.windows)):
        origins |= ONE << network.windows[index]
    nonempty = origins & _nonempty_windows(own | enemy)
    states = window_states(own, enemy)
    while nonempty:
        cell, window = lowest_index(nonempty), popcount(origins & (lowest_bit(nonempty) - ONE))
        nonempty &= nonempty - ONE
        begin = (STATES * np.int64(window) + np.int64(states[cell])) * WIDTH
        low = low + load(network.states, begin, INT16_LANES)
        high = high + load(network.states, begin + INT16_LANES, INT16_LANES)
    for number in range(min(len(sets), len(network.cells) // (CELLS * WIDTH))):
        cells = sets[number]
        while cells:
            row = CELLS * number + np.int64(lowest_index(cells))
            cells &= cells - ONE
            low = low + load(network.cells, row * WIDTH, INT16_LANES)
            high = high + load(network.cells, row * WIDTH + INT16_LANES, INT16_LANES)
    sums = load(network.second_bias, 0, INT32_LANES)
    sums = add_product(clip(low, MAX_ACTIVATION), network.second, np.int64(0), sums)
    sums = add_product(clip(high, MAX_ACTIVATION), network.second, INT16_LANES * UNITS, sums)
    total = weighted_sum(sums, network.third, SECOND_SHIFT, MAX_ACTIVATION) + network.third_bias
    points: Int = min(max(total >> THIRD_SHIFT, -MAX_CORRECTION), MAX_CORRECTION)
    return points


@jit
def _nonempty_windows(cells: np.uint64) -> np.uint64:
    """Return the first cells of all windows that contain one of these cells."""
    beside = cells | cells >> ONE
    return beside | beside >> _8


def check(network: IntegerNetwork) -> None:
    """Raise BadNetwork if a sum could overflow in some position, or if windows are invalid."""
    if (np.diff(network.windows.astype(np.int64)) <= 0).any():
        raise BadNetwork("the windows are not in ascending order")
    if network.states.reshape(-1, STATES, WIDTH)[:, 0].any():
        raise BadNetwork("the weights of an empty window are not 0")
    for name, worst, limit in _sums(network):
        if worst > limit:
            raise BadNetwork(
                f"the sums of the {name} can reach {worst:,}; expected: at most {limit:,}"
            )


def _sums(network: IntegerNetwork) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the greatest absolute sum and the limit of each layer.

    One state of a window is active at a time, but any number of cells.
    """
    cells = _absolute(network.cells).reshape(-1, WIDTH).sum(0)
    states = _absolute(network.states).reshape(-1, STATES, WIDTH).max(1).sum(0)
    first = cells + states + _absolute(network.first_bias)
    yield "first layer", int(first.max()), 2**15 - 1
    second = _absolute(network.second).reshape(WIDTH // 2, UNITS, 2).sum((0, 2))
    yield "second layer", _worst(second, network.second_bias), 2**31 - 1
    third = _absolute(network.third).sum()
    yield "third layer", _worst(third, np.zeros(1)), 2**31 - 1
    yield "third bias", abs(int(network.third_bias)), 2**40


def _absolute(array: NDArray[Any]) -> NDArray[np.int64]:
    return np.abs(array.astype(np.int64))


def _worst(weights: NDArray[np.int64], bias: NDArray[Any]) -> int:
    return int((MAX_ACTIVATION * weights + _absolute(bias)).max())
