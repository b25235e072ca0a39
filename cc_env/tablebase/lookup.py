"""The slot by which searches ask for exact values: `solved(position, tables)`, in compiled code.

A search asks it of each position that the rules have not ended. Without tables the answer is known
when the search is compiled, and costs nothing.
"""

# mypy: disable-error-code="empty-body"

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit, rule
from cc_env.tablebase.ranking import NOWHERE, Numbers, place_of
from cc_env.tablebase.values import UNKNOWN, turns_of


class NoTables(NamedTuple):
    """No exact values."""

    nothing: np.int64 = np.int64(0)  # compiled code knows no empty tuples with names


class Known(NamedTuple):
    """Tables in memory, whole."""

    numbers: Numbers
    values: NDArray[np.uint16]


NO_TABLES = NoTables()


@rule(dispatch_on=(1,))
def solved(position: Position, tables: NoTables | Known) -> Int:
    """Return the value of a position that goes on, see `values`; UNKNOWN where no table has it."""


@jit
def _unknown(position: Position, tables: NoTables) -> Int:
    return np.int64(UNKNOWN)


@jit
def _looked_up(position: Position, tables: Known) -> Int:
    place = place_of(position, tables.numbers)
    if place == NOWHERE:
        return np.int64(UNKNOWN)
    return certain(position, np.int64(tables.values[place]))


@jit
def certain(position: Position, value: Int) -> Int:
    """Return a value of a table; UNKNOWN where the rules may draw the game before it is over."""
    return np.int64(UNKNOWN) if turns_of(value) > rules.turns_to_draw(position) else value


solved.add(NoTables, function=_unknown)  # type: ignore[attr-defined]
solved.add(Known, function=_looked_up)  # type: ignore[attr-defined]
