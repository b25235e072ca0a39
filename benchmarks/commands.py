"""The command of `python -m benchmarks`."""

import platform
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import by_hand, learning, ours, peers
from benchmarks.measure import RUNS, Row, Task, measure_row
from cc_env.cli.application import create_app
from cc_env.errors import is_number
from cc_env.jit.processor import describe_processor
from cc_env.output import Terminal

app = create_app()

HEAD = ("what", "who", "rate", "unit", "note")


@app.command()
def table(
    seconds: Annotated[float, typer.Option("--seconds", "-s", help="Length of a run.")] = 1.5,
    only: Annotated[
        str, typer.Option("--only", "-k", metavar="PATTERN", help="Regular expression for rows.")
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table for GitHub.")] = False,
) -> None:
    """Measure our environments and the alternatives to them, side by side."""
    if not is_number(seconds, 0):
        raise typer.BadParameter(f"{seconds:g}; it is 0 or more", param_hint="--seconds")
    pattern = _compile(only)
    all_tasks = *ours.tasks(), *by_hand.tasks(), *learning.tasks(), *peers.tasks()
    tasks = [
        task for task in all_tasks if pattern.search(f"{task.package} {task.label} {task.note}")
    ]
    if not tasks:
        raise typer.BadParameter(f"no row has {only!r} in its names", param_hint="--only")
    rows = list(measure_tasks(tasks, seconds))
    if markdown:
        typer.echo("\n".join(in_markdown(rows, seconds)))
    else:
        _print(rows, seconds)


def measure_tasks(tasks: list[Task], seconds: float) -> Iterator[Row]:
    """Measure the tasks; yield their rows. Progress goes to stderr."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(tasks))
        for task in tasks:
            progress.update(bar, description=f"{task.package}: {task.label}")
            yield measure_row(task, seconds)
            progress.advance(bar)


def in_markdown(rows: Iterable[Row], seconds: float) -> Iterator[str]:
    """Yield the lines of a GitHub table, and the conditions."""
    yield "| " + " | ".join(HEAD) + " |"
    yield "| --- | --- | ---: | --- | --- |"
    for measurement in rows:
        cells = (cell.replace("|", "\\|") for cell in _cells(measurement))
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield conditions(seconds)


def conditions(seconds: float) -> str:
    """Return one line: processor, Python and method of the measurement."""
    how = f"one process on one core, medians of {RUNS} runs of {seconds:g} s"
    return f"{describe_processor()}, Python {platform.python_version()}; {how}."


def _print(rows: Iterable[Row], seconds: float) -> None:
    """Print the rows as a table in the terminal, and the conditions."""
    terminal, view = Terminal(), Table(*HEAD, box=None, pad_edge=False, header_style="dim")
    for column in view.columns:
        column.no_wrap = column.header != "note"
    view.columns[HEAD.index("rate")].justify = "right"
    view.columns[HEAD.index("note")].min_width = 30
    for measurement in rows:
        view.add_row(*_cells(measurement))
    terminal.print_table(view)
    terminal.print(f"\n{conditions(seconds)}")


def _compile(text: str) -> re.Pattern[str]:
    """Return the regular expression; raise BadParameter if it is not one."""
    try:
        # Patterns whose meaning may change in a later Python.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint="--only") from None


def _cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row of the table as text."""
    value = "–" if row.value is None else _format_rate(row.value)
    return row.label, row.program, value, row.unit, row.note


def _format_rate(value: float) -> str:
    """Format a rate with three significant digits, at most two decimals, and the suffix M or k."""
    # Values that three digits would round up to the next power of ten get its format.
    scale, suffix = (1e6, " M") if value >= 999_500 else (1e3, " k") if value >= 999.5 else (1, "")
    scaled = value / scale
    decimals = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{decimals}f}{suffix}"
