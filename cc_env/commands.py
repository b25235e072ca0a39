"""The commands of `python -m cc_env`."""

import gc
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from cc_env import (
    __version__,
    checkout,
    files,
    games,
    options,
    oracle,
    players,
    randomness,
    record,
    trust,
)
from cc_env.cache import NOT_KEPT
from cc_env.compile import quietly
from cc_env.errors import BadRecord, CcEnvError, MissingExtra, UnknownOption, listed, quantity
from cc_env.game import Game, Played
from cc_env.match import Limits, Match
from cc_env.perft import perft as count
from cc_env.pictures import draw, frames
from cc_env.play import lessons
from cc_env.play.export import RECORD
from cc_env.play.sitting import HUMAN, Sitting
from cc_env.play.study import told
from cc_env.rules import Position
from cc_env.table import GAMES
from cc_env.warm import uses

try:
    import typer
    from rich.console import Console as RichConsole
    from rich.progress import track
    from rich.table import Table
    from rich.text import Text

    from cc_env.play import program_commands, tcp
    from cc_env.play.console import Console, check_place, read_lines
    from cc_env.play.console import save as save_game
    from cc_env.terminal import Terminal, application
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

_MORE = ", ".join(checkout.TOOLS)
app = application(
    no_args_is_help=True,
    add_completion=True,
    epilog=f"More commands, each with a --help of its own (extra train): {_MORE}.",
)
console = Terminal()

LOOPBACK = "127.0.0.1"
RARELY = 1000  # smaller collections of garbage for each of all games, for which people wait
SWITCH = 0.0005  # seconds that a thinking thread may keep Python from those who wait for an answer
_FORMATS = ", ".join(f"{end} {name}" for name, entry in GAMES.items() for end in entry.formats)

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


def file_path(text: str | Path) -> Path:
    """Return the path of a file as it was typed; raise BadParameter where it has no name."""
    path = folder_path(text)
    if not path.name:
        raise typer.BadParameter(f"{text!r} is no name of a file")
    return path


def folder_path(text: str | Path) -> Path:
    """Return the path of a folder as it was typed; raise BadParameter for an empty text."""
    if not str(text).strip():
        raise typer.BadParameter("an empty name; . is the folder where you are")
    return Path(text)


def game_options(option: list[str] | None, size: int | None = None) -> dict[str, Any]:
    """Return the options of a game as they were typed; raise UnknownOption."""
    return options.read([*([] if size is None else [f"size={size}"]), *(option or [])])


def run(commands: typer.Typer) -> int:
    """Run a command line; return the exit status, 2 for bad input, which it says in one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names in files may be such as cannot be shown
            stream.reconfigure(errors="backslashreplace")
    checkout.know_learned_players()
    try:
        commands()
    except (CcEnvError, MissingExtra, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"error: there is not enough memory for this: {error}", file=sys.stderr)
        return 2
    return 0


def _tell_version(asked: bool) -> None:
    if asked:
        console.print(f"cc_env {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool,
        typer.Option("--version", help="Tell it, and exit.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Board games of the Capturing & Conquering family: count, analyse, replay and check."""


@app.command("games")
def list_games() -> None:
    """List the games: environments, options with defaults, evaluations, levels and bots."""
    table = Table.grid(padding=(0, 2))
    for name, entry in GAMES.items():
        game, defaults = games.make(name), games.option_defaults(name)
        facts: dict[str, Iterable[str]] = {
            "options": [f"{key}={value}" for key, value in defaults.items()],
            "evaluations": game.search.evaluations,
            "levels of minimax": game.search.levels,
            "bots": game.search.bots,
        }
        table.add_row(Text(name, "bold"), f"{entry.environment}, {game.num_actions} actions")
        for fact, known in facts.items():
            if known:
                table.add_row(f"  {fact}", listed(known))
    console.show(table)


@app.command()
def perft(
    game: GameName = "capture_conquer",
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=100, help="Turns to look ahead.")
    ] = 5,
    option: Pairs = None,
    position: PositionText = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Count these, of which a turn may take several.")
    ] = False,
) -> None:
    """Count the sequences of turns from a position, for each depth."""
    made, start = _begin(game, option, position)
    console.print(str(draw(made, start)))
    count(made, start, 1, decisions=decisions)  # compiles
    for turns in range(1, depth + 1):
        began = time.perf_counter()
        number = count(made, start, turns, decisions=decisions)
        seconds = time.perf_counter() - began
        console.print(f"depth {turns}: {number:,} in {seconds:.3f} s")


