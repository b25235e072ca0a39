"""The one way to compile: `@jit`, cached on disk until a source that it depends on changes."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

from cc_env import sources
from cc_env.cache import DiskCache

F = TypeVar("F", bound=Callable[..., Any])


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
    compiled = numba.njit(error_model="numpy", boundscheck=False, nogil=nogil)(function)
    compiled._cache = DiskCache(function)
    sources.follow(function.__module__)
    return compiled
