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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, overload

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


def _modules(types: Iterable[Any]) -> set[str]:
    """Return the modules of the NamedTuple classes among numba's types, nested ones included."""
    found = set()
    for each in types:
        if hasattr(each, "instance_class"):
            found |= {each.instance_class.__module__, *_modules(each)}
    return found


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
    """A function's cache: one index for our own types, one for those of each foreign package.

    To read an index is to import the modules of its types, which elsewhere may not be there.
    """

    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._choose_file(sig)
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._choose_file(sig)
        super().save_overload(sig, data)

    def _choose_file(self, signature: tuple[Any, ...]) -> None:
        packages = {module.partition(".")[0] for module in _modules(signature)}
        foreign = sorted(packages - {_OWN_SOURCE.parent.name})
        self._cache_file = caching.IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base="-".join([self._impl.filename_base, *foreign]),
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        files = (getattr(sys.modules.get(name), "__file__", None) for name in _modules(sig))
        hashes = sorted({source_hash(Path(file)) for file in files if file})
        return (*super()._index_key(sig, codegen), *hashes)


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
    with contextlib.suppress(RuntimeError):  # no file or folder for a cache: compile every time
        compiled._cache = _Cache(compiled.py_func)
    return compiled
