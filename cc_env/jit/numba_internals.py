"""Everything that this library uses of numba beyond its documented interface.

numba may change it in any release; `make test-numba` tries the newest one. What numba does there:

- `caching`: reads and writes the code of a dispatcher, by the interface of `_Cache`.
  `CompileResultCacheImpl` turns compiled code into data that can be pickled, and back.
- `codegen`: `JITCodeLibrary` holds the LLVM code of a function and links, optimizes and loads it.
  `get_host_cpu_features` returns the features of the processor.
- `compiler`: `compile_extra` runs the passes from Python bytecode to LLVM code; its flags are
  compared whenever numba looks up one of its own functions.
- `dispatcher`, `registry`: `CPUDispatcher` is what `numba.njit` returns; it infers the types of
  arguments and calls its `_compiler` for new ones. `cpu_target` holds the contexts for all of them.
- `event`, `global_compiler_lock`: what profiles listen to, and the lock of all compilations.
- `errors`, `config`: the errors of compilation, and the settings from environment variables.
- `cgutils`, `models`: helpers for LLVM code, and how types are represented in it.
- `Context`, `BaseContext`: functions by the types of their arguments, for type inference and for
  the generation of code.
- `AbstractTemplate`, `AttributeTemplate`, `infer_global`: type inference of operators, functions
  and attributes.
- `to_fixed_tuple`: the first elements of an array as a tuple.

`cc_env.jit.compiler` overrides two methods of these classes, because they belong to what it does
with compilation: `_compile_core`, to print a message, and `_compile_for_args`, to name the game at
fault. It sets `_cache` of a dispatcher, whose class in `cc_env.jit.disk_cache` overrides `_impl`.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from llvmlite import ir
from llvmlite.binding import ModuleRef
from numba import types
from numba.core import (
    caching,
    cgutils,
    codegen,
    compiler,
    config,
    dispatcher,
    errors,
    event,
    registry,
    sigutils,
)
from numba.core.base import BaseContext
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import DataModelManager
from numba.core.registry import cpu_target
from numba.core.typing import Context, Signature, signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import lower_cast
from numba.np.unsafe.ndarray import to_fixed_tuple

__all__ = [
    "AbstractTemplate",
    "AttributeTemplate",
    "BaseContext",
    "CompileResult",
    "Context",
    "DataModelManager",
    "EntryCompiler",
    "EntryDispatcher",
    "InlinedDispatcher",
    "Signature",
    "caching",
    "cgutils",
    "codegen",
    "config",
    "cpu_target",
    "errors",
    "event",
    "infer_global",
    "signature",
    "to_fixed_tuple",
]


class _Library(codegen.JITCodeLibrary):
    """LLVM code of one of this library's functions."""

    def _optimize_functions(self, module: ModuleRef) -> None:
        # numba would also create passes for each declaration.
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _IntermediateLibrary(_Library):
    """IR of a function, without that of its callees, to be linked into functions called by Python.

    numba alone would link and optimize the callees in every function that calls them.
    """

    # The compiled function, until its environment is defined.
    result: CompileResult | None = None
    _shared_module: ModuleRef | None

    def finalize(self) -> None:
        """Accept no more IR; nothing is linked, and no machine code is generated."""
        self._finalized = True

    def _get_module_for_linking(self) -> ModuleRef:
        """Return the IR of the function and its callees, for a function compiled by numba alone."""
        if self._shared_module is None:
            callees = _callees(self)
            module = self._final_module.clone()
            for callee in callees:
                module.link_in(_module(callee), preserve=True)
            _set_linkage(module, "linkonce_odr", exceptions=set())
            for library in (self, *callees):
                _define_environment(library)
            self._shared_module = module
        return self._shared_module


class _EntryLibrary(_Library):
    """Code of a function called by Python; callees are internal, so LLVM drops inlined ones."""

    _linking_libraries: list[codegen.JITCodeLibrary]

    def finalize(self) -> None:
        """Link the IR of all callees, and generate machine code."""
        self._entry_points = {function.name for function in self.get_defined_functions()}
        for callee in _callees(self):
            self._final_module.link_in(_module(callee), preserve=True)
            self._reload_init.update(callee._reload_init)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Global variables with this prefix belong to functions that were called before compilation.
        prefix = self._codegen._rtlinker.PREFIX
        if any(var.name.startswith(prefix) for var in self._final_module.global_variables):
            raise errors.UnsupportedError(
                f"{self.name}: unsupported recursion; a recursive function must call itself "
                "directly, with arguments of the same types"
            )
        _set_linkage(self._final_module, "internal", exceptions=self._entry_points)
        # numba would first run cheap passes, so that it finds more references that can be pruned.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


