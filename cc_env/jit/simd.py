"""SIMD vectors as values in compiled code: explicit vectorization instead of the compiler's guess.

`load(array, index, count)` reads `count` elements (a constant) of a C-contiguous array of float32,
int16 or int32, and `store` writes them. `+`, `-`, `*` and the functions below act on all lanes;
LLVM splits a vector that is longer than a register. A lane of an elementwise result depends only on
the same lane of the operands, and integer results are the same on every machine.

Indices count elements over all dimensions. They are not checked, as everywhere in compiled code.
"""

import operator
from collections.abc import Callable, Iterable, Sequence

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model

from cc_env.jit import processor_features
from cc_env.jit.numba_internals import (
    AbstractTemplate,
    BaseContext,
    DataModelManager,
    Signature,
    cgutils,
    infer_global,
    signature,
)

FLOAT_LANES = 16  # float32: one register of AVX-512, two of AVX, four of NEON
# The features of the processor for which numba generates code.
FEATURES = frozenset(processor_features.select_features().split(","))
# Every 64-bit processor has fused multiply-add, except some of x86.
_HAS_FMA = "+fma" in FEATURES or not processor_features.IS_X86
# Accumulators of FLOAT_LANES lanes that are updated in turn: enough to hide the latency of an
# operation, few enough for the registers.
ACCUMULATORS = 8 if "+avx512f" in FEATURES else 4
# The sizes of two layers of a small network; the 64 pairs of int16 have one bit of a word each.
INT16_LANES, INT32_LANES = 128, 32

_INT8, _INT16, _INT32, _INT64 = map(ir.IntType, (8, 16, 32, 64))
_ELEMENTS: dict[types.Type, ir.Type] = {
    types.float32: ir.FloatType(),
    types.int16: _INT16,
    types.int32: _INT32,
}

Intrinsic = tuple[Signature, Callable[..., ir.Value]] | None


class VectorType(types.Type):
    """The numba type of a vector of `count` lanes."""

    def __init__(self, dtype: types.Type, count: int) -> None:
        super().__init__(name=f"vector({dtype}, {count})")
        self.dtype = dtype
        self.llvm = ir.VectorType(_ELEMENTS[dtype], count)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, kind: VectorType) -> None:
        super().__init__(manager, kind, kind.llvm)


_FLOAT_VECTOR = VectorType(types.float32, FLOAT_LANES)
_GROUP_VECTOR = VectorType(types.int32, FLOAT_LANES)
_INT16_VECTOR = VectorType(types.int16, INT16_LANES)
_INT32_VECTOR = VectorType(types.int32, INT32_LANES)


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def load(
    typing_context: object, array: types.Array, index: types.Type, count: types.Type
) -> Intrinsic:
    """Return the vector array[index : index + count]; `count` is a constant."""
    if not (_is_loadable(array) and isinstance(count, types.IntegerLiteral)):
        return None
    kind = VectorType(array.dtype, count.literal_value)

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return _load(context, builder, signature.args, values, kind.llvm)

    return kind(array, index, count), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(
    typing_context: object, array: types.Array, index: types.Type, vector: VectorType
) -> Intrinsic:
    """Write a vector to array[index : index + count]."""
    if not (_is_loadable(array) and isinstance(vector, VectorType) and array.dtype == vector.dtype):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        pointer = element_pointer(context, builder, signature.args, values, vector.llvm)
        builder.store(values[2], pointer, align=_alignment(vector.llvm))
        return context.get_dummy_value()

    return types.void(array, index, vector), generate


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def splat(typing_context: object, number: types.Type, count: types.IntegerLiteral) -> Intrinsic:
    """Return a vector with this float32 in all lanes; `count` is a constant."""
    if number != types.float32 or not isinstance(count, types.IntegerLiteral):
        return None
    kind = VectorType(number, count.literal_value)

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return _splat(builder, values[0], kind.llvm)

    return kind(number, count), generate


@intrinsic  # type: ignore[untyped-decorator]
def fma(
    typing_context: object, factor: types.Type, vector: VectorType, total: VectorType
) -> Intrinsic:
    """Return factor * vector + total for float32, rounded once; `factor` is a number or a vector.

    Processors without such an instruction give the same result, by sums in float64.
    """
    if not (_is_float(vector) and vector == total and factor in (types.float32, vector)):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        kind = vector.llvm
        first = values[0] if factor == vector else _splat(builder, values[0], kind)
        if _HAS_FMA:
            return call_llvm(builder, f"llvm.fma.v{kind.count}f32", first, *values[1:])
        return _fma_by_float64(builder, first, *values[1:])

    return total(factor, vector, total), generate


