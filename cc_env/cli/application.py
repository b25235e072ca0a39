"""Running a command line: exit status, one line for bad input, escaped control characters."""

import sys
from io import TextIOWrapper
from typing import Any

import typer

from cc_env.errors import CcEnvError, MissingExtra, escape_controls


def create_app(**settings: Any) -> typer.Typer:
    """Return an empty command line; without a terminal, help and usage errors are plain text."""
    watched = sys.stdout.isatty() and sys.stderr.isatty()
    defaults = {"add_completion": False, "rich_markup_mode": "rich" if watched else None}
    return typer.Typer(pretty_exceptions_enable=False, **{**defaults, **settings})


def run(commands: typer.Typer) -> int:
    """Run a command line; return the exit status: 0, or 2 after an error message for bad input."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names may hold characters that it cannot encode
            stream.reconfigure(errors="backslashreplace")
    program = sys.argv[0] if " " in sys.argv[0] else None  # a module that runs as cc_env WORD
    try:
        commands(prog_name=program)
    except (CcEnvError, MissingExtra, OSError) as error:
        print(f"error: {escape_controls(str(error))}", file=sys.stderr)
        return 2
    except MemoryError as error:
        needed = f": {error}" if str(error) else ""
        print(f"error: there is not enough memory for this{needed}", file=sys.stderr)
        return 2
    return 0
