"""Sets of up to 128 cells as two words, for boards that one word is too small for."""

from typing import NamedTuple

import numpy as np

from cc_env.core.bitboard import ONE, ZERO, lowest, popcount, reverse
from cc_env.core.rules import Bool, Int
from cc_env.jit.compiler import jit

_64 = np.uint64(64)


class Wide(NamedTuple):
    """A set of cells 0 to 127: the first 64, and the others."""

    low: np.uint64
    high: np.uint64


def wide(cells: int) -> Wide:
    """Return the set whose cells are the bits of a Python integer."""
    return Wide(np.uint64(cells & 2**64 - 1), np.uint64(cells >> 64))


NONE = wide(0)


@jit
def single(cell: Int) -> Wide:
    """Return the set of one cell."""
    place = np.uint64(cell)
    return Wide(ONE << place, ZERO) if place < _64 else Wide(ZERO, ONE << (place - _64))


@jit
def either(first: Wide, second: Wide) -> Wide:
    """Return the cells in either set."""
    return Wide(first.low | second.low, first.high | second.high)


@jit
def both(first: Wide, second: Wide) -> Wide:
    """Return the cells in both sets."""
    return Wide(first.low & second.low, first.high & second.high)


@jit
def without(first: Wide, second: Wide) -> Wide:
    """Return the cells in the first that are not in the second."""
    return Wide(first.low & ~second.low, first.high & ~second.high)


@jit
def up(cells: Wide, by: np.uint64) -> Wide:
    """Return the cells `by` (1 to 63) further on; those beyond the last are dropped."""
    return Wide(cells.low << by, cells.high << by | cells.low >> (_64 - by))


@jit
def down(cells: Wide, by: np.uint64) -> Wide:
    """Return the cells `by` (1 to 63) further back; those before the first are dropped."""
    return Wide(cells.low >> by | cells.high << (_64 - by), cells.high >> by)


@jit
def reversed_wide(cells: Wide) -> Wide:
    """Return the set with cell i moved to 127 - i."""
    return Wide(reverse(cells.high), reverse(cells.low))


@jit
def size(cells: Wide) -> Int:
    """Return how many cells there are."""
    return popcount(cells.low) + popcount(cells.high)


@jit
def is_empty(cells: Wide) -> Bool:
    return not cells.low | cells.high


@jit
def has(cells: Wide, cell: Int) -> Bool:
    """Return whether a cell is in the set."""
    place = np.uint64(cell)
    word = cells.low >> place if place < _64 else cells.high >> (place - _64)
    return bool(word & ONE)


@jit
def first(cells: Wide) -> Int:
    """Return the lowest cell, 128 if the set is empty."""
    return np.int64(lowest(cells.low) if cells.low else _64 + lowest(cells.high))


@jit
def after_first(cells: Wide) -> Wide:
    """Return the set without its lowest cell."""
    if cells.low:
        return Wide(cells.low & (cells.low - ONE), cells.high)
    return Wide(cells.low, cells.high & (cells.high - ONE))