def _callees(library: codegen.JITCodeLibrary) -> list[codegen.JITCodeLibrary]:
    """Return the libraries that a library calls, directly or indirectly.

    numba's own libraries contain their callees. They come last: LLVM links their functions only if
    something refers to them already.
    """
    callees: dict[codegen.JITCodeLibrary, None] = {}
    queue = [library]
    while queue:
        new = [callee for callee in queue.pop()._linking_libraries if callee not in callees]
        callees.update(dict.fromkeys(new))
        queue += [callee for callee in new if isinstance(callee, _IntermediateLibrary)]
    return sorted(callees, key=lambda callee: not isinstance(callee, _IntermediateLibrary))


def _module(library: codegen.JITCodeLibrary) -> ModuleRef:
    """Return the IR of a library of `_callees`."""
    if isinstance(library, _IntermediateLibrary):
        return library._final_module
    return library._get_module_for_linking()


def _set_linkage(module: ModuleRef, linkage: str, exceptions: set[str]) -> None:
    """Set the linkage of the functions of a module."""
    for function in module.functions:
        if not function.is_declaration and function.name not in exceptions:
            function.linkage = linkage


def _define_environment(library: codegen.JITCodeLibrary) -> None:
    """Define the environment of the code, required for printing and for formatted exceptions.

    Every library that links the code declares the variable with the environment's address. For
    functions called by Python, `EntryCompiler` sets it.
    """
    if not isinstance(library, _IntermediateLibrary) or library.result is None:
        return
    result, library.result = library.result, None
    context, name = result.target_context, result.fndesc.env_name
    definition = context.codegen().create_library(name)
    module = definition.create_ir_module(name)
    context.declare_env_global(module, name)
    definition.add_ir_module(module)
    context.codegen()._add_module(definition._final_module)
    context.codegen().set_env(name, result.environment)


class _Flags(compiler.Flags):
    """Flags that are quickly compared: numba does so at each lookup of one of its functions."""

    __slots__ = ()
    _HASH = hash(compiler.Flags())

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


