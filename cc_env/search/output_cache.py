"""A cache of the outputs of a network, so that it evaluates each position once.

An entry holds the value and the logits of the legal actions; the logits are stored in a ring buffer
in which the newest replace the oldest. The key is a hash of the observation and the legal actions.

Shapes: S slots, R logits in the ring, A = `num_actions`; C planes, H rows and W columns of an
observation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE
from cc_env.core.rules import Int
from cc_env.jit.compiler import jit

# Default sizes, in positions and logits.
SLOTS, RING = 2**18, 2**23
FACTOR = np.uint64(0x9E3779B97F4A7C15)
BYTE, HALF = np.uint64(8), np.uint64(32)


class OutputCache(NamedTuple):
    """The cache, direct-mapped: a new entry replaces the one in its slot."""

    # 0 in an empty slot.
    keys: NDArray[np.uint64]  # [S]
    values: NDArray[np.float32]  # [S]
    # `num_written` before this entry's logits.
    starts: NDArray[np.int64]  # [S]
    # Ring buffer.
    logits: NDArray[np.float32]  # [R]
    # Number of logits written so far, including overwritten ones.
    num_written: NDArray[np.int64]  # [1]


def make_cache(slots: int = SLOTS, ring: int = RING) -> OutputCache:
    """Return an empty cache; both sizes are powers of two. Memory pages are allocated when used."""
    return OutputCache(
        np.zeros(slots, np.uint64),
        np.empty(slots, np.float32),
        np.empty(slots, np.int64),
        np.empty(ring, np.float32),
        np.zeros(1, np.int64),
    )


@jit
def hash_observation(planes: NDArray[np.int8], legal: NDArray[np.int32], count: Int) -> np.uint64:
    """Return the hash of an observation, int8[C, H, W], and `legal[:count]`, int32[A]; never 0."""
    key = FACTOR
    cells = planes.ravel()
    for start in range(0, len(cells), 8):
        word = np.uint64(0)
        for index in range(start, min(start + 8, len(cells))):
            word = word << BYTE | np.uint64(np.uint8(cells[index]))
        key = _add_word(key, word)
    for index in range(count):
        key = _add_word(key, np.uint64(legal[index]))
    return key | ONE


@jit
def _add_word(key: np.uint64, word: np.uint64) -> np.uint64:
    """Return the hash `key` with another word; faster than `bitboard.mix`, and weaker."""
    key = (key ^ word) * FACTOR
    return key ^ key >> HALF


@jit
def store(
    cache: OutputCache, key: np.uint64, value: float, logits: NDArray[np.float32], count: Int
) -> None:
    """Store a value and `logits[:count]`, float32[A]."""
    slot, start = _slot(cache, key), cache.num_written[0]
    cache.keys[slot], cache.values[slot], cache.starts[slot] = key, value, start
    for index in range(count):
        cache.logits[(start + index) & (len(cache.logits) - 1)] = logits[index]
    cache.num_written[0] += count


@jit
def find_slot(cache: OutputCache, key: np.uint64) -> Int:
    """Return the slot of the entry with this key, or -1."""
    slot = _slot(cache, key)
    if cache.keys[slot] == key and cache.num_written[0] - cache.starts[slot] <= len(cache.logits):
        return slot
    return np.int64(-1)


@jit
def read(cache: OutputCache, slot: Int, logits: NDArray[np.float32], count: Int) -> float:
    """Copy the logits of an entry to `logits[:count]`, float32[A]; return its value."""
    start = cache.starts[slot]
    for index in range(count):
        logits[index] = cache.logits[(start + index) & (len(cache.logits) - 1)]
    return np.float64(cache.values[slot])


@jit
def _slot(cache: OutputCache, key: np.uint64) -> Int:
    # All keys are odd.
    return np.int64(key >> ONE & np.uint64(len(cache.keys) - 1))
