"""The commands of `python -m cc_env`."""

import gc
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from cc_env.cli.arguments import (
    GameName,
    GameOptions,
    PositionText,
    file_path,
    folder_path,
    game_options,
)
from cc_env.cli.tools import TOOLS
from cc_env.cli.warmup import warmup_tasks
from cc_env.core import random_streams
from cc_env.core.game import BrokenGame, Game, PlayedGame
from cc_env.core.rules import Position
from cc_env.errors import (
    BadOption,
    BadRecord,
    IllegalAction,
    MissingExtra,
    escape_controls,
    format_count,
    format_list,
)
from cc_env.files import write_atomically
from cc_env.games.factory import game_module, game_option_defaults, make_game
from cc_env.jit.compiler import hidden_messages
from cc_env.jit.disk_cache import write_failures
from cc_env.match import record
from cc_env.match.match import Limits, Match
from cc_env.match.record import export_match, find_format, record_foreign, replay_records
from cc_env.play import lessons
from cc_env.play.analysis import describe_analysis
from cc_env.play.exporting import RECORD_SUFFIX
from cc_env.play.lessons import load_guide
from cc_env.play.session import HUMAN, GameSession
from cc_env.players.specs import make_player
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw, frames
from cc_env.verification import conformance, reference_positions
from cc_env.verification.perft import perft as count
from cc_env.version import __version__

try:
    import typer
    from rich.console import Console as RichConsole
    from rich.progress import track
    from rich.table import Table
    from rich.text import Text

    from cc_env.cli import program_commands, tablebase_commands
    from cc_env.cli.application import create_app
    from cc_env.output import Terminal
    from cc_env.play.terminal import Console, check_save_path, line_reader
    from cc_env.play.terminal import save as save_game
    from cc_env.protocols import tcp
except ImportError as missing:
    raise MissingExtra("python -m cc_env", "typer and rich", "cli") from missing

_MORE = ", ".join(TOOLS)
app = create_app(
    no_args_is_help=True,
    add_completion=True,
    epilog=f"\b\nMore commands, each with a --help of its own (extra train):\n{_MORE}",
)
console = Terminal()

LOOPBACK = "127.0.0.1"
GC_THRESHOLD = 1000  # generation-1 collections for each full one, which pauses all games
SWITCH_INTERVAL = 0.0005  # seconds; short, so that a thinking thread does not delay answers
_FORMAT_NAMES = ", ".join(f"{end} {name}" for name, entry in GAMES.items() for end in entry.formats)


def _print_version(asked: bool) -> None:
    if asked:
        console.print(f"cc_env {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Two-player board games: play, learn, analyse, replay, check and solve them."""


@app.command("games")
def list_games() -> None:
    """List the games: environments, options, evaluations and bots."""
    table = Table.grid(padding=(0, 2))
    for name, entry in GAMES.items():
        game, defaults = make_game(name), game_option_defaults(name)
        facts: dict[str, Iterable[str]] = {
            "options": [f"{key}={value}" for key, value in defaults.items()],
            "evaluations": game.evaluations,
            "levels of minimax": game.levels,
            "bots": game.bots,
        }
        table.add_row(Text(name, "bold"), f"{entry.environment}, {game.num_actions} actions")
        for fact, known in facts.items():
            if known:
                table.add_row(f"  {fact}", format_list(known))
    console.print_table(table)


@app.command()
def perft(
    game: GameName = "capture_conquer",
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=100, help="Turns to look ahead.")
    ] = 5,
    option: GameOptions = None,
    position: PositionText = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Count decisions instead; a turn may take several.")
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
    game: Annotated[list[str] | None, typer.Argument(help="The games; default: all.")] = None,
) -> None:
    """Compile everything beforehand, so that later runs start fast.

    That is what games, players and environments need. The exit status is 1 if compiled code could
    not be written to disk.
    """
    bar = RichConsole(stderr=True)
    write_failures.clear()
    for name in game or GAMES:
        make_game(name)  # refuse unknown names before any work
    for name in game or GAMES:
        began = time.perf_counter()
        if not bar.is_terminal:  # no progress bar is shown
            print(f"compiling {name}", file=sys.stderr, flush=True)
        for use in track(list(warmup_tasks(name)), description=name, console=bar, transient=True):
            with hidden_messages():
                use.run()
        console.print(f"{name}: compiled, in {time.perf_counter() - began:.1f} s")
    if write_failures:
        why = format_list(dict.fromkeys(write_failures.values()))
        lost = f"it could not be written to disk ({why}): {format_list(write_failures, 3)}"
        print(f"error: every process will compile this again, {lost}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def analyse(
    player: Annotated[
        str, typer.Argument(help="The player, e.g. minimax:depth=8 or mcts:seconds=2.")
    ] = "minimax:seconds=1",
    game: GameName = "capture_conquer",
    option: GameOptions = None,
    position: PositionText = None,
) -> None:
    """Analyse a position with a player: its move, values and lines."""
    made, start = _begin(game, option, position)
    if not len(made.legal_actions(start)):
        raise IllegalAction(f"'{made.to_text(start)}': the game is over ({made.ending(start)})")
    analyst = make_player(player, made)
    console.print(str(draw(made, start)))
    table = Table.grid(padding=(0, 2))
    for name, text in describe_analysis(made, start, analyst):
        table.add_row(name, text)
    console.print_table(table)


