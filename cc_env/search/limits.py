"""Limits of a search, and checks of its options."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cc_env.errors import BadOption, is_integer, is_number

NO_LIMIT = 2**62


def check_limit(name: str, value: int | None, maximum: int = NO_LIMIT) -> int:
    """Return a limit, by default `maximum`; raise BadOption unless it is an integer 1..maximum."""
    if value is None:
        return maximum
    if not is_integer(value, 1, maximum):
        valid = "an integer, " + ("1 or more" if maximum == NO_LIMIT else f"1 to {maximum}")
        raise BadOption(f"{name}={value!r}; expected: {valid}, or None for no limit")
    return int(value)


def check_seconds(value: float | None) -> None:
    """Raise BadOption unless this is a duration of 0 seconds or more, infinity, or None."""
    if not (value is None or value == math.inf or is_number(value, 0)):
        raise BadOption(f"seconds={value!r}; expected: 0 or more, or None for no limit")


def check_contempt(value: float) -> None:
    """Raise BadOption unless this is a valid penalty for a repetition, -1 to 1."""
    if not is_number(value, -1, 1):
        raise BadOption(f"contempt={value!r}; expected: -1 to 1")


def check_exploration(value: float) -> None:
    """Raise BadOption unless this is a valid exploration constant, 0 or more."""
    if not is_number(value, 0):
        raise BadOption(f"exploration={value!r}; expected: 0 or more")


def require_any(**limits: float | None) -> None:
    """Raise BadOption unless at least one limit is given."""
    if all(value is None for value in limits.values()):
        missing = ", ".join(f"{name}=None" for name in limits)
        raise BadOption(f"{missing}; give at least one of them")


@contextmanager
def alarm(counts: Any, seconds: float | None) -> Iterator[None]:
    """Set the field `stop` of a NumPy record to 1 after `seconds`, unless the block ends first."""
    if seconds is None or math.isinf(seconds):
        yield
        return
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), counts.__setitem__, ("stop", 1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
