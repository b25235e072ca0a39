"""Exceptions for invalid input, and helpers that validate values and format messages.

A message names the problem, the value, and the valid values.
"""

import math
import operator
import os
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import cast

import numpy as np

# Similarity ratio of `difflib`, 0 to 1, at which a word is suggested as a correction.
_MIN_SIMILARITY = 0.7

# Characters of a file name, and of an invalid value, that a message contains.
_MAX_FILE_NAME_LENGTH = 200
_MAX_VALUE_LENGTH = 40

# C0 and C1 controls and DEL, which terminals interpret; line separators; lone surrogates, which
# cannot be encoded; the Bidi_Control characters of Unicode (UAX #9), which reorder a line.
_CONTROL_CHARACTER = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def escape_controls(text: str) -> str:
    r"""Return the text with control characters in Python's notation, such as \x1b or \u202e.

    The result is a single line. Other characters, backslashes included, are unchanged.
    """
    return _CONTROL_CHARACTER.sub(_escape, text)


def escape_lines(text: str) -> str:
    """Escape the control characters of a text, except its line breaks."""
    return "\n".join(map(escape_controls, text.split("\n")))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def describe_os_error(error: OSError) -> str:
    """Return the file and the reason of an error, such as "x.txt: No such file or directory"."""
    if error.strerror is None or error.filename is None:
        return error.strerror or str(error)
    file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if len(file) > _MAX_FILE_NAME_LENGTH:
        file = f"{file[:_MAX_FILE_NAME_LENGTH]}…"
    return f"{file}: {error.strerror}" if file else error.strerror


class CcEnvError(ValueError):
    """Base class of all errors raised for invalid input.

    The message is one printable line: control characters in quoted input are escaped.
    """

    def __str__(self) -> str:
        return escape_controls(super().__str__())


class BadOption(CcEnvError):
    """An invalid value of an option, an argument or a field of a config."""


class UnknownOption(BadOption):
    """An unknown name of a game, player, option, command or mode."""


class BadPlayer(BadOption):
    """A player that cannot be created, or an object that is not a player."""


class UnknownKeyword(UnknownOption, TypeError):
    """An unexpected keyword argument of an environment or of `score`; also a TypeError."""


class BadPosition(CcEnvError):
    """A position text that cannot be parsed, or a position that violates the rules."""


class BadGame(CcEnvError):
    """A game with inconsistent attributes or rules that cannot be compiled."""


class IllegalAction(CcEnvError):
    """An action or a turn that is not legal in its position."""


class Forfeit(CcEnvError):
    """The loss of a game by a fault of the player, one of `cc_env.match.match.FAULTS`."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault

    def __reduce__(self) -> tuple[type["Forfeit"], tuple[str, str]]:
        return type(self), (self.fault, str(self))


class BadRecord(CcEnvError):
    """A record, recorded position or message that cannot be parsed or violates the rules."""


class BadCheckpoint(CcEnvError):
    """Damaged weights or checkpoints, or ones for a different game, size or version."""


class BadTable(CcEnvError):
    """A damaged table of exact values, or one for different rules or of a newer version."""


class BadNetwork(CcEnvError):
    """A damaged evaluation network, or one for a different game, options or version."""


class MissingTable(CcEnvError):
    """A position whose exact value is in no available table."""


class InsufficientSpace(CcEnvError):
    """Work that needs more memory or disk space than is available; raised before it starts."""


class SearchLimit(CcEnvError):
    """A question that a search within its limit of positions does not answer."""


class BadFolder(CcEnvError):
    """A folder that contains a different run or tournament than expected, or none."""


class FolderInUse(BadFolder):
    """A folder of a run or a tournament that another process is using."""


class TrainingDiverged(CcEnvError):
    """A loss or weight that is not finite; a lower learning rate may help."""


class ResetNeeded(CcEnvError):
    """Use of an environment before the first `reset`, or a step after the end of an episode."""


class MissingExtra(CcEnvError, ImportError):
    """A missing package that is installed by an extra of cc_env; also an ImportError."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        self._arguments = feature, package, extra
        # It is installed from a wheel or a checkout.
        command = f"pip install 'PATH[{extra}]'"
        path = "where PATH is the wheel file or the checkout of cc_env"
        super().__init__(f"{feature} needs {package}: {command}, {path}")

    def __reduce__(self) -> tuple[type["MissingExtra"], tuple[str, str, str]]:
        return type(self), self._arguments


# Maximum of integers that have no other limit.
MAX_INTEGER = 2**31 - 1


def as_int(value: object) -> int | None:
    """Return an integer of any library (`operator.index`) as an int; None for anything else.

    True and False are not integers.
    """
    # NumPy's booleans have no index.
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def is_integer(value: object, minimum: int, maximum: int = MAX_INTEGER) -> bool:
    """Return whether the value is an integer, as in `as_int`, in `minimum`..`maximum`."""
    number = as_int(value)
    return number is not None and minimum <= number <= maximum


