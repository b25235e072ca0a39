"""Rows of small integers in vector registers, for compiled code.

LLVM splits a vector where a processor's are shorter, so that the sums are the same on every
machine. Arrays are contiguous.
"""

from collections.abc import Callable
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
    multiply them. Most lanes of a small network are 0: pairs of such lanes are skipped.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, begin, sums = arguments
        place = cgutils.alloca_once(builder, _SUMS)
        pairs = builder.bitcast(row, _SUMS)
        builder.store(pairs, place)
        first = builder.bitcast(place, _32.as_pointer())
        is_active = builder.icmp_signed("!=", pairs, ir.Constant(_SUMS, None))
        active = builder.bitcast(is_active, ir.IntType(UNITS))

        def add(pair: Any, total: Any) -> Any:
            index = builder.zext(pair, ir.IntType(64))
            two = _splat(builder, builder.load(builder.gep(first, [index])), _SUMS)
            begins = builder.add(begin, builder.mul(index, ir.Constant(ir.IntType(64), LANES)))
            factors = _load(context, builder, _int16s, (weights, begins), _ROW)
            wide = builder.sext(builder.bitcast(two, _ROW), _WIDE)
            products = builder.mul(wide, builder.sext(factors, _WIDE))
            even = _shuffled(builder, products, range(0, LANES, 2))
            odd = _shuffled(builder, products, range(1, LANES, 2))
            return builder.add(total, builder.add(even, odd))

        return _for_each_bit(builder, active, sums, add)

    return _sums(_row, _int16s, types.int64, _sums), generate


def _for_each_bit(builder: Any, bits: Any, total: Any, add: Callable[[Any, Any], Any]) -> Any:
    """Generate a loop over the bits that are set, lowest first: `total = add(bit, total)`."""
    before = builder.block
    test, body, after = (builder.append_basic_block(name) for name in ("test", "body", "after"))
    builder.branch(test)
    builder.position_at_end(test)
    left, so_far = builder.phi(bits.type), builder.phi(total.type)
    left.add_incoming(bits, before)
    so_far.add_incoming(total, before)
    is_left = builder.icmp_unsigned("!=", left, ir.Constant(bits.type, 0))
    builder.cbranch(is_left, body, after)
    builder.position_at_end(body)
    so_far.add_incoming(add(builder.cttz(left, ir.Constant(ir.IntType(1), 1)), so_far), body)
    lower = builder.sub(left, ir.Constant(bits.type, 1))
    left.add_incoming(builder.and_(left, lower), body)
    builder.branch(test)
    builder.position_at_end(after)
    return so_far


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
