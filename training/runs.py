"""A training run on disk: config, log, checkpoints and curves, continued after any kill.

    config.json   what the run is; another config is another run
    log.jsonl     a row of numbers a line, each with its step; also in tensorboard/
    checkpoints/  the newest two, each written whole or not at all, each with its own hash
    curves.png    the log as charts

A run goes on from its newest whole checkpoint; what was logged after that is dropped, for the work
that it tells of is lost.
"""

import io
import json
import math
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple, TypeGuard

import matplotlib
import numpy as np
import typer
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from torch.utils.tensorboard import SummaryWriter

from agents import NETWORK
from agents.arrays import Arrays, load, save
from cc_env import options, trust
from cc_env.errors import BadCheckpoint, BadOption, BadRecord, UnknownOption
from cc_env.files import drop_partial_line, lines, write
from cc_env.terminal import Terminal
from training.arena.folder import CONFIG, LOCK, differences, locked, read_config, to_text
from training.arena.pictures import FAINT, STYLE
from training.config import build, merged, nested
from training.evaluate import INTERRUPTED, RUNS
from training.state import whole

LOG, CHECKPOINTS, CURVES, TENSORBOARD = "log.jsonl", "checkpoints", "curves.png", "tensorboard"
CHECKPOINT = "checkpoint"  # the kind of file
KIND = "game", "options", "network"  # of the config: what decides which arrays there are
COLOURS = ("#2f74c0", "#cf4a3e", "#3d9a50", "#e0a030", "#8256b0", "#4aa8b5", "#8a919c", "#b0568a")
BAR = (
    BarColumn(20),
    TaskProgressColumn(),
    TimeElapsedColumn(),
    TextColumn("{task.fields[told]}"),
)
FEW = 60  # points that are marked each
SAVE_EVERY = 120  # seconds between checkpoints, where nothing else asks for one

console = Terminal()

Row = dict[str, Any]  # "step" and whatever was logged


class Saved(NamedTuple):
    """A checkpoint."""

    number: int
    arrays: dict[str, NDArray[Any]]
    about: dict[str, Any]


class Run:
    """A run in progress; `opened` makes them."""

    def __init__(self, path: Path, log: IO[bytes], config: Mapping[str, Any]) -> None:
        """Go on from the newest whole checkpoint; raise BadCheckpoint where none is whole."""
        self.path, self._log = path, log
        self._kind = {name: config[name] for name in KIND if name in config}
        (path / CHECKPOINTS).mkdir(exist_ok=True)
        for half in (path / CHECKPOINTS).glob("*.half"):
            half.unlink()
        self._older: Path | None = None
        self._newest, logged = _newest_whole(path / CHECKPOINTS)
        drop_partial_line(path / LOG)
        numbered = list(lines(path / LOG))
        self.rows: list[Row] = [_row(path / LOG, *each) for each in numbered[:logged]]
        if numbered and not logged:
            warnings.warn(
                f"{path} was stopped before it saved anything; it begins anew", stacklevel=2
            )
        os.truncate(path / LOG, sum(len(text.encode()) for _, text in numbered[:logged]))
        begin = self.rows[-1]["step"] + 1 if self.rows else 0
        self._board = SummaryWriter(str(path / TENSORBOARD), purge_step=begin, flush_secs=10)

    def latest(self) -> Saved | None:
        """Return the newest whole checkpoint, or None where there is none yet.

        Raises BadCheckpoint where it is of another game or network than this run's config says.
        """
        if self._newest is None:
            return None
        header, found = _read(self._newest)
        here = json.loads(to_text(self._kind))
        if wrong := "; ".join(differences(header["run"], here)):
            raise BadCheckpoint(f"{self._newest} is of another run: {wrong}")
        return Saved(header["number"], found, header["about"])

    def restore(self, take: Callable[[Saved], None]) -> None:
        """Let `take` go on from the newest whole checkpoint, if there is one yet.

        Raises BadCheckpoint as `latest`, and where `take` does.
        """
        if saved := self.latest():
            try:
                take(saved)
            except BadCheckpoint as error:
                raise BadCheckpoint(f"{self._newest}: {error}") from error

    def log(self, step: int, numbers: Mapping[str, float | None]) -> None:
        """Add a row, without the numbers that are None or NaN; raise OSError."""
        row = {name: float(value) for name, value in numbers.items() if _is_number(value)}
        self.rows.append({"step": step, **row})
        self._log.write(json.dumps(self.rows[-1]).encode() + b"\n")
        self._log.flush()
        for name, value in row.items():
            self._board.add_scalar(name, value, step)

    def checkpoint(
        self, number: int, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]
    ) -> None:
        """Save arrays of any NumPy numbers and what is known `about` them (JSON).

        `number` rises from one to the next. Raises OSError, and leaves the ones that are there.
        """
        os.fsync(self._log.fileno())
        path = self.path / CHECKPOINTS / f"{number:06d}.safetensors"
        logged = len(self.rows)
        header = {"run": self._kind, "number": number, "logged": logged, "about": about}
        save(path, CHECKPOINT, arrays, header)
        if path != self._newest:
            self._older, self._newest = self._newest, path
        for other in set(path.parent.glob("*.safetensors")) - {self._older, path}:
            other.unlink()

    def draw(self, charts: Mapping[str, Sequence[str]]) -> None:
        """Draw curves.png: a chart for each title, of columns of the log.

        What they are drawn over is the column "minutes", where the rows have it, else the step.
        """
        count = len(charts)
        columns = min(2, count)
        colours = {"axes.prop_cycle": cycler(color=COLOURS)}
        with matplotlib.rc_context(STYLE | colours), io.BytesIO() as file:
            size = (5.2 * columns, 0.3 + 2.9 * math.ceil(count / columns))
            figure = Figure(figsize=size, layout="constrained")
            for place, (title, names) in enumerate(charts.items(), 1):
                axes = figure.add_subplot(math.ceil(count / columns), columns, place)
                _chart(axes, title, names, self.rows)
            figure.savefig(file, format="png", dpi=130, facecolor="white")
            write(self.path / CURVES, file.getvalue())

    def close(self) -> None:
        """Finish the files of TensorBoard."""
        self._board.close()