def _fma_by_float64(
    builder: ir.IRBuilder, factor: ir.Value, vector: ir.Value, total: ir.Value
) -> ir.Value:
    """Generate factor * vector + total, rounded once to float32.

    The product is exact in float64. The sum is rounded to odd: if it is inexact, the last bit of
    its neighbor on the side of the exact sum is set, so that rounding to float32 is correct
    (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    """
    wide = ir.VectorType(ir.DoubleType(), vector.type.count)
    bits = ir.VectorType(_INT64, vector.type.count)
    zero, one = ir.Constant(bits, None), ir.Constant(bits, [1] * bits.count)
    first, second, addend = (builder.fpext(value, wide) for value in (factor, vector, total))
    product = builder.fmul(first, second)
    rounded = builder.fadd(product, addend)
    # The exact error of the sum (Knuth's TwoSum).
    part = builder.fsub(rounded, product)
    error = builder.fadd(
        builder.fsub(product, builder.fsub(rounded, part)), builder.fsub(addend, part)
    )
    word, error_word = builder.bitcast(rounded, bits), builder.bitcast(error, bits)
    is_inexact = builder.fcmp_ordered("!=", error, ir.Constant(wide, None))
    is_even = builder.icmp_signed("==", builder.and_(word, one), zero)
    has_same_sign = builder.icmp_signed(">=", builder.xor(word, error_word), zero)
    step = builder.select(has_same_sign, one, ir.Constant(bits, [-1] * bits.count))
    step = builder.select(builder.and_(is_inexact, is_even), step, zero)
    return builder.fptrunc(builder.bitcast(builder.add(word, step), wide), vector.type)


