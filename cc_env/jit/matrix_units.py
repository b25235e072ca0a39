"""Products of int8 matrices by the matrix units of x86 processors (AMX), for compiled code.

The operands are *tiles*, registers of 16 rows of 64 bytes: int8[16, 64] for weights of 16 outputs
and 64 inputs; uint8[16, 16, 4] for features of 16 groups of inputs, 16 columns and the four inputs
of a group; int32[16, 16] for sums of their products, of 16 outputs and 16 columns. There are
ACCUMULATOR_TILES tiles of sums. A compiled function that Python calls has to call `configure_tiles`
before the others and `release_tiles` after them. All require that `request_matrix_units()` is true.

Indices count elements over all dimensions. They are not checked, as everywhere in compiled code.
"""

import ctypes
import functools
import sys
from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cc_env.jit.numba_internals import BaseContext, Signature, cgutils
from cc_env.jit.simd import FEATURES, Intrinsic, call_llvm, element_pointer

TILE_ROWS, TILE_BYTES = 16, 64
ACCUMULATOR_TILES = 4
# Tiles of operands; loads of weights alternate between two of them.
_WEIGHT_TILES, _FEATURE_TILE = (4, 5), 6
# System call of Linux that requests the permission to use tiles: number, request, component.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18
# Operand of LDTILECFG: palette 1; bytes per row (uint16) and rows (uint8) of up to 16 tiles, of
# which 8 exist.
_TILE_SIZES = (
    bytes([1]) + bytes(15) + bytes([TILE_BYTES, 0] * 8) + bytes(16) + bytes([TILE_ROWS] * 8)
).ljust(64, b"\0")
# With AVX-512, since NUMBA_ENABLE_AVX=0 disables only features whose names begin with AVX.
_REQUIRED_FEATURES = frozenset(("+amx-tile", "+amx-int8", "+avx512f"))
_INT8, _INT64 = ir.IntType(8), ir.IntType(64)
_ROW_BYTES = ir.Constant(_INT64, TILE_BYTES)


@functools.cache
def request_matrix_units() -> bool:
    """Request permission from Linux to use tiles; return whether this process can use them.

    The permission extends to forks and threads, but not to new programs. It is refused if the
    alternate signal stack of a thread is too small for the larger state.
    """
    if sys.platform != "linux" or not _REQUIRED_FEATURES <= FEATURES:
        return False
    numbers = map(ctypes.c_long, (_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA))
    error: int = ctypes.CDLL(None).syscall(*numbers)
    return error == 0


def _statement(generate: Callable[[ir.IRBuilder], None]) -> Intrinsic:
    """Return an intrinsic without arguments and result, given the generator of its code."""

    def generate_statement(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        generate(builder)
        return context.get_dummy_value()

    return types.void(), generate_statement


@intrinsic  # type: ignore[untyped-decorator]
def configure_tiles(typing_context: object) -> Intrinsic:
    """Configure all tiles with 16 rows of 64 bytes, and set them to 0."""

    def generate(builder: ir.IRBuilder) -> None:
        content = ir.Constant(ir.ArrayType(_INT8, len(_TILE_SIZES)), bytearray(_TILE_SIZES))
        sizes = cgutils.global_constant(builder, "tile_sizes", content)
        _call(builder, "ldtilecfg", builder.bitcast(sizes, _INT8.as_pointer()))

    return _statement(generate)


@intrinsic  # type: ignore[untyped-decorator]
def release_tiles(typing_context: object) -> Intrinsic:
    """End the use of tiles, which makes switches between threads faster."""
    return _statement(lambda builder: _call(builder, "tilerelease"))


@intrinsic  # type: ignore[untyped-decorator]
def zero_tiles(typing_context: object) -> Intrinsic:
    """Set the accumulators to 0."""

    def generate(builder: ir.IRBuilder) -> None:
        for tile in range(ACCUMULATOR_TILES):
            _call(builder, "tilezero", _tile(tile))

    return _statement(generate)


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def add_tile_products(
    typing_context: object,
    weights: types.Array,
    begin: types.Type,
    features: types.Array,
    start: types.Type,
    count: types.Type,
) -> Intrinsic:
    """Add the products of `count` tiles of weights and a tile of features to the accumulators.

    `count` is a constant up to ACCUMULATOR_TILES. The tiles of weights begin at weights[begin],
    that of features at features[start]; both arrays are int32, with four bytes in an element.
    """
    is_valid = weights.dtype == types.int32 and features.dtype == types.int32
    if not (is_valid and isinstance(count, types.IntegerLiteral)):
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        kinds = signature.args
        source = element_pointer(context, builder, kinds[2:4], values[2:4], _INT8)
        _call(builder, "tileloadd64", _tile(_FEATURE_TILE), source, _ROW_BYTES)
        first = element_pointer(context, builder, kinds[:2], values[:2], _INT8)
        for tile in range(count.literal_value):
            weight_tile = _tile(_WEIGHT_TILES[tile % 2])
            source = _tile_at(builder, first, tile)
            _call(builder, "tileloadd64", weight_tile, source, _ROW_BYTES)
            # Signed weights, unsigned features.
            _call(builder, "tdpbsud", _tile(tile), weight_tile, _tile(_FEATURE_TILE))
        return context.get_dummy_value()

    return types.void(weights, begin, features, start, count), generate


@intrinsic  # type: ignore[untyped-decorator]
def store_tiles(typing_context: object, sums: types.Array) -> Intrinsic:
    """Write the accumulators to `sums`, int32[ACCUMULATOR_TILES, 16, 16]."""
    if sums.dtype != types.int32:
        return None

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        index = ir.Constant(_INT64, 0)
        kinds = sums, types.int64
        first = element_pointer(context, builder, kinds, [*values, index], _INT8)
        for tile in range(ACCUMULATOR_TILES):
            target = _tile_at(builder, first, tile)
            _call(builder, "tilestored64", _tile(tile), target, _ROW_BYTES)
        return context.get_dummy_value()

    return types.void(sums), generate


def _tile(number: int) -> ir.Constant:
    return ir.Constant(_INT8, number)


def _tile_at(builder: ir.IRBuilder, first: ir.Value, number: int) -> ir.Value:
    """Return a pointer to one of several tiles in memory."""
    return builder.gep(first, [ir.Constant(_INT64, number * TILE_ROWS * TILE_BYTES)])


def _call(builder: ir.IRBuilder, name: str, *operands: ir.Value) -> None:
    """Generate an instruction for tiles."""
    call_llvm(builder, f"llvm.x86.{name}", *operands, result=ir.VoidType())
