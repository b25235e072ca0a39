"""Compiled code on disk, found by the next process until a source that it depends on changes.

One file holds one function compiled for one signature. Its name tells the function, then hashes of
the signature with the processor, and of the sources; to write one removes those of older sources.
numba's own cache looks only at the file of the function itself, and numbers its files in an index
that two processes may write at once.
"""

import contextlib
import functools
import hashlib
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import caching

from cc_env import sources

_DIGEST = 32  # bytes of a SHA-256 before the content of a file


class DiskCache:
    """Where numba looks for a function's compiled code, and leaves it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._qualname = f"{function.__module__}.{function.__qualname__}"

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

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for the signature; None if nothing fresh is there."""
        target_context.refresh()
        path = self._path(signature, target_context)
        data = None if path is None else _read(path)
        return data and self._impl.rebuild(target_context, pickle.loads(data))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for the signature, in place of what older sources gave."""
        path = self._path(signature, result.target_context)
        if path is None or not self._impl.check_cachable(result):
            return
        with contextlib.suppress(OSError):  # a full disk: compile again next time
            _write(path, caching.dumps(self._impl.reduce(result)))
            for other in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.nbc"):
                if other != path:
                    other.unlink(missing_ok=True)

    def _path(self, signature: Any, target_context: Any) -> Path | None:
        """Return where the code lies; None where no file could tell whether it is fresh."""
        modules = {self._function.__module__, *modules_of(signature)}
        sources_hash = sources.fingerprint(modules)
        if sources_hash is None or self._impl is None:
            return None
        machine = (numba.__version__, sys.version, target_context.codegen().magic_tuple())
        name = self._qualname.replace("<", "").replace(">", "")
        kind = _short_hash(repr((signature, machine)).encode())
        stamp = _short_hash(sources_hash.encode(), self._function.__code__.co_code, self._closure())
        return Path(self._impl.locator.get_cache_path(), f"{name}-{kind}-{stamp}.nbc")

    def _closure(self) -> bytes:
        cells = self._function.__closure__
        return caching.dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""


def modules_of(signature: Iterable[Any]) -> set[str]:
    """Return the modules of the NamedTuple classes among numba's types, nested ones included."""
    found = set()
    for kind in signature:
        if hasattr(kind, "instance_class"):
            found.add(kind.instance_class.__module__)
        if isinstance(kind, types.BaseTuple):
            found |= modules_of(kind)
    return found


def _short_hash(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()[:24]


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None where there is none, or only a part of one."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_DIGEST:]
    return data if hashlib.sha256(data).digest() == content[:_DIGEST] else None


def _write(path: Path, data: bytes) -> None:
    """Write a file that other processes see whole or not at all; raise OSError."""
    half = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        half.write_bytes(hashlib.sha256(data).digest() + data)
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
