"""What can be wrong with what came in: every error says what came, where, and what would do."""

import math
from collections.abc import Iterable

import numpy as np


class CcEnvError(ValueError):
    """Base of all errors that bad input can raise here; what they say can be shown and written."""

    def __str__(self) -> str:
        said = super().__str__()  # with what came, lone surrogates and all
        return said.encode(errors="backslashreplace").decode()


class UnknownOption(CcEnvError):
    """A game, an option, a seat, an opponent or a mode that does not exist."""


class UnknownKeyword(UnknownOption, TypeError):
    """A keyword argument that an environment does not have, which Python calls a TypeError."""


class BadPosition(CcEnvError):
    """A position text that cannot be read, or a position that cannot be."""


class BadGame(CcEnvError):
    """A game whose facts do not fit together, found when it is made."""


class IllegalAction(CcEnvError):
    """An action or a turn that the rules do not allow in the position at hand."""


class Forfeit(CcEnvError):
    """A player has lost by a fault: one of `cc_env.match.FAULTS`."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class BadRecord(CcEnvError):
    """A record or a recorded position that is broken, or that the rules contradict."""


class BadCheckpoint(CcEnvError):
    """Saved weights or a saved run that is broken, or of another game, size or version."""


class BadFolder(CcEnvError):
    """A folder that holds another run or tournament, or not the one that it should hold."""


class FolderInUse(BadFolder):
    """A folder of a run or a tournament in which another process works."""


class Diverged(CcEnvError):
    """Training whose numbers are no longer finite, by settings that are too bold."""


class EpisodeOver(CcEnvError):
    """A step in an episode that is over: `reset` comes first."""


class MissingExtra(ImportError):
    """A package that only an extra of the installation brings."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'cc_env[{extra}]'")


def is_whole(value: object, least: int, most: int = 2**31 - 1) -> bool:
    """Return whether the value is an integer, Python's or NumPy's, of `least` to `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(least <= value <= most)  # type: ignore[operator]


def is_number(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Return whether the value is a finite number, Python's or NumPy's, of `least` to `most`."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and bool(least <= value <= most)
    except OverflowError:  # an integer that no float is as great as
        return False


def listed(items: Iterable[object], limit: int = 12) -> str:
    """Return the items separated by commas, cut after `limit` of them."""
    texts = [str(item) for item in items]
    more = f", … ({len(texts)} in all)" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def quantity(count: int, name: str) -> str:
    """Return so many of what has this name: 1 turn, 2 turns."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
