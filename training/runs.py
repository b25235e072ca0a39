"""A training run on disk: config, log, checkpoints and curves.

    config.json   the settings of the run; another config is another run
    log.jsonl     one row of numbers per line, each with its step; also in tensorboard/
    checkpoints/  the newest two, written atomically, each with a hash
    curves.png    charts of the log

A run continues from its newest intact checkpoint, even after the process was killed. Rows logged
after that checkpoint are dropped, since their work is lost.
"""

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeGuard

from numpy.typing import NDArray
from torch.utils.tensorboard import SummaryWriter

from agents.arrays import Arrays, load, save
from cc_env.errors import BadCheckpoint, BadFolder, BadRecord
from cc_env.files import drop_partial_line, lines, write
from training import curves
from training.arena.folder import CONFIG, LOCK, differences, locked, read_config, to_text
from training.config import merged
from training.curves import Row
from training.state import whole

LOG, CHECKPOINTS, CURVES, TENSORBOARD = "log.jsonl", "checkpoints", "curves.png", "tensorboard"
CHECKPOINT = "checkpoint"  # kind of the files
SHAPE_FIELDS = "game", "options", "network"  # of the config: they determine the arrays
SAVE_EVERY = 120  # seconds between checkpoints, besides those after evaluations


class Saved(NamedTuple):
    """A checkpoint."""

    number: int
    arrays: dict[str, NDArray[Any]]
    about: dict[str, Any]


class Run:
    """A run in progress; `opened` makes it."""

    def __init__(self, path: Path, log: IO[bytes], config: Mapping[str, Any]) -> None:
        """Open the newest intact checkpoint, if any; raise BadCheckpoint if all are broken."""
        self.path, self._log = path, log
        self._shape = {name: config[name] for name in SHAPE_FIELDS if name in config}
        (path / CHECKPOINTS).mkdir(exist_ok=True)
        for half in (path / CHECKPOINTS).glob("*.half"):
            half.unlink()
        self._older: Path | None = None
        self._newest, logged = _newest_intact(path / CHECKPOINTS)
        drop_partial_line(path / LOG)
        numbered = list(lines(path / LOG))
        self.rows: list[Row] = [_row(path / LOG, *line) for line in numbered[:logged]]
        if numbered and not logged:
            warnings.warn(
                f"{path} was stopped before its first checkpoint; it starts again", stacklevel=2
            )
        os.truncate(path / LOG, sum(len(text.encode()) for _, text in numbered[:logged]))
        begin = self.rows[-1]["step"] + 1 if self.rows else 0
        self._board = SummaryWriter(str(path / TENSORBOARD), purge_step=begin, flush_secs=10)

    def latest(self) -> Saved | None:
        """Return the newest intact checkpoint, None before there is one.

        Raises BadCheckpoint if it is of another game or network than this run's config.
        """
        if self._newest is None:
            return None
        header, arrays = _read(self._newest)
        given = json.loads(to_text(self._shape))
        if wrong := "; ".join(differences(header["run"], given)):
            raise BadCheckpoint(f"{self._newest} is of another run: {wrong}")
        return Saved(header["number"], arrays, header["about"])

    def restore(self, take: Callable[[Saved], None]) -> None:
        """Call `take` with the newest intact checkpoint, if there is one.

        Raises BadCheckpoint as `latest` and `take`.
        """
        if saved := self.latest():
            try:
                take(saved)
            except BadCheckpoint as error:
                raise BadCheckpoint(f"{self._newest}: {error}") from error

    def log(self, step: int, numbers: Mapping[str, float | None]) -> None:
        """Append a row, without None, NaN and infinities; raise OSError."""
        row = {name: float(value) for name, value in numbers.items() if _is_number(value)}
        self.rows.append({"step": step, **row})
        self._log.write(json.dumps(self.rows[-1]).encode() + b"\n")
        self._log.flush()
        for name, value in row.items():
            self._board.add_scalar(name, value, step)

    def checkpoint(
        self, number: int, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]
    ) -> None:
        """Save arrays of any shape and numeric dtype with a description `about` them (JSON).

        `number` increases from checkpoint to checkpoint. Raises OSError, and then keeps the earlier
        ones.
        """
        os.fsync(self._log.fileno())
        path = self.path / CHECKPOINTS / f"{number:06d}.safetensors"
        logged = len(self.rows)
        header = {"run": self._shape, "number": number, "logged": logged, "about": about}
        save(path, CHECKPOINT, arrays, header)
        if path != self._newest:
            self._older, self._newest = self._newest, path
        for other in set(path.parent.glob("*.safetensors")) - {self._older, path}:
            other.unlink()

    def draw(self, charts: Mapping[str, Sequence[str]]) -> None:
        """Draw curves.png: for each title a chart of these columns of the log.

        The x-axis is the column "minutes" if the rows have it, else the step.
        """
        write(self.path / CURVES, curves.to_png(self.rows, charts))

    def close(self) -> None:
        """Close the files of TensorBoard."""
        self._board.close()


