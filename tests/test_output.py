"""Tables in a wide terminal, in a narrow one, and in a pipe; untrusted texts."""

import errno
import io

import pytest
from rich.text import Text

from cc_env.cli.application import create_app, run
from cc_env.errors import BadRecord, escape_controls, escape_lines
from cc_env.output import Terminal, make_number_table

NAMES = "minimax:depth=3,evaluation=published – mcts:simulations=400", "[random]"


def print_table(monkeypatch, columns):
    """Return the lines of a table printed at a width; None: in a pipe."""
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    table = make_number_table("pair", "score", "95 %")
    for name in NAMES:
        table.add_row(Text(name), "50.0 %", "40.0 – 60.0 %")
    terminal = Terminal()
    terminal.file = io.StringIO()
    terminal.print_table(table)
    return terminal.file.getvalue().splitlines()


@pytest.mark.parametrize("columns", [40, 80, 120, None])
def test_names_are_not_wrapped_and_lines_have_no_trailing_blanks(monkeypatch, columns):
    lines = print_table(monkeypatch, columns)
    assert all(line == line.rstrip() for line in lines)
    for name in NAMES:
        assert sum(line.startswith(name) for line in lines) == 1


def test_table_is_stacked_on_a_narrow_terminal(monkeypatch):
    wide, narrow = print_table(monkeypatch, 120), print_table(monkeypatch, 60)
    assert len(wide) == 3
    assert wide[1].endswith("50.0 %  40.0 – 60.0 %")
    assert narrow == [
        "pair", "   score           95 %",
        NAMES[0], "  50.0 %  40.0 – 60.0 %",
        NAMES[1], "  50.0 %  40.0 – 60.0 %",
    ]  # fmt: skip


def test_lines_are_printed_literally(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    terminal.file = io.StringIO()
    terminal.print("a [bold]line[/bold] of more than twenty characters")
    assert terminal.file.getvalue() == "a [bold]line[/bold] of more than twenty characters\n"


CONTROLS = "\x1b[2J", "\x9b2J", "\u202e", "\x07", "\r", "\x7f", "\u2028", "\u2066", "\x85", "\ud800"


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("columns", [15, 200])
def test_control_characters_are_printed_as_escapes(monkeypatch, control, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    terminal.file = io.StringIO()
    table = make_number_table("name", "value")
    table.add_row(f"a{control}b", f"c{control}d")
    terminal.print_table(table)
    terminal.print(f"a{control}b", Text("line\nline"))
    out = terminal.file.getvalue()
    assert not any(letter in out for letter in control if not letter.isprintable())
    escaped = escape_controls(control)
    assert escaped.isascii()
    assert out.count(f"a{escaped}b") == 2
    assert f"c{escaped}d" in out
    assert "line\nline" in out


def test_other_characters_are_unchanged():
    text = "Łódź 日本\u3000\xa0ab\u200d½ \\x1b"
    assert escape_controls(text) == text
    assert escape_lines("a\tb\nc") == "a\\tb\nc"


@pytest.mark.parametrize("control", CONTROLS)
def test_errors_quote_input_with_its_control_characters_escaped(control):
    error = BadRecord(f"'a{control}b' is not a move\nnor a result")
    message = str(error)
    assert message == rf"'a{escape_controls(control)}b' is not a move\nnor a result"
    assert message.isprintable()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "a\x1bb"), "a\\x1bb: No such file"),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300),
            f"{'x' * 200}…: File name too long",
        ),
        (OSError(errno.ENOSPC, "No space left"), "No space left"),
        (OSError(errno.EBADF, "Bad file", 5), "Bad file"),
        (OSError(errno.EACCES, "Denied", b"b"), "b: Denied"),
        (OSError("cannot connect to x:1"), "cannot connect to x:1"),
    ],
)
def test_system_errors_are_the_file_and_the_reason(capsys, error, message):
    commands = create_app()

    @commands.command()
    def fail() -> None:
        raise error

    assert run(commands, "command", []) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_words_in_colons_and_brackets_are_printed_literally(capsys):
    table = make_number_table(":smile:", "[b]n[/b]")
    table.add_row("[red]:heart:", ":100:")
    terminal = Terminal()
    terminal.print(":smile: [bold]x[/bold]")
    terminal.print_table(table)
    assert capsys.readouterr().out.split() == [
        ":smile:", "[bold]x[/bold]", ":smile:", "[b]n[/b]", "[red]:heart:", ":100:",
    ]  # fmt: skip


@pytest.mark.parametrize("error", [BadRecord("'\x1b[2J'"), OSError("\x9b"), MemoryError()])
def test_error_messages_are_one_line_without_control_characters(monkeypatch, capsys, error):
    monkeypatch.setattr("sys.argv", ["command"])
    commands = create_app()

    @commands.command()
    def fail() -> None:
        raise error

    assert run(commands) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert not line.endswith((":", " "))
