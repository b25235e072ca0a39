"""The command line of a way to train: its options, and where its runs are."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.shipped_weights import NETWORK
from cc_env.cli.application import create_app
from cc_env.cli.arguments import GameOptions, Size, game_options
from cc_env.errors import BadOption
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.registry.options import parse_options
from training.runs.checkpoints import CHECKPOINTS
from training.runs.config import build, merged, nested, type_of
from training.runs.folder import CONFIG, INTERRUPTED, RUNS, read_config
from training.runs.progress import console
from training.runs.training_run import LIMITS

# Options that all training commands share. One that is not given has the default of the config or,
# if a run continues, its saved value.
WHAT = {
    "game": Annotated[str | None, typer.Option("--game", "-g", help="Name of the game.")],
    "size": Size,
    "option": GameOptions,
    "minutes": Annotated[float | None, typer.Option(help="Time budget.")],
}
HOW = {
    "seed": Annotated[
        int | None, typer.Option(help="The same seed gives the same run, except with --minutes.")
    ],
    "device": Annotated[str | None, typer.Option(help="cpu, cuda or cuda:N.")],
    "change": Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any field of config.json: gate=0.55."),
    ],
    "name": Annotated[
        str | None, typer.Option(help="Folder of the run in runs/.", show_default="the game")
    ],
    "resume": Annotated[
        bool, typer.Option("--resume", help="Continue a run; its options need not be repeated.")
    ],
}


def command(
    way: str,
    main: Callable[[Any, Path, bool], Any],
    kind: type[Any],
    about: str,
    told: Mapping[str, str],
    best: str = NETWORK,
) -> typer.Typer:
    """Return the command line that trains in one way: `main(config, folder, resume)`.

    `kind` is the class of the config, `about` a sentence for --help. `told` has further fields of
    the config, dotted if nested, and what --help says of them: "network.blocks" is --blocks. `best`
    is the name of the file of the best network.
    """
    own = {_word(field): (type_of(kind, field) | None, text) for field, text in told.items()}
    ours = {word: Annotated[hint, typer.Option(help=text)] for word, (hint, text) in own.items()}
    hints: dict[str, Any] = {**WHAT, **ours, **HOW}

    def train(**given: Any) -> None:
        typed = {
            field: given[_word(field)] for field in ("game", "minutes", *told, "seed", "device")
        }
        typed["options"] = game_options(given["option"], given["size"])
        conduct(way, main, kind, typed, given["change"], given["name"], given["resume"], best)

    train.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                word,
                Parameter.KEYWORD_ONLY,
                annotation=hint,
                default=False if word == "resume" else None,
            )
            for word, hint in hints.items()
        ]
    )
    train.__annotations__ = hints
    app = create_app()
    app.command(help=about)(train)
    return app


def _word(field: str) -> str:
    """Return the name of the option for a field of the config."""
    return field.rpartition(".")[2]


def conduct(
    way: str,
    main: Callable[[Any, Path, bool], Any],
    kind: type[Any],
    typed: Mapping[str, Any],
    change: Sequence[str] | None,
    name: str | None,
    resume: bool,
    best: str = NETWORK,
) -> None:
    """Run a training command: call `main` with a config and a folder of `RUNS`.

    `kind` is the class of the config, `typed` its values by name, dotted for nested fields; None
    and {} are options that were not given. Raises BadOption if the config is invalid, BadFolder
    and MemoryError with what to do, and typer.Exit after Ctrl-C.
    """
    given = {key: value for key, value in typed.items() if value not in (None, {})}
    given |= parse_options(change or [])
    if given.keys() & set(LIMITS):
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
        effect = "continues it" if _is_saved(path) else "starts again"
        console.print(f"stopped; the same command with --resume {effect}, in {path}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if not _is_saved(path):
            raise
        raise OSError(f"{error}; --resume continues {path} from its last checkpoint") from error
    console.print(f"the best network: {path / best}")


def _is_saved(path: Path) -> bool:
    """Return whether the folder of a run has a checkpoint."""
    return any((path / CHECKPOINTS).glob("*.safetensors"))


def _folder(name: str) -> str:
    """Return the name of a run; raise BadOption if its folder would not be in `RUNS`."""
    inside = [part for part in Path(name).parts if part != ".."]
    if not name.strip() or Path(name).is_absolute() or len(inside) < len(Path(name).parts):
        raise BadOption(f"name={name!r}; it is the name of a folder in {RUNS}")
    return name


def _continued(path: Path, kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return the saved config of a run, with new values; raise BadOption or BadRecord."""
    try:
        with untrusted_names():  # typed names are allowed already
            return build(kind, merged(read_config(path), values))
    except BadOption as error:
        raise BadOption(f"{path / CONFIG}: {error}") from error