@contextmanager
def opened(
    path: Path, config: Mapping[str, Any], resume: bool, may_differ: Sequence[str] = ()
) -> Iterator[Run]:
    """Begin a run in a new folder or, with `resume`, go on with the one that is there.

    A run is there as soon as its config is, which is written first of all. Raises UnknownOption,
    and changes nothing, where it is there but not to be resumed, or the other way round, where it
    is in use, or where its config differs in more than the keys `may_differ`; BadCheckpoint where
    all of its checkpoints are broken, BadRecord where its config or log is.
    """
    is_there, is_unused = (path / CONFIG).exists(), _is_unused(path)
    if not is_there and not is_unused:
        raise UnknownOption(f"{path} has no {CONFIG}: it is no run; another --name begins one")
    if resume and not is_there:
        raise UnknownOption(f"there is no run {path} to go on with; without --resume it begins")
    if not resume and is_there:
        raise UnknownOption(f"{path} exists: --resume goes on with it, another --name begins anew")
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


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed, which does nothing else in the block.

    So a run can end where it is whole. A second Ctrl-C interrupts at once.
    """
    pressed = []

    def press(*_: Any) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


# What the commands of all ways to learn take. What is not typed is the config's default or, where a
# run goes on, as it was.
GameName = Annotated[str | None, typer.Option("--game", "-g", help="Which game.")]
Minutes = Annotated[float | None, typer.Option(help="How long.")]
Seed = Annotated[int | None, typer.Option(help="The same seed is the same run, but for --minutes.")]
Blocks = Annotated[int | None, typer.Option(help="Of the network.")]
Channels = Annotated[int | None, typer.Option(help="Of the network.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:N.")]
Change = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Anything of config.json: gate=0.55."),
]
Name = Annotated[
    str | None, typer.Option(help="Of the run: its folder in runs/.", show_default="the game")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a run; what it is need not be said again.")
]


def conduct(
    way: str,
    main: Callable[[Any, Path, bool], Any],
    kind: type[Any],
    typed: Mapping[str, Any],
    change: Sequence[str] | None,
    name: str | None,
    resume: bool,
) -> None:
    """Train by `main` in a folder of `RUNS`, as a command does, and say where the network is.

    `kind` is the class of the config. `typed` are its values by name, dotted where they are parts;
    None, and no options, were not typed. Raises UnknownOption where no config comes out, and
    typer.Exit where Ctrl-C was pressed.
    """
    said = {key: value for key, value in typed.items() if value not in (None, {})}
    said |= options.read(change or [])
    if {"rounds", "steps"} & said.keys():
        said.setdefault("minutes", None)
    values = nested(said)
    config = build(kind, values)
    default = "-".join([way, config.game, *map(str, config.options.values())])
    path = RUNS / (default if name is None else _folder(name))
    if resume and (path / CONFIG).exists():
        config = _continued(path, kind, values)
    try:
        main(config, path, resume)
    except MemoryError:
        raise UnknownOption(
            f"{path}: this machine has not the memory for that; fewer boards, a smaller replay "
            "or a smaller network need less"
        ) from None
    except KeyboardInterrupt:
        told = "goes on" if any((path / CHECKPOINTS).glob("*.safetensors")) else "begins anew"
        console.print(f"stopped; the same command with --resume {told}, in {path}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        kept = f"{path} keeps what it has saved, from where --resume goes on"
        raise OSError(f"{error}; {kept}") from error
    console.print(f"the best network: {path / NETWORK}")


def _folder(name: str) -> str:
    """Return the name of a run; raise UnknownOption where its folder would not be in `RUNS`."""
    inside = [part for part in Path(name).parts if part != ".."]
    if not name.strip() or Path(name).is_absolute() or len(inside) < len(Path(name).parts):
        raise UnknownOption(f"name={name!r}; it is the name of a folder in {RUNS}")
    return name


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows on a progress bar how much is done, 0 to 1, and some words.

    In a notebook nothing is shown.
    """
    with Progress(*BAR, console=console, disable=console.is_jupyter) as bar:
        task = bar.add_task("training", total=1.0, told="")
        yield lambda done, told: bar.update(task, completed=done, told=told)


