"""A small network of integers that corrects a game's own evaluation, in compiled code.

    active inputs --table, int16--> 128 units --int16--> 32 units --int32--> points

The inputs are those of `rules.network_inputs`, in the frame of the player to move: the cells of
each set, or of the first few; and windows of 2 by 2 cells, by what the first two sets, own and
enemy, have there. Few are active at a time, so the first layer is a sum of rows; empty windows add
nothing, and are skipped. All is exact: results are the same on every machine, and `check` refuses
weights with which a sum could overflow.

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
from cc_env.jit.simd import INT16_LANES, INT32_LANES, add_product, clip, load, weighted_sum

WIDTH = 2 * INT16_LANES  # units of the first layer
UNITS = INT32_LANES  # units of the second layer
CELLS = 64  # of a set
STATES = 81  # of a window: 4 cells, each empty, own or enemy
FIRST_UNIT = (
    128  # what stands for 1 in the sums of the first layer, and in what comes of the second
)
SECOND_SHIFT = 10  # the sums of the second layer are so many times 2 finer
THIRD_SHIFT = 13  # the sum of the third, of a point
MOST_ACTIVE = 1023  # units are clipped to 0..MOST_ACTIVE
MOST_CORRECTION = 2_000  # points; the network adds no more

_4, _6, _8, _3_BITS = np.uint64(4), np.uint64(6), np.uint64(8), np.uint64(3)
_HIGH = np.uint64(12)

# STATE[own | enemy << 4]: the state of a window in which these bits are set.
STATE = np.array(
    [
        sum(3**n * ((bits >> n & 1) + 2 * (bits >> 4 + n & 1)) for n in range(4))
        for bits in range(256)
    ],
    np.int64,
)


class IntegerNetwork(NamedTuple):
    """The weights; arrays are contiguous."""

    windows: NDArray[np.uint64]  # [W] the bit of each window's first cell, ascending
    cells: NDArray[np.int16]  # [S * CELLS * WIDTH] rows of the first layer
    states: NDArray[np.int16]  # [W * STATES * WIDTH] likewise; 0 where a window is empty
    first_bias: NDArray[np.int16]  # [WIDTH]
    second: NDArray[np.int16]  # [WIDTH * UNITS], see `simd.add_product`
    second_bias: NDArray[np.int32]  # [UNITS]
    third: NDArray[np.int32]  # [UNITS]
    third_bias: np.int64

    def __reduce__(self) -> tuple[Any, ...]:  # what arrives in another process is aligned again
        return _arrived, tuple(self)


def _arrived(*fields: Any) -> IntegerNetwork:
    return aligned(IntegerNetwork(*fields))


def aligned(network: IntegerNetwork) -> IntegerNetwork:
    """Return the network with its arrays in the machine's order of bytes, and aligned.

    So no row of the first layer crosses a line of the processor's cache.
    """
    arrays = network._asdict()
    bias = np.int64(arrays.pop("third_bias"))
    return IntegerNetwork(
        **{name: _aligned(array) for name, array in arrays.items()}, third_bias=bias
    )


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    placed = aligned_arrays.zeros(array.size, array.dtype.newbyteorder("="))
    placed[:] = array.ravel()
    return placed


class Learned(NamedTuple):
    """An evaluation of any game: another one, corrected by a network."""

    base: Any
    network: IntegerNetwork


@jit
def learned(position: Position, player: Int, evaluation: Learned) -> Int:
    """As `rules.evaluate`; within a turn what the base says."""
    value = np.int64(rules.evaluate(position, player, evaluation.base))
    if rules.mid_turn(position):
        return value
    points = correction(position, evaluation.network)
    return value + points if rules.to_move(position) == player else value - points


@jit
def correction(position: Position, network: IntegerNetwork) -> Int:
    """Return the points that the network adds, to the player to move."""
    sets = network_inputs(position)
    left = load(network.first_bias, 0, INT16_LANES)
    right = load(network.first_bias, INT16_LANES, INT16_LANES)
    own, enemy = sets[0], sets[1]
    places = np.uint64(0)
    for index in range(len(network.windows)):
        places |= ONE << network.windows[index]
    reached = places & _reached(own | enemy)
    while reached:
        place, window = lowest_index(reached), popcount(places & (lowest_bit(reached) - ONE))
        reached &= reached - ONE
        state = STATE[_four(own >> place) | _four(enemy >> place) << _4]
        begin = (STATES * window + state) * WIDTH
        left = left + load(network.states, begin, INT16_LANES)
        right = right + load(network.states, begin + INT16_LANES, INT16_LANES)
    for number in range(min(len(sets), len(network.cells) // (CELLS * WIDTH))):
        cells = sets[number]
        while cells:
            row = CELLS * number + np.int64(lowest_index(cells))
            cells &= cells - ONE
            left = left + load(network.cells, row * WIDTH, INT16_LANES)
            right = right + load(network.cells, row * WIDTH + INT16_LANES, INT16_LANES)
    sums = load(network.second_bias, 0, INT32_LANES)
    sums = add_product(clip(left, MOST_ACTIVE), network.second, np.int64(0), sums)
    sums = add_product(clip(right, MOST_ACTIVE), network.second, INT16_LANES * UNITS, sums)
    total = weighted_sum(sums, network.third, SECOND_SHIFT, MOST_ACTIVE) + network.third_bias
    points: Int = min(max(total >> THIRD_SHIFT, -MOST_CORRECTION), MOST_CORRECTION)
    return points


@jit
def _reached(cells: np.uint64) -> np.uint64:
    """Return the first cells of all windows that have one of these cells."""
    beside = cells | cells >> ONE
    return beside | beside >> _8


@jit
def _four(cells: np.uint64) -> np.uint64:
    """Return the cells 0, 1, 8 and 9 as four bits."""
    return cells & _3_BITS | cells >> _6 & _HIGH


def check(network: IntegerNetwork) -> None:
    """Raise BadNetwork unless no sum can overflow, whatever the position, and windows are right."""
    if (np.diff(network.windows.astype(np.int64)) <= 0).any():
        raise BadNetwork("the windows do not ascend")
    if network.states.reshape(-1, STATES, WIDTH)[:, 0].any():
        raise BadNetwork("an empty window adds something; wanted: 0, the bias has it")
    for name, worst, most in _sums(network):
        if worst > most:
            raise BadNetwork(
                f"the sums of the {name} can reach {worst:,}; wanted: at most {most:,}"
            )


def _sums(network: IntegerNetwork) -> Iterator[tuple[str, int, int]]:
    """Yield a name, the greatest absolute sum and the limit, for each layer.

    Of a window one state is active at a time, of cells any number.
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
    return int((MOST_ACTIVE * weights + _absolute(bias)).max())
