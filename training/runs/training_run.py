"""A training run: its settings, its folder and its loop.

    config.json       the settings of the run; another config is another run
    log.jsonl         one row of numbers per line, each with its step; also in tensorboard/
    checkpoints/      the newest two, written atomically, each with a hash
    curves.png        charts of the log
    best.safetensors  the best network so far; a learned evaluation is in best.network

A run continues from its newest intact checkpoint, even after the process was killed. Rows logged
after that checkpoint are dropped, since their work is lost. An algorithm trains like this:

    with runs.opened(path, asdict(config), resume, MAY_DIFFER) as run:
        ...                                # make networks, optimizers and whatever is trained
        run.restore(load)                  # from the newest checkpoint, if there is one
        for _ in run.steps(state, config.evaluate_every, charts, status):
            numbers = ...                  # play and learn
            run.advance()
            if run.is_due:
                numbers |= ...             # evaluate, and save the best network
            run.log(numbers)
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from agents.network import device_of
from agents.shipped_weights import NETWORK
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadFolder
from cc_env.files import write_atomically
from cc_env.games.factory import make_game
from training.runs import curves
from training.runs.checkpoints import Checkpoints, Saved
from training.runs.config import check_limits, check_wholes, merged, share_done
from training.runs.folder import CONFIG, LOCK, differences, locked, read_config, to_text
from training.runs.log import LOG, Log, Row
from training.runs.progress import console, interrupts, progress
from training.runs.state import number

CURVES = "curves.png"
LIMITS = "minutes", "rounds", "steps"  # fields of a config that limit the run; None: no limit
SHAPE_FIELDS = "game", "options", "network"  # of the config: they determine the arrays
SAVE_EVERY = 120  # seconds between checkpoints, besides those after evaluations

State = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]  # arrays, and JSON about them


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings that all runs have; one with `rounds` or `steps` is limited by these, too."""

    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the game; missing ones are filled in
    minutes: float | None = 30  # time budget, earlier sessions included; None: no limit
    seed: int = 0
    device: str = "cpu"  # that learns

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        check_limits(**{name: getattr(self, name) for name in LIMITS if hasattr(self, name)})
        check_wholes(self, seed=0)
        device_of(self.device)
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Return the game."""
        return make_game(self.game, **self.options)


class Run:
    """A run in progress; `opened` makes it."""

    def __init__(self, path: Path, file: IO[bytes], config: Mapping[str, Any], best: str) -> None:
        """Begin before the first step; raise BadCheckpoint if all checkpoints are broken.

        `file` is the log, open for appending; `best` the name of the file of the best network.
        Raises BadRecord if the log is invalid.
        """
        self.path, self._best = path, path / best
        self.step, self.seconds = 0, 0.0  # so far, in earlier sessions, too
        self._seed = config.get("seed", 0)
        self._limits = {name: config.get(name) for name in LIMITS}
        shape = {name: config[name] for name in SHAPE_FIELDS if name in config}
        self._checkpoints = Checkpoints(path, shape)
        self._log = Log(path, file, self._checkpoints.logged)
        self._open = ExitStack()
        self._open.callback(self._log.close)
        self.is_due = False  # whether this step ends with an evaluation; known after `advance`
        self._every, self._step_before = 1, 0
        self._saved_at, self._counted_at = 0.0, time.perf_counter()

    @property
    def rows(self) -> list[Row]:
        """The log: "step" and the numbers of each row."""
        return self._log.rows

    def progress(self) -> float:
        """Return the share of the run that is done, 0 to 1."""
        minutes, *steps = (self._limits[name] for name in LIMITS)
        return share_done((self.seconds / 60, minutes), *((self.step, limit) for limit in steps))

    def seeds(self, count: int) -> list[int]:
        """Return seeds for this step, below 2**32, which follow from the config's and `step`.

        Steps that draw from them alone are the same in a run that was killed and continued.
        """
        drawn = np.random.SeedSequence((self._seed, self.step)).generate_state(count)
        return [int(seed) for seed in drawn]

    def restore(self, load: Callable[[Saved], None]) -> None:
        """Continue from the newest intact checkpoint, if there is one: call `load` with it.

        Raises BadCheckpoint if it is of another game or network than the config, and as `load`.
        """
        if saved := self.latest():
            try:
                self.step, self.seconds = saved.number, number(saved.about, "seconds")
                load(saved)
            except BadCheckpoint as error:
                raise BadCheckpoint(f"{saved.path}: {error}") from error
        self._saved_at = self.seconds

    @property
    def is_new(self) -> bool:
        """Whether the run has no checkpoint yet."""
        return self._checkpoints.newest is None

    def latest(self) -> Saved | None:
        """Return the newest intact checkpoint, None before there is one; raise as `restore`."""
        return self._checkpoints.latest()

    def steps(
        self,
        state: Callable[[], State],
        every: int,
        charts: Mapping[str, Sequence[str]],
        status: Callable[[Row], str],
    ) -> Iterator[None]:
        """Yield until the run is complete; the body of the loop is a step of training.

        It calls `advance`, evaluates the network if `is_due`, and calls `log`. After an evaluation,
        which is due whenever `every` steps are complete, and every SAVE_EVERY seconds, the `state`
        is saved and the charts are drawn (see `draw`). A progress bar shows the `status`, of the
        newest value of each column of the log. A complete run has a best network; without one, it
        trains a step longer. Ctrl-C finishes the step, saves, and raises KeyboardInterrupt; a
        second one raises it at once, and the work since the last checkpoint is lost.
        """
        self._every = every
        is_complete = self.progress() == 1 and self._best.exists()
        if is_complete:
            console.print(
                "this run is complete; --resume with a higher limit, such as --minutes, extends it"
            )
        pressed = self._open.enter_context(interrupts())
        show = self._open.enter_context(progress())
        while not is_complete:
            self._step_before, self._counted_at = self.step, time.perf_counter()
            yield
            assert self.step > self._step_before, "a step calls advance"
            is_complete, is_stopped = self.progress() == 1, pressed()
            if self.is_due or is_stopped or self.seconds - self._saved_at > SAVE_EVERY:
                self.save(*state())
                self.draw(charts)
            self._show(show, status(self._log.newest))
            if is_stopped:
                raise KeyboardInterrupt

    def _show(self, show: Callable[[float, str], None], told: str) -> None:
        show(self.progress(), told)
        if self.is_due and not console.is_terminal:
            console.print(f"{self.seconds / 60:.1f} minutes: {told}")

    def advance(self, count: int = 1) -> None:
        """Count steps and the time that they took; set `is_due`, which it always is at the end."""
        self.step += count
        self._count_time()
        is_multiple = self.step // self._every > self._step_before // self._every
        self.is_due = is_multiple or self.progress() == 1

    def _count_time(self) -> None:
        before, self._counted_at = self._counted_at, time.perf_counter()
        self.seconds += self._counted_at - before

    def log(self, numbers: Mapping[str, float | None]) -> None:
        """Log these numbers and the minutes so far, without None, NaN and infinities.

        Raises OSError.
        """
        if self.is_due:  # otherwise the run might end here, without an evaluation
            self._count_time()
        self._log.add(self.step, {**numbers, "minutes": self.seconds / 60})

    def save(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
        """Save a checkpoint for `restore`.

        Arrays are of any shape and numeric dtype; `about` is a description of them (JSON).
        Raises OSError, and then keeps the earlier ones.
        """
        self._log.sync()
        timed = {**about, "seconds": self.seconds}
        self._checkpoints.save(self.step, arrays, timed, len(self.rows))
        self._saved_at = self.seconds

    def draw(self, charts: Mapping[str, Sequence[str]]) -> None:
        """Draw curves.png: for each title a chart of these columns of the log over the minutes."""
        write_atomically(self.path / CURVES, curves.to_png(self.rows, charts))

    def close(self) -> None:
        """Remove the progress bar, leave Ctrl-C as it was, and close the files of TensorBoard."""
        self._open.close()


@contextmanager
def opened(
    path: Path,
    config: Mapping[str, Any],
    resume: bool,
    may_differ: Sequence[str] = (),
    best: str = NETWORK,
) -> Iterator[Run]:
    """Begin a run in a new folder or, with `resume`, continue the run in a folder.

    `best` is the name of the file in which the algorithm keeps the best network.
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
    with locked(path), (path / LOG).open("ab") as file:
        if resume:
            _check(path, config, may_differ)
        else:
            write_atomically(path / CONFIG, to_text(config))
        run = Run(path, file, config, best)
        try:
            if resume:
                write_atomically(path / CONFIG, to_text(config))
            yield run
        finally:
            run.close()


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
