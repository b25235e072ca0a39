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
import typer
from rich.console import Console as RichConsole
from rich.progress import track
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from cc_env.cli import (
    dataset_commands,
    program_commands,
    puzzle_commands,
    rating_commands,
    tablebase_commands,
    task_commands,
)
from cc_env.cli.application import create_app
from cc_env.cli.arguments import (
    FILE,
    FOLDER,
    LOOPBACK,
    Address,
    GameName,
    GameOptions,
    Port,
    PositionText,
    game_options,
)
from cc_env.cli.tools import TOOLS
from cc_env.cli.warmup import compile_games
from cc_env.core import random_streams
from cc_env.core.game import BrokenGame, Game, PlayedGame
from cc_env.core.rules import Position
from cc_env.errors import (
    BadOption,
    BadRecord,
    IllegalAction,
    escape_controls,
    format_count,
    format_list,
)
from cc_env.files import write_atomically
from cc_env.games.factory import game_module, game_option_defaults, make_game
from cc_env.ladder.rungs import has_ladder
from cc_env.match import record
from cc_env.match.match import Limits, Match
from cc_env.match.record import export_match, find_format, record_foreign, replay_records
from cc_env.output import Terminal
from cc_env.play import lessons
from cc_env.play.analysis import describe_analysis
from cc_env.play.exporting import RECORD_SUFFIX
from cc_env.play.lessons import load_guide
from cc_env.play.session import HUMAN, GameSession
from cc_env.play.terminal import Console, check_save_path, line_reader, to_spec
from cc_env.play.terminal import save as save_game
from cc_env.players.specs import make_player
from cc_env.protocols import tcp
from cc_env.registry import import_allowlist
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import draw, frames
from cc_env.verification import conformance, reference_positions
from cc_env.verification.perft import perft as count_sequences
from cc_env.version import __version__

_TOOL_NAMES = ", ".join(TOOLS)
app = create_app(
    no_args_is_help=True,
    add_completion=True,
    epilog=f"\b\nFurther commands (extra arena or train), each with its own --help:\n{_TOOL_NAMES}",
)
console = Terminal()

