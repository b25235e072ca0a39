"""The commands `solve` and `book` of `python -m cc_env`."""

import time
from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from typer import Argument, Option

from cc_env.cli.arguments import FOLDER, GameOptions, TablesFolder, game_options
from cc_env.core.game import Game
from cc_env.errors import BadOption, format_count
from cc_env.files import delete_abandoned
from cc_env.games.factory import make_game
from cc_env.jit.threads import available_cores
from cc_env.output import Terminal
from cc_env.solver import solver
from cc_env.solver.book import MAX_TURNS, make_book
from cc_env.solver.cross_check import DEFAULT_DEPTH, ComparisonCounts, cross_check
from cc_env.solver.solver import Progress, Solver, Step, check_space, estimate_seconds
from cc_env.space import available_memory, format_bytes
from cc_env.tablebase.book import book_path, book_start, write_book
from cc_env.tablebase.table_file import SUFFIX, TableHeader
from cc_env.tablebase.tablebase import DEFAULT_CACHE_MEGABYTES, SHIPPED, Tablebase
from cc_env.tablebase.values import VALUE_NAMES

# Interval of progress lines if the output is not a terminal.
PROGRESS_INTERVAL_SECONDS = 60.0

console = Terminal()


def solve(
    game: Annotated[str, Argument(help="The game; `games` lists them.", show_default=False)],
    pieces: Annotated[
        str,
        Option(
            help="Maximum number of pieces: N in all, or by side, as in 3v3; fewer come first.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, Option(**FOLDER, help="The folder of the tables.")] = Path("runs/tables"),
    option: GameOptions = None,
    threads: Annotated[
        int | None, Option(min=1, max=1024, help="Threads; default: one per core.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only print size, memory and time.")] = False,
    check_: Annotated[
        int,
        Option(
            "--check",
            metavar="N",
            min=0,
            help="At the end, compare N random positions of each table with alpha-beta.",
        ),
    ] = 0,
    check_depth: Annotated[
        int, Option(metavar="TURNS", min=1, help="Search depth of that alpha-beta.")
    ] = DEFAULT_DEPTH,
    verify: Annotated[bool, Option("--verify", help="Also verify existing tables.")] = False,
) -> None:
    """Solve a game with few pieces: verified tables of exact values.

    There is one table per material. Size, memory and time are printed first. An interrupted run
    resumes when the command is repeated. Several runs can write to one folder.
    """
    solved_game = make_game(game, **game_options(option, game=game))
    steps = solver.plan(solved_game, out, pieces)
    remaining = [step for step in steps if not step.is_done]
    if len(remaining) < len(steps):
        console.print(f"existing tables: {len(steps) - len(remaining)} of {len(steps)}")
    if remaining:
        console.print(
            _describe_plan(
                remaining, estimate_seconds(solved_game, remaining), threads or available_cores()
            )
        )
    if dry_run:
        return
    check_space(steps if verify else remaining, out)
    out.mkdir(parents=True, exist_ok=True)
    delete_abandoned(out, f"*{SUFFIX}*.half")
    try:
        for step in steps:
            if verify or not step.is_done:
                work = Solver(solved_game, step, threads=threads)
                console.print(_describe_table(step, _run(work, step)))
    except KeyboardInterrupt:
        console.print("interrupted; the same command resumes")
        raise
    if check_:
        console.print(_check(_open_tables(solved_game, out), check_, check_depth, threads))


def book(
    game: Annotated[str, Argument(help="The game; `games` lists them.", show_default=False)],
    turns: Annotated[
        int, Option(min=1, max=MAX_TURNS, help="Number of turns.", show_default=False)
    ],
    out: Annotated[Path, Option(**FOLDER, help="The folder of the book.", show_default=False)],
    tables: TablesFolder = None,
    option: GameOptions = None,
) -> None:
    """Write a book of exact values of a game's first turns.

    A book has the positions after at most `turns` turns of a game, unless both players gave value
    away before the last of them.
    """
    solved_game = make_game(game, **game_options(option, game=game))
    path, start = book_path(out, solved_game), solved_game.to_text(solved_game.initial)
    if path.exists() and (other := book_start(path)) != start:
        raise BadOption(f"{path} is the book of another start, '{other}'; choose another folder")
    solved = _open_tables(solved_game, tables or SHIPPED)
    value = VALUE_NAMES[solved.probe(solved_game.initial).value]
    # A folder that cannot be created is an error before the work.
    out.mkdir(parents=True, exist_ok=True)

    def report(turn: int, size: int) -> None:
        console.print(f"{format_count(turn, 'turn')}: {format_count(size, 'position')}")

    header, made = make_book(solved, turns, report)
    write_book(path, header, made)
    size = f"{header.positions:,} without symmetric ones, {format_bytes(path.stat().st_size)}"
    console.print(f"{path}: {size}; the start is {value}")


def _open_tables(game: Game, folder: Path) -> Tablebase:
    """Return tables of which as much stays in memory as half of what is available."""
    half = (available_memory() or 0) >> 21
    return Tablebase(game, folder, cache_megabytes=max(half, DEFAULT_CACHE_MEGABYTES))


def _check(tables: Tablebase, count: int, depth: int, threads: int | None) -> str:
    """Compare positions with alpha-beta, showing progress; return a summary."""
    compared = ComparisonCounts()
    with _ProgressBar() as bar:
        total = sum(min(count, size) for size in tables.sizes)
        task = bar.add_task("alpha-beta", total=total)
        for compared in cross_check(tables, count, depth=depth, threads=threads):
            bar.update(task, completed=compared.positions)
            bar.print_line(f"alpha-beta, {compared.positions:,} of at most {total:,} positions")
    return (
        f"{compared.positions:,} positions compared with alpha-beta: "
        f"{compared.proven:,} values proven, no differences"
    )


def _describe_plan(steps: list[Step], seconds: tuple[float, float], cores: int) -> str:
    """Return a summary of the work; `seconds` is (minimum, maximum) on one core."""
    numbers = sum(step.numbers for step in steps)
    positions = sum(step.positions for step in steps)
    memory = max(step.memory for step in steps)
    return (
        f"{format_count(len(steps), 'table')}, {steps[0].label} to {steps[-1].label}: "
        f"{positions:,} positions, {numbers:,} without symmetric ones; "
        f"{format_bytes(memory)} of memory, "
        f"at most {format_bytes(solver.required_disk(steps))} on disk, "
        f"{_format_duration(seconds[0] / cores)} to {_format_duration(seconds[1] / cores)} "
        f"on {format_count(cores, 'core')}"
    )


def _format_duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    if seconds < 90:
        return format_count(max(1, round(seconds)), "second")
    if seconds < 5400:
        return format_count(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


def _describe_table(step: Step, header: TableHeader) -> str:
    """Return a summary of a complete table, for each side to move."""
    size = format_bytes(step.path.stat().st_size)
    lines = [f"{step.label}: verified, {header.seconds:.1f} s of CPU, {size}"]
    for view, label in zip(header.views, _labels(step.label), strict=False):
        counts = f"{view.won:,} won, {view.drawn:,} drawn, {view.lost:,} lost"
        text = f"  {label}, first side to move: {counts}"
        if view.turns:
            text += f"; at most {format_count(view.turns, 'turn')}, in '{view.longest}'"
        lines.append(text)
    return "\n".join(lines)


def _labels(label: str) -> list[str]:
    """Return the labels of a material for either side to move."""
    return [label, "v".join(reversed(label.split("v")))]


class _ProgressBar(Bar):
    """A progress bar; occasional lines instead if the output is not a terminal."""

    def __init__(self) -> None:
        columns = TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn()
        super().__init__(*columns, TimeElapsedColumn(), console=console, transient=True)
        self.disable, self._printed_at = not console.shows_progress, time.monotonic()

    def print_line(self, text: str) -> None:
        """Print a text unless the bar is shown or the last text is recent."""
        if self.disable and time.monotonic() - self._printed_at >= PROGRESS_INTERVAL_SECONDS:
            self._printed_at = time.monotonic()
            console.print(text)


def _run(work: Solver, step: Step) -> TableHeader:
    """Solve a step, or verify its table, showing progress; return the header of the table."""
    with _ProgressBar() as bar:
        task = bar.add_task(step.label, total=1)

        def show_progress(progress: Progress) -> None:
            rate = progress.done / max(progress.seconds, 1e-9)
            text = f"{progress.label}, {progress.stage}, {rate / 1e6:.1f} M/s"
            bar.update(task, description=text, completed=progress.done, total=progress.total)
            bar.print_line(f"{text}, {progress.done / progress.total:.0%}")

        work.report = show_progress
        return work.verify() if step.is_done else work.solve()
