"""The commands `puzzle` and `solve-rate` of `python -m cc_env`."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.table import Table
from typer import Argument, Context, Exit, Option

from cc_env.cli.arguments import FILE, GameName, GameOptions, Size, Workers, game_options
from cc_env.cli.forfeits import warn_of_forfeits
from cc_env.cli.task_commands import print_solved_tasks
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import (
    BadOption,
    BadRecord,
    UnknownOption,
    check_choice,
    check_integer,
    check_name,
    format_count,
    format_list,
)
from cc_env.games.factory import describe_game, describe_games, make_game
from cc_env.output import Terminal, make_number_table
from cc_env.play.puzzle_console import PuzzleConsole
from cc_env.play.terminal import line_reader
from cc_env.puzzles.judge import check_puzzle
from cc_env.puzzles.proof import check_proof
from cc_env.puzzles.puzzle import (
    PEOPLE,
    SHIPPED,
    SUFFIX,
    Puzzle,
    puzzle_path,
    read_puzzles,
    shipped_puzzles,
)
from cc_env.puzzles.solve_rate import SolveRate, solve_rate

_PEOPLE_FILES = f"*.{PEOPLE}{SUFFIX}"
console = Terminal()
PuzzleFile = Annotated[
    Path | None, Option(**FILE, help="File of puzzles.", show_default="the shipped ones")
]


def puzzle(
    number: Annotated[
        int | None,
        Argument(min=1, help="Number of the first puzzle.", show_default="a random one"),
    ] = None,
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    theme: Annotated[
        str | None, Option(help="Only puzzles with this theme.", show_default=False)
    ] = None,
    turns: Annotated[
        int | None, Option(min=1, help="Only puzzles of this number of turns.", show_default=False)
    ] = None,
    file: PuzzleFile = None,
    seed: Annotated[int | None, Option(min=0, help="Seed of the random order.")] = None,
) -> None:
    """Solve puzzles in the terminal: force a win or a capture."""
    game = make_game(game_name, **game_options(option, size, game_name))
    puzzles = _puzzles(game, file)
    if number is not None:
        check_integer("number", number, 1, len(puzzles))
    selected = _select(puzzles, theme, turns)
    if number is None:
        rng = np.random.default_rng(secrets.randbelow(2**31) if seed is None else seed)
        rng.shuffle(selected)
    elif number > (last := selected[-1].number):
        entry = puzzles[number - 1]
        facts = f"{format_count(entry.turns, 'turn')}, {format_list(entry.themes)}"
        raise BadOption(f"puzzle {number} has: {facts}; the last one with these options is {last}")
    else:
        selected = [entry for entry in selected if entry.number >= number]
    PuzzleConsole(game, selected, console, line_reader()).run()


def _select(puzzles: Sequence[Puzzle], theme: str | None, turns: int | None) -> list[Puzzle]:
    """Return the puzzles with a theme and a number of turns; raise BadOption if there are none."""
    if theme is not None:
        themes = {name for entry in puzzles for name in entry.themes}
        check_name("theme", theme, sorted(themes))
    selected = [entry for entry in puzzles if theme is None or theme in entry.themes]
    if turns is not None:
        check_choice("turns", turns, sorted({entry.turns for entry in selected}))
    return [entry for entry in selected if turns in (None, entry.turns)]


def measure_solve_rate(
    context: Context,
    player: Annotated[list[str], Argument(help="Player specs.", metavar="PLAYER")],
    game_name: GameName = "capture_conquer",
    size: Size = None,
    option: GameOptions = None,
    file: PuzzleFile = None,
    seed: Annotated[int, Option(min=0, help="Seed of the players.")] = 0,
    check: Annotated[
        bool, Option("--check", help="First check all proofs, solutions and numbers of turns.")
    ] = False,
    tasks: Annotated[
        Path | None,
        Option(
            **FILE,
            help="Measure the tasks of this file instead, as `tasks` makes it.",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 0,
) -> None:
    """Measure the share of puzzles or tasks that players solve.

    The exit status is 1 if a player forfeited all of them by errors, illegal actions or its time.
    """
    if tasks is not None:
        _check_unused(context)
        forfeits_all = [print_solved_tasks(spec, tasks, seed, workers) for spec in player]
    else:
        game = make_game(game_name, **game_options(option, size, game_name))
        puzzles = _puzzles(game, file, check=check)
        if check:
            _report_valid(puzzles)
        rates = {
            spec: solve_rate(spec, game, puzzles, seed=seed, workers=workers) for spec in player
        }
        forfeits_all = [_print_solve_rate(*entry) for entry in rates.items()]
    if any(forfeits_all):
        raise Exit(1)


def _check_unused(context: Context) -> None:
    """Raise BadOption if an option for puzzles is given with --tasks."""
    for name in ("game_name", "size", "option", "file", "check"):
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            flag = f"--{name.removesuffix('_name')}"
            raise BadOption(f"{flag} with --tasks; expected: only for puzzles")


def _print_solve_rate(player: str, rate: SolveRate) -> bool:
    """Print the results of a player; return whether it forfeits all puzzles."""
    table = make_number_table(player, "puzzles", "solved", "95 %")
    _add_row(table, "all", rate)
    groups: dict[str, Mapping[int, SolveRate] | Mapping[str, SolveRate]] = {
        "turns": rate.by_turns,
        "failing levels": rate.by_difficulty,
        "theme": rate.by_theme,
    }
    for name, parts in groups.items():
        for key, part in parts.items():
            _add_row(table, f"{name} {key}", part)
    console.print_table(table)
    return warn_of_forfeits(player, rate.faults, len(rate.results), "puzzle")


def _report_valid(puzzles: Sequence[Puzzle]) -> None:
    """Print that checked puzzles are valid; raise BadRecord if a position occurs twice."""
    numbers: dict[Position, int] = {}
    for entry in puzzles:
        first = numbers.setdefault(entry.position, entry.number)
        if first != entry.number:
            raise BadRecord(f"puzzle {entry.number}: the position is that of {first}")
    console.print(f"all {len(puzzles)} proofs are valid")


def _add_row(table: Table, name: str, rate: SolveRate) -> None:
    share, low, high = (100 * part for part in rate.share)
    table.add_row(name, f"{len(rate.results)}", f"{share:.0f} %", f"{low:.0f} to {high:.0f} %")


def _puzzles(game: Game, file: Path | None, *, check: bool = False) -> list[Puzzle]:
    """Return the puzzles of a file, by default the shipped ones.

    The proofs of a file are checked; with `check` also the shipped ones, and whether solutions and
    numbers of turns are right. Raises UnknownOption if the game has no puzzles, BadRecord, with the
    line, for an invalid file.
    """
    path = file or puzzle_path(SHIPPED, game, PEOPLE)
    if file is None and not path.exists():
        games = describe_games(path.name.split(".")[0] for path in SHIPPED.glob(_PEOPLE_FILES))
        raise UnknownOption(
            f"there are no puzzles of {describe_game(game)}; there are puzzles of: {games}"
        )
    if file is None and not check:
        return shipped_puzzles(game)
    puzzles = read_puzzles(path, game, check_puzzle if check else check_proof)
    if not puzzles:
        raise BadRecord(f"{path}: there are no puzzles")
    return puzzles
