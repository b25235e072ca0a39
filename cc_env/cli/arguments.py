"""Arguments shared by several command lines."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from cc_env.errors import BadOption
from cc_env.games.factory import parse_game_options
from cc_env.processes import MAX_WORKERS
from cc_env.registry.options import parse_options


def file_path(text: str | Path) -> Path:
    """Parse the path of a file; raise BadParameter if it has no file name."""
    path = _path(text)
    if not path.name:
        raise typer.BadParameter(f"{text!r}; expected: the name of a file")
    return path


def folder_path(text: str | Path) -> Path:
    """Parse the path of a folder; raise BadParameter for an empty text or a file."""
    path = _path(text)
    if path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{path} is a file, not a folder")
    return path


def _path(text: str | Path) -> Path:
    if not str(text).strip():
        raise typer.BadParameter("the path is empty; use . for the current folder")
    return Path(text)


# Settings of the arguments and options that take a file or a folder.
FILE: dict[str, Any] = {"parser": file_path, "metavar": "FILE"}
FOLDER: dict[str, Any] = {"parser": folder_path, "metavar": "FOLDER"}


def check_new_file(file: Path) -> None:
    """Raise BadOption if a file exists, its folder does not, or it can have no such name."""
    try:
        file.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BadOption(f"{str(file)!r:.80}: {error.strerror}") from None
    else:
        raise BadOption(f"{file} exists; remove it or choose another name")
    check_parent(file)


def check_parent(file: Path) -> None:
    """Raise BadOption if the folder of a file does not exist."""
    if not file.parent.is_dir():
        raise BadOption(f"{file}: there is no folder {file.parent}")


def game_options(
    option: list[str] | None, size: int | None = None, game: str | None = None
) -> dict[str, Any]:
    """Return the options of a game from NAME=VALUE strings, and its `size` if it is not None.

    Without the name of the game, texts that are Python literals are read as such. Raises BadOption
    for an invalid text, UnknownOption for an unknown game.
    """
    pairs = [*([] if size is None else [f"size={size}"]), *(option or [])]
    return parse_options(pairs) if game is None else parse_game_options(game, pairs)


# Only this machine can connect.
LOOPBACK = "127.0.0.1"
GameName = Annotated[str, Option("--game", "-g", help="The game; `games` lists them.")]
GameOptions = Annotated[
    list[str] | None,
    Option("--option", "-o", metavar="NAME=VALUE", help="An option of the game, e.g. size=8."),
]
Size = Annotated[int | None, Option(help="Short form of -o size=…")]
Address = Annotated[
    str, Option("--host", help="The address to listen on; 0.0.0.0 lets other machines connect.")
]
Port = Annotated[int, Option(min=0, max=65535, help="The port to listen on; 0: any free one.")]
PositionText = Annotated[
    str | None, Option("--position", "-p", help="Position as text; default: the initial position.")
]
Workers = Annotated[
    int,
    Option(min=0, max=MAX_WORKERS, help="Processes that play at once; 0: this one alone."),
]
ResultsFolder = Annotated[
    Path | None, Option(**FOLDER, help="Folder of the results.", show_default="runs/…")
]
TablesFolder = Annotated[
    Path | None, Option(**FOLDER, help="Folder of the tables.", show_default="the packaged ones")
]
