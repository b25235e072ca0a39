"""The transposition table: values, bounds and best actions by position, two entries to a bucket.

An entry is two words: the key, and the value, best action, depth, bound and age packed together.
Replacement: the first entry of a bucket is depth-preferred within the current search, the second is
always replaced.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE
from cc_env.core.rules import Int
from cc_env.errors import BadOption, is_number
from cc_env.jit.compiler import jit

Table = NDArray[np.uint64]  # [2B, 2], with B buckets, a power of two

# Bounds: the value is exact, a lower bound, an upper bound.
EXACT, LOWER, UPPER = 1, 2, 3
NO_ACTION = -1
ENTRY_BYTES = 16
AGES = 64
# Depth of a subtree that was searched to the end of the game.
FULL_DEPTH = 255

_VALUE, _ACTION, _DEPTH, _AGE = (np.uint64(shift) for shift in (32, 16, 8, 2))
_16_BITS, _8_BITS, _6_BITS, _2_BITS = (np.uint64(2**bits - 1) for bits in (16, 8, 6, 2))
# Added to values, so that packed values are unsigned.
_OFFSET = 2**31


class TableEntry(NamedTuple):
    """An unpacked entry of the table; `bound` is 0 if the position is not in it."""

    # Value to the player to move; wins count plies from this position.
    value: Int
    # Best action, or NO_ACTION.
    action: Int
    # Turns searched, or FULL_DEPTH.
    depth: Int
    # EXACT, LOWER or UPPER.
    bound: Int


def make_table(megabytes: float) -> Table:
    """Return an empty table, uint64[2B, 2]; B is the greatest power of two that fits the size.

    Raises BadOption for a size below 1 KiB or above 64 GiB, or too large for this machine's memory.
    """
    if not is_number(megabytes, 1 / 1024, 2**16):
        raise BadOption(f"table_megabytes={megabytes!r}; expected: 1/1024 to {2**16}")
    entries = int(megabytes * 2**20) // ENTRY_BYTES
    try:
        return np.zeros((1 << (entries.bit_length() - 1), 2), np.uint64)
    except MemoryError:
        why = "this machine does not have enough memory; choose a smaller table"
        raise BadOption(f"table_megabytes={megabytes!r}: {why}") from None


@jit
def probe(table: Table, key: np.uint64) -> TableEntry:
    """Return the entry with this key; its `bound` is 0 if there is none."""
    first = _bucket(table, key)
    for slot in range(first, first + 2):
        if table[slot, 0] == key:
            packed = table[slot, 1]
            value = np.int64(packed >> _VALUE) - _OFFSET
            action = np.int64(packed >> _ACTION & _16_BITS) - 1
            depth, bound = np.int64(packed >> _DEPTH & _8_BITS), np.int64(packed & _2_BITS)
            return TableEntry(value, action, depth, bound)
    return TableEntry(np.int64(0), np.int64(NO_ACTION), np.int64(0), np.int64(0))


@jit
def store(table: Table, key: np.uint64, entry: TableEntry, age: Int) -> None:
    """Store an entry in its bucket.

    It replaces the first entry if that is of the same position, older or not deeper, otherwise the
    second.
    """
    slot = _bucket(table, key)
    first = table[slot, 1]
    is_current = np.int64(first >> _AGE & _6_BITS) == age
    if table[slot, 0] != key and is_current and np.int64(first >> _DEPTH & _8_BITS) > entry.depth:
        slot += 1
    packed = np.uint64(entry.value + _OFFSET) << _VALUE | np.uint64(entry.action + 1) << _ACTION
    packed |= np.uint64(entry.depth) << _DEPTH | np.uint64(age) << _AGE | np.uint64(entry.bound)
    table[slot, 0] = key
    table[slot, 1] = packed


@jit
def _bucket(table: Table, key: np.uint64) -> Int:
    """Return the index of the first entry of the key's bucket."""
    return np.int64(key & np.uint64(len(table) - 1) & ~ONE)