def is_number(value: object, minimum: float = -math.inf, maximum: float = math.inf) -> bool:
    """Return whether the value is a finite Python or NumPy number in `minimum`..`maximum`."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and bool(minimum <= value <= maximum)
    except OverflowError:
        return False


def check_integer(
    name: str, value: object, minimum: int, maximum: int = MAX_INTEGER, note: str = ""
) -> int:
    """Return an integer, as in `as_int`; raise BadOption unless it is in `minimum`..`maximum`.

    The message ends with `note`.
    """
    number = as_int(value)
    if number is None or not minimum <= number <= maximum:
        is_open = maximum == MAX_INTEGER and (number is None or number < minimum)
        valid = f"{minimum} or more" if is_open else f"{minimum} to {maximum:,}"
        raise invalid_value(name, value, f"an integer, {valid}{note}")
    return number


def check_number(name: str, value: object, minimum: float, maximum: float, note: str = "") -> float:
    """Return a number as a float; raise BadOption unless it is in `minimum`..`maximum`.

    The message ends with `note`.
    """
    if not is_number(value, minimum, maximum):
        raise invalid_value(name, value, f"{minimum:g} to {maximum:g}{note}")
    return float(cast(float, value))


def invalid_value(name: str, value: object, expected: str) -> BadOption:
    """Return the error for an invalid value; of a long one it shows the beginning."""
    return BadOption(f"{name}={value!r:.{_MAX_VALUE_LENGTH}}; expected: {expected}")


def quote(text: str) -> str:
    """Return an untrusted text in quotation marks and in ASCII; of a long one the beginning."""
    return ascii(text[:_MAX_VALUE_LENGTH])


def check_number_of_games(games: object, maximum: int = MAX_INTEGER) -> None:
    """Raise BadOption unless the number of games is even, 2..`maximum`: half for each seat."""
    if not is_integer(games, 2, maximum) or cast(int, games) % 2:
        valid = "2 or more" if maximum == MAX_INTEGER else f"2 to {maximum:,}"
        raise invalid_value("games", games, f"an even number, {valid}, half of them for each seat")


def check_bool(name: str, value: object) -> None:
    """Raise BadOption unless the value is a Python or NumPy bool."""
    if not isinstance(value, bool | np.bool_):
        raise BadOption(f"{name}={value!r}; expected: True or False")


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise BadOption unless the value is one of the choices; True is not 1."""
    # Arrays, whose comparison has no truth value, are not hashable.
    is_comparable = isinstance(value, Hashable) and not isinstance(value, bool)
    if not is_comparable or value not in list(choices):
        raise BadOption(f"{name}={value!r}; expected: {' or '.join(map(str, choices))}")


def check_name(kind: str, name: object, valid_names: Collection[str]) -> str:
    """Return the name of something of a kind; raise UnknownOption if it is not valid."""
    if not isinstance(name, str) or name not in valid_names:
        valid_text = format_list(valid_names, 99) or "none"
        raise UnknownOption(
            f"unknown {kind} {str(name)[:_MAX_VALUE_LENGTH]!r}; expected: {valid_text}"
        )
    return name


def check_names(owner: str, kind: str, names: Iterable[object], valid: Collection[str]) -> None:
    """Raise UnknownOption if a name of an option or field of the owner is invalid."""
    if unknown := [str(name)[:_MAX_VALUE_LENGTH] for name in names if name not in valid]:
        valid_text = format_list(valid) or "none"
        raise UnknownOption(f"{owner} has no {kind} {format_list(unknown)}; it has: {valid_text}")


def check_fields(entry: object, names: Iterable[str], label: str = "it") -> None:
    """Raise BadRecord unless the value of a JSON text is an object with these fields.

    `label` names the value if a field is missing.
    """
    if not isinstance(entry, Mapping):
        raise BadRecord(f"{entry!r:.80}; expected: an object")
    if missing := [name for name in names if name not in entry]:
        raise BadRecord(f"{label} has no {format_list(missing)}")


def format_list(items: Iterable[object], limit: int = 12) -> str:
    """Join the items with commas; name the total if there are more than `limit`."""
    texts = [str(item) for item in items]
    suffix = f", … ({len(texts)} in all)" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + suffix


def suggest(word: object, names: Iterable[str]) -> str:
    """Return "did you mean NAME? " for the most similar name, ignoring case; "" if none is."""
    by_lower_case = {name.lower(): name for name in names}
    matches = get_close_matches(str(word).strip().lower(), by_lower_case, 1, _MIN_SIMILARITY)
    return f"did you mean {by_lower_case[matches[0]]}? " if matches else ""


def format_count(count: int, noun: str) -> str:
    """Return the count with its noun: 1 turn, 2 turns, 2 replies."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def describe_forfeits(player: str, faults: Sequence[str], total: int, noun: str) -> str:
    """Return the number of a player's faults, at least one, and the reason for the first one.

    `total` is the number of all its games, puzzles or tasks, and `noun` names one of them.
    """
    count = f"{len(faults)} of its {format_count(total, noun)}"
    return f"{escape_controls(player)} forfeits {count}; the first by {escape_controls(faults[0])}"
