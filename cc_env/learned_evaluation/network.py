"""A small integer network that corrects the evaluation of a game, in compiled code.

    active inputs --table, int16--> 128 units --int16--> 32 units --int32--> points

The inputs, in the frame of the player to move, are the cells of each set of `rules.network_inputs`,
or of the first few, and windows of 2 by 2 cells, by their contents in the first two sets, own and
enemy. Few inputs are active, so the first layer is a sum of rows; empty windows add nothing and are
skipped. The windows that begin in one row of the board depend on two rows of cells, of which a
search meets few contents, so a cache keeps the sums of such windows. Integer arithmetic gives the
same results on every machine, and `check` rejects weights with which a sum could overflow.

Shapes: S sets, each a word of 64 cells; W windows; WIDTH and UNITS the units of the layers; K slots
of the cache, 0 without a cache.
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
    store,
    weighted_sum,
)

# Units of the first and of the second layer.
WIDTH = INT16_LANES
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

# Rows of the board, each of ROW_CELLS cells, in which windows begin.
WINDOW_ROWS, ROW_CELLS = 7, 8
# The cache of sums has 2**SLOT_BITS slots for each of these rows.
SLOT_BITS = 8

_2, _3, _8, _9, _32 = map(np.uint64, (2, 3, ROW_CELLS, 9, 32))
_ROW, _TWO_ROWS = np.uint64(0xFF), np.uint64(0xFFFF)
_SLOT_BITS, _SLOT_SHIFT = np.uint64(SLOT_BITS), np.uint64(64 - SLOT_BITS)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


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
    return align(IntegerNetwork(*fields))


def align(network: IntegerNetwork) -> IntegerNetwork:
    """Return the network with aligned arrays in native byte order.

    No row of the first layer then straddles a cache line.
    """
    arrays = network._asdict()
    bias = np.int64(arrays.pop("third_bias"))
    return IntegerNetwork(
        **{name: _align_array(array) for name, array in arrays.items()}, third_bias=bias
    )


def _align_array(array: NDArray[Any]) -> NDArray[Any]:
    copy = aligned_arrays.zeros(array.size, array.dtype.newbyteorder("="))
    copy[:] = array.ravel()
    return copy


class Windows(NamedTuple):
    """The windows of a network, and a cache of their sums in the first layer, for one thread.

    A slot has the sum of the windows that begin in one row of the board, for the contents of the
    two rows of cells in `keys`: own pieces in the lower half of the word, enemy's in the upper.
    """

    # The bits of the windows' first cells.
    first_cells: np.uint64
    # 0 in an empty slot.
    keys: NDArray[np.uint64]  # [K]
    sums: NDArray[np.int16]  # [K * WIDTH]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the windows with an empty cache."""
        return _make_windows, (self.first_cells, len(self.keys))


def _make_windows(first_cells: np.uint64, slots: int) -> Windows:
    sums = aligned_arrays.zeros(slots * WIDTH, np.dtype(np.int16))
    return Windows(first_cells, np.zeros(slots, np.uint64), sums)


class Learned(NamedTuple):
    """The evaluation `base` of any game, corrected by a network."""

    base: Any
    network: IntegerNetwork
    windows: Windows


def with_network(base: Any, network: IntegerNetwork) -> Learned:
    """Return an evaluation corrected by a network, without a cache: any thread may use it.

    `check` must accept the network.
    """
    first_cells = np.bitwise_or.reduce(ONE << network.windows, initial=np.uint64(0))
    return Learned(base, network, _make_windows(np.uint64(first_cells), 0))


def with_cache(evaluation: Learned) -> Learned:
    """Return the evaluation with an empty cache of its own, for one thread."""
    if not evaluation.windows.first_cells:
        return evaluation
    slots = WINDOW_ROWS << SLOT_BITS
    return evaluation._replace(windows=_make_windows(evaluation.windows.first_cells, slots))


@jit
def evaluate_learned(position: Position, player: Int, evaluation: Learned) -> Int:
    """Return the evaluation of a position for `player`; within a turn, that of the base."""
    value = np.int64(rules.evaluate(position, player, evaluation.base))
    if rules.mid_turn(position):
        return value
    points = correction(position, evaluation.network, evaluation.windows)
    return value + points if rules.to_move(position) == player else value - points


@jit
def correction(position: Position, network: IntegerNetwork, windows: Windows) -> Int:
    """Return the correction for the player to move, in points; store new sums in the cache."""
    sets = network_inputs(position)
    first = load(network.first_bias, 0, WIDTH)
    own, enemy = sets[0], sets[1]
    nonempty = windows.first_cells & _nonempty_windows(own | enemy)
    has_cache = len(windows.keys) > 0
    for row in range(WINDOW_ROWS):
        shift = np.uint64(ROW_CELLS * row)
        remaining = nonempty & _ROW << shift
        if not remaining:
            continue
        key = own >> shift & _TWO_ROWS | (enemy >> shift & _TWO_ROWS) << _32
        slot = key * _FACTOR >> _SLOT_SHIFT | np.uint64(row) << _SLOT_BITS
        begin = np.int64(slot) * WIDTH
        if has_cache and windows.keys[slot] == key:
            first = first + load(windows.sums, begin, WIDTH)
            continue
        # Zeros.
        total = first - first
        while remaining:
            cell = lowest_index(remaining)
            window = popcount(windows.first_cells & (lowest_bit(remaining) - ONE))
            remaining &= remaining - ONE
            state = _digits(own >> cell) + _2 * _digits(enemy >> cell)
            index = STATES * np.int64(window) + np.int64(state)
            total = total + load(network.states, index * WIDTH, WIDTH)
        first = first + total
        if has_cache:
            windows.keys[slot] = key
            store(windows.sums, begin, total)
    for number in range(min(len(sets), len(network.cells) // (CELLS * WIDTH))):
        cells = sets[number]
        while cells:
            index = CELLS * number + np.int64(lowest_index(cells))
            cells &= cells - ONE
            first = first + load(network.cells, index * WIDTH, WIDTH)
    second = load(network.second_bias, 0, UNITS)
    second = add_product(clip(first, MAX_ACTIVATION), network.second, second)
    output = weighted_sum(second, network.third, SECOND_SHIFT, MAX_ACTIVATION) + network.third_bias
    points: Int = min(max(output >> THIRD_SHIFT, -MAX_CORRECTION), MAX_CORRECTION)
    return points


@jit
def _digits(cells: np.uint64) -> np.uint64:
    """Return the cells 0, 1, 8 and 9 as a number of 4 digits, 0 or 1, in base 3."""
    upper, lower = cells & _3, cells >> _8 & _3
    return upper + (upper >> ONE) + _9 * (lower + (lower >> ONE))


@jit
def _nonempty_windows(cells: np.uint64) -> np.uint64:
    """Return the first cells of all windows that contain one of these cells."""
    beside = cells | cells >> ONE
    return beside | beside >> _8


def check(network: IntegerNetwork) -> None:
    """Raise BadNetwork if a sum could overflow in some position, or if windows are invalid."""
    if (np.diff(network.windows.astype(np.int64)) <= 0).any():
        raise BadNetwork("the windows are not in ascending order")
    last_column = network.windows % ROW_CELLS == ROW_CELLS - 1
    if (last_column | (network.windows >= WINDOW_ROWS * ROW_CELLS)).any():
        raise BadNetwork("a window begins in the last row or column")
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
