"""Exact values in compiled searches: `exact_value(position, tables)`.

Searches look up every unfinished position. Without tables, the result is a constant when the search
is compiled, and costs no time.
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

    # Compiled code does not support empty named tuples.
    unused: np.int64 = np.int64(0)


class LoadedTables(NamedTuple):
    """Complete tables in memory."""

    ranking: RankingTables
    values: NDArray[np.uint16]


NO_TABLES = NoTables()


@rule(dispatch_on=(1,))
def exact_value(position: Position, tables: NoTables | LoadedTables) -> Int:
    """Return the 16-bit value of an unfinished position; UNKNOWN if no table has it."""


@jit
def _unknown(position: Position, tables: NoTables) -> Int:
    return np.int64(UNKNOWN)


@jit
def _look_up(position: Position, tables: LoadedTables) -> Int:
    place = index_of(position, tables.ranking)
    if place == NO_INDEX:
        return np.int64(UNKNOWN)
    return value_if_certain(position, np.int64(tables.values[place]))


@jit
def value_if_certain(position: Position, value: Int) -> Int:
    """Return a value of a table; UNKNOWN if the rules may draw the game before its end."""
    return np.int64(UNKNOWN) if turns_of(value) > rules.turns_to_draw(position) else value


exact_value.add(NoTables, function=_unknown)  # type: ignore[attr-defined]
exact_value.add(LoadedTables, function=_look_up)  # type: ignore[attr-defined]
