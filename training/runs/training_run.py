"""A training run: its config, its folder and its training loop.

    config.json       the config of the run; another config is another run
    log.jsonl         one row of metrics per line, each with its step; also in tensorboard/
    checkpoints/      the newest two, written atomically, each with a hash
    curves.png        charts of the log
    best.safetensors  the best network so far; a learned evaluation is in best.network
    wandb/            the run in Weights & Biases, with the option `wandb`

A run resumes from its newest intact checkpoint, even after the process was killed. Rows logged
after that checkpoint are dropped, because their work is lost. The structure of an algorithm:

    with open_run(path, asdict(config), resume) as run:
        ...                                # create networks and optimizers
        run.restore(load)                  # from the newest checkpoint, if there is one
        for _ in run.steps(state, config.evaluate_every, charts, status):
            metrics = ...                  # play and learn
            run.advance()
            if run.evaluation_due:
                metrics |= ...             # evaluate, and save the best network
            run.log(metrics)
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np

from agents.network import select_device
from agents.shipped_weights import NETWORK
from agents.weight_files import AnyArray
from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, BadFolder, check_bool
from cc_env.files import write_atomically
from cc_env.games.factory import make_game
from training.runs import checked, curves
from training.runs.checkpoints import Checkpoint, Checkpoints
from training.runs.config import check_limits, merge
from training.runs.folder import CONFIG, LOCK, differences, locked, read_config, to_text
from training.runs.log import LOG, Log, Row
from training.runs.progress import console, interrupts, progress
from training.runs.state import read_number
from training.runs.weights_and_biases import FOLDER as WANDB_FOLDER
from training.runs.weights_and_biases import ID_FILE as WANDB_ID_FILE
from training.runs.weights_and_biases import WandbRun, require_wandb

CURVES = "curves.png"
# Config fields that limit a run.
LIMITS = "minutes", "core_minutes", "rounds", "steps"
# Config fields that may change when a run is resumed.
CHANGEABLE = *LIMITS, "workers", "threads", "engine", "device", "wandb"
# Config fields that determine the arrays of a checkpoint.
SHAPE_FIELDS = "game", "options", "network"
SAVE_INTERVAL_SECONDS = 120

# The arrays of a checkpoint, and a JSON description of them.
State = tuple[Mapping[str, AnyArray], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of every run; subclasses may add the limits `rounds` or `steps`.

    `options` are those of the game; missing ones get their defaults. `minutes` is the time budget
    over all sessions, `core_minutes` that of CPU time of this process, its threads and its finished
    child processes; None for no limit. The learner uses the `device`. With `wandb`,
    the log is sent to Weights & Biases, too.
    """

    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(default_factory=dict)
    minutes: float | None = 30
    core_minutes: float | None = None
    seed: checked.Natural = 0
    device: str = "cpu"
    wandb: Annotated[bool, check_bool] = False

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        check_limits(**{name: getattr(self, name) for name in LIMITS if hasattr(self, name)})
        checked.check_fields(self)
        select_device(self.device)
        if self.wandb:
            require_wandb()
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Create the configured game."""
        return make_game(self.game, **self.options)


class Run:
    """A run in progress, as created by `open_run`."""

    def __init__(
        self,
        path: Path,
        file: IO[bytes],
        config: Mapping[str, Any],
        best: str,
        resources: ExitStack,
        wandb_run: WandbRun | None = None,
    ) -> None:
        """Open the checkpoints and the log of a run in the folder `path`.

        `file` is the log, open for appending; `best` is the file name of the best network. Rows of
        the log are added to `wandb_run`, too. The `resources` are TensorBoard's files, the progress
        bar and the Ctrl-C handler. Raises BadCheckpoint if all checkpoints are broken, BadRecord if
        the log is invalid or lacks rows that precede the newest checkpoint.
        """
        self.path = path
        self._best = path / best
        self.step = 0
        self.seconds = 0.0
        self.core_seconds = 0.0
        self._seed = config.get("seed", 0)
        self._limits = {name: config[name] for name in LIMITS if config.get(name) is not None}
        shape = {name: config[name] for name in SHAPE_FIELDS if name in config}
        self.checkpoints = Checkpoints(path, shape)
        self._log = Log(path, file, self.checkpoints.log_end, wandb_run)
        # "step" and the metrics of each row.
        self.rows = self._log.rows
        self._resources = resources
        resources.callback(self._log.close)
        self.evaluation_due = False
        self._evaluate_every = 1
        self._previous_step = 0
        self._saved_at = 0.0
        self._start_timer()

    def progress(self) -> float:
        """Return the fraction of the run that is complete, 0 to 1."""
        times = {"minutes": self.seconds / 60, "core_minutes": self.core_seconds / 60}
        fractions = [times.get(name, self.step) / limit for name, limit in self._limits.items()]
        return min(1.0, max(fractions, default=0.0))

    def interpolate(self, first: float, last: float, share: float = 1) -> float:
        """Return the value of a linear schedule that ends at the fraction `share` of the run."""
        return first + (last - first) * (min(1.0, self.progress() / share) if share else 1.0)

    def seeds(self, count: int) -> list[int]:
        """Return seeds below 2**32 that depend only on the config's seed and the current step.

        An algorithm with no other source of randomness gives the same results after a resume.
        """
        words = np.random.SeedSequence((self._seed, self.step)).generate_state(count)
        return [int(word) for word in words]

    def restore(self, load: Callable[[Checkpoint], None]) -> None:
        """Call `load` with the newest intact checkpoint, if there is one.

        Raises BadCheckpoint if it belongs to another game or network; errors of `load` propagate.
        """
        if checkpoint := self.checkpoints.latest():
            try:
                self.step = checkpoint.number
                self.seconds = read_number(checkpoint.about, "seconds")
                self.core_seconds = read_number(checkpoint.about, "core_seconds")
                load(checkpoint)
            except BadCheckpoint as error:
                raise BadCheckpoint(f"{checkpoint.path}: {error}") from error
        self._saved_at = self.seconds

    def steps(
        self,
        state: Callable[[], State],
        evaluate_every: int,
        charts: Mapping[str, Sequence[str]],
        status: Callable[[Row], str],
    ) -> Iterator[None]:
        """Yield until the run is complete; the loop body is one training step.

        The body calls `advance`, evaluates the network if `evaluation_due`, and calls `log`. The
        `state` is saved and the `charts`, columns of the log by title, are drawn after each
        evaluation, at least every SAVE_INTERVAL_SECONDS, and after Ctrl-C. `status` formats the
        newest value of each column for the progress bar. A run that has reached its limits without
        a best network trains for one more step. The first Ctrl-C raises KeyboardInterrupt once the
        step is saved, the second one immediately.
        """
        self._evaluate_every = evaluate_every
        is_complete = self.progress() == 1 and self._best.exists()
        if is_complete:
            console.print("this run is complete; resume it with a higher limit to extend it")
        interrupted = self._resources.enter_context(interrupts())
        show = self._resources.enter_context(progress())
        while not is_complete:
            is_extra_step = self.progress() == 1
            self._previous_step = self.step
            self._start_timer()
            yield
            assert self.step > self._previous_step, "a step calls advance"
            is_complete = self.progress() == 1 and (is_extra_step or self._best.exists())
            is_stopped = interrupted()
            is_save_due = self.seconds - self._saved_at > SAVE_INTERVAL_SECONDS
            if self.evaluation_due or is_stopped or is_save_due:
                self.save(*state())
                self.draw(charts)
            self._show(show, status(self._log.newest))
            if is_stopped:
                raise KeyboardInterrupt

    def _show(self, show: Callable[[float, str], None], status: str) -> None:
        """Show the progress of the run with the status and the latest Elo."""
        if "elo" in self._log.newest:
            status += f", Elo {self._log.newest['elo']:+.0f}"
        show(self.progress(), status)
        if self.evaluation_due and not console.is_terminal:
            console.print(f"{self.seconds / 60:.1f} minutes: {status}")

    def advance(self, count: int = 1) -> None:
        """Count steps and their time; set `evaluation_due`, which is True in the last step."""
        self.step += count
        self._add_time()
        every = self._evaluate_every
        is_multiple = self.step // every > self._previous_step // every
        self.evaluation_due = is_multiple or self.progress() == 1

    def _start_timer(self) -> None:
        self._timer_start, self._core_timer_start = time.perf_counter(), core_seconds()

    def _add_time(self) -> None:
        """Add the time since the last call to `seconds` and `core_seconds`; restart the timer."""
        start, core_start = self._timer_start, self._core_timer_start
        self._start_timer()
        self.seconds += self._timer_start - start
        self.core_seconds += self._core_timer_start - core_start

    def log(self, metrics: Mapping[str, float | None]) -> None:
        """Log these metrics and the times, without None, NaN and infinities; raise OSError."""
        # Without an evaluation, more time could complete the run before it is evaluated.
        if self.evaluation_due:
            self._add_time()
        times = {"minutes": self.seconds / 60, "core_minutes": self.core_seconds / 60}
        self._log.add(self.step, {**metrics, **times})

    def save(self, arrays: Mapping[str, AnyArray], about: Mapping[str, Any]) -> None:
        """Save a checkpoint for `restore`; raise OSError and keep the earlier ones on failure.

        `about` is a JSON description of the arrays.
        """
        self._log.sync()
        timed = {**about, "seconds": self.seconds, "core_seconds": self.core_seconds}
        self.checkpoints.save(self.step, arrays, timed, len(self.rows))
        self._saved_at = self.seconds

    def draw(self, charts: Mapping[str, Sequence[str]]) -> None:
        """Draw curves.png; `charts` maps each title to columns of the log."""
        write_atomically(self.path / CURVES, curves.to_png(self.rows, charts))


def core_seconds() -> float:
    """Return the CPU time so far of this process, its threads and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@contextmanager
