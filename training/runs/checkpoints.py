"""The checkpoints of a run: the newest two, written atomically, each with a hash."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agents.weight_files import AnyArray, Arrays, load, save
from cc_env.errors import BadCheckpoint
from training.runs.folder import differences, to_text
from training.runs.state import read_integer

# The subfolder of a run, and the kind of its files.
CHECKPOINTS = "checkpoints"
CHECKPOINT = "checkpoint"


class LogEnd(NamedTuple):
    """The number of rows of a log at a checkpoint, and the step of the last one."""

    rows: int
    step: int


class Checkpoint(NamedTuple):
    """A checkpoint that was read; `number` is its step, `about` describes the arrays."""

    number: int
    arrays: Arrays
    about: dict[str, Any]
    path: Path


class Checkpoints:
    """The checkpoints in the folder of a run."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        """Find the newest intact checkpoint, if any; raise BadCheckpoint if all are broken.

        The folder of checkpoints is created if it is missing; partial files are deleted. `run`
        (JSON) is the description that all checkpoints of this run share, such as its game.
        """
        self._folder = folder / CHECKPOINTS
        self._run = json.loads(to_text(run))
        self._folder.mkdir(exist_ok=True)
        for partial_file in self._folder.glob("*.half"):
            partial_file.unlink()
        self._previous: Path | None = None
        # The file of that checkpoint and the end of the log at it.
        self.newest, self.log_end = _newest_intact(self._folder)

    def latest(self) -> Checkpoint | None:
        """Return the newest intact checkpoint, None before the first.

        Raises BadCheckpoint if it belongs to another run.
        """
        if self.newest is None:
            return None
        header, arrays = read(self.newest)
        if changes := "; ".join(differences(header["run"], self._run)):
            raise BadCheckpoint(f"{self.newest} belongs to another run: {changes}")
        return Checkpoint(header["number"], arrays, header["about"], self.newest)

    def save(
        self, number: int, arrays: Mapping[str, AnyArray], about: Mapping[str, Any], logged: int
    ) -> None:
        """Save arrays with a JSON description `about` them; delete all but the newest two files.

        `number` increases from checkpoint to checkpoint; `logged` is the number of log rows;
        the last one has this number as its step. Raises OSError and keeps the earlier checkpoints
        on failure.
        """
        path = self._folder / f"{number:06d}.safetensors"
        header = {"run": self._run, "number": number, "logged": logged, "about": about}
        save(path, CHECKPOINT, arrays, header)
        if path != self.newest:
            self._previous, self.newest = self.newest, path
        for old in set(self._folder.glob("*.safetensors")) - {self._previous, path}:
            old.unlink()


def _newest_intact(folder: Path) -> tuple[Path | None, LogEnd]:
    """Return the newest intact checkpoint, None without files, and the end of the log at it.

    Warns about broken ones; raises BadCheckpoint if all are broken.
    """
    failures: list[BadCheckpoint] = []
    for path in sorted(folder.glob("*.safetensors"), key=_number, reverse=True):
        try:
            header = read(path)[0]
        except BadCheckpoint as error:
            failures.append(error)
            continue
        for failure in failures:
            warnings.warn(f"{failure}; continuing from {path.name}", stacklevel=2)
        return path, LogEnd(header["logged"], header["number"])
    if failures:
        raise BadCheckpoint(f"{failures[0]}; no other checkpoint is intact")
    return None, LogEnd(0, 0)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a checkpoint.

    Raises BadCheckpoint if the file is missing, of another kind or format, broken or altered.
    """
    header, arrays = load(path, CHECKPOINT)
    for name in ("run", "about"):
        if not isinstance(header.get(name), dict):
            raise BadCheckpoint(f"{path}: {name}={header.get(name)!r:.40}; expected: an object")
    try:
        for name in ("number", "logged"):
            read_integer(header, name)
    except BadCheckpoint as error:
        raise BadCheckpoint(f"{path}: {error}") from None
    return header, arrays


def _number(path: Path) -> int:
    """Return the number in the name of a checkpoint, -1 without one."""
    return int(path.stem) if path.stem.isdecimal() else -1
