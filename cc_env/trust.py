"""Which games and players of somebody else's may be imported, and which programs started.

A name that was typed, or stands in the code that runs, may: whoever gives it can run code anyway.
A name in a file, such as a record or the config of a run, is a stranger's: it imports and starts
nothing, unless code, the command line or `allow` gave this process the same name before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType

from cc_env.errors import UnknownOption

_allowed: set[str] = set()  # games, MODULE, and players, MODULE.NAME
_programs: set[str] = set()  # their commands
_in_file: ContextVar[bool] = ContextVar("_in_file", default=False)


def allow(name: str) -> None:
    """Let files name this game, MODULE, or player, MODULE.NAME, for as long as the process runs."""
    _allowed.add(name)


@contextmanager
def names_from_file() -> Iterator[None]:
    """Refuse to import what was not allowed before, as long as the block runs in this thread."""
    token = _in_file.set(True)
    try:
        yield
    finally:
        _in_file.reset(token)


def load(module: str, name: str) -> ModuleType:
    """Return the module of the game or player `name`, imported.

    Raises ImportError where there is no such module, or only a file gives the name.
    """
    if _in_file.get() and name not in _allowed:
        raise ImportError(
            "a file names it, and to import it runs its code; if you trust that, give the name on "
            "the command line too, or to cc_env.trust.allow"
        )
    if not all(part.isidentifier() for part in module.split(".")):
        raise ImportError(f"{module!r} is not the name of a module")
    return import_module(module)


def check_program(command: str) -> None:
    """Let files name this program too; raise UnknownOption where only a file does."""
    if _in_file.get() and command not in _programs:
        raise UnknownOption(
            f"a file names the program {command!r}, and to start it runs it; if you trust that,"
            " give its name on the command line too"
        )
    _programs.add(command)
