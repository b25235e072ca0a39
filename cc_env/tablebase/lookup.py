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
from cc_env.tablebase.ranking import NO_INDEX, RankingTables, index_of
from cc_env.tablebase.values import UNKNOWN, turns_of


class NoTables(NamedTuple):
    """No exact values."""

    nothing: np.int64 = np.int64(0)  # compiled code knows no empty tuples with names


class LoadedTables(NamedTuple):
    """Tables in memory, whole."""

    numbers: RankingTables
    values: NDArray[np.uint16]


NO_TABLES = NoTables()


@rule(dispatch_on=(1,))
def exact_value(position: Position, tables: NoTables | LoadedTables) -> Int:
    """Return the value of a position that goes on, see `values`; UNKNOWN where no table has it."""


@jit
def _unknown(position: Position, tables: NoTables) -> Int:
    return np.int64(UNKNOWN)


@jit
def _looked_up(position: Position, tables: LoadedTables) -> Int:
    place = index_of(position, tables.numbers)
    if place == NO_INDEX:
        return np.int64(UNKNOWN)
    return value_if_certain(position, np.int64(tables.values[place]))


@jit
def value_if_certain(position: Position, value: Int) -> Int:
    """Return a value of a table; UNKNOWN where the rules may draw the game before it is over."""
    return np.int64(UNKNOWN) if turns_of(value) > rules.turns_to_draw(position) else value


exact_value.add(NoTables, function=_unknown)  # type: ignore[attr-defined]
exact_value.add(LoadedTables, function=_looked_up)  # type: ignore[attr-defined]
