"""The cache of compiled code: whole files, shared by processes, never older than the sources."""

import errno
import hashlib
import os
import re
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numba
import pytest
from conftest import command_line
from numba.core import caching

from cc_env.__main__ import main
from cc_env.cli import warmup
from cc_env.cli.warmup import WarmupTask
from cc_env.jit import disk_cache
from cc_env.jit.compiler import jit
from cc_env.jit.disk_cache import DiskCache

ROOT = Path(disk_cache.__file__).parents[2]


@jit
def PLAIN(x):  # noqa: N802
    return x + 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache for one test."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def plain(folder):
    """A function that was not compiled before."""
    return jit(PLAIN.py_func)


def test_options_have_separate_cache_files():
    caches = [DiskCache(PLAIN.py_func, {"nogil": nogil}) for nogil in (False, True)]
    paths = {cache._path((numba.int64,), PLAIN.targetctx) for cache in caches}
    assert len(paths) == 2
    assert None not in paths


def test_function_arguments_and_unpicklable_closures_are_not_cached():
    cache = DiskCache(PLAIN.py_func, {})
    assert cache._path((numba.typeof(PLAIN),), PLAIN.targetctx) is None
    lock = threading.Lock()
    assert DiskCache(lambda x: (x, lock), {})._path((numba.int64,), PLAIN.targetctx) is None


def test_truncated_or_disabled_cache_is_not_loaded(plain):
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


def test_old_partial_files_are_deleted(plain, folder):
    plain(1)
    [complete] = folder.rglob("*.nbc")
    old, new = (complete.with_name(f"{complete.name}.{word}") for word in ("old", "new"))
    for path in (old, new):
        path.write_bytes(complete.read_bytes()[:-1])
    began = complete.stat().st_mtime - 2 * 3600
    os.utime(old, (began, began))
    plain(1.0)
    assert (old.exists(), new.exists(), complete.exists()) == (False, True, True)
    plain._cache.flush()
    assert list(complete.parent.iterdir()) == []


ADVICE = "so each process compiles it again; NUMBA_CACHE_DIR=FOLDER names a writable folder"


@pytest.fixture
def unreported(monkeypatch):
    """Forget the failures that this process has reported, and show the next ones."""
    disk_cache._warn.cache_clear()
    monkeypatch.delenv(disk_cache.QUIET_VARIABLE, raising=False)
    yield
    disk_cache._warn.cache_clear()