@app.command()
def warm(
    game: Annotated[list[str] | None, typer.Argument(help="Which games; default all.")] = None,
) -> None:
    """Compile all that games, players and environments need, so that no later run waits for it.

    Exit with status 1 where compiled code could not be kept on disk.
    """
    bar = RichConsole(stderr=True)
    NOT_KEPT.clear()
    for name in game or GAMES:
        games.make(name)  # or refuse them all
    for name in game or GAMES:
        began = time.perf_counter()
        if not bar.is_terminal:  # which shows no bar
            print(f"compiling {name}", file=sys.stderr, flush=True)
        for use in track(list(uses(name)), description=name, console=bar, transient=True):
            with quietly():
                use.run()
        console.print(f"{name}: compiled, in {time.perf_counter() - began:.1f} s")
    if NOT_KEPT:
        why = listed(dict.fromkeys(NOT_KEPT.values()))
        lost = f"it could not be kept on disk ({why}): {listed(NOT_KEPT, 3)}"
        print(f"error: every process will compile this again, {lost}", file=sys.stderr)
        raise typer.Exit(1)


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
    asked = players.make(player, made)
    console.print(str(draw(made, start)))
    table = Table.grid(padding=(0, 2))
    for name, text in told(made, start, asked):
        table.add_row(name, text)
    console.show(table)


@app.command()
def play(
    game: GameName = "capture_conquer",
    first: Annotated[
        str, typer.Option(help=f"Who moves first: {HUMAN}, or a player such as minimax:hard.")
    ] = HUMAN,
    second: Annotated[str, typer.Option(help="Who moves second.")] = "minimax:normal",
    option: Pairs = None,
    position: PositionText = None,
    draw_lots: Annotated[
        bool, typer.Option("--draw-lots", help="Let the two be seated at random.")
    ] = False,
    adviser: Annotated[str, typer.Option(help="Which player gives hints.")] = "minimax:hard",
    seconds: Annotated[
        float | None, typer.Option(help="How long each may think in the whole game.")
    ] = None,
    seconds_per_turn: Annotated[
        float | None, typer.Option(help="How long each may think about one turn.")
    ] = None,
    max_turns: Annotated[
        int, typer.Option(min=1, help="After so many turns the game is drawn.")
    ] = 200,
    pause: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=60,
            help="Seconds to wait after a player's turn; default 1 if two are watched.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Save the game there in the end: .jsonl, .svg, of checkers .pdn, of Cannon .log.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all that is drawn; default another for each game.")
    ] = None,
) -> None:
    """Play in the terminal: people against players, each other, or watch two players."""
    made, start = _begin(game, option, position)
    limits = Limits(
        max_turns=max_turns, seconds_per_game=seconds, seconds_per_turn=seconds_per_turn
    )
    names = [first, second]
    seed = secrets.randbelow(2**31) if seed is None else seed
    if draw_lots:
        randomness.check_seed(seed)
        names = [names[side] for side in np.random.default_rng(seed).permutation(2)]
    sitting = Sitting(made, names, start=start, limits=limits, seed=seed)
    if save is not None:
        check_place(save, made)
    watched = console.is_watched and HUMAN not in names
    table = Console(
        sitting,
        console,
        read_lines(),
        adviser=adviser,
        pause=float(watched) if pause is None else pause,
    )
    try:
        table.run()
    finally:
        if save is not None:
            save_game(table.sitting, save)


