"""Compilation: `@jit`, cached on disk until a source that the code depends on changes, and `rule`.

Most compiled functions are called only by other compiled functions, which inline them. numba alone
would make a library of each, with wrappers for Python and C, optimised machine code of it and its
callees, and a file in the cache. Here a callee stays LLVM intermediate code (IR) until a function
that Python calls is compiled: that is linked, optimised and cached once.
"""

import contextlib
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, overload

from llvmlite.binding import Linkage
from numba import typeof, types
from numba.core import codegen, compiler, dispatcher, errors, registry
from numba.core.datamodel import models, register_default

from cc_env.errors import BadGame
from cc_env.jit import fingerprints
from cc_env.jit.disk_cache import DiskCache, modules_of

F = TypeVar("F", bound=Callable[..., Any])

QUIET = "CC_ENV_QUIET"  # environment variable that hides messages about compiling
_LEFT_OUT = "Failed", "During", "File ", "<source", "There are "  # lines of compilers' messages
OPTIONS = {"nopython": True, "error_model": "numpy", "boundscheck": False}


class _IntermediateLibrary(codegen.JITCodeLibrary):
    """IR of a function and its callees, to be linked into its callers."""

    def finalize(self) -> None:
        """Link the callees' IR; no machine code is generated."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True


class _EntryLibrary(codegen.JITCodeLibrary):
    """Code of a function that Python calls; callees are internal, so LLVM drops inlined ones."""

    def _optimize_final_module(self) -> None:
        prefix = self._codegen._rtlinker.PREFIX  # marks functions called before they are compiled
        if any(var.name.startswith(prefix) for var in self._final_module.global_variables):
            raise errors.UnsupportedError(
                f"{self.name}: compiled functions call each other in a circle, or one calls itself "
                "with other types; a function may call itself only with the same types"
            )
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class _Compiler(dispatcher._FunctionCompiler):  # type: ignore[name-defined]
    """Compiles into a library of the class `_library`, with additional `_flags`."""

    _library: ClassVar[type]
    _flags: ClassVar[dict[str, bool]]

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        for name, value in self._flags.items():
            setattr(flags, name, value)
        context = self.targetdescr.target_context
        library = self._library(context.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            self.targetdescr.typing_context,
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
    """Compiles to IR only."""

    _library = _IntermediateLibrary
    _flags: ClassVar = dict.fromkeys(("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"), True)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        result = super()._compile_core(args, return_type)
        _bind_environment(result)
        name = (
            object()
        )  # the key by which numba finds the code; for other functions it is the wrapper
        result.target_context.insert_user_function(name, result.fndesc, [result.library])
        return result._replace(entry_point=name)


def _bind_environment(result: Any) -> None:
    """Define the environment of the code, which it needs to raise computed errors and to print.

    Every library that links the code declares the variable with the environment's address; this
    library defines it.
    """
    context, name = result.target_context, result.fndesc.env_name
    library = context.codegen().create_library(name)
    module = library.create_ir_module(name)
    context.declare_env_global(module, name)
    library.add_ir_module(module)
    context.codegen()._add_module(library._final_module)
    context.codegen().set_env(name, result.environment)


class _EntryCompiler(_Compiler):
    """Compiles functions that Python calls; announces it once for each game on a terminal."""

    _library = _EntryLibrary
    _flags: ClassVar = {"no_cfunc_wrapper": True}
    _announced: ClassVar[set[str]] = set()

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        modules = modules_of(args) or {self.py_func.__module__}
        subject = " and ".join(sorted({_game_of(module) for module in modules}))
        if subject not in self._announced and not os.environ.get(QUIET):
            self._announced.add(subject)
            _announce(subject)
        return super()._compile_core(args, return_type)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Hide messages about compiling while the block runs."""
    before = os.environ.get(QUIET)
    os.environ[QUIET] = "1"
    try:
        yield
    finally:
        os.environ.pop(QUIET)
        if before is not None:
            os.environ[QUIET] = before


def _announce(subject: str) -> None:
    """Print what is being compiled, if stderr is a terminal."""
    why = f"once, some seconds; `python -m cc_env warm` does it beforehand, {QUIET}=1 hides this"
    with contextlib.suppress(AttributeError, ValueError, OSError):  # no stream, or a closed one
        if sys.stderr.isatty():
            print(f"cc_env: compiling {subject} ({why})", file=sys.stderr)


