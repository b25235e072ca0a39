"""Errors of bad input: the message says what was given, where, and what would be valid."""

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import numpy as np

SIMILAR = 0.7  # of 1, from where on `difflib` takes two words for the same one, misspelt


# C0 and C1 controls and DEL, which terminals obey; line separators; half surrogate pairs, which
# cannot be encoded; the Bidi_Control characters of Unicode (UAX #9), which reorder a line.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters as Python writes them, such as \x1b or \u202e.

    The text then stays on one line; other characters, and escapes, stay as they are.
    """
    return _CONTROL.sub(_escaped, text)


def escape_lines(text: str) -> str:
    """Return a text of several lines, each with its control characters escaped."""
    return "\n".join(map(escape_controls, text.split("\n")))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


class CcEnvError(ValueError):
    """Base class of all errors that bad input raises.

    Its message is one line that can be printed and written: control characters of the input that it
    quotes are escaped.
    """

    def __str__(self) -> str:
        return escape_controls(super().__str__())


class BadOption(CcEnvError):
    """A value that an option or a limit cannot take."""


class UnknownOption(BadOption):
    """The name of a game, a player, an option, a command or a mode that does not exist."""


class BadPlayer(BadOption):
    """A player that cannot be made, or an object that is not a player."""


class UnknownKeyword(UnknownOption, TypeError):
    """A keyword argument that an environment does not have; a TypeError, too, as in Python."""


class BadPosition(CcEnvError):
    """A position text that cannot be parsed, or a position that violates the rules."""


class BadGame(CcEnvError):
    """A game whose facts contradict each other; raised when the game is made."""


class IllegalAction(CcEnvError):
    """An action or a turn that is not legal in its position."""


class Forfeit(CcEnvError):
    """A player forfeits the game by a fault: one of `cc_env.match.match.FAULTS`."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault

    def __reduce__(self) -> tuple[type["Forfeit"], tuple[str, str]]:
        return type(self), (self.fault, str(self))  # so that it crosses processes


class BadRecord(CcEnvError):
    """A record, a recorded position or a message that cannot be read, or contradicts the rules."""


class BadCheckpoint(CcEnvError):
    """Saved weights or a saved run that is damaged, or of another game, size or version."""


class BadTable(CcEnvError):
    """A table of exact values that is damaged, or of another game, other rules or a new version."""


class BadNetwork(CcEnvError):
    """The network of an evaluation that is damaged, or of another game, options or version."""


class MissingTable(CcEnvError):
    """A position whose exact value is in no table that is there."""


class NoRoom(CcEnvError):
    """Work that needs more memory or more room on the disk than there is; nothing was begun."""


class BadFolder(CcEnvError):
    """A folder that holds another run or tournament, or not the one that it should hold."""


class FolderInUse(BadFolder):
    """A folder of a run or a tournament in which another process works."""


class Diverged(CcEnvError):
    """Training diverged: a loss or a weight is not finite; a lower learning rate may help."""


class EpisodeOver(CcEnvError):
    """A step after the end of an episode, or anything before the first one: call `reset`."""


class MissingExtra(ImportError):
    """A package is missing that an extra of the installation provides."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        is_wheel = Path(__file__).with_name("bundled").is_dir()  # see `cc_env.registry.plugins`
        in_checkout = f"pip install '.[{extra}]' in the checkout of cc_env"
        command = f"pip install 'cc_env[{extra}]'" if is_wheel else in_checkout
        super().__init__(f"{what} needs {package}: {command}")


def is_whole(value: object, least: int, most: int = 2**31 - 1) -> bool:
    """Return whether the value is an integer, Python's or NumPy's, in `least`..`most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(least <= value <= most)  # type: ignore[operator]


def check_switch(name: str, value: object) -> None:
    """Raise BadOption unless this is True or False, Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise BadOption(f"{name}={value!r}; it is True or False")


def is_number(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Return whether the value is a finite number, Python's or NumPy's, in `least`..`most`."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and bool(least <= value <= most)
    except OverflowError:  # an integer beyond the range of floats
        return False


def listed(items: Iterable[object], limit: int = 12) -> str:
    """Return the items separated by commas; beyond `limit` only their number."""
    texts = [str(item) for item in items]
    more = f", … ({len(texts)} in all)" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return "did you mean NAME? " for the known name most like a word, case aside; else ""."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(str(word).strip().lower(), names, 1, SIMILAR)
    return f"did you mean {names[near[0]]}? " if near else ""


def quantity(count: int, name: str) -> str:
    """Return the count with its noun, in the plural if need be: 1 turn, 2 turns."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
