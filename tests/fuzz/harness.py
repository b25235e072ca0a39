"""The requirement of all fuzz tests: invalid input raises a CcEnvError, quickly."""

import time
from collections.abc import Callable
from typing import TypeVar

from cc_env.errors import CcEnvError

# CPU time of this thread, which does not depend on other processes.
MAX_CPU_SECONDS = 2.0
Value = TypeVar("Value")


def call_or_reject(call: Callable[..., Value], *args: object) -> Value | None:
    """Return the result of a call, None after a CcEnvError; propagate all other errors.

    Raises AssertionError if the call takes too long twice, since the first call may compile.
    """
    value, seconds = _timed(call, *args)
    if seconds > MAX_CPU_SECONDS:
        value, seconds = _timed(call, *args)
    assert seconds <= MAX_CPU_SECONDS, f"{seconds:.1f} s of CPU"
    return value


def _timed(call: Callable[..., Value], *args: object) -> tuple[Value | None, float]:
    value, message, start = None, None, time.thread_time()
    try:
        value = call(*args)
    except CcEnvError as error:
        message = str(error)
    assert message != "", "an error without message"
    # Terminals and records require an encodable message.
    (message or "").encode()
    return value, time.thread_time() - start
