"""The folder of a run or a tournament: its lock, its config, and how two configs differ."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import Any

from filelock import FileLock, Timeout

from cc_env.errors import BadRecord, FolderInUse

RUNS = Path("runs")
CONFIG, LOCK = "config.json", ".lock"
INTERRUPTED = 130  # exit status after Ctrl-C, by convention of shells
MISSING = "missing"

_SHORT = Repr()  # limits the depth and length of untrusted values in messages
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlist = _SHORT.maxdict = 20


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a folder for this process while the block runs; raise FolderInUse if it is taken."""
    try:
        lock = FileLock(path / LOCK).acquire(timeout=0)
    except Timeout:
        raise FolderInUse(f"{path} is in use: another process works there") from None
    with lock:
        yield


def to_text(value: Any) -> str:
    """Return indented JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_config(path: Path) -> dict[str, Any]:
    """Return the config of a folder; raise BadRecord if it is not a JSON object."""
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{path / CONFIG} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadRecord(f"{path / CONFIG}: wanted an object, got {_SHORT.repr(config)}")
    return config


def differences(saved: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a phrase for each value in which two configs differ, at all depths."""
    for key in sorted({*saved, *given}):
        old, new = saved.get(key, MISSING), given.get(key, MISSING)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new)
        elif old != new:
            texts = (value if value is MISSING else _SHORT.repr(value) for value in (old, new))
            yield "{} is {} there, {} here".format(key, *texts)
