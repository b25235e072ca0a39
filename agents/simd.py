"""Lanes: several float32 numbers as a value in compiled code, calculated side by side.

A loop over an array is as fast as the compiler's guess how to vectorise it. Lanes leave nothing to
guess: `load(array, index, WIDE)` reads WIDE numbers of a contiguous float32 array, `store` writes
them, and `+`, `-`, `fma`, `larger` and `rectified` act on all of them by the processor's vector
instructions; more lanes than a register has take several. A lane of a result depends on the same
lane of the operands alone: what is calculated in it is the same whatever the others hold.

An index counts numbers, over all dimensions. It is not checked, as everywhere in compiled code.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import config, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic

NARROW = 16  # a register of AVX-512, two of AVX, four of NEON
_FEATURES = config.CPU_FEATURES  # NUMBA_CPU_FEATURES; None: those of this processor
HAS_AVX512 = "+avx512f" in (
    binding.get_host_cpu_features().flatten() if _FEATURES is None else _FEATURES
)
WIDE = 4 * NARROW if HAS_AVX512 else NARROW  # of which registers hold four, and what is loaded

_FLOAT = ir.FloatType()
_ALIGNMENT = 4  # bytes; wider loads are as fast where the address happens to be aligned


class LanesType(types.Type):
    """numba's type of so many lanes."""

    def __init__(self, width: int) -> None:
        super().__init__(name=f"lanes({width})")
        self.width = width


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, ir.VectorType(_FLOAT, kind.width))


_KINDS = {width: LanesType(width) for width in {NARROW, WIDE}}


def _address(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Return the address of an element of a flat array, for code that reads or writes lanes."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    index = context.cast(builder, values[1], kinds[1], types.intp)
    return builder.gep(array.data, [index], inbounds=True)


def _is_float32(array: Any) -> bool:
    return isinstance(array, types.Array) and (array.dtype, array.layout) == (types.float32, "C")


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def load(typing_context: Any, array: Any, index: Any, width: Any) -> Any:
    """Return the lanes array[index : index + width]; the width is a constant."""
    if not (_is_float32(array) and isinstance(width, types.IntegerLiteral)):
        return None
    kind = _KINDS[width.literal_value]

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args, values)
        vector = context.get_value_type(kind)
        place = builder.bitcast(address, vector.as_pointer())
        return builder.load(place, align=_ALIGNMENT, typ=vector)

    return kind(array, index, width), code


@intrinsic  # type: ignore[untyped-decorator]
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write lanes to array[index : index + width]."""
    if not (_is_float32(array) and isinstance(lanes, LanesType)):
        return None

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args, values)
        builder.store(
            values[2], builder.bitcast(address, values[2].type.as_pointer()), align=_ALIGNMENT
        )
        return context.get_dummy_value()

    return types.void(array, index, lanes), code


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def splat(typing_context: Any, number: Any, width: Any) -> Any:
    """Return lanes that all are this float32; the width is a constant."""
    if number != types.float32 or not isinstance(width, types.IntegerLiteral):
        return None
    kind = _KINDS[width.literal_value]

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _splat(builder, values[0], context.get_value_type(kind))

    return kind(number, width), code


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing_context: Any, number: Any, lanes: Any, total: Any) -> Any:
    """Return number * lanes + total; the number is a float32, or lanes."""
    if not (isinstance(lanes, LanesType) and lanes == total and number in (types.float32, lanes)):
        return None

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = values[1].type
        first = values[0] if values[0].type == vector else _splat(builder, values[0], vector)
        name = f"llvm.fmuladd.v{vector.count}f32"
        kind = ir.FunctionType(vector, [vector] * 3)
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [first, *values[1:]])

    return total(number, lanes, total), code


@intrinsic  # type: ignore[untyped-decorator]
def rectified(typing_context: Any, lanes: Any) -> Any:
    """Return max(0, lanes); what is not a number stays so."""
    if not isinstance(lanes, LanesType):
        return None

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero = ir.Constant(values[0].type, None)
        below = builder.fcmp_ordered("<", values[0], zero)
        return builder.select(below, zero, values[0])

    return lanes(lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the larger of two lanes, the second where the first is not a number."""
    if not (isinstance(first, LanesType) and first == second):
        return None

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return first(first, second), code


def _splat(builder: Any, number: Any, vector: Any) -> Any:
    alone = builder.insert_element(ir.Constant(vector, ir.Undefined), number, _index(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(alone, ir.Constant(vector, ir.Undefined), mask)


def _index(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _operator(which: Callable[..., Any], method: str) -> None:
    """Define an operator of two lanes by the method of llvmlite's builder."""
    template = type(
        f"_{method}",
        (ConcreteTemplate,),
        {"cases": [signature(kind, kind, kind) for kind in _KINDS.values()]},
    )
    infer_global(which)(template)

    @lower_builtin(which, LanesType, LanesType)  # type: ignore[untyped-decorator]
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return getattr(builder, method)(*values)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
