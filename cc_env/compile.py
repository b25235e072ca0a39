"""The one way to compile: `@jit`, cached on disk under a key that no edit of the rules can outlive.

numba's own cache looks only at the file of the compiled function, so a cached function that calls a
function of another file would keep that file's old machine code. Here the key holds a hash of all
sources of this package, of the function's own package, and of the package of every position class
among the arguments, so that a game from elsewhere is as safe as ours.
"""

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

F = TypeVar("F", bound=Callable[..., Any])

_OWN_SOURCE = Path(__file__)


@functools.cache
def source_hash(file: Path) -> str:
    """Return a hash of all Python sources of the outermost package that holds `file`."""
    root = file
    while (root.parent / "__init__.py").exists():
        root = root.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [file]:
        digest.update(path.relative_to(root.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _position_hashes(signature: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the source hashes of the position classes among the argument types."""
    classes = (getattr(argument, "instance_class", None) for argument in signature)
    files = (getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in classes if cls)
    return tuple(sorted({source_hash(Path(file)) for file in files if file}))


class _PackageStamp:
    """Cache locator mix-in: fresh as long as no source of the packages involved has changed."""

    _py_file: str

    def get_source_stamp(self) -> tuple[str, str]:
        return source_hash(_OWN_SOURCE), source_hash(Path(self._py_file))


def _stamped(locator: type) -> type:
    return type(locator.__name__, (_PackageStamp, locator), {})


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [
        _stamped(caching.UserProvidedCacheLocator),
        _stamped(caching.InTreeCacheLocator),
        _stamped(caching.UserWideCacheLocator),
    ]


class _Cache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _position_hashes(sig))


def jit(function: F) -> F:
    """Compile `function` at its first call; every later process finds it in the cache on disk."""
    compiled = numba.njit(error_model="numpy", boundscheck=False)(function)
    with contextlib.suppress(RuntimeError):  # no file or folder for a cache: compile every time
        compiled._cache = _Cache(compiled.py_func)
    return compiled  # type: ignore[no-any-return]