# Generation-1 collections per full collection, which pauses all games.
GC_THRESHOLD = 1000
# Short, so that searching threads do not delay replies.
SWITCH_INTERVAL_SECONDS = 0.0005
_FORMAT_NAMES = ", ".join(f"{end} {name}" for name, entry in GAMES.items() for end in entry.formats)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        console.print(f"cc_env {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool,
        Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Two-player board games: play, learn, analyze, replay, check and solve them."""


@app.command("games")
def list_games() -> None:
    """List the games: environments, options, evaluations and bots."""
    table = Table.grid(padding=(0, 2))
    for name, entry in GAMES.items():
        game, defaults = make_game(name), game_option_defaults(name)
        attributes: dict[str, Iterable[str]] = {
            "options": [f"{key}={value}" for key, value in defaults.items()],
            "evaluations": game.evaluations,
            "levels of minimax": game.levels,
            "bots": game.bots,
        }
        table.add_row(Text(name, "bold"), f"{entry.environment}, {game.num_actions} actions")
        for label, values in attributes.items():
            if values:
                table.add_row(f"  {label}", format_list(values))
    console.print_table(table)


@app.command()
def perft(
    game: GameName = "capture_conquer",
    depth: Annotated[
        int, Option("--depth", "-d", min=1, max=100, help="Maximum number of turns.")
    ] = 5,
    option: GameOptions = None,
    position: PositionText = None,
    decisions: Annotated[
        bool, Option("--decisions", help="Count decisions instead of turns.")
    ] = False,
) -> None:
    """Count the sequences of turns from a position, for each depth."""
    counted_game, start = _game_and_position(game, option, position)
    console.print(str(draw(counted_game, start)))
    # Compile before the first measurement.
    count_sequences(counted_game, start, 1, decisions=decisions)
    for turns in range(1, depth + 1):
        start_time = time.perf_counter()
        count = count_sequences(counted_game, start, turns, decisions=decisions)
        seconds = time.perf_counter() - start_time
        console.print(f"depth {turns}: {count:,} in {seconds:.3f} s")


@app.command()
def warm(
    game: Annotated[list[str] | None, Argument(help="The games; default: all.")] = None,
) -> None:
    """Precompile games, players and environments.

    Later runs then start fast. The exit status is 1 if compiled code could not be written to disk.
    """
    games = game or list(GAMES)
    for name in games:
        # Reject unknown names before any work.
        make_game(name)
    bar = RichConsole(stderr=True)
    # There is no progress bar without a terminal.
    if not bar.is_terminal:
        print(f"compiling {format_list(games)}", file=sys.stderr, flush=True)
    failures: dict[str, str] = {}
    compilations = compile_games(games)
    for done in track(compilations, "compiling", len(games), console=bar, transient=True):
        console.print(f"{done.game}: compiled in {done.seconds:.1f} s")
        failures |= done.write_failures
    if failures:
        reasons = format_list(dict.fromkeys(failures.values()))
        details = f"could not write to disk ({reasons}): {format_list(failures, 3)}"
        print(f"error: compiled code was not saved, {details}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def analyze(
    player: Annotated[
        str, Argument(help="The player, e.g. minimax:depth=8 or mcts:seconds=2.")
    ] = "minimax:seconds=1",
    game: GameName = "capture_conquer",
    option: GameOptions = None,
    position: PositionText = None,
) -> None:
    """Analyze a position with a player: its move, values and lines."""
    analyzed_game, start = _game_and_position(game, option, position)
    if not len(analyzed_game.legal_actions(start)):
        text, reason = analyzed_game.to_text(start), analyzed_game.ending(start)
        raise IllegalAction(f"'{text}': the game is over ({reason})")
    analyst = make_player(player, analyzed_game)
    console.print(str(draw(analyzed_game, start)))
    table = Table.grid(padding=(0, 2))
    for name, text in describe_analysis(analyzed_game, start, analyst):
        table.add_row(name, text)
    console.print_table(table)


@app.command()
def play(
    game: GameName = "capture_conquer",
    first: Annotated[
        str,
        Option(help=f"The first player: {HUMAN}, a level of the ladder by name, or a player."),
    ] = HUMAN,
    second: Annotated[
        str | None,
        Option(
            help="The second player.",
            show_default="the first level of the ladder, else minimax:normal",
        ),
    ] = None,
    option: GameOptions = None,
    position: PositionText = None,
    random_seats: Annotated[
        bool, Option("--random-seats", help="Choose at random who moves first.")
    ] = False,
    hint_player: Annotated[str, Option(help="Player for hints and analysis.")] = "minimax:hard",
    seconds_per_game: Annotated[
        float | None, Option(help="Time limit of each player for the whole game, in seconds.")
    ] = None,
    seconds_per_turn: Annotated[
        float | None, Option(help="Time limit of each player for one turn, in seconds.")
    ] = None,
    max_turns: Annotated[int, Option(min=1, help="Turns after which the game is a draw.")] = 200,
    pause: Annotated[
        float | None,
        Option(
            min=0,
            max=60,
            help="Seconds to wait after a player's turn; default: 1 when you watch two players.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        Option(
            **FILE,
            help="Save the game at the end, also after quit or Ctrl+C: .jsonl, .svg, "
            "checkers .pdn, Cannon .log; or its position: .txt.",
        ),
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of all random choices; default: random.")] = None,
) -> None:
    """Play in the terminal, against a player or another person.

    With players in both seats, watch them play.
    """
    played_game, start = _game_and_position(game, option, position)
    limits = Limits(
        max_turns=max_turns, seconds_per_game=seconds_per_game, seconds_per_turn=seconds_per_turn
    )
    if second is None:
        second = "ladder:1" if has_ladder(played_game) else "minimax:normal"
    specs = [to_spec(played_game, name) for name in (first, second)]
    seed = secrets.randbelow(2**31) if seed is None else seed
    if random_seats:
        random_streams.check_seed(seed)
        specs = [specs[side] for side in np.random.default_rng(seed).permutation(2)]
    session = GameSession(played_game, specs, start=start, limits=limits, seed=seed)
    if save is not None:
        check_save_path(save, played_game)
    is_watched = console.shows_progress and HUMAN not in specs
    front_end = Console(
        session,
        console,
        line_reader(),
        hint_player=hint_player,
        pause=float(is_watched) if pause is None else pause,
    )
    try:
        front_end.run()
    finally:
        if save is not None:
            save_game(front_end.session, save)


@app.command()
def learn(
    game: Annotated[str, Argument(help="The game; `games` lists them.")],
    lesson: Annotated[int | None, Argument(help="Number of the lesson; default: all.")] = None,
) -> None:
    """Explain a game in short lessons with boards."""
    for line in lessons.format_lessons(load_guide(game), lesson):
        console.print(line)


@app.command()
def serve(
    host: Address = LOOPBACK,
    port: Port = 8000,
    folder: Annotated[Path, Option(**FOLDER, help="The folder of the games.")] = Path("runs/games"),
    games_at_once: Annotated[
        int, Option("--games", min=1, help="Maximum number of games in memory.")
    ] = 2000,
    seconds: Annotated[
        float, Option(min=0.1, max=600, help="Maximum seconds of a player for a decision.")
    ] = 10.0,
    allow_host: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="A host name of this server, in addition to its addresses."),
    ] = None,
    open_page: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the page: play all games in the browser, until Ctrl+C."""
    from cc_env.server import app
    from cc_env.server.limits import ServerLimits

    # Players search in parallel, on one core each.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    # Imported modules are never collected.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], GC_THRESHOLD)
    with tcp.listen(host, port) as listener:
        limits = ServerLimits(games_in_memory=games_at_once, decision_seconds=seconds)
        site = app.create_server(listener, folder, limits, allow_host or ())
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
        console.print(f"play at {address}; games are stored in {folder}; press Ctrl+C to stop")
        if open_page:
            typer.launch(address)
        site.run([listener])


@app.command()
def replay(
    file: Annotated[
        Path,
        Argument(
            **FILE,
            help=f"Records, one JSON object per line; files of other programs: {_FORMAT_NAMES}.",
            show_default=False,
        ),
    ],
    line: Annotated[
        int | None, Option("--line", "-l", min=1, help="Show the game of this line, turn by turn.")
    ] = None,
    game: Annotated[
        str | None,
        Option(
            "--game",
            "-g",
            help="The game of a file of another program; default: by the file's suffix"
            f" ({_FORMAT_NAMES}). --line is then the number of a game. Records contain their game;"
            " name it here if it is not built in, to allow its import.",
        ),
    ] = None,
    option: GameOptions = None,
    to: Annotated[
        Path | None,
        Option(
            **FILE,
            help="Write the games to this file, in the format of its suffix; records: .jsonl.",
        ),
    ] = None,
    dialect: Annotated[
        str | None, Option(help="Read FILE with the conventions of a program: py-draughts (.pdn).")
    ] = None,
    to_dialect: Annotated[
        str | None, Option(help="Write --to with the conventions of a program: py-draughts (.pdn).")
    ] = None,
    keep_going: Annotated[
        bool,
        Option("--keep-going", "-k", help="Continue after invalid games and list them at the end."),
    ] = False,
) -> None:
    """Replay recorded games and print their results.

    The exit status is 2 at the first invalid game; with --keep-going it is 1 at the end if any game
    is invalid.
    """
    if to is None and to_dialect is not None:
        raise BadOption("--to-dialect needs --to, the file to write")
    games = _read_games(file, game, option, dialect)
    if not keep_going:
        games = record.valid_games(file, games)
    read = skipped = 0
    exported: list[str] = []
    rejected: list[BrokenGame] = []
    for entry in games:
        if isinstance(entry, BrokenGame):
            rejected.append(entry)
        elif line not in (None, entry.number):
            skipped += 1
        else:
            read += 1
            if line is not None:
                _print_turns(entry.match)
            if to is not None:
                exported.append(entry.to_file_text(to, to_dialect))
                entry.check_file_holds(to, len(exported))
            console.print(entry.summary)
    if not (read or rejected):
        if line is None:
            raise BadRecord(f"{file} contains no games")
        contents = format_count(skipped, "game")
        raise BadRecord(f"--line {line}: no game of {file} has this number; it contains {contents}")
    if to is not None and read:
        write_atomically(to, "\n".join(exported).rstrip("\n") + "\n")
        console.print(f"{len(exported):,} games written to {to}")
    for broken in rejected:
        console.print(f"rejected: {file}, {broken}")
    counts = f"{skipped:,} skipped, {len(rejected):,} rejected"
    console.print(f"{format_count(read, 'game')} read, {counts}")
    if rejected:
        raise typer.Exit(1)


class _ReplayedGame(NamedTuple):
    """A game of a file after its replay."""

    # Line of a record, number of a game of another program; from 1.
    number: int
    match: Match
    exported: PlayedGame
    # None for files of other programs.
    game_record: record.Record | None = None

    @property
    def summary(self) -> str:
        """The place in the file, players, result with its reason, scores and number of turns."""
        result, match = self.match.result, self.match
        place = f"{'line' if self.game_record else 'game'} {self.number}"
        outcome = record.RESULTS.get(result.outcome if result else self.exported.outcome, "*")
        text = f"{place}: {' - '.join(map(escape_controls, self.exported.players))}  {outcome}"
        if reason := result.reason if result else self.exported.fault:
            text += f" ({reason})"
        if match.game.has_scores and match.score:
            text += ", scores {:g} - {:g}".format(*match.score)
        return f"{text}, {format_count(len(match.turns), 'turn')}"

    def to_file_text(self, to: Path, dialect: str | None) -> str:
        """Return the text of the game in the format of the suffix of `to`, in a dialect of it.

        Raises UnknownOption for an unknown suffix or dialect, BadRecord for a game that the format
        cannot express.
        """
        if to.suffix.lower() == RECORD_SUFFIX and dialect is None:
            return (self.game_record or record_foreign(self.match, self.exported)).to_json()
        return find_format(self.match.game, to, dialect).write(self.match.game, self.exported)

    def check_file_holds(self, to: Path, count: int) -> None:
        """Raise BadOption if the format of a file cannot hold `count` games."""
        if count < 2 or to.suffix.lower() == RECORD_SUFFIX:
            return
        if find_format(self.match.game, to).is_single:
            raise BadOption(f"{to}: a file of this kind holds one game; choose it by --line")


def _read_games(
    file: Path, game: str | None, option: list[str] | None, dialect: str | None
) -> Iterator[_ReplayedGame | BrokenGame]:
    """Return the games of a file of records, or of another program.

    Raises BadOption for options or a dialect of records, or if the game of the file is unknown.
    """
    name = game or _game_for_suffix(file)
    if game is not None and RECORD_SUFFIX in file.suffixes:
        game_module(game)
        import_allowlist.allow(game)
        name = None
    if name is not None:
        return _foreign_games(file, name, option, dialect)
    if option:
        raise BadOption("--option is for files of other programs; records contain their options")
    if dialect is not None:
        raise BadOption("--dialect is for files of other programs; records have none")
    return _recorded_games(file)


def _recorded_games(file: Path) -> Iterator[_ReplayedGame | BrokenGame]:
    for entry in replay_records(file):
        if isinstance(entry, BrokenGame):
            yield entry
        else:
            number, game_record, match = entry
            exported = export_match(match, game_record.players)
            yield _ReplayedGame(number, match, exported, game_record)


def _foreign_games(
    file: Path, name: str, option: list[str] | None, dialect: str | None
) -> Iterator[_ReplayedGame | BrokenGame]:
    """Yield the games of another program's file; their numbers count broken games, too."""
    usual_options = find_format(make_game(name), file).options
    game = make_game(name, **{**usual_options, **game_options(option, game=name)})
    for number, entry in enumerate(record.read_foreign(file, game, dialect), 1):
        if isinstance(entry, BrokenGame):
            yield entry
        else:
            exported, match = entry
            yield _ReplayedGame(number, match, exported)


def _game_for_suffix(file: Path) -> str | None:
    """Return the name of the game that has a format with the suffix of `file`, None without one.

    Raises BadOption if several games have one.
    """
    names = [name for name, entry in GAMES.items() if file.suffix.lower() in entry.formats]
    if len(names) > 1:
        raise BadOption(f"{file}: several games have this suffix; add --game {' or '.join(names)}")
    return names[0] if names else None


@app.command()
def check(
    file: Annotated[
        Path | None, Argument(**FILE, help="File of reference positions.", show_default=False)
    ] = None,
    game: Annotated[
        str | None,
        Option(
            "--game",
            "-g",
            help="The game; needed without a file, otherwise by default that of the file name.",
        ),
    ] = None,
    option: GameOptions = None,
) -> None:
    """Check the rules with reference positions or random games.

    Without a file, play random games of --game and check what every game must satisfy. The exit
    status is 1 if anything differs.
    """
    if file is None:
        if game is None:
            raise BadOption("nothing to check; expected: a file or --game NAME")
        is_correct = _check_conformance(make_game(game, **game_options(option, game=game)))
    elif option:
        raise BadOption(f"{file}: reference positions contain their options; omit --option")
    else:
        is_correct = _check_positions(file, game)
    if not is_correct:
        raise typer.Exit(1)


def _check_conformance(game: Game) -> bool:
    """Print the faults that random games find in a game; return whether there are none."""
    faults = list(conformance.check(game))
    for fault in faults:
        after = f", after {fault.action}" if fault.action else ""
        console.print(f"in '{fault.position}'{after}: {fault.message}")
    verdict = format_count(len(faults), "fault") if faults else "no faults"
    console.print(f"{conformance.GAMES} random games of {game.name}: {verdict}")
    return not faults


def _check_positions(file: Path, game: str | None) -> bool:
    """Print the reference positions that differ from the rules; return whether all agree."""
    total = differing = 0
    name = game or file.name.split(".")[0]
    if not file.exists():
        raise BadRecord(f"{file}: no such file")
    if game is None and name not in GAMES:
        raise BadOption(f"{file}: the file name has no game; add --game {' or '.join(GAMES)}")
    comparisons = reference_positions.compare(file, name)
    hides_progress = not console.shows_progress
    for comparison in track(comparisons, "comparing", console=console, disable=hides_progress):
        total += 1
        if comparison.differences:
            differing += 1
            position = f"line {comparison.line}: '{comparison.position}'"
            console.print(f"{position}: {format_list(comparison.differences)}")
    console.print(f"{total - differing:,} of {total:,} positions agree")
    return not differing


def _game_and_position(
    name: str, option: list[str] | None, position: str | None
) -> tuple[Game, Position]:
    """Return the game and the position that options of a command describe."""
    game = make_game(name, **game_options(option, game=name))
    return game, game.initial if position is None else game.from_text(position)


def _print_turns(match: Match) -> None:
    """Print the board at the start and after each turn."""
    start, *pictures = frames(match)
    console.print(str(start))
    for number, (last, picture) in enumerate(zip(match.history, pictures, strict=True), 1):
        text = match.game.readable_turn_text(*last).strip()
        console.print(f"\n{number}. {text}\n{picture}")


for _command in (
    dataset_commands.dataset,
    tablebase_commands.solve,
    tablebase_commands.book,
    rating_commands.ladder,
    puzzle_commands.puzzle,
    task_commands.tasks,
    *program_commands.COMMANDS,
):
    app.command()(_command)
app.command("rate")(rating_commands.rate_player)
app.command("solve-rate")(puzzle_commands.measure_solve_rate)
