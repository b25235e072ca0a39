"""Arrays without reference counts, for compiled code that passes them on at every step.

numba counts references to arrays with atomic operations, which take two fifths of a search's time.
The counts are not needed: the Python caller holds the arguments until compiled code returns.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def borrow(typing_context: Any, value: Any) -> Any:
    """Return an array, or a tuple that contains arrays, with reference counting stripped.

    Only for arguments passed from Python, in the function that Python called; the result must not
    be returned. Never for an array allocated in compiled code: it would be freed too early.
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
        for index, item in enumerate(kind):
            part = _without_counts(context, builder, item, builder.extract_value(value, index))
            value = builder.insert_value(value, part, index)
    return value