@intrinsic  # type: ignore[untyped-decorator]
def relu(typing_context: object, vector: VectorType) -> Intrinsic:
    """Return max(0, vector) for float32; NaN stays NaN."""
    if not _is_float(vector):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        zero = ir.Constant(vector.llvm, None)
        return builder.select(builder.fcmp_ordered("<", values[0], zero), zero, values[0])

    return vector(vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def maximum(typing_context: object, first: VectorType, second: VectorType) -> Intrinsic:
    """Return the larger float32 of each lane; `second` if `first` is NaN."""
    if not (_is_float(first) and first == second):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return first(first, second), generate


@intrinsic  # type: ignore[untyped-decorator]
def clip(typing_context: object, vector: VectorType, limit: types.Type) -> Intrinsic:
    """Return an int16 vector with each lane clipped to 0..limit."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return _clip(builder, values[0], builder.trunc(values[1], _INT16))

    return _INT16_VECTOR(_INT16_VECTOR, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_product(
    typing_context: object, vector: VectorType, weights: types.Array, sums: VectorType
) -> Intrinsic:
    """Return sums + vector @ matrix; the vector is int16[INT16_LANES], sums int32[INT32_LANES].

    The matrix is the beginning of `weights`, int16[>= INT16_LANES * INT32_LANES]. Its rows are
    stored in pairs, with the elements of both rows alternating, as processors multiply them
    (`pmaddwd`). Most lanes of a small network are 0, so pairs of zeros are skipped.
    """
    is_integer = vector == _INT16_VECTOR and sums == _INT32_VECTOR
    if not (is_integer and _is_loadable(weights) and weights.dtype == types.int16):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        vector, weights, sums = values
        row_pair = ir.VectorType(_INT16, 2 * INT32_LANES)
        wide = ir.VectorType(_INT32, row_pair.count)
        pairs = builder.bitcast(vector, ir.VectorType(_INT32, INT16_LANES // 2))
        # The pairs, and a pair of zeros.
        memory = cgutils.alloca_once(builder, ir.ArrayType(_INT32, pairs.type.count + 1))
        memory = builder.bitcast(memory, _INT32.as_pointer())
        builder.store(pairs, builder.bitcast(memory, pairs.type.as_pointer()), align=4)
        end = builder.gep(memory, [ir.Constant(_INT64, pairs.type.count)])
        builder.store(ir.Constant(_INT32, 0), end)

        def add(pair: ir.Value, total: ir.Value) -> ir.Value:
            inputs = builder.load(builder.gep(memory, [pair]))
            inputs = builder.bitcast(_splat(builder, inputs, sums.type), row_pair)
            # The product of zeros with any row is 0.
            row = builder.and_(pair, ir.Constant(_INT64, pairs.type.count - 1))
            begin = builder.mul(row, ir.Constant(_INT64, row_pair.count))
            arguments = [signature.args[1], types.int64]
            factors = _load(context, builder, arguments, [weights, begin], row_pair)
            products = builder.mul(builder.sext(inputs, wide), builder.sext(factors, wide))
            even = _shuffle(builder, products, range(0, wide.count, 2))
            odd = _shuffle(builder, products, range(1, wide.count, 2))
            return builder.add(total, builder.add(even, odd))

        is_active = builder.icmp_signed("!=", pairs, ir.Constant(pairs.type, None))
        active = builder.bitcast(is_active, ir.IntType(pairs.type.count))
        return _for_each_bit(builder, active, sums, add)

    return sums(vector, weights, sums), generate


@intrinsic  # type: ignore[untyped-decorator]
def zero_accumulators(typing_context: object) -> Intrinsic:
    """Return a tuple of ACCUMULATORS vectors int32[FLOAT_LANES] of zeros."""
    kind = types.UniTuple(_GROUP_VECTOR, ACCUMULATORS)

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return context.get_constant_null(kind)

    return kind(), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_byte_products(
    typing_context: object,
    vector: VectorType,
    weights: types.Array,
    begin: types.Type,
    sums: types.Type,
) -> Intrinsic:
    """Add the dot products of four bytes to each of the accumulators `sums`.

    A byte of a lane of `vector`, int32[FLOAT_LANES], is 0 to 127, and one of
    weights[begin + i], int32, is -127 to 127. In every lane, their dot product is added to
    accumulator i. The result is exact, so it is the same on every processor.
    """
    if not (_is_loadable(weights) and weights.dtype == types.int32 and vector == _GROUP_VECTOR):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        vector, weights, begin, sums = values
        first = element_pointer(context, builder, signature.args[1:], [weights, begin], _INT32)
        for number in range(ACCUMULATORS):
            weight = builder.load(builder.gep(first, [ir.Constant(_INT64, number)]))
            total = builder.extract_value(sums, number)
            factors = _splat(builder, weight, vector.type)
            total = _add_byte_products(builder, vector, factors, total)
            sums = builder.insert_value(sums, total, number)
        return sums

    return sums(vector, weights, begin, sums), generate


def _add_byte_products(
    builder: ir.IRBuilder, vector: ir.Value, factors: ir.Value, total: ir.Value
) -> ir.Value:
    """Generate total + the sums of four products, with the best instructions of the processor."""
    whole = range(FLOAT_LANES)
    halves = whole[: FLOAT_LANES // 2], whole[FLOAT_LANES // 2 :]
    if "+avx512vnni" in FEATURES:
        return call_llvm(builder, "llvm.x86.avx512.vpdpbusd.512", total, vector, factors)
    if "+avx2" in FEATURES:
        parts = []
        for half in halves:
            inputs, weights, sums = (_shuffle(builder, v, half) for v in (vector, factors, total))
            if "+avxvnni" in FEATURES:
                name = "llvm.x86.avx512.vpdpbusd.256"
                parts.append(call_llvm(builder, name, sums, inputs, weights))
                continue
            bytes_, pairs = ir.VectorType(_INT8, 32), ir.VectorType(_INT16, 16)
            operands = [builder.bitcast(value, bytes_) for value in (inputs, weights)]
            # Two products of at most 127 * 127 fit in 16 bits.
            products = call_llvm(builder, "llvm.x86.avx2.pmadd.ub.sw", *operands, result=pairs)
            ones = ir.Constant(pairs, [1] * pairs.count)
            name = "llvm.x86.avx2.pmadd.wd"
            products = call_llvm(builder, name, products, ones, result=sums.type)
            parts.append(builder.add(sums, products))
        return builder.shuffle_vector(*parts, ir.Constant(vector.type, list(whole)))
    if "+dotprod" in FEATURES:
        name, parts = "llvm.aarch64.neon.sdot.v4i32.v16i8", []
        bytes_ = ir.VectorType(_INT8, 16)
        for first in range(0, FLOAT_LANES, 4):
            inputs, weights, sums = (
                _shuffle(builder, value, range(first, first + 4))
                for value in (vector, factors, total)
            )
            operands = [builder.bitcast(value, bytes_) for value in (inputs, weights)]
            parts.append(call_llvm(builder, name, sums, *operands))
        lower, upper = (
            builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_INT32, 8), list(range(8))))
            for pair in (parts[:2], parts[2:])
        )
        return builder.shuffle_vector(lower, upper, ir.Constant(vector.type, list(whole)))
    wide = ir.VectorType(_INT32, 4 * FLOAT_LANES)
    bytes_ = ir.VectorType(_INT8, wide.count)
    inputs = builder.sext(builder.bitcast(vector, bytes_), wide)
    products = builder.mul(inputs, builder.sext(builder.bitcast(factors, bytes_), wide))
    for byte in range(4):
        total = builder.add(total, _shuffle(builder, products, range(byte, wide.count, 4)))
    return total


def call_llvm(
    builder: ir.IRBuilder, name: str, *operands: ir.Value, result: ir.Type | None = None
) -> ir.Value:
    """Generate a call of an instruction of LLVM; the result has the type of the first operand."""
    kinds = [operand.type for operand in operands]
    function = ir.FunctionType(kinds[0] if result is None else result, kinds)
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), operands)


@intrinsic  # type: ignore[untyped-decorator]
def to_floats(typing_context: object, vector: VectorType) -> Intrinsic:
    """Return a vector int32[FLOAT_LANES] converted to float32."""
    if vector != _GROUP_VECTOR:
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        return builder.sitofp(values[0], _FLOAT_VECTOR.llvm)

    return _FLOAT_VECTOR(vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def pack_bytes(
    typing_context: object,
    first: VectorType,
    second: VectorType,
    third: VectorType,
    fourth: VectorType,
) -> Intrinsic:
    """Return four vectors float32[FLOAT_LANES] of 0 to 127, rounded, as bytes in int32 lanes."""
    if not first == second == third == fourth == _FLOAT_VECTOR:
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        half = ir.Constant(_FLOAT_VECTOR.llvm, [0.5] * FLOAT_LANES)
        packed = ir.Constant(_GROUP_VECTOR.llvm, None)
        for byte, value in enumerate(values):
            number = builder.fptosi(builder.fadd(value, half), packed.type)
            shift = ir.Constant(packed.type, [8 * byte] * FLOAT_LANES)
            packed = builder.or_(packed, builder.shl(number, shift))
        return packed

    return _GROUP_VECTOR(first, second, third, fourth), generate


def _for_each_bit(
    builder: ir.IRBuilder,
    bits: ir.Value,
    initial: ir.Value,
    add: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """Generate a loop over the bits that are set, lowest first: `total = add(bit, total)`.

    Each iteration adds two bits to different totals, which hides the latency of an addition. If
    an odd number of bits is set, the last call of `add` gets the width of `bits` as its number, and
    has to add nothing.
    """
    before = builder.block
    test, body, after = (builder.append_basic_block(name) for name in ("test", "body", "after"))
    builder.branch(test)
    builder.position_at_end(test)
    remaining = builder.phi(bits.type)
    remaining.add_incoming(bits, before)
    totals = [builder.phi(initial.type) for _ in range(2)]
    for total, start in zip(totals, (initial, ir.Constant(initial.type, None)), strict=True):
        total.add_incoming(start, before)
    is_nonzero = builder.icmp_unsigned("!=", remaining, ir.Constant(bits.type, 0))
    builder.cbranch(is_nonzero, body, after)
    builder.position_at_end(body)
    rest = remaining
    for total in totals:
        lowest = builder.cttz(rest, ir.Constant(ir.IntType(1), 0))
        total.add_incoming(add(lowest, total), body)
        rest = builder.and_(rest, builder.sub(rest, ir.Constant(bits.type, 1)))
    remaining.add_incoming(rest, body)
    builder.branch(test)
    builder.position_at_end(after)
    return builder.add(*totals)


@intrinsic  # type: ignore[untyped-decorator]
def weighted_sum(
    typing_context: object,
    sums: VectorType,
    weights: types.Array,
    shift: types.Type,
    limit: types.Type,
) -> Intrinsic:
    """Return the dot product of clip(sums >> shift, 0, limit) and weights int32[INT32_LANES]."""
    if not (_is_loadable(weights) and weights.dtype == types.int32):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        sums, weights, shift, limit = values
        kind = sums.type
        shifts = _splat(builder, builder.trunc(shift, _INT32), kind)
        activations = _clip(builder, builder.ashr(sums, shifts), builder.trunc(limit, _INT32))
        start = ir.Constant(_INT64, 0)
        arguments = [signature.args[1], types.int64]
        factors = _load(context, builder, arguments, [weights, start], kind)
        products = builder.mul(activations, factors)
        name = f"llvm.vector.reduce.add.v{INT32_LANES}i32"
        return builder.sext(call_llvm(builder, name, products, result=_INT32), _INT64)

    return types.int64(_INT32_VECTOR, weights, types.int64, types.int64), generate


def _is_loadable(array: types.Array) -> bool:
    return isinstance(array, types.Array) and array.dtype in _ELEMENTS and array.layout == "C"


def _is_float(vector: VectorType) -> bool:
    return isinstance(vector, VectorType) and bool(vector.dtype == types.float32)


def element_pointer(
    context: BaseContext,
    builder: ir.IRBuilder,
    kinds: Sequence[types.Type],
    values: Sequence[ir.Value],
    target: ir.Type,
) -> ir.Value:
    """Return a pointer to the `target` at an array and an index, the first two of the values."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    index = context.cast(builder, values[1], kinds[1], types.intp)
    return builder.bitcast(builder.gep(array.data, [index], inbounds=True), target.as_pointer())


def _load(
    context: BaseContext,
    builder: ir.IRBuilder,
    kinds: Sequence[types.Type],
    values: list[ir.Value],
    vector: ir.VectorType,
) -> ir.Value:
    pointer = element_pointer(context, builder, kinds, values, vector)
    return builder.load(pointer, align=_alignment(vector), typ=vector)


def _alignment(vector: ir.VectorType) -> int:
    """Return the size of an element in bytes; unaligned loads are as fast as aligned ones."""
    return 2 if vector.element == _INT16 else 4


def _clip(builder: ir.IRBuilder, values: ir.Value, limit: ir.Value) -> ir.Value:
    high, low = _splat(builder, limit, values.type), ir.Constant(values.type, None)
    positive = builder.select(builder.icmp_signed("<", values, low), low, values)
    return builder.select(builder.icmp_signed(">", positive, high), high, positive)


def _splat(builder: ir.IRBuilder, value: ir.Value, vector: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return _shuffle(builder, first, [0] * vector.count)


def _shuffle(builder: ir.IRBuilder, vector: ir.Value, lanes: Iterable[int]) -> ir.Value:
    indices = list(lanes)
    mask = ir.Constant(ir.VectorType(_INT32, len(indices)), indices)
    return builder.shuffle_vector(vector, vector, mask)


class _Elementwise(AbstractTemplate):
    """Types of an operator of two vectors of one kind."""

    def generic(self, args: tuple[types.Type, ...], kws: object) -> Signature | None:
        is_pair = len(args) == 2 and isinstance(args[0], VectorType) and args[0] == args[1]
        return signature(args[0], *args) if is_pair else None


@infer_global(operator.add)
class _Add(_Elementwise):
    pass


@infer_global(operator.sub)
class _Subtract(_Elementwise):
    pass


@infer_global(operator.mul)
class _Multiply(_Elementwise):
    pass


@lower_builtin(operator.add, VectorType, VectorType)  # type: ignore[untyped-decorator]
def _add(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
) -> ir.Value:
    return (builder.fadd if _is_float(signature.return_type) else builder.add)(*values)


@lower_builtin(operator.sub, VectorType, VectorType)  # type: ignore[untyped-decorator]
def _subtract(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
) -> ir.Value:
    return (builder.fsub if _is_float(signature.return_type) else builder.sub)(*values)


@lower_builtin(operator.mul, VectorType, VectorType)  # type: ignore[untyped-decorator]
def _multiply(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
) -> ir.Value:
    return (builder.fmul if _is_float(signature.return_type) else builder.mul)(*values)
