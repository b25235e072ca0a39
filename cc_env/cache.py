"""Compiled code on disk, found by the next process until a source that it depends on changes.

One file holds one function compiled for one signature. Its name tells the function, then hashes of
where it stands, the signature and the processor, and of all that the code depends on; to write one
removes those of older sources, and what killed processes left half-written. numba's own cache looks
only at the file of the function itself, and numbers its files in an index that two processes may
write at once.
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

from cc_env import sources

NOT_KEPT: dict[str, str] = {}  # what this process compiled and could not keep, and why

_ABANDONED = 3600  # seconds after which no process is still writing a file
_DIGEST = 32  # bytes of a SHA-256 before the content of a file
_INNER = "dtype", "type", "item_type", "key_type", "value_type"  # types within numba's types


class DiskCache(caching._Cache):
    """numba's interface to the compiled code of one function."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Keep code of `function`, compiled with these options."""
        self._function, self._options = function, options
        self._enabled = True

    @functools.cached_property
    def _impl(self) -> Any:
        """How numba stores code; None for a function without a file, or no folder to write in."""
        with contextlib.suppress(RuntimeError, OSError, TypeError):
            return caching.CompileResultCacheImpl(self._function)
        return None

    @property
    def cache_path(self) -> str | None:
        """The folder, as numba's statistics show it."""
        return str(self._impl.locator.get_cache_path()) if self._impl else None

    def enable(self) -> None:
        """Read and write files again."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write files."""
        self._enabled = False

    def flush(self) -> None:
        """Remove all files of the function."""
        if self.cache_path:
            for path in Path(self.cache_path).glob(f"{self._name}-*.nbc*"):
                path.unlink(missing_ok=True)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for the signature; None if nothing fresh is there."""
        target_context.refresh()
        path = self._path(signature, target_context)
        data = None if path is None else _read(path)
        if data is None:
            return None
        try:
            return self._impl.rebuild(target_context, pickle.loads(data))
        except Exception:  # what it refers to is gone: compile
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for the signature, in place of what older sources gave."""
        path = self._path(signature, result.target_context)
        if path is None or not self._impl.check_cachable(result):
            NOT_KEPT[self._name] = self._why_not
            return
        try:
            _write(path, caching.dumps(self._impl.reduce(result)))
        except OSError as error:  # a full disk: compile again next time
            NOT_KEPT[self._name] = error.strerror or str(error)
            return
        with contextlib.suppress(OSError):  # another process removes them, too, or reads one
            self._sweep(path)

    def _sweep(self, path: Path) -> None:
        """Remove what a new file takes the place of, and what killed processes left of others."""
        for other in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.nbc"):
            if other != path:
                other.unlink(missing_ok=True)
        abandoned = path.stat().st_mtime - _ABANDONED
        for partial in path.parent.glob(f"{self._name}-*.nbc.*"):
            if partial.stat().st_mtime < abandoned:
                partial.unlink(missing_ok=True)

    @property
    def _why_not(self) -> str:
        """Say why there is no path."""
        if self._enabled and self._impl is None:
            return "there is no folder for it that can be written, see NUMBA_CACHE_DIR"
        return "its sources cannot be told, or one was edited after it was imported"

    @property
    def _name(self) -> str:
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        return name.replace("<", "").replace(">", "")

    def _path(self, signature: Any, target_context: Any) -> Path | None:
        """Return where the code lies; None where no file could tell whether it is fresh."""
        kinds = list(_within(signature))
        if not self._enabled or self._impl is None or _has_functions(kinds):
            return None
        source = sources.fingerprint({self._function.__module__, *modules_of(signature)})
        closure = self._closure()
        if source is None or closure is None:
            return None
        code = self._function.__code__
        fields = [(each.__module__, each.__qualname__, each._fields) for each in _classes(kinds)]
        versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
        machine = target_context.codegen().magic_tuple()
        place = Path(code.co_filename).name, code.co_firstlineno
        kind = _short_hash(repr((place, signature, fields, versions, machine)).encode())
        written = repr((source, _written(code), sorted(self._options.items())))
        stamp = _short_hash(written.encode(), closure)
        return Path(self.cache_path or "", f"{self._name}-{kind}-{stamp}.nbc")

    def _closure(self) -> bytes | None:
        """Return what the function's cells hold; None where that cannot be told."""
        cells = self._function.__closure__
        try:
            return caching.dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        except Exception:  # whatever pickling raises: locks, functions within functions
            return None


def modules_of(signature: Iterable[Any]) -> set[str]:
    """Return the modules of the NamedTuple classes among numba's types, nested ones included."""
    return {each.__module__ for each in _classes(_within(signature))}


def _classes(kinds: Iterable[Any]) -> list[Any]:
    """Return the NamedTuple classes among numba's types."""
    return [kind.instance_class for kind in kinds if hasattr(kind, "instance_class")]


def _within(signature: Iterable[Any]) -> Iterator[Any]:
    """Yield numba's types of a signature, and those within them."""
    for kind in signature:
        yield kind
        inner = [getattr(kind, name, None) for name in _INNER]
        yield from _within([each for each in inner if isinstance(each, types.Type)])
        if isinstance(kind, types.BaseTuple):
            yield from _within(kind)


def _has_functions(kinds: Iterable[Any]) -> bool:
    """Return whether a function is among numba's types, whose names do not tell its code."""
    return any(isinstance(kind, types.Callable) for kind in kinds)


def _written(code: CodeType) -> tuple[object, ...]:
    """Return what tells functions of one name and line apart."""
    constants = [_written(each) if isinstance(each, CodeType) else each for each in code.co_consts]
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
    """Write a file that other processes see whole or not at all; raise OSError."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        partial.write_bytes(hashlib.sha256(data).digest() + data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
