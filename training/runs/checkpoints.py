"""The checkpoints of a run: the newest two, written atomically, each with a hash."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from agents.weight_files import Arrays, load, save
from cc_env.errors import BadCheckpoint
from training.runs.folder import differences, to_text
from training.runs.state import whole

CHECKPOINTS = "checkpoints"  # the folder in that of the run
CHECKPOINT = "checkpoint"  # kind of the files


class Saved(NamedTuple):
    """A checkpoint."""

    number: int
    arrays: dict[str, NDArray[Any]]
    about: dict[str, Any]
    path: Path


class Checkpoints:
    """The checkpoints in the folder of a run."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        """Find the newest intact one, if any; raise BadCheckpoint if all are broken.

        `run` (JSON) is what all checkpoints of this run agree in, such as the game.
        """
        self._folder, self._run = folder / CHECKPOINTS, json.loads(to_text(run))
        self._folder.mkdir(exist_ok=True)
        for half in self._folder.glob("*.half"):
            half.unlink()
        self._older: Path | None = None
        self.newest, self.logged = _newest_intact(self._folder)  # `logged`: rows of the log then

    def latest(self) -> Saved | None:
        """Return the newest intact checkpoint, None before there is one.

        Raises BadCheckpoint if it is of another run.
        """
        if self.newest is None:
            return None
        header, arrays = read(self.newest)
        if wrong := "; ".join(differences(header["run"], self._run)):
            raise BadCheckpoint(f"{self.newest} is of another run: {wrong}")
        return Saved(header["number"], arrays, header["about"], self.newest)

    def save(
        self, number: int, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], logged: int
    ) -> None:
        """Save arrays of any shape and numeric dtype with a description `about` them (JSON).

        `number` increases from checkpoint to checkpoint; `logged` is how many rows the log has.
        Raises OSError, and then keeps the earlier ones.
        """
        path = self._folder / f"{number:06d}.safetensors"
        header = {"run": self._run, "number": number, "logged": logged, "about": about}
        save(path, CHECKPOINT, arrays, header)
        if path != self.newest:
            self._older, self.newest = self.newest, path
        for other in set(self._folder.glob("*.safetensors")) - {self._older, path}:
            other.unlink()


def _newest_intact(folder: Path) -> tuple[Path | None, int]:
    """Return the newest intact checkpoint and the number of rows logged before it.

    Warns of broken ones; raises BadCheckpoint if all are broken.
    """
    broken: list[BadCheckpoint] = []
    for path in sorted(folder.glob("*.safetensors"), key=_number, reverse=True):
        try:
            logged = read(path)[0]["logged"]
        except BadCheckpoint as error:
            broken.append(error)
            continue
        for failure in broken:
            warnings.warn(f"{failure}; continuing from {path.name}", stacklevel=2)
        return path, logged
    if broken:
        raise BadCheckpoint(f"{broken[0]}; no other checkpoint is intact")
    return None, 0


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
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


def _number(path: Path) -> int:
    """Return the number in the name of a checkpoint, -1 without one."""
    return int(path.stem) if path.stem.isdecimal() else -1
