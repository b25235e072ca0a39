"""Creates and runs command lines: exit status, one-line errors, escaped control characters."""

import sys
from io import TextIOWrapper
from typing import Any

import typer

from cc_env.errors import CcEnvError, MissingExtra, escape_controls


def create_app(**settings: Any) -> typer.Typer:
    """Return a command line without commands; its help is plain text unless on a terminal."""
    is_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    defaults = {"add_completion": False, "rich_markup_mode": "rich" if is_terminal else None}
    return typer.Typer(pretty_exceptions_enable=False, **{**defaults, **settings})


def run(commands: typer.Typer) -> int:
    """Run a command line; return the exit status: 0, or 2 after an error message for bad input."""
    for stream in (sys.stdout, sys.stderr):
        # Names may contain characters that the stream cannot encode.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # `cc_env.__main__` sets the program name to "cc_env COMMAND" for modules of other packages.
    program = sys.argv[0] if " " in sys.argv[0] else None
    try:
        commands(prog_name=program)
        return 0
    except (CcEnvError, MissingExtra, OSError) as error:
        message = str(error)
    except MemoryError as error:
        message = f"not enough memory: {error}" if str(error) else "not enough memory"
    print(f"error: {escape_controls(message)}", file=sys.stderr)
    return 2
