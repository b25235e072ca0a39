"""Validation of arguments that all environments have in common.

Shapes: N boards.
"""

import operator
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams
from cc_env.errors import BadOption, IllegalAction, format_list


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


def check_integer(name: str, value: object, valid: range, expected: str) -> int:
    """Return an integer argument as an int; raise BadOption unless it is in `valid`."""
    number = as_int(value)
    if number is None or number not in valid:
        raise BadOption(f"{name}={value!r}; it is {expected}")
    return number


def as_seed(value: object) -> int | None:
    """Return a seed as an int, None as None; raise BadOption if it is not a seed."""
    number = as_int(value)
    random_streams.check_seed(value if number is None else number)
    return number


def check_actions(actions: object, count: int) -> NDArray[np.int64]:
    """Return the actions of `count` boards as int64[N]; raise IllegalAction if they are invalid."""
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError) as error:
        raise IllegalAction(f"actions must be integers: {error}") from None
    if array.dtype.kind not in "iu":
        raise IllegalAction(f"actions must be integers, not {array.dtype}")
    if array.shape != (count,):
        raise IllegalAction(f"actions have shape {array.shape}; expected: ({count},)")
    return array.astype(np.int64, copy=False)


def check_choice(name: str, value: object, valid: Iterable[str]) -> str:
    """Return a text argument that is one of `valid`; raise BadOption otherwise."""
    words = list(valid)
    if not isinstance(value, str) or value not in words:
        raise BadOption(f"{name}={value!r}; it is one of: {format_list(words)}")
    return value
