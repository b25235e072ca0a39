"""The one way to compile: `@jit`, cached on disk until a source that it depends on changes.

Most compiled functions are called by others only, which inline them. numba alone would make a
library of each, with wrappers to call it from Python and C, optimised machine code of it and of all
that it calls, and a file in the cache. Here a function that a compiled one calls stays intermediate
code until something that Python calls is compiled: that is linked, optimised and kept, once.
"""

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, overload

from llvmlite.binding import Linkage
from numba import typeof, types
from numba.core import codegen, compiler, dispatcher, errors, registry
from numba.core.datamodel import models, register_default

from cc_env import sources
from cc_env.cache import DiskCache, modules_of

F = TypeVar("F", bound=Callable[..., Any])

QUIET = "CC_ENV_QUIET"  # the environment variable that hides what is said of compiling
OPTIONS = {"nopython": True, "error_model": "numpy", "boundscheck": False}


class _IntermediateLibrary(codegen.JITCodeLibrary):
    """Intermediate code of a function and all it calls, to be linked into what calls it."""

    def finalize(self) -> None:
        """Gather the code, for others to link; no machine code is made."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True


class _EntryLibrary(codegen.JITCodeLibrary):
    """Code of what Python calls; linked functions are internal, so that LLVM drops the inlined."""

    def _optimize_final_module(self) -> None:
        prefix = self._codegen._rtlinker.PREFIX  # of functions called before they are compiled
        if any(each.name.startswith(prefix) for each in self._final_module.global_variables):
            raise errors.UnsupportedError(
                f"{self.name}: compiled functions call each other in a circle, or one calls itself "
                "with other types; a function may call itself, with the same types always"
            )
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class _Compiler(dispatcher._FunctionCompiler):  # type: ignore[name-defined]
    """Compiles into a library of its own kind."""

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
    """Compiles no further than to intermediate code."""

    _library = _IntermediateLibrary
    _flags: ClassVar = dict.fromkeys(("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"), True)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        result = super()._compile_core(args, return_type)
        _bind_environment(result)
        name = object()  # by which numba finds the code; of other functions it is the wrapper
        result.target_context.insert_user_function(name, result.fndesc, [result.library])
        return result._replace(entry_point=name)


def _bind_environment(result: Any) -> None:
    """Place what the code needs to raise computed errors and to print, whoever links the code.

    All libraries declare the variable that holds its address; the first that is loaded has it.
    """
    context, name = result.target_context, result.fndesc.env_name
    library = context.codegen().create_library(name)
    module = library.create_ir_module(name)
    context.declare_env_global(module, name)
    library.add_ir_module(module)
    context.codegen()._add_module(library._final_module)
    context.codegen().set_env(name, result.environment)


class _EntryCompiler(_Compiler):
    """Compiles what Python calls; says so, once for each game, if stderr is a terminal."""

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
    """Say nothing of what is compiled while the block runs."""
    before = os.environ.get(QUIET)
    os.environ[QUIET] = "1"
    try:
        yield
    finally:
        os.environ.pop(QUIET)
        if before is not None:
            os.environ[QUIET] = before


def _announce(subject: str) -> None:
    """Say on stderr what is compiled, if that is a terminal."""
    why = f"once, some seconds; `python -m cc_env warm` does it beforehand, {QUIET}=1 hides this"
    with contextlib.suppress(AttributeError, ValueError, OSError):  # no stream, or a closed one
        if sys.stderr.isatty():
            print(f"cc_env: compiling {subject} ({why})", file=sys.stderr)


def _game_of(module: str) -> str:
    """Return the name of the game that a module belongs to; of others the name of the module."""
    names = module.split(".")
    return names[2] if names[:2] == ["cc_env", "games"] else module


class _Inlined(registry.CPUDispatcher):
    """A function as compiled code calls it."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options)
        self._compiler = _InlinedCompiler(
            function, self.targetdescr, options, self.locals, compiler.Compiler
        )

    def add_overload(self, result: Any) -> None:
        """Record the compiled code; it has no Python entry point."""
        self.overloads[tuple(result.signature.args)] = result


class _Compiled(registry.CPUDispatcher):
    """A function as Python calls it; compiled code that names it is given the inlined one."""

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

    def __reduce__(self) -> Any:
        """Pickle and copy by name, as functions are; without one, make it of its function again."""
        module, name = self.py_func.__module__, self.py_func.__qualname__
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is self:
            return name
        return _Compiled, (self.py_func, self.targetoptions)


class Rule:
    """A function of which every game has its own, chosen by the classes of some arguments.

    From Python and from compiled code alike it is called like any compiled function. In compiled
    code it costs nothing: the choice is made when types are inferred.
    """

    def __init__(self, declared: Callable[..., Any], by: tuple[int, ...]) -> None:
        functools.update_wrapper(self, declared)
        self._name = declared.__name__
        self._signature = inspect.signature(declared)
        self._count = len(self._signature.parameters)
        self._by = by
        self._chosen: dict[tuple[type, ...], Callable[..., Any]] = {}

    def add(self, *classes: type, function: Callable[..., Any]) -> None:
        """Choose this compiled function for arguments of these NamedTuple classes."""
        self._chosen[classes] = function

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        if by_name or len(arguments) != self._count:
            arguments = self._signature.bind(*arguments, **by_name).args
        chosen = self._chosen.get(tuple([type(arguments[place]) for place in self._by]))
        if chosen is None:
            chosen = self.choose([type(argument) for argument in arguments])  # refuses
        return chosen(*arguments)

    def choose(self, classes: Sequence[type]) -> Callable[..., Any]:
        """Return the function for arguments of these classes; raise TypeError if there is none."""
        wanted = tuple(classes[place] for place in self._by)
        if wanted not in self._chosen:
            names = " and ".join(each.__name__ for each in wanted)
            raise TypeError(f"no {self._name} is registered for {names}")
        return self._chosen[wanted]

    def __reduce__(self) -> str:
        return self._name  # a pickle or copy has it by name, as any function

    @property
    def _numba_type_(self) -> "_RuleType":
        return _RuleType(self)


class _RuleType(types.Callable, types.Dummy):
    """What numba takes a rule for: the function that it chooses for the types of arguments."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(f"rule({rule._name} at {id(rule)})")
        self._rule = rule

    def _choose(self, arguments: Sequence[Any]) -> Any:
        classes = [getattr(each, "instance_class", type(each)) for each in arguments]
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
    """Compile `function` at its first call; every later process finds it in the cache on disk.

    With `nogil` other threads of Python run while it does.
    """
    if function is None:
        return functools.partial(jit, nogil=nogil)
    sources.follow(function.__module__)
    return _Compiled(function, {**OPTIONS, "nogil": nogil})


@overload
def rule(declared: F) -> F: ...


@overload
def rule(*, by: tuple[int, ...]) -> Callable[[F], F]: ...


def rule(declared: Any = None, *, by: tuple[int, ...] = (0,)) -> Any:
    """Make a `Rule` of a function without a body, chosen by the arguments in the places `by`."""
    return functools.partial(rule, by=by) if declared is None else Rule(declared, by)
