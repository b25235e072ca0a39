"""Sets of up to 128 cells as two 64-bit words, for boards of more than 64 cells."""

from typing import NamedTuple

import numpy as np

from cc_env.core.bitboard import ONE, ZERO, lowest_index, popcount, reverse_bits
from cc_env.core.rules import Bool, Int
from cc_env.jit.compiler import jit

_64 = np.uint64(64)


class Bitboard128(NamedTuple):
    """A set of cells: `low` holds cells 0 to 63, `high` cells 64 to 127."""

    low: np.uint64
    high: np.uint64


def bitboard128(cells: int) -> Bitboard128:
    """Return the set whose cells are the bits of a Python integer."""
    return Bitboard128(np.uint64(cells & 2**64 - 1), np.uint64(cells >> 64))


EMPTY = bitboard128(0)


@jit
def from_cell(cell: Int) -> Bitboard128:
    """Return the set of one cell."""
    bit = np.uint64(cell)
    return Bitboard128(ONE << bit, ZERO) if bit < _64 else Bitboard128(ZERO, ONE << (bit - _64))


@jit
def union(a: Bitboard128, b: Bitboard128) -> Bitboard128:
    """Return the cells in either set."""
    return Bitboard128(a.low | b.low, a.high | b.high)


@jit
def intersection(a: Bitboard128, b: Bitboard128) -> Bitboard128:
    """Return the cells in both sets."""
    return Bitboard128(a.low & b.low, a.high & b.high)


@jit
def difference(a: Bitboard128, b: Bitboard128) -> Bitboard128:
    """Return the cells of `a` that are not in `b`."""
    return Bitboard128(a.low & ~b.low, a.high & ~b.high)


@jit
def shift_up(cells: Bitboard128, shift: np.uint64) -> Bitboard128:
    """Return the set with each cell moved up by 1 to 63; cells beyond 127 are dropped."""
    return Bitboard128(cells.low << shift, cells.high << shift | cells.low >> (_64 - shift))


@jit
def shift_down(cells: Bitboard128, shift: np.uint64) -> Bitboard128:
    """Return the set with each cell moved down by 1 to 63; cells below 0 are dropped."""
    return Bitboard128(cells.low >> shift | cells.high << (_64 - shift), cells.high >> shift)


@jit
def reverse(cells: Bitboard128) -> Bitboard128:
    """Return the set with cell i moved to 127 - i."""
    return Bitboard128(reverse_bits(cells.high), reverse_bits(cells.low))


@jit
def count(cells: Bitboard128) -> Int:
    """Return the number of cells."""
    return popcount(cells.low) + popcount(cells.high)


@jit
def is_empty(cells: Bitboard128) -> Bool:
    """Return whether the set has no cell."""
    return not cells.low | cells.high


@jit
def contains(cells: Bitboard128, cell: Int) -> Bool:
    """Return whether a cell is in the set."""
    bit = np.uint64(cell)
    word = cells.low >> bit if bit < _64 else cells.high >> (bit - _64)
    return bool(word & ONE)


@jit
def lowest_cell(cells: Bitboard128) -> Int:
    """Return the lowest cell, 128 if the set is empty."""
    return np.int64(lowest_index(cells.low) if cells.low else _64 + lowest_index(cells.high))


@jit
def without_lowest(cells: Bitboard128) -> Bitboard128:
    """Return the set without its lowest cell."""
    if cells.low:
        return Bitboard128(cells.low & (cells.low - ONE), cells.high)
    return Bitboard128(cells.low, cells.high & (cells.high - ONE))
