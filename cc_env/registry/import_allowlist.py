"""Allow-list of external games and players that files may import, and programs they may start.

Names from the calling code or the command line are trusted. Names in a file, such as a record or
the config of a run, are untrusted: they import and start nothing unless this process received the
same name before from code, the command line or `allow`. Servers of language models, which receive
a key, are treated like programs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType

from cc_env.errors import BadPlayer

# Games (MODULE) and players (MODULE.NAME).
_allowed_names: set[str] = set()
# Commands of programs, and addresses of servers.
_allowed_programs: set[str] = set()
_allowed_servers: set[str] = set()
_in_file: ContextVar[bool] = ContextVar("_in_file", default=False)


def allow(name: str) -> None:
    """Trust this game, MODULE, or player, MODULE.NAME, in files from now on in this process."""
    _allowed_names.add(name)


@contextmanager
def untrusted_names() -> Iterator[None]:
    """Treat names as coming from a file while the block runs in this thread: import no new ones."""
    token = _in_file.set(True)
    try:
        yield
    finally:
        _in_file.reset(token)


def import_if_allowed(module: str, name: str) -> ModuleType:
    """Import and return the module of the game or player `name`.

    Raises ImportError if there is no such module, or if the name comes from a file and is not
    trusted.
    """
    if _in_file.get() and name not in _allowed_names:
        raise ImportError(
            "a file names it, and importing it runs its code; if you trust it, also give the name "
            "on the command line, or call cc_env.registry.import_allowlist.allow"
        )
    if not all(part.isidentifier() for part in module.split(".")):
        raise ImportError(
            f"{module!r} is not the name of a module; expected: identifiers joined by dots"
        )
    return import_module(module)


def check_program(command: str) -> None:
    """Trust this program in files from now on; raise BadPlayer if only a file names it."""
    _check("program", command, _allowed_programs)


def check_server(url: str) -> None:
    """Trust this server in files from now on; raise BadPlayer if only a file names it."""
    _check("server", url, _allowed_servers)


def _check(kind: str, name: str, allowed: set[str]) -> None:
    if _in_file.get() and name not in allowed:
        raise BadPlayer(
            f"a file names the {kind} {name!r}; if you trust it, also name it on the command line"
        )
    allowed.add(name)
