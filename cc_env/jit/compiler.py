"""Decorators for compiled functions: `@jit`, with a disk cache, and `@rule`, with dispatch.

Most compiled functions are called only by other compiled functions, which inline them. numba alone
would create a library for each, with wrappers for Python and C, optimized machine code of it and
its callees, and a file in the cache. Here a callee stays LLVM intermediate code (IR) until a
function called by Python is compiled: that one is linked, optimized and cached once.
"""

import contextlib
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, TypeVar, overload

import numpy as np
from numba import typeof, types
from numba.extending import models, register_model

from cc_env.errors import BadGame
from cc_env.jit import fingerprints, processor_features
from cc_env.jit.disk_cache import QUIET_VARIABLE, DiskCache, modules_of
from cc_env.jit.numba_internals import (
    CompileResult,
    Context,
    EntryCompiler,
    EntryDispatcher,
    Signature,
    errors,
)

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")


# Lines with these prefixes are omitted from the summary of a numba error.
_OMITTED_PREFIXES = "Failed", "During", "File ", "<source", "There are "
_OPTIONS: dict[str, bool | str] = {
    "nopython": True,
    "error_model": "numpy",
    "boundscheck": False,
}


# numba chooses the features with its first function, so this cannot wait for the first call.
processor_features.select_features()


class _Compiler(EntryCompiler):
    """Compiler of functions called by Python; prints one message per game to a terminal."""

    _reported: ClassVar[set[str]] = set()

    def _compile_core(
        self, args: tuple[types.Type, ...], return_type: types.Type | None
    ) -> CompileResult:
        modules = modules_of(args) or {self.py_func.__module__}
        subject = " and ".join(sorted({_game_or_module(module) for module in modules}))
        if subject not in self._reported and not os.environ.get(QUIET_VARIABLE):
            self._reported.add(subject)
            _print_compiling(subject)
        return super()._compile_core(args, return_type)


