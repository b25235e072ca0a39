"""Arrays without reference counts, and tuples of them, for code that passes them on at every step.

numba counts references to arrays with atomic operations, which take 40 % of a search's time. The
counts are unnecessary: the Python caller holds the arguments until compiled code returns.
"""

from collections.abc import Sequence

from llvmlite import ir
from numba import types
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from cc_env.jit.numba_internals import (
    AttributeTemplate,
    BaseContext,
    Context,
    DataModelManager,
    Signature,
    cgutils,
)


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


class Reference(types.Type):
    """The numba type of a named tuple in memory, which is passed on as one pointer."""

    def __init__(self, content: types.NamedTuple) -> None:
        super().__init__(f"reference({content})")
        self.content = content


@register_model(Reference)
class _ReferenceModel(models.PointerModel):
    def __init__(self, manager: DataModelManager, reference: Reference) -> None:
        content = manager.lookup(reference.content).get_value_type()
        super(models.PointerModel, self).__init__(manager, reference, content.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def by_reference(typing_context: Context, value: types.NamedTuple) -> tuple[Signature, object]:
    """Return a named tuple of raw arrays that compiled functions pass on as one pointer.

    It has the attributes of the tuple; otherwise a tuple of ten arrays is passed as a hundred
    values. Neither the result nor an array allocated in compiled code that it contains may be used
    after the function that calls this returns.
    """
    reference = Reference(value)

    def generate(
        context: BaseContext, builder: ir.IRBuilder, _: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        raw = _strip_counts(context, builder, value, arguments[0])
        return cgutils.alloca_once_value(builder, raw)

    return reference(value), generate


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:
        """Return the type of a field."""
        content = reference.content
        return content.types[content.fields.index(name)] if name in content.fields else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _load_field(
    context: BaseContext, builder: ir.IRBuilder, reference: Reference, value: ir.Value, name: str
) -> ir.Value:
    content = reference.content
    index = content.fields.index(name)
    field = builder.load(cgutils.gep_inbounds(builder, value, 0, index))
    return _strip_counts(context, builder, content.types[index], field)
