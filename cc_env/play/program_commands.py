"""Commands for programs that play: `engine`, `host` and `join` of `python -m cc_env`."""

import os
import sys
import threading
from contextlib import suppress
from typing import Annotated

from cc_env import games, options
from cc_env.errors import MissingExtra
from cc_env.play.channel import Channel
from cc_env.play.engine import Engine, serve

try:
    import typer
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

GameName = Annotated[str, typer.Option("--game", "-g", help="Which game; `games` lists them.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the game, e.g. rows=8"),
]
Seed = Annotated[int, typer.Option(help="Of random choices.", min=0, max=2**31 - 1)]


class _Printer:
    """Prints lines at once, one thread at a time; where nobody reads any more, nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        left = line.encode(errors="backslashreplace") + b"\n"
        with self._lock, suppress(BrokenPipeError):
            while left:
                left = left[os.write(sys.stdout.fileno(), left) :]


def engine(
    player: Annotated[
        str, typer.Argument(help="Who plays, e.g. minimax:hard.", show_default=False)
    ],
    game: GameName = "capture_conquer",
    option: Pairs = None,
    seed: Seed = 0,
) -> None:
    """Let a player speak UGI on stdin and stdout, as UCI's engines do; any game can be set."""
    say = _Printer()
    made = games.make(game, **options.read(option or []))
    serve(Engine(player, made, say, seed=seed), Channel(sys.stdin.fileno()), say)


COMMANDS = (engine,)
