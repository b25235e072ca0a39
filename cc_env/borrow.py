"""Arrays without reference counts, for compiled code that hands them on at every step.

numba counts references to arrays by atomic operations, which cost a search two fifths of its time.
Whoever calls compiled code from Python holds its arguments anyway until it returns.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def borrow(typing_context: Any, value: Any) -> Any:
    """Return an array, or a tuple with arrays in it, that nobody counts the references to.

    Only for arguments that came from Python, in the function that Python called, and not to be
    returned; never for an array made here, which would be freed.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_counts(context, builder, value, arguments[0])

    return value(value), generate


def _without_counts(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for index, each in enumerate(kind):
            part = _without_counts(context, builder, each, builder.extract_value(value, index))
            value = builder.insert_value(value, part, index)
    return value