@app.command()
def learn(
    game: Annotated[str, typer.Argument(help="Which game; `games` lists them.")],
    lesson: Annotated[int | None, typer.Argument(help="Which lesson alone; default all.")] = None,
) -> None:
    """Tell how a game is played, in short lessons with boards."""
    for line in lessons.lines(lessons.course(game), lesson):
        console.print(line)


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen at; 0.0.0.0 lets other machines connect.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    folder: Annotated[
        Path, typer.Option(parser=folder_path, metavar="FOLDER", help="Where games are kept.")
    ] = Path("runs/games"),
    games_at_once: Annotated[
        int, typer.Option("--games", min=1, help="So many may be played at once.")
    ] = 2000,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=600, help="So long may a player think about a decision.")
    ] = 10.0,
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Serve the page: play all games in the browser, until Ctrl+C."""
    from cc_env.play import server
    from cc_env.play.lobby import Bounds

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # players think side by side, a core for each
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # what is imported stays, and need not be looked at while people wait
    gc.set_threshold(*gc.get_threshold()[:2], RARELY)
    with tcp.listen(host, port) as listening:
        site = server.prepared(listening, folder, Bounds(games=games_at_once, seconds=seconds))
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
        console.print(f"play at {address}; games are kept in {folder}; Ctrl+C ends it")
        if open_page:
            typer.launch(address)
        site.run([listening])


@app.command()
def replay(
    file: Annotated[
        Path,
        typer.Argument(
            parser=file_path,
            metavar="FILE",
            help=f"Records, one JSON object a line; of other programs {_FORMATS}.",
            show_default=False,
        ),
    ],
    line: Annotated[
        int | None,
        typer.Option("--line", "-l", min=1, help="Show the game of this line, turn by turn."),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(
            "--game",
            "-g",
            help="Which game a file of other programs is of; default: what the end of its name"
            f" says: {_FORMATS}. --line then is the number of a game. Records know their game, and"
            " may be of somebody else's only if it is typed here.",
        ),
    ] = None,
    option: Pairs = None,
    to: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Write the games there, as the end of its name says; records: .jsonl.",
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", "-k", help="Go on past broken games; list them at the end."),
    ] = False,
) -> None:
    """Replay recorded games and say how each ended; exit with status 2 at the first broken one.

    With --keep-going the status is 1 where any game is broken.
    """
    name = game or _game_of(file)
    if game is not None and RECORD in file.suffixes:
        games.module(game)
        trust.allow(game)
        name = None
    if name is None and option:
        raise UnknownOption("--option says how other programs' games are played; records know it")
    broken: list[BadRecord] | None = [] if keep_going else None
    found = _records(file, broken) if name is None else _foreign(file, name, option, broken)
    shown, written = 0, []
    for number, each in found:
        if line in (None, number):
            shown += 1
            if line is not None:
                _show_turns(each.match)
            if to is not None:
                written.append(each.written(to))
                each.check_fits(to, len(written))
            console.print(f"{each.where}: {each.told}")
    if not (shown or broken):
        which = "" if line is None else f" of the number {line}"
        raise UnknownOption(f"{file} has no game{which}")
    if to is not None and shown:
        files.write(to, "\n".join(written).rstrip("\n") + "\n")
        console.print(f"{len(written):,} games written to {to}")
    if broken is not None:
        _tell_broken(shown, broken)


def _tell_broken(shown: int, broken: list[BadRecord]) -> None:
    """Say how many games were good, and what is wrong with the others; exit if there are any."""
    for error in broken:
        console.print(f"broken: {error}")
    console.print(f"{shown:,} games, {len(broken):,} broken")
    if broken:
        raise typer.Exit(1)


class _Replayed(NamedTuple):
    """A game of a file."""

    where: str
    match: Match
    played: Played
    kept: record.Record | None = None  # where the file has it

    @property
    def told(self) -> str:
        """Who played, what came of it, by what rule or fault, and the scores."""
        result, match = self.match.result, self.match
        outcome = record.RESULTS.get(result.outcome if result else self.played.outcome, "*")
        told = f"{' - '.join(self.played.players)}  {outcome}"
        if reason := result.reason if result else self.played.fault:
            told += f" ({reason})"
        if match.game.scores and match.score:
            told += ", scores {:g} - {:g}".format(*match.score)
        return f"{told}, {quantity(len(match.turns), 'turn')}"

    def written(self, to: Path) -> str:
        """Return it in the format of this file; raise UnknownOption where its game has none."""
        if to.suffix.lower() == RECORD:
            return (self.kept or record.of_played(self.match, self.played)).to_json()
        return record.format_of(self.match.game, to).write(self.match.game, self.played)

    def check_fits(self, to: Path, count: int) -> None:
        """Raise UnknownOption where this file cannot hold so many games."""
        if count < 2 or to.suffix.lower() == RECORD:
            return
        if record.format_of(self.match.game, to).is_single:
            raise UnknownOption(f"{to}: a file of this kind has one game; say which by --line")


def _records(file: Path, broken: list[BadRecord] | None) -> Iterator[tuple[int, _Replayed]]:
    on_broken = None if broken is None else broken.append
    for number, one, match in record.read_played(file, on_broken):
        played = record.played_of(match, one.players)
        yield number, _Replayed(f"line {number}", match, played, one)


def _foreign(
    file: Path, name: str, option: list[str] | None, broken: list[BadRecord] | None
) -> Iterator[tuple[int, _Replayed]]:
    """Yield the games of a file of another program, by their numbers; broken ones count, too."""
    usual = record.format_of(games.make(name), file).options
    game = games.make(name, **{**usual, **game_options(option)})
    on_broken = None if broken is None else broken.append
    for good, (one, match) in enumerate(record.read_foreign(file, game, on_broken), 1):
        number = good + len(broken or ())
        yield number, _Replayed(f"game {number}", match, one)


def _game_of(file: Path) -> str | None:
    """Return the game whose files end so, None where there is none; raise UnknownOption."""
    having = [name for name, entry in GAMES.items() if file.suffix.lower() in entry.formats]
    if len(having) > 1:
        raise UnknownOption(f"{file}: say which game it is of: --game {' or '.join(having)}")
    return having[0] if having else None


@app.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(
            parser=file_path, metavar="FILE", help="Recorded positions.", show_default=False
        ),
    ],
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
    compared = oracle.compare(file, name)
    for each in track(
        compared, "comparing", console=console, transient=True, disable=not console.is_watched
    ):
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


def _show_turns(match: Match) -> None:
    start, *others = frames(match)
    console.print(str(start))
    for number, (text, picture) in enumerate(zip(match.turns, others, strict=True), 1):
        console.print(f"\n{number}. {text}\n{picture}")


for _each in program_commands.COMMANDS:
    app.command()(_each)
