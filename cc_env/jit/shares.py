"""Work that several threads share in compiled code, without the GIL.

One thread opens the work; it and its helpers take the shares from a counter until none is left, so
a helper that starts late delays nothing. Helpers wait for the next work by spinning for a while,
because waking a thread takes longer than many a piece of work.
"""

import platform
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cc_env.jit.compiler import jit
from cc_env.jit.numba_internals import BaseContext, Context, Signature
from cc_env.jit.threads import available_cores

# Indices of the counters, in separate cache lines.
_TAKEN, _FINISHED, _LENGTH = 0, 16, 32
# Reads of a counter before a thread stops waiting, 0.2 to 1 ms, if every thread has a core.
_MAX_SPINS = 20_000
# Greatest length of the last shares.
_MAX_LAST_LENGTH = 16
# LLVM's name for an instruction by which a spinning thread spares the other one of its core.
_PAUSE = "llvm.x86.sse2.pause" if platform.machine() in ("x86_64", "AMD64") else ""


class Shares(NamedTuple):
    """Consecutive shares of some items; share i has the items bounds[i] to bounds[i + 1] - 1."""

    bounds: NDArray[np.int64]  # [shares + 1]
    # Numbers of shares that were taken and finished.
    counters: NDArray[np.int64]
    # Reads of a counter before a thread stops waiting: that which opened the work, and helpers.
    spins: np.int64
    helper_spins: np.int64

    @classmethod
    def make(cls, length: int, threads: int, helpers_wait: bool = True) -> Self:
        """Divide `length` items among threads, in ever shorter shares; none is open.

        Helpers wait for the next opening if `helpers_wait` and there is a core for each thread.
        """
        shortest = max(1, min(_MAX_LAST_LENGTH, length // (8 * threads)))
        bounds = [0]
        while (rest := length - bounds[-1]) > 0:
            bounds.append(bounds[-1] + min(rest, max(shortest, rest // (2 * threads))))
        counters = np.full(_LENGTH, len(bounds) - 1, np.int64)
        spins = np.int64(_MAX_SPINS if threads <= available_cores() else 1)
        return cls(np.array(bounds), counters, spins, spins if helpers_wait else np.int64(1))


def _atomic(operation: Callable[..., ir.Value]) -> Callable[[Any, int, int], int]:
    """Return an intrinsic function (int64 array, index, number) -> previous element."""

    @intrinsic  # type: ignore[untyped-decorator]
    def atomic(
        typing_context: Context, array: types.Array, index: types.Type, number: types.Type
    ) -> tuple[Signature, object]:
        """Apply the operation to an element; return its previous value."""

        def generate(
            context: BaseContext,
            builder: ir.IRBuilder,
            signature: Signature,
            values: list[ir.Value],
        ) -> ir.Value:
            data = context.make_array(array)(context, builder, values[0]).data
            return operation(builder, builder.gep(data, [values[1]]), values[2])

        return types.int64(array, types.int64, types.int64), generate

    function: Callable[[Any, int, int], int] = atomic
    return function


_add = _atomic(
    lambda builder, pointer, number: builder.atomic_rmw("add", pointer, number, "seq_cst")
)
_exchange = _atomic(
    lambda builder, pointer, number: builder.atomic_rmw("xchg", pointer, number, "seq_cst")
)
_read = _atomic(lambda builder, pointer, _: builder.load_atomic(pointer, "seq_cst", 8))


@intrinsic  # type: ignore[untyped-decorator]
def _pause(typing_context: Context) -> tuple[Signature, object]:
    """Pause for some nanoseconds, on processors that have an instruction for it."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: list[ir.Value]
    ) -> ir.Value:
        if _PAUSE:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic(_PAUSE, fnty=kind), [])
        return context.get_dummy_value()

    return types.void(), generate


@jit
def open_shares(shares: Shares) -> None:
    """Let threads take the shares, which are all finished; writes before the call precede that."""
    _exchange(shares.counters, _FINISHED, 0)
    _exchange(shares.counters, _TAKEN, 0)


@jit
def take_share(shares: Shares, is_helper: bool) -> int:
    """Return the index of a share for the caller, or -1.

    A helper gets -1 if no share can be taken for a while, another caller if all are finished, or
    others do not finish theirs for a while.
    """
    count = len(shares.bounds) - 1
    for _ in range(shares.helper_spins if is_helper else shares.spins):
        if _read(shares.counters, _TAKEN, 0) < count:
            share = _add(shares.counters, _TAKEN, 1)
            if share < count:
                return share
        elif not is_helper and is_finished(shares):
            break
        _pause()
    return -1


@jit
def finish_share(shares: Shares) -> None:
    """Count a share that was taken as finished."""
    _add(shares.counters, _FINISHED, 1)


@jit
def is_finished(shares: Shares) -> bool:
    """Return whether all shares are finished; then their results can be read."""
    return _read(shares.counters, _FINISHED, 0) == len(shares.bounds) - 1