class _TypingContext:
    """numba's context for type inference, which remembers the signatures of functions of numbers.

    numba infers the type of each operation several times, each time among all signatures.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._signatures: dict[tuple[object, ...], Signature | None] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._context, name)

    def resolve_function_type(
        self, function: object, args: Sequence[types.Type], kws: Mapping[str, types.Type]
    ) -> Signature | None:
        """Return the signature of a call, None if there is none."""
        is_own = isinstance(function, types.Type) and not isinstance(
            function, types.Function | types.NumberClass
        )
        if is_own or kws or not all(isinstance(a, types.Number | types.Boolean) for a in args):
            return self._context.resolve_function_type(function, args, kws)
        key = function, *args
        if key not in self._signatures:
            self._signatures[key] = self._context.resolve_function_type(function, args, kws)
        return self._signatures[key]


@functools.cache
def _remembering(context: Context) -> _TypingContext:
    return _TypingContext(context)


class _Compiler(dispatcher._FunctionCompiler):  # type: ignore[name-defined]
    """Compiler with a library class and additional flags."""

    _library_class: ClassVar[type]
    _flags: ClassVar[dict[str, bool]]

    def _compile_core(
        self, args: tuple[types.Type, ...], return_type: types.Type | None
    ) -> CompileResult:
        flags = _Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        for name, value in self._flags.items():
            setattr(flags, name, value)
        context = self.targetdescr.target_context
        library = self._library_class(context.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            _remembering(self.targetdescr.typing_context),
            context,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )


class _InlinedCompiler(_Compiler):
    """Compiler to IR."""

    _library_class = _IntermediateLibrary
    _flags: ClassVar = dict.fromkeys(("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"), True)

    def _compile_core(
        self, args: tuple[types.Type, ...], return_type: types.Type | None
    ) -> CompileResult:
        result = super()._compile_core(args, return_type)
        # numba finds code by its entry point. As there is no wrapper, a unique object serves.
        key = object()
        result.target_context.insert_user_function(key, result.fndesc, [result.library])
        result.library.result = result = result._replace(entry_point=key)
        return result


class EntryCompiler(_Compiler):
    """Compiler of functions called by Python."""

    _library_class = _EntryLibrary
    _flags: ClassVar = {"no_cfunc_wrapper": True}

    def _compile_core(
        self, args: tuple[types.Type, ...], return_type: types.Type | None
    ) -> CompileResult:
        result = super()._compile_core(args, return_type)
        for environment in result._find_referenced_environments():
            result.codegen.set_env(environment.env_name, environment)
        return result


def _variable_type(item: types.Type) -> types.Type:
    """Return the type of a variable with values of this type, a constant's or a record field's."""
    if isinstance(item, types.NestedArray):
        return types.Array(item.dtype, item.ndim, item.layout)
    return types.unliteral(item)


@lower_cast(types.NestedArray, types.Array)  # type: ignore[untyped-decorator]
def _view_field(
    context: BaseContext,
    builder: ir.IRBuilder,
    source: types.Type,
    target: types.Type,
    value: ir.Value,
) -> ir.Value:
    """Return an array that is a field of a record as an array: they have the same structure."""
    return value


class InlinedDispatcher(registry.CPUDispatcher):
    """A function as called from compiled code."""

    def __init__(self, function: Callable[..., object], options: Mapping[str, bool | str]) -> None:
        super().__init__(function, targetoptions=options)
        self._compiler = _InlinedCompiler(
            function, self.targetdescr, options, self.locals, compiler.Compiler
        )

    def get_call_template(
        self, args: Sequence[types.Type], kws: Mapping[str, types.Type]
    ) -> tuple[object, ...]:
        """Return the signature of a call, after compiling for it.

        Constants and fields of records have the types of variables, so that the code is compiled
        once.
        """
        keywords = {name: _variable_type(item) for name, item in kws.items()}
        template: tuple[object, ...] = super().get_call_template(
            tuple(map(_variable_type, args)), keywords
        )
        return template

    def compile(self, signature: tuple[types.Type, ...]) -> object:
        """Return the key of the code for these types, which is compiled if it does not exist yet.

        Type inference calls this for every call, several times. numba's own method also measures
        the time of every function, which at each level of calls costs more.
        """
        args, return_type = sigutils.normalize_signature(signature)
        if tuple(args) not in self.overloads:
            data = {"dispatcher": self, "args": args, "return_type": return_type}
            with (
                global_compiler_lock,
                self._compiling_counter,
                event.trigger_event("numba:compile", data=data),
            ):
                self.add_overload(self._compiler.compile(args, return_type))
        return self.overloads[tuple(args)].entry_point

    def add_overload(self, result: CompileResult) -> None:
        """Record the compiled code, which has no Python entry point."""
        self.overloads[tuple(result.signature.args)] = result


class _PlainScheme:
    """A color scheme of numba without colors."""

    def code(self, msg: str) -> str:
        """Return the message."""
        return msg

    errmsg = filename = indicate = highlight = reset = code


@contextlib.contextmanager
def _quick_compilation() -> Iterator[None]:
    """Collect no garbage, a tenth of the time, and color no errors while the block runs.

    numba drops nearly all of its errors, some thousands for a kernel.
    """
    is_collecting, module = gc.isenabled(), vars(errors)
    scheme = module["_termcolor_inst"]
    gc.disable()
    module["_termcolor_inst"] = _PlainScheme()
    try:
        yield
    finally:
        module["_termcolor_inst"] = scheme
        if is_collecting:
            gc.enable()


class EntryDispatcher(registry.CPUDispatcher):
    """A function as called from Python; compiled code that refers to it uses another dispatcher."""

    _compiler_class: ClassVar[type[EntryCompiler]] = EntryCompiler

    def __init__(self, function: Callable[..., object], options: Mapping[str, bool | str]) -> None:
        super().__init__(function, targetoptions=options)
        self._compiler = self._compiler_class(
            function, self.targetdescr, options, self.locals, compiler.Compiler
        )
        self._inlined = InlinedDispatcher(function, options)
        # The shared counter lets numba detect recursion.
        self._inlined._compiling_counter = self._compiling_counter

    def compile(self, signature: tuple[types.Type, ...]) -> Callable[..., Any]:
        """Return the entry point for these types, which is compiled or loaded if it is missing."""
        # Another thread would find and restore the changes of this one.
        with global_compiler_lock, _quick_compilation():
            entry_point: Callable[..., Any] = super().compile(signature)
        return entry_point

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self._inlined)