def open_run(
    path: Path, config: Mapping[str, Any], resume: bool, best: str = NETWORK
) -> Iterator[Run]:
    """Start a run in a new folder or, with `resume`, continue the run in a folder.

    `best` is the file name of the algorithm's best network. A folder with a config is a run.

    Raises BadFolder if the folder has a run and `resume` is false, if it has none and `resume` is
    true, or if the config differs in a field that is not CHANGEABLE; FolderInUse if another process
    uses it; BadCheckpoint if all checkpoints are broken; BadRecord if the config or the log is
    invalid, or rows of the log are missing; BadOption if Weights & Biases is requested and cannot
    start. If a run cannot be resumed, its files are unchanged, except for the CHANGEABLE fields of
    its config.
    """
    _check_folder(path, resume)
    path.mkdir(parents=True, exist_ok=True)
    with locked(path), (path / LOG).open("ab") as file, ExitStack() as resources:
        if resume:
            _check_config(path, config)
        wandb_run = None
        if config.get("wandb"):
            wandb_run = WandbRun(path, config)
            resources.callback(wandb_run.close)
        write_atomically(path / CONFIG, to_text(config))
        yield Run(path, file, config, best, resources, wandb_run)


def _check_folder(path: Path, resume: bool) -> None:
    """Raise BadFolder unless a run can start at `path` or, with `resume`, there is a run."""
    exists = (path / CONFIG).exists()
    if not exists and not _is_unused(path):
        raise BadFolder(f"{path} has no {CONFIG}: it is not a run")
    if exists != resume:
        raise BadFolder(f"there is no run {path}" if resume else f"the run {path} exists")


def _is_unused(path: Path) -> bool:
    """Return whether `path` is free for a new run.

    It may be missing or a folder with only the files that a failed start leaves.
    """
    if not path.is_dir():
        return not path.exists()
    harmless = f"{CONFIG}.half", LOCK, WANDB_FOLDER, WANDB_ID_FILE
    leftovers = [file for file in path.iterdir() if file.name not in harmless]
    return all(file.name == LOG and file.stat().st_size == 0 for file in leftovers)


def _check_config(path: Path, config: Mapping[str, Any]) -> None:
    """Raise BadFolder if the config of the folder differs in a field that is not CHANGEABLE."""
    current = json.loads(to_text(config))
    # Configs of older runs may lack newer fields.
    saved = merge(current, read_config(path))
    for name in CHANGEABLE:
        saved.pop(name, None)
        current.pop(name, None)
    if changes := "; ".join(differences(saved, current)):
        raise BadFolder(f"{path} is a run with another config: {changes}")