@app.command()
def play(
    game: GameName = "capture_conquer",
    first: Annotated[
        str, typer.Option(help=f"The first player: {HUMAN}, or a player such as minimax:hard.")
    ] = HUMAN,
    second: Annotated[str, typer.Option(help="The second player.")] = "minimax:normal",
    option: GameOptions = None,
    position: PositionText = None,
    draw_lots: Annotated[
        bool, typer.Option("--draw-lots", help="Draw at random who moves first.")
    ] = False,
    adviser: Annotated[str, typer.Option(help="The player that gives hints.")] = "minimax:hard",
    seconds: Annotated[
        float | None, typer.Option(help="Time limit of each player for the whole game.")
    ] = None,
    seconds_per_turn: Annotated[
        float | None, typer.Option(help="Time limit of each player for one turn.")
    ] = None,
    max_turns: Annotated[
        int, typer.Option(min=1, help="Turns after which the game is a draw.")
    ] = 200,
    pause: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=60,
            help="Seconds to wait after a player's turn; default: 1 when you watch two players.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Save the game at its end: .jsonl, .svg, for checkers .pdn, for Cannon .log.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of all random choices; default: a new one for each game."),
    ] = None,
) -> None:
    """Play in the terminal, against a player or another person.

    With players in both seats you watch them.
    """
    made, start = _begin(game, option, position)
    limits = Limits(
        max_turns=max_turns, seconds_per_game=seconds, seconds_per_turn=seconds_per_turn
    )
    names = [first, second]
    seed = secrets.randbelow(2**31) if seed is None else seed
    if draw_lots:
        random_streams.check_seed(seed)
        names = [names[side] for side in np.random.default_rng(seed).permutation(2)]
    session = GameSession(made, names, start=start, limits=limits, seed=seed)
    if save is not None:
        check_save_path(save, made)
    watched = console.shows_progress and HUMAN not in names
    table = Console(
        session,
        console,
        line_reader(),
        adviser=adviser,
        pause=float(watched) if pause is None else pause,
    )
    try:
        table.run()
    finally:
        if save is not None:
            save_game(table.session, save)


