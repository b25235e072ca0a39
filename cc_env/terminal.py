"""How the commands print: names stay whole, lines have no blanks at their ends.

What goes into a file or a pipe is as wide as it must be: none of its lines is broken.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import measure_renderables
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

UNBOUNDED = 10_000  # columns
GAP = 2  # blanks between the columns of a table, and before the lines below a name


def application(**settings: Any) -> typer.Typer:
    """Return an empty command line; help and usage errors are plain text where nobody watches."""
    watched = sys.stdout.isatty() and sys.stderr.isatty()
    defaults = {"add_completion": False, "rich_markup_mode": "rich" if watched else None}
    return typer.Typer(pretty_exceptions_enable=False, **{**defaults, **settings})


def table_of_numbers(name: str, *numbers: str) -> Table:
    """Return an empty table: names, which stay whole, then columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(name, no_wrap=True)
    for each in numbers:
        table.add_column(each, justify="right", no_wrap=True)
    return table


class Terminal(Console):
    """Prints texts as they are, without markup, and tables."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, soft_wrap=True)

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees what is printed at once, so that progress is worth showing."""
        return self.is_terminal and not self.is_jupyter

    def show(self, table: Table) -> None:
        """Print a table; the names of one that is too wide stand above what belongs to them."""
        bounded = self.is_terminal or self.is_jupyter or "COLUMNS" in os.environ
        options = self.options.update(width=self.width if bounded else UNBOUNDED)
        least = sum(self._least(each) + GAP for each in table.columns) - GAP
        if least <= options.max_width:
            self._print_lines(table, options)
            return
        for name, others in self._stacked(table):
            self.print(name)
            self._print_lines(others, options)

    def _print_lines(self, renderable: RenderableType, options: ConsoleOptions) -> None:
        for line in self.render_lines(renderable, options, pad=False):
            text = Text.assemble(*((each.text, each.style or "") for each in line))
            text.rstrip()
            self.print(text)

    def _least(self, column: Column) -> int:
        """Return the least width in which a column can be read."""
        wide = self.options.update(width=UNBOUNDED)
        found = measure_renderables(self, wide, [column.header, *column.cells])
        return max(column.min_width or 0, found.maximum if column.no_wrap else found.minimum)

    def _stacked(self, table: Table) -> Iterator[tuple[RenderableType, RenderableType]]:
        """Yield the rows of a table: the name, and what stands below it."""
        rows = zip(*([each.header, *each.cells] for each in table.columns), strict=True)
        styles = [table.header_style, *(each.style or "" for each in table.rows)]
        for style, (name, *cells) in zip(styles, rows, strict=True):
            line = Table(box=None, pad_edge=False, show_header=False)
            for each in table.columns[1:]:
                width = self._least(each) if each.no_wrap else None
                line.add_column(justify=each.justify, no_wrap=each.no_wrap, min_width=width)
            line.add_row(*cells, style=style)
            title = Text(name, style) if isinstance(name, str) else name
            yield title, Padding(line, (0, 0, 0, GAP))
