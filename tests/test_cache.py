"""Compiled code on disk: whole, found again by other processes, never older than its source."""

import errno
import hashlib
import os
import threading
from pathlib import Path

import numba
import pytest
from conftest import command_line
from numba.core import caching

from cc_env import cache, commands
from cc_env.__main__ import main
from cc_env.cache import DiskCache
from cc_env.compile import jit
from cc_env.warm import Use

PACKAGE = Path(cache.__file__).parent


@jit
def PLAIN(x):  # noqa: N802
    return x + 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache of one test, empty."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def plain(folder):
    """A function that was not compiled before."""
    return jit(PLAIN.py_func)


def test_code_is_kept_for_its_options_alone():
    caches = [DiskCache(PLAIN.py_func, {"nogil": nogil}) for nogil in (False, True)]
    paths = {cache._path((numba.int64,), PLAIN.targetctx) for cache in caches}
    assert len(paths) == 2
    assert None not in paths


def test_functions_among_arguments_or_in_closures_are_not_kept_under_their_addresses():
    cache = DiskCache(PLAIN.py_func, {})
    assert cache._path((numba.typeof(PLAIN),), PLAIN.targetctx) is None
    lock = threading.Lock()
    assert DiskCache(lambda x: (x, lock), {})._path((numba.int64,), PLAIN.targetctx) is None


def test_what_is_cut_short_or_disabled_is_compiled(plain):
    plain(1)
    cache = plain._cache
    path = cache._path((numba.int64,), plain.targetctx)
    assert cache.load_overload((numba.int64,), plain.targetctx)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert cache.load_overload((numba.int64,), plain.targetctx) is None
    plain.recompile()
    assert path.read_bytes()[:32] == hashlib.sha256(path.read_bytes()[32:]).digest()
    cache.disable()
    assert cache.load_overload((numba.int64,), plain.targetctx) is None
    cache.enable()
    assert cache.load_overload((numba.int64,), plain.targetctx)


def test_what_killed_processes_left_half_written_is_removed_when_nobody_can_still_write_it(
    plain, folder
):
    plain(1)
    [kept] = folder.rglob("*.nbc")
    old, new = (kept.with_name(f"{kept.name}.{word}") for word in ("old", "new"))
    for path in (old, new):
        path.write_bytes(kept.read_bytes()[:-1])
    began = kept.stat().st_mtime - 2 * 3600
    os.utime(old, (began, began))
    plain(1.0)
    assert (old.exists(), new.exists(), kept.exists()) == (False, True, True)
    plain._cache.flush()
    assert list(kept.parent.iterdir()) == []


@pytest.fixture
def warm(plain, monkeypatch):
    """Return a function that has `python -m cc_env warm` compile `plain` alone."""
    monkeypatch.setattr(commands, "uses", lambda game: [Use("plain", lambda: plain(1))])
    return lambda status: command_line(main, "warm", "morris", status=status)


def test_warm_has_status_0_where_all_was_kept(warm):
    assert "error" not in warm(status=0)


def test_warm_says_in_a_line_that_there_is_no_folder_to_write_in(warm, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    *_, last = warm(status=1).splitlines()
    assert last == (
        "error: every process will compile this again, it could not be kept on disk "
        "(there is no folder for it that can be written, see NUMBA_CACHE_DIR): test_cache.PLAIN"
    )


def test_warm_says_in_a_line_that_the_disk_is_full(warm, monkeypatch):
    def fail(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache, "_write", fail)
    *_, last = warm(status=1).splitlines()
    assert last.endswith("(No space left on device): test_cache.PLAIN")


def test_warm_says_in_a_line_that_a_source_was_edited(warm, monkeypatch):
    monkeypatch.setattr("cc_env.sources._STARTED", Path(__file__).stat().st_mtime - 1)
    *_, last = warm(status=1).splitlines()
    assert "(its sources cannot be told, or one was edited after it was imported)" in last
