"""Creates and runs command lines: exit status, one-line errors, escaped control characters."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

import typer

from cc_env.errors import CcEnvError, describe_os_error, escape_controls


def create_app(**settings: Any) -> typer.Typer:
    """Return a command line without commands; its help is plain text unless on a terminal."""
    is_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    defaults = {"add_completion": False, "rich_markup_mode": "rich" if is_terminal else None}
    return typer.Typer(pretty_exceptions_enable=False, **{**defaults, **settings})


def run(
    commands: typer.Typer, program: str | None = None, arguments: Sequence[str] | None = None
) -> int:
    """Run a command line; return the exit status: 0, or 2 after an error message for bad input.

    `program` is its name in usage messages; by default, it and the arguments are those of this
    process. The arguments are the `obj` of the command's context.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # Names may contain characters that the stream cannot encode.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        commands(args=arguments, prog_name=program, obj=arguments)
        return 0
    except CcEnvError as error:
        message = str(error)
    except OSError as error:
        message = describe_os_error(error)
    except MemoryError as error:
        message = f"not enough memory: {error}" if str(error) else "not enough memory"
    print(f"error: {escape_controls(message)}", file=sys.stderr)
    return 2
