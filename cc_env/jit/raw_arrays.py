"""Arrays without reference counts, for compiled code that passes them on at every step.

numba counts references to arrays with atomic operations, which take 40 % of a search's time. The
counts are unnecessary: the Python caller holds the arguments until compiled code returns.
"""

from collections.abc import Sequence

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing import Context, Signature
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def as_raw(typing_context: Context, value: types.Type) -> tuple[Signature, object]:
    """Return an array, or a tuple that contains arrays, with reference counting stripped.

    Use it only for arguments passed from Python, in the function called by Python, and do not
    return the result. An array allocated in compiled code would be freed too early.
    """

    def generate(
        context: BaseContext, builder: ir.IRBuilder, _: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return _strip_counts(context, builder, value, arguments[0])

    return value(value), generate


def _strip_counts(
    context: BaseContext, builder: ir.IRBuilder, value_type: types.Type, value: ir.Value
) -> ir.Value:
    if isinstance(value_type, types.Array):
        array = context.make_array(value_type)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(value_type, types.BaseTuple):
        for index, item_type in enumerate(value_type):
            item = builder.extract_value(value, index)
            value = builder.insert_value(
                value, _strip_counts(context, builder, item_type, item), index
            )
    return value
