"""What every fuzz test promises: bad input is refused as such, and soon."""

import time
from collections.abc import Callable
from typing import TypeVar

from cc_env.errors import CcEnvError

MOST_SECONDS = 2.0  # of this thread's CPU, however busy the machine is
Value = TypeVar("Value")


def refused_or_fine(call: Callable[..., Value], *args: object) -> Value | None:
    """Return what a call returns, None where it raises CcEnvError; let every other error pass.

    Raises AssertionError where it takes too long, and again does: the first call may compile.
    """
    value, seconds = _timed(call, *args)
    if seconds > MOST_SECONDS:
        value, seconds = _timed(call, *args)
    assert seconds <= MOST_SECONDS, f"{seconds:.1f} s of CPU"
    return value


def _timed(call: Callable[..., Value], *args: object) -> tuple[Value | None, float]:
    value, refused, began = None, None, time.thread_time()
    try:
        value = call(*args)
    except CcEnvError as error:
        refused = str(error)
    assert refused != "", "an error that says nothing"
    (refused or "").encode()  # which a terminal or a record has to be able to show
    return value, time.thread_time() - began