@app.command()
def learn(
    game: Annotated[str, typer.Argument(help="The game; `games` lists them.")],
    lesson: Annotated[int | None, typer.Argument(help="One lesson only; default: all.")] = None,
) -> None:
    """Explain a game in short lessons with boards."""
    for line in lessons.format_lessons(load_guide(game), lesson):
        console.print(line)


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines connect.")
    ] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free one.")
    ] = 8000,
    folder: Annotated[
        Path, typer.Option(parser=folder_path, metavar="FOLDER", help="The folder for games.")
    ] = Path("runs/games"),
    games_at_once: Annotated[
        int, typer.Option("--games", min=1, help="Maximum number of games at once.")
    ] = 2000,
    seconds: Annotated[
        float,
        typer.Option(min=0.1, max=600, help="Maximum thinking time of a player for a decision."),
    ] = 10.0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name of this server, beside its addresses."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve the page: play all games in the browser, until Ctrl+C."""
    from cc_env.server import app
    from cc_env.server.limits import ServerLimits

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # players think in parallel, one core each
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.freeze()  # imported modules stay: exclude them from collections
    gc.set_threshold(*gc.get_threshold()[:2], GC_THRESHOLD)
    with tcp.listen(host, port) as listening:
        limits = ServerLimits(games_in_memory=games_at_once, decision_seconds=seconds)
        site = app.create_server(listening, folder, limits, allow_host or ())
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
            help=f"Records, one JSON object per line; files of other programs: {_FORMAT_NAMES}.",
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
            help="The game of a file of another program; default: by the file's suffix"
            f" ({_FORMAT_NAMES}). --line then is the number of a game. Records contain their game;"
            " one of another package has to be given here, too, as a sign of trust.",
        ),
    ] = None,
    option: GameOptions = None,
    to: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Write the games to this file, in the format of its suffix; records: .jsonl.",
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", "-k", help="Continue after broken games; list them at the end."
        ),
    ] = False,
) -> None:
    """Replay recorded games and print how each ended.

    Exit with status 2 at the first broken game; with --keep-going, with status 1 at the end if any
    game is broken.
    """
    name = game or _game_of(file)
    if game is not None and RECORD_SUFFIX in file.suffixes:
        game_module(game)
        import_allowlist.allow(game)
        name = None
    if name is None and option:
        raise BadOption("--option is for files of other programs; records contain their options")
    games = _recorded_games(file) if name is None else _foreign_games(file, name, option)
    if not keep_going:
        games = record.valid_games(file, games)
    shown, skipped, written, refused = 0, 0, list[str](), list[BrokenGame]()
    for entry in games:
        if isinstance(entry, BrokenGame):
            refused.append(entry)
            continue
        number, recorded = entry
        if line not in (None, number):
            skipped += 1
        else:
            shown += 1
            if line is not None:
                _print_turns(recorded.match)
            if to is not None:
                written.append(recorded.format(to))
                recorded.check_fits(to, len(written))
            console.print(f"{recorded.where}: {recorded.summary}")
    if not (shown or refused):
        which = "" if line is None else f" number {line}"
        raise BadRecord(f"{file} has no game{which}")
    if to is not None and shown:
        write_atomically(to, "\n".join(written).rstrip("\n") + "\n")
        console.print(f"{len(written):,} games written to {to}")
    for broken in refused:
        console.print(f"refused: {file}, {broken}")
    counts = f"{skipped:,} skipped, {len(refused):,} refused"
    console.print(f"{format_count(shown, 'game')} read, {counts}")
    if refused:
        raise typer.Exit(1)


class _Replayed(NamedTuple):
    """A game of a file, replayed."""

    where: str  # its line or number in the file
    match: Match
    played: PlayedGame
    kept: record.Record | None = None  # its record; None for files of other programs

    @property
    def summary(self) -> str:
        """The players, the result, its reason, the scores and the number of turns."""
        result, match = self.match.result, self.match
        outcome = record.RESULTS.get(result.outcome if result else self.played.outcome, "*")
        text = f"{' - '.join(map(escape_controls, self.played.players))}  {outcome}"
        if reason := result.reason if result else self.played.fault:
            text += f" ({reason})"
        if match.game.has_scores and match.score:
            text += ", scores {:g} - {:g}".format(*match.score)
        return f"{text}, {format_count(len(match.turns), 'turn')}"

    def format(self, to: Path) -> str:
        """Return the game in the format of a file; raise UnknownOption if there is none."""
        if to.suffix.lower() == RECORD_SUFFIX:
            return (self.kept or record_foreign(self.match, self.played)).to_json()
        return find_format(self.match.game, to).write(self.match.game, self.played)

    def check_fits(self, to: Path, count: int) -> None:
        """Raise BadOption if the format of a file cannot hold `count` games."""
        if count < 2 or to.suffix.lower() == RECORD_SUFFIX:
            return
        if find_format(self.match.game, to).is_single:
            raise BadOption(f"{to}: a file of this kind holds one game; choose it by --line")


