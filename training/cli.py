"""What all training commands share: options, the course of a run, Ctrl-C and the progress bar."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from agents import NETWORK
from cc_env import options, trust
from cc_env.errors import BadOption
from cc_env.terminal import Terminal
from training.arena.folder import CONFIG, read_config
from training.config import build, merged, nested
from training.evaluate import INTERRUPTED, RUNS
from training.runs import CHECKPOINTS

BAR = (
    BarColumn(20),
    TaskProgressColumn(),
    TimeElapsedColumn(),
    TextColumn("{task.fields[told]}"),
)

console = Terminal()

# Options that all training commands share. One that is not given has the default of the config or,
# if a run continues, its saved value.
GameName = Annotated[str | None, typer.Option("--game", "-g", help="Name of the game.")]
Minutes = Annotated[float | None, typer.Option(help="Time budget.")]
Seed = Annotated[
    int | None, typer.Option(help="The same seed gives the same run, except with --minutes.")
]
Blocks = Annotated[int | None, typer.Option(help="Residual blocks of the network.")]
Channels = Annotated[int | None, typer.Option(help="Channels of the network.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:N.")]
Change = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any field of config.json: gate=0.55."),
]
Name = Annotated[
    str | None, typer.Option(help="Folder of the run in runs/.", show_default="the game")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a run; its options need not be repeated.")
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
    """Run a training command: call `main` with a config and a folder of `RUNS`.

    `kind` is the class of the config, `typed` its values by name, dotted for nested fields; None
    and {} are options that were not given. Raises BadOption if the config is invalid, BadFolder
    and MemoryError with what to do, and typer.Exit after Ctrl-C.
    """
    given = {key: value for key, value in typed.items() if value not in (None, {})}
    given |= options.read(change or [])
    if {"rounds", "steps"} & given.keys():
        given.setdefault("minutes", None)
    values = nested(given)
    config = build(kind, values)
    default = "-".join([way, config.game, *map(str, config.options.values())])
    path = RUNS / (default if name is None else _folder(name))
    if resume and (path / CONFIG).exists():
        config = _continued(path, kind, values)
    try:
        main(config, path, resume)
    except MemoryError:
        raise MemoryError(
            f"{path}: use fewer boards, a smaller replay buffer or a smaller network"
        ) from None
    except KeyboardInterrupt:
        is_saved = any((path / CHECKPOINTS).glob("*.safetensors"))
        effect = "continues it" if is_saved else "starts again"
        console.print(f"stopped; the same command with --resume {effect}, in {path}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        raise OSError(f"{error}; --resume continues {path} from its last checkpoint") from error
    console.print(f"the best network: {path / NETWORK}")


def _folder(name: str) -> str:
    """Return the name of a run; raise BadOption if its folder would not be in `RUNS`."""
    inside = [part for part in Path(name).parts if part != ".."]
    if not name.strip() or Path(name).is_absolute() or len(inside) < len(Path(name).parts):
        raise BadOption(f"name={name!r}; it is the name of a folder in {RUNS}")
    return name


def _continued(path: Path, kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return the saved config of a run, with new values; raise BadOption or BadRecord."""
    try:
        with trust.names_from_file():  # typed names are allowed already
            return build(kind, merged(read_config(path), values))
    except BadOption as error:
        raise BadOption(f"{path / CONFIG}: {error}") from error


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed in the block.

    The first Ctrl-C only sets this flag, so that a run can finish its round and save. The second
    one raises KeyboardInterrupt at once.
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


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the share done, 0 to 1, and a status on a progress bar.

    In a notebook nothing is shown.
    """
    with Progress(*BAR, console=console, disable=console.is_jupyter) as bar:
        task = bar.add_task("training", total=1.0, told="")
        yield lambda done, told: bar.update(task, completed=done, told=told)


def say_if_finished(done: float) -> None:
    """Print a message if the run is complete already."""
    if done == 1:
        console.print(
            "this run is complete; --resume with a higher limit, such as --minutes, extends it"
        )