def essence(error: BaseException) -> str:
    """Return what the compiler says, and the line of the source, in one line of text."""
    text = re.sub(r"\x1b\[\d+m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(_LEFT_OUT)]
    where = [line.rstrip(":") for line in lines if line.startswith("File ")]
    return "; ".join([" ".join(said[:2]), *where[:1]])


def _game_of(module: str) -> str:
    """Return the name of the game that a module belongs to, else the module's own name."""
    names = module.split(".")
    return names[2] if names[:2] == ["cc_env", "games"] else module


class _Inlined(registry.CPUDispatcher):
    """A function as called from compiled code."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options)
        self._compiler = _InlinedCompiler(
            function, self.targetdescr, options, self.locals, compiler.Compiler
        )

    def add_overload(self, result: Any) -> None:
        """Record the compiled code; it has no Python entry point."""
        self.overloads[tuple(result.signature.args)] = result


class _Compiled(registry.CPUDispatcher):
    """A function as called from Python; compiled code that refers to it gets the inlined one."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options)
        self._compiler = _EntryCompiler(
            function, self.targetdescr, options, self.locals, compiler.Compiler
        )
        self._inlined = _Inlined(function, options)
        self._inlined._compiling_counter = self._compiling_counter  # shared: numba sees recursion
        self._cache = DiskCache(function, options)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._inlined)

    def _compile_for_args(self, *arguments: Any, **by_name: Any) -> Any:
        """Compile for these arguments; raise BadGame where another package's game fails to."""
        try:
            return super()._compile_for_args(*arguments, **by_name)
        except errors.NumbaError as error:
            modules = modules_of(map(self.typeof_pyval, arguments))
            others = sorted(name for name in modules if not name.startswith("cc_env."))
            if not others:
                raise
            told = f"the game {others[0]} cannot be compiled: {essence(error)}"
            check = f"cc_env check --game {others[0]} says which rule is wrong"
            raise BadGame(f"{told}; {check}") from error

    def __reduce__(self) -> Any:
        """Pickle and copy by name, as functions are, or, without one, by its Python function."""
        module, name = self.py_func.__module__, self.py_func.__qualname__
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is self:
            return name
        return _Compiled, (self.py_func, self.targetoptions)


class Rule:
    """A generic function: dispatches to each game's own by the classes of some arguments.

    Python and compiled code call it like any compiled function. In compiled code the dispatch costs
    nothing: it is resolved when types are inferred.
    """

    def __init__(self, declared: Callable[..., Any], by: tuple[int, ...]) -> None:
        functools.update_wrapper(self, declared)
        self._name = declared.__name__
        self._signature = inspect.signature(declared)
        self._count = len(self._signature.parameters)
        self._by = by
        self._chosen: dict[tuple[type, ...], Callable[..., Any]] = {}

    def add(self, *classes: type, function: Callable[..., Any]) -> None:
        """Register the compiled function for arguments of these NamedTuple classes."""
        self._chosen[classes] = function

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        if by_name or len(arguments) != self._count:
            arguments = self._signature.bind(*arguments, **by_name).args
        chosen = self._chosen.get(tuple([type(arguments[place]) for place in self._by]))
        if chosen is None:
            chosen = self.choose([type(argument) for argument in arguments])  # raises
        return chosen(*arguments)

    def choose(self, classes: Sequence[type]) -> Callable[..., Any]:
        """Return the function for arguments of these classes; raise TypeError if there is none."""
        key = tuple(classes[place] for place in self._by)
        if key not in self._chosen:
            names = " and ".join(cls.__name__ for cls in key)
            raise TypeError(f"no {self._name} is registered for {names}")
        return self._chosen[key]

    def __reduce__(self) -> str:
        return self._name  # pickled and copied by name, like any function

    @property
    def _numba_type_(self) -> "_RuleType":
        return _RuleType(self)


class _RuleType(types.Callable, types.Dummy):
    """The numba type of a rule: typed as the function chosen for the argument types."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(f"rule({rule._name} at {id(rule)})")
        self._rule = rule

    def _choose(self, arguments: Sequence[Any]) -> Any:
        classes = [getattr(kind, "instance_class", type(kind)) for kind in arguments]
        return typeof(self._rule.choose(classes))

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        return self._choose(args).get_call_type(context, args, kws)

    def get_call_signatures(self) -> Any:
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        return self._choose(sig.args).get_impl_key(sig)


register_default(_RuleType)(models.OpaqueModel)


@overload
def jit(function: F) -> F: ...


@overload
def jit(*, nogil: bool) -> Callable[[F], F]: ...


def jit(function: Any = None, *, nogil: bool = False) -> Any:
    """Compile `function` at its first call, or load it from the cache on disk.

    With `nogil` it releases the GIL while it runs.
    """
    if function is None:
        return functools.partial(jit, nogil=nogil)
    fingerprints.follow(function.__module__)
    return _Compiled(function, {**OPTIONS, "nogil": nogil})


@overload
def rule(declared: F) -> F: ...


@overload
def rule(*, by: tuple[int, ...]) -> Callable[[F], F]: ...


def rule(declared: Any = None, *, by: tuple[int, ...] = (0,)) -> Any:
    """Turn a function without a body into a `Rule` that dispatches on the arguments at `by`."""
    return functools.partial(rule, by=by) if declared is None else Rule(declared, by)