@contextmanager
def opened(
    path: Path, config: Mapping[str, Any], resume: bool, may_differ: Sequence[str] = ()
) -> Iterator[Run]:
    """Begin a run in a new folder or, with `resume`, continue the run in a folder.

    A run exists as soon as its config is written, which happens first. Before anything changes,
    raises BadFolder if there is a run but not `resume`, or the reverse, or if its config differs in
    other keys than `may_differ`, and FolderInUse if another process works there. Raises
    BadCheckpoint if all checkpoints are broken, BadRecord if the config or the log is.
    """
    exists, is_unused = (path / CONFIG).exists(), _is_unused(path)
    if not exists and not is_unused:
        raise BadFolder(f"{path} has no {CONFIG}: it is not a run; another --name begins one")
    if resume and not exists:
        raise BadFolder(f"there is no run {path} to continue; without --resume it begins")
    if not resume and exists:
        raise BadFolder(f"{path} exists: --resume continues it, another --name begins a new run")
    path.mkdir(parents=True, exist_ok=True)
    with locked(path), (path / LOG).open("ab") as log:
        if resume:
            _check(path, config, may_differ)
        else:
            write(path / CONFIG, to_text(config))
        run = Run(path, log, config)
        try:
            if resume:
                write(path / CONFIG, to_text(config))
            yield run
        finally:
            run.close()


def _newest_intact(folder: Path) -> tuple[Path | None, int]:
    """Return the newest intact checkpoint and the number of rows logged before it.

    Warns of broken ones; raises BadCheckpoint if all are broken.
    """
    broken: list[BadCheckpoint] = []
    for path in sorted(folder.glob("*.safetensors"), key=_number, reverse=True):
        try:
            logged = _read(path)[0]["logged"]
        except BadCheckpoint as error:
            broken.append(error)
            continue
        for failure in broken:
            warnings.warn(f"{failure}; continuing from {path.name}", stacklevel=2)
        return path, logged
    if broken:
        raise BadCheckpoint(f"{broken[0]}; no other checkpoint is intact")
    return None, 0


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a checkpoint; raise BadCheckpoint as `load`."""
    header, arrays = load(path, CHECKPOINT)
    for name in ("run", "about"):
        if not isinstance(header.get(name), dict):
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r:.40}; wanted an object")
    for name in ("number", "logged"):
        try:
            whole(header, name)
        except BadCheckpoint as error:
            raise BadCheckpoint(f"{path}: {error}") from None
    return header, arrays


def _row(path: Path, number: int, text: str) -> Row:
    """Return the row of a line of the log; raise BadRecord, with its number, if it is invalid."""
    try:
        row = json.loads(text)
        return {name: float(value) for name, value in row.items()} | {"step": int(row["step"])}
    except (
        *(ValueError, TypeError, KeyError, AttributeError),
        *(OverflowError, RecursionError),
    ) as error:
        raise BadRecord(f"{path}, line {number}: not a row of numbers: {error!r}") from None


def _number(path: Path) -> int:
    """Return the number in the name of a checkpoint, -1 without one."""
    return int(path.stem) if path.stem.isdecimal() else -1


def _is_unused(path: Path) -> bool:
    """Return whether a run can begin there; what a run that never began left is ignored."""
    if not path.is_dir():
        return not path.exists()
    left = [file for file in path.iterdir() if file.name not in (f"{CONFIG}.half", LOCK)]
    return all(file.name == LOG and file.stat().st_size == 0 for file in left)


def _check(path: Path, config: Mapping[str, Any], may_differ: Sequence[str]) -> None:
    """Raise BadFolder if the folder holds another run."""
    given = json.loads(to_text(config))
    saved = merged(given, read_config(path))  # fields that are younger than the run may be missing
    for name in may_differ:
        saved.pop(name, None)
        given.pop(name, None)
    if wrong := "; ".join(differences(saved, given)):
        raise BadFolder(f"{path} is another run: {wrong}; wanted the same, or another --name")


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
