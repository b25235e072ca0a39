"""Bit operations on unsigned 64-bit words that compile to a few machine instructions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cc_env.jit.compiler import jit

# Unsigned constants: arithmetic of a uint64 and a plain int yields floats.
ZERO, ONE = np.uint64(0), np.uint64(1)
_63 = np.uint64(63)


def _unary(emit: Callable[[ir.IRBuilder, ir.Value], ir.Value]) -> Any:
    """Return an intrinsic from uint64 to uint64 that `emit` generates."""

    def instruction(typing_context: object, word: object) -> Any:
        def generate(
            context: object, builder: ir.IRBuilder, signature: object, arguments: list[ir.Value]
        ) -> ir.Value:
            return emit(builder, arguments[0])

        return types.uint64(types.uint64), generate

    return intrinsic(instruction)


_ctpop = _unary(lambda builder, word: builder.ctpop(word))
_cttz = _unary(lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 0)))
_ctlz = _unary(lambda builder, word: builder.ctlz(word, ir.Constant(ir.IntType(1), 0)))
_bitreverse = _unary(lambda builder, word: builder.bitreverse(word))


@jit
def popcount(word: np.uint64) -> np.int64:
    """Return the number of set bits, 0..64."""
    return np.int64(_ctpop(word))


@jit
def lowest_index(word: np.uint64) -> np.uint64:
    """Return the index of the lowest set bit, 64 if no bit is set."""
    return _cttz(word)  # type: ignore[no-any-return]


@jit
def highest_index(word: np.uint64) -> np.uint64:
    """Return the index of the highest set bit of a word other than 0."""
    return _63 - _ctlz(word)  # type: ignore[no-any-return]


@jit
def reverse_bits(word: np.uint64) -> np.uint64:
    """Return the word with bit i moved to bit 63 - i."""
    return _bitreverse(word)  # type: ignore[no-any-return]


@jit
def lowest_bit(word: np.uint64) -> np.uint64:
    """Return a word with only the lowest set bit of `word`, 0 if no bit is set."""
    return word & (~word + ONE)


@jit
def table_sum(cells: np.uint64, table: NDArray[np.int64]) -> np.int64:
    """Return the sum of the entries of a table, int64[64], at the set bits."""
    total = np.int64(0)
    while cells:
        total += table[lowest_index(cells)]
        cells &= cells - ONE
    return total


@jit
def mix(word: np.uint64) -> np.uint64:
    """Return a hash of the word: the output function of SplitMix64 (Steele et al., 2014)."""
    word += np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