def _recorded_games(file: Path) -> Iterator[tuple[int, _Replayed] | BrokenGame]:
    for entry in replay_records(file):
        if isinstance(entry, BrokenGame):
            yield entry
            continue
        number, kept, match = entry
        played = export_match(match, kept.players)
        yield number, _Replayed(f"line {number}", match, played, kept)


def _foreign_games(
    file: Path, name: str, option: list[str] | None
) -> Iterator[tuple[int, _Replayed] | BrokenGame]:
    """Yield the games of another program's file with their numbers, which count broken games."""
    usual = find_format(make_game(name), file).options
    game = make_game(name, **{**usual, **game_options(option)})
    for number, entry in enumerate(record.read_foreign(file, game), 1):
        if isinstance(entry, BrokenGame):
            yield entry
            continue
        played, match = entry
        yield number, _Replayed(f"game {number}", match, played)


def _game_of(file: Path) -> str | None:
    """Return the game whose files have this suffix, or None; raise BadOption for several games."""
    names = [name for name, entry in GAMES.items() if file.suffix.lower() in entry.formats]
    if len(names) > 1:
        raise BadOption(f"{file}: the suffix is not enough; add --game {' or '.join(names)}")
    return names[0] if names else None


@app.command()
def check(
    file: Annotated[
        Path | None,
        typer.Argument(
            parser=file_path, metavar="FILE", help="Recorded positions.", show_default=False
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option("--game", "-g", help="The game; default: by the file name."),
    ] = None,
    option: GameOptions = None,
) -> None:
    """Check the rules: by recorded positions, or else by random games.

    Without a file, random games show whether the game keeps what every game promises. The exit
    status is 1 if anything differs.
    """
    if file is None:
        if game is None:
            raise BadOption("there is nothing to check; name a file, or a game: --game NAME")
        agrees = _conforms(make_game(game, **game_options(option)))
    elif option:
        raise BadOption(f"{file}: its positions say their options; leave --option out")
    else:
        agrees = _agrees(file, game)
    if not agrees:
        raise typer.Exit(1)


def _conforms(game: Game) -> bool:
    """Print what a game does not keep, as far as random games show it; return whether it does."""
    faults = list(conformance.check(game))
    for fault in faults:
        led = f", after {fault.action}" if fault.action else ""
        console.print(f"in '{fault.position}'{led}: {fault.wrong}", markup=False)
    verdict = format_count(len(faults), "fault") if faults else "it keeps what every game promises"
    console.print(f"{conformance.GAMES} random games of {game.name}: {verdict}")
    return not faults


def _agrees(file: Path, game: str | None) -> bool:
    """Print where recorded positions differ from the rules; return whether all agree."""
    agreed, differing = 0, 0
    name = game or file.name.split(".")[0]
    if not file.exists():
        raise BadRecord(f"{file}: there is no such file")
    if game is None and name not in GAMES:
        raise BadOption(f"{file}: its name is not that of a game; add --game {' or '.join(GAMES)}")
    compared = reference_positions.compare(file, name)
    for checked in track(
        compared, "comparing", console=console, transient=True, disable=not console.shows_progress
    ):
        agreed += not checked.differences
        differing += bool(checked.differences)
        if checked.differences:
            place = f"line {checked.line}: '{checked.position}'"
            console.print(f"{place}: {format_list(checked.differences)}", markup=False)
    console.print(f"{agreed:,} of {agreed + differing:,} positions agree")
    return not differing


def _begin(game: str, option: list[str] | None, position: str | None) -> tuple[Game, Position]:
    made = make_game(game, **game_options(option))
    return made, made.initial if position is None else made.from_text(position)


def _print_turns(match: Match) -> None:
    start, *others = frames(match)
    console.print(str(start))
    for number, (text, picture) in enumerate(zip(match.turns, others, strict=True), 1):
        console.print(f"\n{number}. {text}\n{picture}")


for _command in (tablebase_commands.solve, *program_commands.COMMANDS):
    app.command()(_command)