def say_if_finished(done: float) -> None:
    """Say so where nothing is left to do."""
    if done == 1:
        console.print("this run is finished; --resume with more --minutes or so would lengthen it")


def _newest_whole(folder: Path) -> tuple[Path | None, int]:
    """Return the newest whole checkpoint, warning of broken ones, and the rows logged until it.

    Raises BadCheckpoint where all are broken.
    """
    broken: list[BadCheckpoint] = []
    for path in sorted(folder.glob("*.safetensors"), key=_number, reverse=True):
        try:
            logged = _read(path)[0]["logged"]
        except BadCheckpoint as error:
            broken.append(error)
            continue
        for each in broken:
            warnings.warn(f"{each}; going on from {path.name}", stacklevel=2)
        return path, logged
    if broken:
        raise BadCheckpoint(f"{broken[0]}; no other checkpoint is whole")
    return None, 0


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a checkpoint; raise BadCheckpoint, as `load`."""
    header, found = load(path, CHECKPOINT)
    for name in ("run", "about"):
        if not isinstance(header.get(name), dict):
            raise BadCheckpoint(f"{path}: {name} is {header.get(name)!r:.40}; wanted an object")
    for name in ("number", "logged"):
        try:
            whole(header, name)
        except BadCheckpoint as error:
            raise BadCheckpoint(f"{path}: {error}") from None
    return header, found


def _row(path: Path, number: int, text: str) -> Row:
    """Return a line of a log; raise BadRecord, with its number, where it is none."""
    try:
        row = json.loads(text)
        return {name: float(value) for name, value in row.items()} | {"step": int(row["step"])}
    except (
        *(ValueError, TypeError, KeyError, AttributeError),
        *(OverflowError, RecursionError),
    ) as error:
        raise BadRecord(f"{path}, line {number}: no row of numbers: {error!r}") from None


def _number(path: Path) -> int:
    """Return the number of a checkpoint by its name; that of none is the lowest."""
    return int(path.stem) if path.stem.isdecimal() else -1


def _is_unused(path: Path) -> bool:
    """Return whether a run can begin there: but for what one left that was killed before it did."""
    if not path.is_dir():
        return not path.exists()
    left = [each for each in path.iterdir() if each.name not in (f"{CONFIG}.half", LOCK)]
    return all(each.name == LOG and each.stat().st_size == 0 for each in left)


def _continued(path: Path, kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return the config of the run in a folder, with new values; raise UnknownOption, BadRecord."""
    try:
        with trust.names_from_file():  # those typed are allowed by now
            return build(kind, merged(read_config(path), values))
    except BadOption as error:
        raise BadOption(f"{path / CONFIG}: {error}") from error


def _check(path: Path, config: Mapping[str, Any], may_differ: Sequence[str]) -> None:
    """Raise UnknownOption where the folder is another run's."""
    here = json.loads(to_text(config))
    there = merged(here, read_config(path))  # settings that it does not know came later
    for name in may_differ:
        there.pop(name, None)
        here.pop(name, None)
    if found := "; ".join(differences(there, here)):
        raise UnknownOption(f"{path} is another run: {found}; wanted the same, or another --name")


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _chart(axes: Axes, title: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Draw columns of the log; those that no row has are left out.

    Where points are many they are faint, and their running mean is drawn.
    """
    over = "minutes" if any("minutes" in row for row in rows) else "step"
    for name in names:
        points = [(row[over], row[name]) for row in rows if name in row and over in row]
        if not points:
            continue
        times, values = np.array(points).T
        many = len(points) > FEW
        (line,) = axes.plot(times, _smooth(values), label=name, marker="" if many else "o")
        line.set_markersize(3.5)
        if many:
            axes.plot(times, values, color=line.get_color(), alpha=0.25, linewidth=0.8, zorder=1)
    axes.set(title=title, xlabel=over)
    axes.grid(color=FAINT, alpha=0.25)
    axes.margins(x=0.02)
    if axes.lines:
        axes.legend(framealpha=0.7, edgecolor="none", fontsize=8.5)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means over neighbours, so many that FEW means would do; of FEW values themselves."""
    window = np.ones(len(values) // FEW * 2 + 1 if len(values) > FEW else 1)
    sums = np.convolve(values, window, "same")
    return np.asarray(sums / np.convolve(np.ones(len(values)), window, "same"))
