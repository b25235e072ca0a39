"""The transposition table: what a search found out about positions, two entries to a bucket.

An entry is two words: the key, and the value, best action, depth, bound and age packed together.
The first entry of a bucket keeps the deepest of the present search, the second the latest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.bits import ONE
from cc_env.compile import jit
from cc_env.errors import UnknownOption, is_number
from cc_env.rules import Int

Table = NDArray[np.uint64]  # [2 * buckets, 2], buckets a power of two

EXACT, LOWER, UPPER = 1, 2, 3  # a value is so much, at least so much, at most so much
NONE = -1  # no action known
ENTRY_BYTES = 16
AGES = 64
TO_THE_END = 255  # the depth of what was searched to the end of the game

_VALUE, _ACTION, _DEPTH, _AGE = (np.uint64(shift) for shift in (32, 16, 8, 2))
_16_BITS, _8_BITS, _6_BITS, _2_BITS = (np.uint64(2**bits - 1) for bits in (16, 8, 6, 2))
_MIDDLE = 2**31  # packed values are not negative


class Found(NamedTuple):
    """What the table knows of a position; `bound` is 0 where it knows nothing."""

    value: Int
    action: Int
    depth: Int
    bound: Int


def empty(megabytes: float) -> Table:
    """Return a table of at most this size, the greatest power of two that fits.

    Raises UnknownOption for less than a kilobyte or more than 64 gigabytes, and for more than there
    is memory.
    """
    if not is_number(megabytes, 1 / 1024, 2**16):
        raise UnknownOption(f"table_megabytes={megabytes!r}; it is 1/1024 to {2**16}")
    entries = int(megabytes * 2**20) // ENTRY_BYTES
    try:
        return np.zeros((1 << (entries.bit_length() - 1), 2), np.uint64)
    except MemoryError:
        why = "there is not so much memory here; fewer will do"
        raise UnknownOption(f"table_megabytes={megabytes!r}: {why}") from None


@jit
def probe(table: Table, key: np.uint64) -> Found:
    """Return what is known of the position with this key."""
    first = _bucket(table, key)
    for slot in range(first, first + 2):
        if table[slot, 0] == key:
            packed = table[slot, 1]
            value = np.int64(packed >> _VALUE) - _MIDDLE
            action = np.int64(packed >> _ACTION & _16_BITS) - 1
            depth, bound = np.int64(packed >> _DEPTH & _8_BITS), np.int64(packed & _2_BITS)
            return Found(value, action, depth, bound)
    return Found(np.int64(0), np.int64(NONE), np.int64(0), np.int64(0))


@jit
def keep(table: Table, key: np.uint64, found: Found, age: Int) -> None:
    """Keep what was found; it replaces the same position, what is older or less deep."""
    slot = _bucket(table, key)
    held = table[slot, 1]
    is_kept = np.int64(held >> _AGE & _6_BITS) == age
    if table[slot, 0] != key and is_kept and np.int64(held >> _DEPTH & _8_BITS) > found.depth:
        slot += 1
    packed = np.uint64(found.value + _MIDDLE) << _VALUE | np.uint64(found.action + 1) << _ACTION
    packed |= np.uint64(found.depth) << _DEPTH | np.uint64(age) << _AGE | np.uint64(found.bound)
    table[slot, 0] = key
    table[slot, 1] = packed


@jit
def _bucket(table: Table, key: np.uint64) -> Int:
    """Return where the bucket of the key begins."""
    return np.int64(key & np.uint64(len(table) - 1) & ~ONE)
