"""Disk cache of compiled code, invalidated when a source that the code depends on changes.

A file contains one function compiled for one signature. Its name consists of the function's name, a
hash of its location, signature and processor, and a hash of everything the code depends on. Writing
a file deletes those of older sources, and partial files of killed processes. numba's own cache
checks only the source of the function itself, and keeps an index that two processes can corrupt by
writing at the same time.
"""

import contextlib
import functools
import hashlib
import inspect
import multiprocessing
import os
import pickle
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Protocol

import llvmlite
import numba
import numpy as np
from numba import types

from cc_env.jit import fingerprints
from cc_env.jit.numba_internals import BaseContext, CompileResult, caching

# Name of each function whose code could not be written -> the reason.
write_failures: dict[str, str] = {}

# Environment variable that hides the messages about compiling.
QUIET_VARIABLE = "CC_ENV_QUIET"
_NO_FOLDER = "no cache folder is writable"
# Age at which a partial file is deleted.
_PARTIAL_FILE_SECONDS = 3600
_DIGEST_BYTES = 32


class _NamedTuple(Protocol):
    _fields: tuple[str, ...]


# Attributes of numba's types that contain nested types.
_NESTED_TYPES = "dtype", "type", "item_type", "key_type", "value_type"


class DiskCache(caching._Cache):
    """Cached code of one function, with the interface that numba's dispatchers expect."""

    def __init__(self, function: Callable[..., object], options: Mapping[str, bool | str]) -> None:
        """Cache the code of `function`, compiled with these options."""
        self._function = function
        self._options = options
        self._enabled = True

    @functools.cached_property
    def _impl(self) -> caching.CompileResultCacheImpl | None:
        """The serializer of numba; None if the function has no file or no folder is writable."""
        with contextlib.suppress(RuntimeError, OSError, TypeError):
            return caching.CompileResultCacheImpl(self._function)
        return None

    @property
    def cache_path(self) -> str | None:
        """The folder of the files, or None; part of numba's statistics."""
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

    def load_overload(
        self, signature: tuple[types.Type, ...], target_context: BaseContext
    ) -> CompileResult | None:
        """Return the code compiled for the signature; None if it is missing or stale."""
        target_context.refresh()
        path = self._path(signature, target_context)
        data = None if path is None else _read(path)
        if data is None or self._impl is None:
            return None
        # The data may refer to names that no longer exist.
        try:
            return self._impl.rebuild(target_context, pickle.loads(data))
        except Exception:
            return None

    def save_overload(self, signature: tuple[types.Type, ...], result: CompileResult) -> None:
        """Write the code compiled for the signature; delete that of older sources."""
        path = self._path(signature, result.target_context)
        if path is None or self._impl is None or not self._impl.check_cachable(result):
            write_failures[self._name] = self._uncachable_reason
            if (
                self._enabled
                and self._impl is None
                and Path(inspect.getfile(self._function)).exists()
            ):
                _warn(_NO_FOLDER)
            return
        try:
            _write(path, caching.dumps(self._impl.reduce(result)))
        except OSError as error:
            write_failures[self._name] = reason = error.strerror or str(error)
            _warn(reason)
            return
        # Another process may delete the same files.
        with contextlib.suppress(OSError):
            self._delete_obsolete(path)

    def _delete_obsolete(self, path: Path) -> None:
        """Delete the files that a new one replaces, and old partial files."""
        for other in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.nbc"):
            if other != path:
                other.unlink(missing_ok=True)
        oldest_time = path.stat().st_mtime - _PARTIAL_FILE_SECONDS
        for partial in path.parent.glob(f"{self._name}-*.nbc.*"):
            if partial.stat().st_mtime < oldest_time:
                partial.unlink(missing_ok=True)

    @property
    def _uncachable_reason(self) -> str:
        if not self._enabled:
            return "the cache is disabled"
        if self._impl is None:
            return f"{_NO_FOLDER}, see NUMBA_CACHE_DIR"
        return (
            "it cannot be cached: a source is unknown or was edited after its import, an argument "
            "is a function, or its closure or compiled code cannot be stored"
        )

    @property
    def _name(self) -> str:
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        return name.replace("<", "").replace(">", "")

    def _path(self, signature: tuple[types.Type, ...], target_context: BaseContext) -> Path | None:
        """Return the file of the code; None if it is not cachable."""
        all_types = list(_flatten(signature))
        # The types of functions do not identify their code.
        has_functions = any(isinstance(item, types.Callable) for item in all_types)
        if not self._enabled or self._impl is None or has_functions:
            return None
        source = fingerprints.fingerprint({self._function.__module__, *modules_of(signature)})
        closure = self._closure()
        if source is None or closure is None:
            return None
        code = self._function.__code__
        fields = [(cls.__module__, cls.__qualname__, cls._fields) for cls in _classes(all_types)]
        versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
        processor = target_context.codegen().magic_tuple()
        location = Path(code.co_filename).name, code.co_firstlineno
        slot = _short_hash(repr((location, signature, fields, versions, processor)).encode())
        content = repr((source, _code_parts(code), sorted(self._options.items())))
        version = _short_hash(content.encode(), closure)
        return Path(self.cache_path or "", f"{self._name}-{slot}-{version}.nbc")

    def _closure(self) -> bytes | None:
        """Return the pickled values of the function's closure; None if they cannot be pickled."""
        cells = self._function.__closure__
        # Locks and nested functions raise various exceptions.
        try:
            return caching.dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        except Exception:
            return None


@functools.cache
def _warn(reason: str) -> None:
    """Warn once that code cannot be written; worker processes leave this to their parent."""
    if multiprocessing.parent_process() is None and not os.environ.get(QUIET_VARIABLE):
        message = f"compiled code cannot be saved ({reason}), so each process compiles it again"
        advice = "NUMBA_CACHE_DIR=FOLDER names a writable folder"
        warnings.warn(f"{message}; {advice}", RuntimeWarning, stacklevel=2)


def modules_of(signature: Iterable[types.Type]) -> set[str]:
    """Return the modules of the NamedTuple classes among numba's types, nested ones included."""
    return {cls.__module__ for cls in _classes(_flatten(signature))}


def _classes(signature: Iterable[types.Type]) -> list[type[_NamedTuple]]:
    """Return the NamedTuple classes among numba's types."""
    return [item.instance_class for item in signature if hasattr(item, "instance_class")]


def _flatten(signature: Iterable[types.Type]) -> Iterator[types.Type]:
    """Yield numba's types of a signature, and the types nested in them."""
    for item in signature:
        yield item
        nested = [getattr(item, name, None) for name in _NESTED_TYPES]
        yield from _flatten([inner for inner in nested if isinstance(inner, types.Type)])
        if isinstance(item, types.BaseTuple):
            yield from _flatten(item)


def _code_parts(code: CodeType) -> tuple[object, ...]:
    """Return the parts of the code that distinguish functions with the same name and line."""
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
    data = content[_DIGEST_BYTES:]
    return data if hashlib.sha256(data).digest() == content[:_DIGEST_BYTES] else None


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically, preceded by the SHA-256 of its data. Raises OSError."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        partial.write_bytes(hashlib.sha256(data).digest() + data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
