"""Tables in a wide terminal, in a narrow one, and in a pipe."""

import io

import pytest
from rich.text import Text

from cc_env.terminal import Terminal, table_of_numbers

NAMES = "minimax:depth=3,evaluation=published – mcts:simulations=400", "[random]"


def shown(monkeypatch, columns):
    """Return the lines of a table printed at a width; None: in a pipe."""
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    table = table_of_numbers("pair", "score", "95 %")
    for name in NAMES:
        table.add_row(Text(name), "50.0 %", "40.0 – 60.0 %")
    terminal = Terminal()
    terminal.file = io.StringIO()
    terminal.show(table)
    return terminal.file.getvalue().splitlines()


@pytest.mark.parametrize("columns", [40, 80, 120, None])
def test_names_are_whole_and_no_line_ends_with_blanks(monkeypatch, columns):
    lines = shown(monkeypatch, columns)
    assert all(line == line.rstrip() for line in lines)
    for name in NAMES:
        assert sum(line.startswith(name) for line in lines) == 1


def test_a_table_that_is_too_wide_is_stacked(monkeypatch):
    wide, narrow = shown(monkeypatch, 120), shown(monkeypatch, 60)
    assert len(wide) == 3
    assert wide[1].endswith("50.0 %  40.0 – 60.0 %")
    assert narrow == [
        "pair", "   score           95 %",
        NAMES[0], "  50.0 %  40.0 – 60.0 %",
        NAMES[1], "  50.0 %  40.0 – 60.0 %",
    ]  # fmt: skip


def test_lines_are_not_wrapped_nor_read_as_markup(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    terminal.file = io.StringIO()
    terminal.print("a [bold]line[/bold] of more than twenty characters")
    assert terminal.file.getvalue() == "a [bold]line[/bold] of more than twenty characters\n"
