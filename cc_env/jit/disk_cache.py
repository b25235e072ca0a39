"""The cache of compiled code on disk, valid until a source that the code depends on changes.

A file holds one function compiled for one signature. Its name consists of the function's name, a
hash of its place, the signature and the processor, and a hash of everything the code depends on.
Writing a file removes those of older sources, and partial files of killed processes. numba's own
cache checks only the file of the function itself, and numbers its files in an index that two
processes can corrupt by writing at the same time.
"""

import contextlib
import functools
import hashlib
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import caching

from cc_env.jit import fingerprints

NOT_KEPT: dict[str, str] = {}  # functions whose code could not be written to disk: the reason

_ABANDONED = 3600  # age in seconds at which a partial file is taken for abandoned
_DIGEST = 32  # bytes of the SHA-256 at the start of a file
_INNER = "dtype", "type", "item_type", "key_type", "value_type"  # attributes with nested types


class DiskCache(caching._Cache):
    """The cached code of one function, with the interface that numba's dispatchers expect."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Cache the code of `function`, compiled with these options."""
        self._function, self._options = function, options
        self._enabled = True

    @functools.cached_property
    def _impl(self) -> Any:
        """numba's serializer; None if the function has no file or no folder is writable."""
        with contextlib.suppress(RuntimeError, OSError, TypeError):
            return caching.CompileResultCacheImpl(self._function)
        return None

    @property
    def cache_path(self) -> str | None:
        """The folder of the files, or None; numba's statistics show it."""
        return str(self._impl.locator.get_cache_path()) if self._impl else None

    def enable(self) -> None:
        """Enable reading and writing of files."""
        self._enabled = True

    def disable(self) -> None:
        """Disable reading and writing of files."""
        self._enabled = False

    def flush(self) -> None:
        """Delete all files of the function."""
        if self.cache_path:
            for path in Path(self.cache_path).glob(f"{self._name}-*.nbc*"):
                path.unlink(missing_ok=True)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code compiled for the signature; None if there is none, or it is stale."""
        target_context.refresh()
        path = self._path(signature, target_context)
        data = None if path is None else _read(path)
        if data is None:
            return None
        try:
            return self._impl.rebuild(target_context, pickle.loads(data))
        except Exception:  # refers to something that no longer exists: compile again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the code compiled for the signature; delete that of older sources."""
        path = self._path(signature, result.target_context)
        if path is None or not self._impl.check_cachable(result):
            NOT_KEPT[self._name] = self._why_not
            return
        try:
            _write(path, caching.dumps(self._impl.reduce(result)))
        except OSError as error:  # such as a full disk
            NOT_KEPT[self._name] = error.strerror or str(error)
            return
        with contextlib.suppress(OSError):  # another process deletes them, too, or reads one
            self._sweep(path)

    def _sweep(self, path: Path) -> None:
        """Delete the files that a new one replaces, and abandoned partial files."""
        for other in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.nbc"):
            if other != path:
                other.unlink(missing_ok=True)
        abandoned = path.stat().st_mtime - _ABANDONED
        for partial in path.parent.glob(f"{self._name}-*.nbc.*"):
            if partial.stat().st_mtime < abandoned:
                partial.unlink(missing_ok=True)

    @property
    def _why_not(self) -> str:
        """The reason why code is not written to disk."""
        if self._enabled and self._impl is None:
            return "no folder for it is writable, see NUMBA_CACHE_DIR"
        return "its sources cannot be determined, or one was edited after it was imported"

    @property
    def _name(self) -> str:
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        return name.replace("<", "").replace(">", "")

    def _path(self, signature: Any, target_context: Any) -> Path | None:
        """Return the file of the code; None if its freshness could not be determined."""
        kinds = list(_within(signature))
        if not self._enabled or self._impl is None or _has_functions(kinds):
            return None
        source = fingerprints.fingerprint({self._function.__module__, *modules_of(signature)})
        closure = self._closure()
        if source is None or closure is None:
            return None
        code = self._function.__code__
        fields = [(cls.__module__, cls.__qualname__, cls._fields) for cls in _classes(kinds)]
        versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
        machine = target_context.codegen().magic_tuple()
        place = Path(code.co_filename).name, code.co_firstlineno
        kind = _short_hash(repr((place, signature, fields, versions, machine)).encode())
        content = repr((source, _code_parts(code), sorted(self._options.items())))
        stamp = _short_hash(content.encode(), closure)
        return Path(self.cache_path or "", f"{self._name}-{kind}-{stamp}.nbc")

    def _closure(self) -> bytes | None:
        """Return the pickled contents of the function's closure; None if they cannot be pickled."""
        cells = self._function.__closure__
        try:
            return caching.dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        except Exception:  # whatever pickling raises, for locks or nested functions
            return None


def modules_of(signature: Iterable[Any]) -> set[str]:
    """Return the modules of the NamedTuple classes among numba's types, nested ones included."""
    return {cls.__module__ for cls in _classes(_within(signature))}


def _classes(kinds: Iterable[Any]) -> list[Any]:
    """Return the NamedTuple classes among numba's types."""
    return [kind.instance_class for kind in kinds if hasattr(kind, "instance_class")]


def _within(signature: Iterable[Any]) -> Iterator[Any]:
    """Yield numba's types of a signature, and those nested in them."""
    for kind in signature:
        yield kind
        nested = [getattr(kind, name, None) for name in _INNER]
        yield from _within([inner for inner in nested if isinstance(inner, types.Type)])
        if isinstance(kind, types.BaseTuple):
            yield from _within(kind)


def _has_functions(kinds: Iterable[Any]) -> bool:
    """Return whether a function is among numba's types; their names do not identify its code."""
    return any(isinstance(kind, types.Callable) for kind in kinds)


def _code_parts(code: CodeType) -> tuple[object, ...]:
    """Return what distinguishes functions with the same name and line."""
    constants = [_code_parts(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.co_code, repr(constants), code.co_names, code.co_varnames, code.co_freevars


def _short_hash(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()[:24]


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None if the file is missing or incomplete."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_DIGEST:]
    return data if hashlib.sha256(data).digest() == content[:_DIGEST] else None


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically: other processes see all of it or nothing. Raises OSError."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        partial.write_bytes(hashlib.sha256(data).digest() + data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