@contextlib.contextmanager
def hidden_messages() -> Iterator[None]:
    """Hide the messages about compiling while the block runs."""
    previous = os.environ.get(QUIET_VARIABLE)
    os.environ[QUIET_VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ.pop(QUIET_VARIABLE)
        if previous is not None:
            os.environ[QUIET_VARIABLE] = previous


def _print_compiling(subject: str) -> None:
    """Print a message about compiling if stderr is a terminal."""
    hint = f"once, some seconds; see `python -m cc_env warm`; {QUIET_VARIABLE}=1 hides this"
    # stderr may be None or closed.
    with contextlib.suppress(AttributeError, ValueError, OSError):
        if sys.stderr.isatty():
            print(f"cc_env: compiling {subject} ({hint})", file=sys.stderr)


def summarize_error(error: BaseException) -> str:
    """Return the message of a numba error and its source location on one line."""
    text = re.sub(r"\x1b\[\d+m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = [line for line in lines if not line.startswith(_OMITTED_PREFIXES)]
    locations = [line.rstrip(":") for line in lines if line.startswith("File ")]
    return "; ".join([" ".join(message[:2]), *locations[:1]])


def _game_or_module(module: str) -> str:
    """Return the game that a module of `cc_env.games` belongs to, otherwise the module."""
    names = module.split(".")
    return names[2] if names[:2] == ["cc_env", "games"] else module


class _Compiled(EntryDispatcher):
    """A function that is compiled at its first call from Python, or loaded from the disk cache."""

    _compiler_class = _Compiler

    def __init__(self, function: Callable[..., object], options: Mapping[str, bool | str]) -> None:
        super().__init__(function, options)
        self._cache = DiskCache(function, options)

    def _compile_for_args(self, *arguments: object, **keywords: object) -> object:
        """Compile for these arguments; raise BadGame if a game of another package fails."""
        try:
            return super()._compile_for_args(*arguments, **keywords)
        except errors.NumbaError as error:
            modules = modules_of(map(self.typeof_pyval, arguments))
            external = sorted(name for name in modules if not name.startswith("cc_env."))
            if not external:
                raise
            message = f"the game {external[0]} cannot be compiled: {summarize_error(error)}"
            hint = f"`cc_env check --game {external[0]}` names the faulty rule"
            raise BadGame(f"{message}; {hint}") from error

    def __reduce__(self) -> str | tuple[type, tuple[object, ...]]:
        """Pickle and copy by name if the module has this name, otherwise by the Python function."""
        module: str = self.py_func.__module__
        name: str = self.py_func.__qualname__
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is self:
            return name
        return _Compiled, (self.py_func, self.targetoptions)


class Rule:
    """A generic function: calls the function registered for the classes of some arguments.

    Python and compiled code call it like any compiled function. Dispatch in compiled code has no
    cost, as types are inferred before the code runs.
    """

    def __init__(self, declaration: Callable[..., object], dispatch_on: tuple[int, ...]) -> None:
        functools.update_wrapper(self, declaration)
        self._name = declaration.__name__
        self._signature = inspect.signature(declaration)
        self._parameter_count = len(self._signature.parameters)
        self._dispatch_on = dispatch_on
        self._index = dispatch_on[0] if len(dispatch_on) == 1 else None
        self._functions: dict[type | tuple[type, ...], Callable[..., object]] = {}

    def add(self, *classes: type, function: Callable[..., object]) -> None:
        """Register the compiled function for arguments of these NamedTuple classes."""
        self._functions[classes] = function
        # Calls from Python look up a single class without a tuple, which is faster.
        if self._index is not None:
            self._functions[classes[0]] = functools.partial(self._call_first, function)

    def _call_first(self, function: Callable[..., object], *arguments: object) -> object:
        """Call a function; after this, calls skip the lookup of types if all have the same types.

        These are a position with fields of uint64, and integers; arrays may differ in their layout.
        """
        result = function(*arguments)
        assert self._index is not None
        first, *others = arguments
        if self._index or not (isinstance(function, _Compiled) and _are_integers(others)):
            self._functions[type(arguments[self._index])] = function
        elif _is_position(first):
            self._functions[type(first)] = specialize(function, first, *(0 for _ in others))
        return result

    def __call__(self, *arguments: object, **keywords: object) -> object:
        if keywords or len(arguments) != self._parameter_count:
            arguments = self._signature.bind(*arguments, **keywords).args
        key: type | tuple[type, ...]
        if self._index is None:
            key = tuple([type(arguments[index]) for index in self._dispatch_on])
        else:
            key = type(arguments[self._index])
        function = self._functions.get(key)
        if function is None:
            function = self.function_for([type(argument) for argument in arguments])
        return function(*arguments)

    def function_for(self, classes: Sequence[type]) -> Callable[..., object]:
        """Return the function for arguments of these classes; raise TypeError if there is none."""
        key = tuple(classes[index] for index in self._dispatch_on)
        if key not in self._functions:
            names = " and ".join(cls.__name__ for cls in key)
            raise TypeError(f"no {self._name} is registered for {names}")
        return self._functions[key]

    def __reduce__(self) -> str:
        """Pickle and copy by name, like any function."""
        return self._name

    @property
    def _numba_type_(self) -> "_RuleType":
        return _RuleType(self)


class _RuleType(types.Callable, types.Dummy):
    """The numba type of a rule; its signature is that of the function for the argument types."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(f"rule({rule._name} at {id(rule)})")
        self._rule = rule

    def _function_type(self, arguments: Sequence[types.Type]) -> types.Dispatcher:
        classes = [getattr(item, "instance_class", type(item)) for item in arguments]
        return typeof(self._rule.function_for(classes))

    def get_call_type(
        self, context: Context, args: Sequence[types.Type], kws: Mapping[str, types.Type]
    ) -> Signature:
        return self._function_type(args).get_call_type(context, args, kws)

    def get_call_signatures(self) -> tuple[Sequence[Signature], bool]:
        return (), True

    def get_impl_key(self, sig: Signature) -> object:
        return self._function_type(sig.args).get_impl_key(sig)


register_model(_RuleType)(models.OpaqueModel)


@overload
def jit(function: Function) -> Function: ...


@overload
def jit(*, nogil: bool) -> Callable[[Function], Function]: ...


def jit(function: Callable[..., object] | None = None, *, nogil: bool = False) -> object:
    """Compile a function at its first call, or load it from the disk cache.

    With `nogil` it releases the GIL while it runs.
    """
    if function is None:
        return functools.partial(jit, nogil=nogil)
    fingerprints.follow_package(function.__module__)
    return _Compiled(function, {**_OPTIONS, "nogil": nogil})


def _is_position(value: object) -> bool:
    return isinstance(value, tuple) and all(type(field) is np.uint64 for field in value)


def _are_integers(values: Iterable[object]) -> bool:
    return all(isinstance(value, int | np.integer) for value in values)


def specialize(function: Callable[..., Result], *arguments: object) -> Callable[..., Result]:
    """Return the machine code of a compiled function for arguments of these types.

    Calling it saves the lookup of the arguments' types, 1.6 µs for those of a step. It accepts no
    keywords, and its behavior is undefined for arguments of other types. If the code is not
    compiled yet, errors of numba are raised as they are.
    """
    assert isinstance(function, _Compiled)
    entry_point: Callable[..., Result] = function.compile(
        tuple(map(function.typeof_pyval, arguments))
    )
    return entry_point


@overload
def rule(declaration: Function) -> Function: ...


@overload
def rule(*, dispatch_on: tuple[int, ...]) -> Callable[[Function], Function]: ...


def rule(
    declaration: Callable[..., object] | None = None, *, dispatch_on: tuple[int, ...] = (0,)
) -> object:
    """Turn a function without a body into a `Rule`; `dispatch_on` are indices of arguments."""
    if declaration is None:
        return functools.partial(rule, dispatch_on=dispatch_on)
    return Rule(declaration, dispatch_on)
