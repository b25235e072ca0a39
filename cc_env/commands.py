"""The commands of `python -m cc_env`."""

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from cc_env import games, options, oracle, players, record
from cc_env.errors import BadRecord, CcEnvError, MissingExtra, UnknownOption, listed
from cc_env.game import Game
from cc_env.perft import perft as count
from cc_env.pictures import draw, frames
from cc_env.referee import Clock, Decision
from cc_env.rules import Position
from cc_env.table import GAMES

try:
    import typer
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Board games of the Capturing & Conquering family: count, analyse, replay and check.",
)
console = Console(highlight=False)

GameName = Annotated[str, typer.Option("--game", "-g", help="Which game; `games` lists them.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="An option of the game, e.g. size=8."
    ),
]


Size = Annotated[int | None, typer.Option(help="Short for -o size=…")]
PositionText = Annotated[
    str | None, typer.Option("--position", "-p", help="Position text; default the start.")
]


def game_options(option: list[str] | None, size: int | None = None) -> dict[str, Any]:
    """Return the options of a game as they were typed; raise UnknownOption."""
    return options.read([*([] if size is None else [f"size={size}"]), *(option or [])])


def run(commands: typer.Typer) -> int:
    """Run a command line; return the exit status, 2 for bad input, which it says in one line."""
    try:
        commands()
    except (CcEnvError, MissingExtra, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


@app.command("games")
def list_games() -> None:
    """List the games with their options and environments."""
    table = Table("game", "environment", "actions", "options (default)")
    for column in table.columns[:2]:
        column.no_wrap = True
    for name, entry in GAMES.items():
        game = games.make(name)
        defaults = games.option_defaults(name).items()
        known = listed(f"{key}={value}" for key, value in defaults)
        table.add_row(name, entry.environment, str(game.num_actions), known)
    console.print(table)


@app.command()
def perft(
    game: GameName = "capture_conquer",
    depth: Annotated[int, typer.Option("--depth", "-d", min=1, help="Turns to look ahead.")] = 5,
    option: Pairs = None,
    position: PositionText = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Count these, of which a turn may take several.")
    ] = False,
) -> None:
    """Count the sequences of turns from a position, for each depth."""
    made, start = _begin(game, option, position)
    console.print(str(draw(made, start)), markup=False)
    count(made, start, 1, decisions=decisions)  # compiles
    for turns in range(1, depth + 1):
        began = time.perf_counter()
        number = count(made, start, turns, decisions=decisions)
        seconds = time.perf_counter() - began
        console.print(f"depth {turns}: {number:,} in {seconds:.3f} s")


@app.command()
def analyse(
    player: Annotated[
        str, typer.Argument(help="Who is asked, e.g. minimax:depth=8 or mcts:seconds=2.")
    ] = "minimax:seconds=1",
    game: GameName = "capture_conquer",
    option: Pairs = None,
    position: PositionText = None,
) -> None:
    """Ask a player what to play in a position, and why."""
    made, start = _begin(game, option, position)
    if not len(made.legal_actions(start)):
        raise UnknownOption(f"'{made.to_text(start)}': the game is over ({made.ending(start)})")
    found = players.make(player, made).choose(start, np.random.default_rng(0), Clock())
    console.print(str(draw(made, start)), markup=False)
    table = Table(show_header=False, box=None)
    for name, text in _told(made, start, found):
        table.add_row(name, text)
    console.print(table)


@app.command()
def replay(
    file: Annotated[
        Path, typer.Argument(help="Records, one JSON object a line.", show_default=False)
    ],
    line: Annotated[
        int | None,
        typer.Option("--line", "-l", min=1, help="Show the game of this line, turn by turn."),
    ] = None,
) -> None:
    """Replay recorded games and say how each ended; exit with status 2 at the first broken one."""
    shown = 0
    for number, one in record.read(file):
        if line in (None, number):
            shown += 1
            if line is not None:
                _show_turns(one)
            players, turns = " - ".join(one.players), len(one.turns)
            console.print(f"line {number}: {players}  {one.result} ({one.reason}), {turns} turns")
    if line is not None and not shown:
        raise UnknownOption(f"{file} has no record in line {line}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Recorded positions.", show_default=False)],
    game: Annotated[
        str | None,
        typer.Option("--game", "-g", help="Which game; default: what the file name says."),
    ] = None,
) -> None:
    """Compare recorded positions with the rules; exit with status 1 where any differs."""
    agreed, differing = 0, 0
    name = game or file.name.split(".")[0]
    if not file.exists():
        raise BadRecord(f"{file}: there is no such file")
    if game is None and name not in GAMES:
        raise UnknownOption(f"{file}: say which game it is of: --game {' or '.join(GAMES)}")
    for each in track(oracle.compare(file, name), "comparing", console=console, transient=True):
        agreed += not each.differences
        differing += bool(each.differences)
        if each.differences:
            console.print(
                f"line {each.line}: '{each.position}': {listed(each.differences)}", markup=False
            )
    console.print(f"{agreed:,} of {agreed + differing:,} positions agree")
    if differing:
        raise typer.Exit(1)


def _begin(game: str, option: list[str] | None, position: str | None) -> tuple[Game, Position]:
    made = games.make(game, **game_options(option))
    return made, made.initial if position is None else made.from_text(position)


def _told(game: Game, position: Position, found: Decision) -> Iterator[tuple[str, str]]:
    """Yield what a player knows about its decision, as names and texts."""
    details = dict(found.details)
    line = details.pop("principal_variation", (found.action,))
    yield "play", " ".join(game.turn_texts(position, line[:1]))
    if found.value is not None:
        yield "value", f"{found.value:+.3f}"
    yield "line", " ".join(game.turn_texts(position, line))
    for action, number in details.pop("visits", ())[:5]:
        yield "visits", f"{number:,} {game.action_text(position, action)}"
    for name, value in details.items():
        yield name.replace("_", " "), _written(value)


def _written(value: Any) -> str:
    """Return what a player knows in a way that people can read."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_written(each)}" for name, each in value.items()) or "nothing"
    if isinstance(value, tuple | list):
        return ":".join(map(_written, value))
    return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"


def _show_turns(one: record.Record) -> None:
    start, *others = frames(record.replay(one))
    console.print(str(start), markup=False)
    for number, (text, picture) in enumerate(zip(one.turns, others, strict=True), 1):
        console.print(f"\n{number}. {text}\n{picture}", markup=False)