@pytest.mark.usefixtures("unreported")
def test_missing_cache_folder_is_reported_once(folder, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    message = f"compiled code cannot be saved (no cache folder is writable), {ADVICE}"
    with pytest.warns(RuntimeWarning, match=f"^{re.escape(message)}$") as warned:
        assert [jit(PLAIN.py_func)(1) for _ in range(2)] == [2, 2]
    assert len(warned) == 1


@pytest.mark.usefixtures("unreported")
def test_full_disk_is_reported_once(folder, monkeypatch):
    def fail(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk_cache, "_write", fail)
    message = f"compiled code cannot be saved (No space left on device), {ADVICE}"
    with pytest.warns(RuntimeWarning, match=f"^{re.escape(message)}$") as warned:
        assert [jit(PLAIN.py_func)(1) for _ in range(2)] == [2, 2]
    assert len(warned) == 1


@pytest.mark.usefixtures("unreported")
def test_quiet_variable_hides_the_missing_folder(plain, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setenv("CC_ENV_QUIET", "1")
    assert plain(1) == 2


@pytest.mark.usefixtures("unreported")
def test_functions_that_cannot_be_cached_are_not_reported(plain):
    plain._cache.disable()
    assert plain(1) == 2
    names = {"__name__": __name__}
    exec(compile("def typed(x): return x", "<typed>", "exec"), names)
    assert jit(names["typed"])(1) == 1
    assert jit(lambda function, x: function(x))(PLAIN, 1) == 2


@pytest.fixture
def warm(plain, monkeypatch):
    """Return a function that runs `python -m cc_env warm`, compiling only `plain`."""
    monkeypatch.setattr(
        warmup, "warmup_tasks", lambda game: [WarmupTask("plain", lambda: plain(1))]
    )
    return lambda status: command_line(main, "warm", "morris", status=status)


def test_warm_exits_with_0_if_everything_was_cached(warm):
    assert "error" not in warm(status=0)


def test_warm_reports_a_missing_cache_folder(warm, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    *_, last = warm(status=1).splitlines()
    assert last.endswith(
        "(no cache folder is writable, see NUMBA_CACHE_DIR): test_disk_cache.PLAIN"
    )


def test_warm_reports_a_full_disk(warm, monkeypatch):
    def fail(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk_cache, "_write", fail)
    *_, last = warm(status=1).splitlines()
    assert last.endswith("(No space left on device): test_disk_cache.PLAIN")


def test_warm_reports_an_edited_source(warm, monkeypatch):
    monkeypatch.setattr("cc_env.jit.fingerprints._IMPORT_TIME", Path(__file__).stat().st_mtime - 1)
    *_, last = warm(status=1).splitlines()
    assert "(it cannot be cached: a source is unknown or was edited after its import, " in last


WATCH = """
from numba.core import event

compiled = []

class Watch(event.Listener):
    def on_start(self, happened):
        compiled.append(happened.data["dispatcher"].py_func.__name__)

    def on_end(self, happened):
        pass

event.register("numba:compile", Watch())
"""


def environment(folder):
    """Return the environment of a process that imports from a folder and has its cache there."""
    path = os.pathsep.join((str(folder), str(ROOT)))
    return {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")}


def run(code, folder):
    """Return the lines printed by a new process."""
    command = [sys.executable, "-c", WATCH + code]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


GAME = """
from typing import NamedTuple
import numpy as np
from cc_env.core import rules
from cc_env.jit.compiler import jit

class Position(NamedTuple):
    left: np.uint64

@jit
def legal_actions(position, out):
    out[0] = {action}
    return 1

@jit
def other(position, *_):
    return 0

rules.register(Position, legal_actions=legal_actions, apply=other, to_move=other,
               mid_turn=other, outcome=other, observe=other)
"""
FIRST = """
from cc_env.jit.compiler import jit
from cc_env.core.rules import legal_actions

@jit
def first(position, out):
    legal_actions(position, out)
    return out[0]
"""
PLAY = """
import numpy as np
from first import first
for name in {names}:
    game = __import__(name)
    compiled.clear()
    print(name, first(game.Position(np.uint64(3)), np.zeros(1, np.int32)), *sorted(compiled))
"""


def test_edit_recompiles_only_dependent_code(tmp_path):
    (tmp_path / "first.py").write_text(FIRST)
    for name, action in (("edited", 5), ("gone", 6), ("kept", 7)):
        (tmp_path / f"{name}.py").write_text(GAME.format(action=action))
    assert run(PLAY.format(names=["edited", "gone", "kept"]), tmp_path) == [
        "edited 5 first legal_actions",
        "gone 6 first legal_actions",
        "kept 7 first legal_actions",
    ]
    (tmp_path / "edited.py").write_text(GAME.format(action=8))
    (tmp_path / "gone.py").unlink()
    assert run(PLAY.format(names=["edited", "kept"]), tmp_path) == [
        "edited 8 first legal_actions",
        "kept 7",
    ]


SHARED = """
import math
from cc_env.jit.compiler import jit

@jit
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@jit
def check(n):
    if n > 4:
        raise ValueError("more than four", n)
    return n

@jit(nogil=True)
def work(n):
    return math.sqrt(factorial(check(n)))
"""
WRITER = """
from pathlib import Path
from shared import jit, work

replace = Path.replace

def wait(path, target):
    print("written", flush=True)
    input()
    return replace(path, target)

Path.replace = wait
print(work(4), *sorted(compiled))
compiled.clear()
again = jit(work.py_func, nogil=True)
print(again(4), *compiled)
try:
    again(5)
except ValueError as error:
    print(*error.args)
"""


def test_concurrent_writers_leave_a_complete_file(tmp_path):
    (tmp_path / "shared.py").write_text(SHARED)
    command = [sys.executable, "-c", WATCH + WRITER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    settings = {"cwd": tmp_path, "env": environment(tmp_path), **pipes}
    with ExitStack() as stack:
        writers = [stack.enter_context(subprocess.Popen(command, **settings)) for _ in range(2)]
        assert [writer.stdout.readline() for writer in writers] == ["written\n"] * 2
        files = list((tmp_path / "cache").rglob("shared.work-*"))
        assert [file.suffix == ".nbc" for file in files] == [False] * 2
        for writer in writers:
            output, _ = writer.communicate("\n")
            assert output.splitlines() == [
                "4.898979485566356 check factorial work",
                "4.898979485566356",
                "more than four 5",
            ]
    files = list((tmp_path / "cache").rglob("shared.work-*"))
    assert [file.suffix for file in files] == [".nbc"]
