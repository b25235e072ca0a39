"""The folder of a run or a tournament: its lock, its config, and differences of configs."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from reprlib import Repr
from typing import Any

from cc_env.errors import BadRecord
from cc_env.files import LOCK_NAME, locked_folder, read_bytes

RUNS = Path("runs")
CONFIG, LOCK = "config.json", LOCK_NAME
# Exit status after Ctrl-C, by convention of shells.
INTERRUPTED = 130
MISSING = "missing"
# Locks a folder during a block; raises FolderInUse if it is locked.
locked = partial(locked_folder, user="process")

# Limits the depth and length of untrusted values in messages.
_SHORT_REPR = Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = 200
_SHORT_REPR.maxlist = _SHORT_REPR.maxdict = 20


def to_text(value: object) -> str:
    """Return indented JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_config(path: Path) -> dict[str, Any]:
    """Return the config of a folder; raise BadRecord if it is not a JSON object."""
    try:
        config = json.loads(read_bytes(path / CONFIG).decode())
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{path / CONFIG} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadRecord(f"{path / CONFIG}: {_SHORT_REPR.repr(config)}; expected: an object")
    return config


def differences(saved: Mapping[str, Any], current: Mapping[str, Any]) -> Iterator[str]:
    """Yield a phrase for each value that differs between two nested configs."""
    for key in sorted({*saved, *current}):
        old, new = saved.get(key, MISSING), current.get(key, MISSING)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new)
        elif old != new:
            texts = (value if value is MISSING else _SHORT_REPR.repr(value) for value in (old, new))
            yield "{}: saved {}, requested {}".format(key, *texts)
