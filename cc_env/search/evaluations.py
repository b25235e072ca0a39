"""What a network said of positions, so that it is asked once for each.

Kept is what a search needs: the value, and the logits of the legal actions alone, side by side in a
ring where the newest replace the oldest. Positions are known by what the network sees of them and
their legal actions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.bits import ONE
from cc_env.compile import jit
from cc_env.rules import Int

SLOTS, ROOM = 2**18, 2**23  # positions, logits
FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class Evaluations(NamedTuple):
    """Values and logits by the hashes of observations; a newer one replaces what is in its slot."""

    keys: NDArray[np.uint64]  # [slots]; 0: nothing
    values: NDArray[np.float32]  # [slots]
    starts: NDArray[np.int64]  # [slots]: how many logits were written before
    logits: NDArray[np.float32]  # [room]: a ring
    written: NDArray[np.int64]  # [1]: logits, ever


def empty(slots: int = SLOTS, room: int = ROOM) -> Evaluations:
    """Return room for so many positions and logits, powers of two; memory is taken as they come."""
    return Evaluations(
        np.zeros(slots, np.uint64),
        np.empty(slots, np.float32),
        np.empty(slots, np.int64),
        np.empty(room, np.float32),
        np.zeros(1, np.int64),
    )


@jit
def hash_of(planes: NDArray[np.int8], legal: NDArray[np.int32], count: Int) -> np.uint64:
    """Return the hash of an observation, int8[C, H, W], and its legal actions; never 0."""
    key = FACTOR
    for cell in planes.ravel():
        key = (key ^ np.uint64(np.uint8(cell))) * FACTOR
        key ^= key >> HALF
    for index in range(count):
        key = (key ^ np.uint64(legal[index])) * FACTOR
        key ^= key >> HALF
    return key | ONE


@jit
def keep(
    kept: Evaluations, key: np.uint64, value: float, logits: NDArray[np.float32], count: Int
) -> None:
    """Keep a value and the first `count` of these logits."""
    slot, start = _slot(kept, key), kept.written[0]
    kept.keys[slot], kept.values[slot], kept.starts[slot] = key, value, start
    for index in range(count):
        kept.logits[(start + index) & (len(kept.logits) - 1)] = logits[index]
    kept.written[0] += count


@jit
def find(kept: Evaluations, key: np.uint64) -> Int:
    """Return the slot of what is kept under a key, or -1."""
    slot = _slot(kept, key)
    if kept.keys[slot] == key and kept.written[0] - kept.starts[slot] <= len(kept.logits):
        return slot
    return np.int64(-1)


@jit
def take(kept: Evaluations, slot: Int, logits: NDArray[np.float32], count: Int) -> float:
    """Write the `count` logits of a slot; return its value."""
    start = kept.starts[slot]
    for index in range(count):
        logits[index] = kept.logits[(start + index) & (len(kept.logits) - 1)]
    return np.float64(kept.values[slot])


@jit
def _slot(kept: Evaluations, key: np.uint64) -> Int:
    return np.int64(key >> ONE & np.uint64(len(kept.keys) - 1))  # all keys are odd
