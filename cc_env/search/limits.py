"""What bounds a search."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from cc_env.errors import UnknownOption, is_number, is_whole

UNBOUNDED = 2**62


def whole(name: str, value: int | None, most: int = UNBOUNDED) -> int:
    """Return a limit, None being the most; raise UnknownOption where it is no limit."""
    if value is None:
        return most
    if not is_whole(value, 1, most):
        span = "1 or more" if most == UNBOUNDED else f"1 to {most}"
        raise UnknownOption(f"{name}={value!r}; it is {span}, or None for no limit")
    return int(value)


def check_seconds(value: float | None) -> None:
    """Raise UnknownOption where this is no time."""
    if not (value is None or value == math.inf or is_number(value, 0)):
        raise UnknownOption(f"seconds={value!r}; it is 0 or more, or None for no limit")


def check_contempt(value: float) -> None:
    """Raise UnknownOption where this is not what a repetition can be thought to cost."""
    if not is_number(value, -1, 1):
        raise UnknownOption(f"contempt={value!r}; it is -1 to 1")


def check_exploration(value: float) -> None:
    """Raise UnknownOption where this is no weight of what was rarely tried."""
    if not is_number(value, 0):
        raise UnknownOption(f"exploration={value!r}; it is 0 or more")


def check_any(**given: float | None) -> None:
    """Raise UnknownOption where no limit is given."""
    if all(value is None for value in given.values()):
        none = ", ".join(f"{name}=None" for name in given)
        raise UnknownOption(f"{none}; at least one of them is wanted")


@contextmanager
def alarm(flags: NDArray[np.int64], index: int, seconds: float | None) -> Iterator[None]:
    """Set `flags[index]` to 1 after so many seconds, if the block lasts as long."""
    if seconds is None or math.isinf(seconds):
        yield
        return
    ring = threading.Timer(min(seconds, threading.TIMEOUT_MAX), flags.__setitem__, (index, 1))
    ring.daemon = True
    ring.start()
    try:
        yield
    finally:
        ring.cancel()
