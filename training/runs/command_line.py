"""The command line of a training algorithm: its options and the folder of its run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from agents.shipped_weights import NETWORK
from cc_env.cli.application import create_app
from cc_env.cli.arguments import GameOptions, Size, game_options
from cc_env.errors import BadFolder, BadOption, describe_os_error
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.registry.options import parse_options
from training.runs.checkpoints import CHECKPOINTS
from training.runs.config import build_config, merge, nest, type_of
from training.runs.folder import CONFIG, INTERRUPTED, RUNS, read_config
from training.runs.log import Row
from training.runs.progress import console
from training.runs.training_run import LIMITS, Config

AnyConfig = TypeVar("AnyConfig", bound=Config)
Workers = Annotated[
    int | None, typer.Option(min=0, help="Processes; 0: this one.", show_default="one per core")
]

# Options of all training commands. Without a value, an option has the default of the config or,
# if a run is resumed, its saved value.
COMMON_OPTIONS: dict[str, Any] = {
    "game": Annotated[str | None, typer.Option("--game", "-g", help="Name of the game.")],
    "size": Size,
    "option": GameOptions,
    "minutes": Annotated[float | None, typer.Option(help="Time budget.")],
    "core_minutes": Annotated[float | None, typer.Option(help="Budget of CPU time.")],
}
RUN_OPTIONS: dict[str, Any] = {
    "seed": Annotated[
        int | None,
        typer.Option(
            help="The same seed gives the same run if only --steps or --rounds limits it."
        ),
    ],
    "device": Annotated[str | None, typer.Option(help="cpu, cuda or cuda:N.")],
    "wandb": Annotated[
        bool | None,
        typer.Option("--wandb/--no-wandb", help="Also log to Weights & Biases (extra wandb)."),
    ],
    "change": Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any field of config.json: gate=0.55."),
    ],
    "name": Annotated[
        str | None,
        typer.Option(
            help="Folder of the run in runs/.",
            show_default="the algorithm, the game and its options",
        ),
    ],
    "resume": Annotated[
        bool, typer.Option("--resume", help="Continue a run; its options need not be repeated.")
    ],
}


def training_command(
    algorithm: str,
    main: Callable[[AnyConfig, Path, bool], Row],
    config_class: type[AnyConfig],
    description: str,
    fields: Mapping[str, str],
    best: str = NETWORK,
) -> typer.Typer:
    """Return the command line that calls `main(config, folder, resume)`.

    `description` is a sentence for --help. `fields` maps config fields that get options of their
    own, dotted if nested, to their help texts: "network.blocks" is --blocks. `best` is the file
    name of the best network.
    """
    own_options = {
        _option_name(field): Annotated[type_of(config_class, field) | None, typer.Option(help=text)]
        for field, text in fields.items()
    }
    hints = {**COMMON_OPTIONS, **own_options, **RUN_OPTIONS}

    run = partial(run_training, algorithm, main, config_class, best=best)

    def train(**arguments: Any) -> None:
        values = {
            field: arguments[_option_name(field)]
            for field in ("game", "minutes", "core_minutes", *fields, "seed", "device", "wandb")
        }
        values["options"] = game_options(arguments["option"], arguments["size"], arguments["game"])
        run(values, arguments["change"], arguments["name"], arguments["resume"])

    # Typer reads the options from the signature.
    train.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                annotation=hint,
                default=False if name == "resume" else None,
            )
            for name, hint in hints.items()
        ]
    )
    train.__annotations__ = hints
    app = create_app()
    app.command(help=description)(train)
    return app


def _option_name(field: str) -> str:
    """Return the name of the option for a config field."""
    return field.rpartition(".")[2]


def run_training(
    algorithm: str,
    main: Callable[[AnyConfig, Path, bool], Row],
    config_class: type[AnyConfig],
    values: Mapping[str, Any],
    changes: Sequence[str] | None,
    name: str | None,
    resume: bool,
    best: str = NETWORK,
) -> None:
    """Build the config, choose the folder in `RUNS` and call `main`.

    `values` are config values by field, dotted if nested; None and {} mean that the option is
    absent. `changes` are those of --set, `name` is the folder. Raises BadOption if the config is
    invalid, typer.Exit after Ctrl-C, and the errors of `main`: BadFolder, MemoryError and OSError
    with advice.
    """
    present = {field: value for field, value in values.items() if value not in (None, {})}
    present |= parse_options(changes or [])
    if present.keys() & set(LIMITS):
        present.setdefault("minutes", None)
    tree = nest(present)
    config = build_config(config_class, tree)
    default_name = "-".join([algorithm, config.game, *map(str, config.options.values())])
    path = RUNS / (default_name if name is None else _folder(name))
    if resume and (path / CONFIG).exists():
        config = _saved_config(path, config_class, tree)
    with _add_advice(path, resume):
        main(config, path, resume)
    console.print(f"the best network: {path / best}")


@contextmanager
def _add_advice(path: Path, resume: bool) -> Iterator[None]:
    """Add the options that help to the errors of a run in the block; exit after Ctrl-C."""
    try:
        yield
    except BadFolder as error:
        new_run = "omit --resume to start a new run"
        advice = new_run if resume else "--resume continues a run, another --name starts a new one"
        raise BadFolder(f"{error}; {advice}") from error
    except MemoryError:
        raise MemoryError(
            f"{path}: use fewer boards, a smaller replay buffer or a smaller network"
        ) from None
    except KeyboardInterrupt:
        effect = "continues it" if _has_checkpoint(path) else "starts again"
        console.print(f"stopped; the same command with --resume {effect}, in {path}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if not _has_checkpoint(path):
            raise
        raise OSError(
            f"{describe_os_error(error)}; --resume continues {path} from its last checkpoint"
        ) from error


def _has_checkpoint(path: Path) -> bool:
    return any((path / CHECKPOINTS).glob("*.safetensors"))


def _folder(name: str) -> str:
    """Return the name of a run; raise BadOption if its folder would not be in `RUNS`."""
    is_outside = Path(name).is_absolute() or ".." in Path(name).parts
    if not name.strip() or is_outside:
        raise BadOption(f"name={name!r}; expected: the name of a folder in {RUNS}")
    return name


def _saved_config(
    path: Path, config_class: type[AnyConfig], changes: Mapping[str, Any]
) -> AnyConfig:
    """Return the saved config of a run with `changes`.

    Raises BadOption for an invalid change, BadRecord for an invalid file.
    """
    try:
        # Names given on the command line have been checked; those of the file are untrusted.
        with untrusted_names():
            return build_config(config_class, merge(read_config(path), changes))
    except BadOption as error:
        raise BadOption(f"{path / CONFIG}: {error}") from error
