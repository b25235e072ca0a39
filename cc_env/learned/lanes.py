"""Rows of small integers in vector registers, for compiled code.

LLVM splits a vector where a processor's are shorter, so that the sums are the same on every
machine. Arrays are contiguous.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

LANES = 64  # int16 numbers of a row
UNITS = LANES // 2  # int32 sums

_16, _32 = ir.IntType(16), ir.IntType(32)
_ROW, _WIDE = ir.VectorType(_16, LANES), ir.VectorType(_32, LANES)
_SUMS = ir.VectorType(_32, UNITS)


class Vector(types.Type):
    """The numba type of a vector."""

    def __init__(self, name: str, vector: ir.VectorType) -> None:
        super().__init__(name)
        self.vector = vector


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, kind.vector)


_row, _sums = Vector("lanes of int16", _ROW), Vector("lanes of int32", _SUMS)
_int16s, _int32s = types.Array(types.int16, 1, "C"), types.Array(types.int32, 1, "C")


@intrinsic  # type: ignore[untyped-decorator]
def row_at(typing_context: Any, array: Any, begin: Any) -> Any:
    """Return the row that begins at an element of an array, int16[>= begin + LANES]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(context, builder, _int16s, arguments, _ROW)

    return _row(_int16s, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def plus(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the sum of two rows, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.add(*arguments)

    return _row(_row, _row), generate


@intrinsic  # type: ignore[untyped-decorator]
def clipped(typing_context: Any, row: Any, most: Any) -> Any:
    """Return the row with each lane below 0 set to 0, each above `most` to `most`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, most = arguments
        return _clip(builder, row, builder.trunc(most, _16))

    return _row(_row, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def sums_at(typing_context: Any, array: Any) -> Any:
    """Return the first sums of an array, int32[>= UNITS]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(ir.IntType(64), 0)
        return _load(context, builder, _int32s, (*arguments, zero), _SUMS)

    return _sums(_int32s), generate


@intrinsic  # type: ignore[untyped-decorator]
def weighted(typing_context: Any, row: Any, weights: Any, begin: Any, sums: Any) -> Any:
    """Return the lanes times a matrix, added to `sums`.

    The matrix begins at an element of `weights`, int16[>= begin + LANES * UNITS]. It has the rows
    of two lanes together, one number of the first and one of the second in turn, as processors
    multiply them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, begin, total = arguments
        pairs = builder.bitcast(row, _SUMS)
        for pair in range(UNITS):
            two = builder.bitcast(_shuffled(builder, pairs, [pair] * UNITS), _ROW)
            place = builder.add(begin, ir.Constant(ir.IntType(64), pair * LANES))
            factors = _load(context, builder, _int16s, (weights, place), _ROW)
            products = builder.mul(builder.sext(two, _WIDE), builder.sext(factors, _WIDE))
            even = _shuffled(builder, products, range(0, LANES, 2))
            odd = _shuffled(builder, products, range(1, LANES, 2))
            total = builder.add(total, builder.add(even, odd))
        return total

    return _sums(_row, _int16s, types.int64, _sums), generate


@intrinsic  # type: ignore[untyped-decorator]
def combined(typing_context: Any, sums: Any, weights: Any, shift: Any, most: Any) -> Any:
    """Return the sum over `sums`, shifted right, clipped to 0..most, times int32[UNITS]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, weights, shift, most = arguments
        shifts = _splat(builder, builder.trunc(shift, _32), _SUMS)
        values = _clip(builder, builder.ashr(sums, shifts), builder.trunc(most, _32))
        zero = ir.Constant(ir.IntType(64), 0)
        factors = _load(context, builder, _int32s, (weights, zero), _SUMS)
        reduce = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_32, [_SUMS]), f"llvm.vector.reduce.add.v{UNITS}i32"
        )
        return builder.sext(builder.call(reduce, [builder.mul(values, factors)]), ir.IntType(64))

    return types.int64(_sums, _int32s, types.int64, types.int64), generate


def _load(context: Any, builder: Any, kind: Any, place: Any, vector: ir.VectorType) -> Any:
    """Load a vector from an array and an index, aligned as its elements are."""
    array, begin = place
    data = context.make_array(kind)(context, builder, array).data
    pointer = builder.bitcast(builder.gep(data, [begin]), vector.as_pointer())
    return builder.load(pointer, align=vector.element.width // 8)


def _clip(builder: Any, values: Any, most: Any) -> Any:
    top, bottom = _splat(builder, most, values.type), ir.Constant(values.type, None)
    above = builder.select(builder.icmp_signed("<", values, bottom), bottom, values)
    return builder.select(builder.icmp_signed(">", above, top), top, above)


def _splat(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_32, 0))
    return _shuffled(builder, first, [0] * vector.count)


def _shuffled(builder: Any, vector: Any, places: Any) -> Any:
    mask = ir.Constant(ir.VectorType(_32, len(places)), list(places))
    return builder.shuffle_vector(vector, vector, mask)
