"""Printing by the commands: names are not wrapped, lines have no trailing blanks.

Control characters in texts are escaped, so untrusted texts cannot control the terminal.

Output to a file or a pipe is as wide as necessary: no line is wrapped.
"""

import os
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import measure_renderables
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from cc_env.errors import escape_lines

UNBOUNDED_WIDTH = 10_000  # columns
GAP = 2  # blanks between columns, and before the indented lines of a stacked table


def make_number_table(name: str, *headings: str) -> Table:
    """Return an empty table: a column of names, which are not wrapped, then columns of numbers.

    `name` is the heading of the names, `headings` are those of the numbers.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(name, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


class Terminal(Console):
    """Prints tables, and texts literally: no markup or emoji, control characters escaped."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=True)

    @property
    def shows_progress(self) -> bool:
        """Whether the output goes to a terminal, so that progress is worth showing."""
        return self.is_terminal and not self.is_jupyter

    def render_str(self, text: str, **settings: Any) -> Text:
        """Return a text with its control characters escaped; rich calls this for all texts."""
        return super().render_str(escape_lines(text), **settings)

    def print_table(self, table: Table) -> None:
        """Print a table; if it is too wide, print each name on a line of its own above its row."""
        is_bounded = self.is_terminal or self.is_jupyter or "COLUMNS" in os.environ
        options = self.options.update(width=self.width if is_bounded else UNBOUNDED_WIDTH)
        table_width = sum(self._min_width(column) + GAP for column in table.columns) - GAP
        if table_width <= options.max_width:
            self._print_lines(table, options)
            return
        for name, row in self._stacked_rows(table):
            self.print(name)
            self._print_lines(row, options)

    def _print_lines(self, renderable: RenderableType, options: ConsoleOptions) -> None:
        for line in self.render_lines(renderable, options, pad=False):
            text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
            text.rstrip()
            self.print(text)

    def _min_width(self, column: Column) -> int:
        """Return the smallest width at which a column is readable."""
        options = self.options.update(width=UNBOUNDED_WIDTH)
        width = measure_renderables(self, options, [column.header, *column.cells])
        return max(column.min_width or 0, width.maximum if column.no_wrap else width.minimum)

    def _stacked_rows(self, table: Table) -> Iterator[tuple[RenderableType, RenderableType]]:
        """Yield the rows of a table as (name, the other cells below it)."""
        rows = zip(*([column.header, *column.cells] for column in table.columns), strict=True)
        styles = [table.header_style, *(row.style or "" for row in table.rows)]
        for style, (name, *cells) in zip(styles, rows, strict=True):
            line = Table(box=None, pad_edge=False, show_header=False)
            for column in table.columns[1:]:
                width = self._min_width(column) if column.no_wrap else None
                line.add_column(justify=column.justify, no_wrap=column.no_wrap, min_width=width)
            line.add_row(*cells, style=style)
            title = self.render_str(name, style=style) if isinstance(name, str) else name
            yield title, Padding(line, (0, 0, 0, GAP))
