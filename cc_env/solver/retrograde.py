"""Retrograde analysis: the passes over all positions of a material, for compiled code.

In pass n every position whose value is not known yet is looked at once more: it is won in n turns
if a turn leads to a loss in n - 1, and lost in n turns if all turns lead to wins, the longest being
in n - 1. Passes need no list of predecessors, so a game gives nothing but its rules and a
numbering; they write a position's value once and read only those of earlier passes, so that threads
need no order, and an interrupted pass is done again. What no pass settles is a draw: neither side
can force the end, and who avoids a loss repeats positions. Games that are won by more and by less
are solved for the greatest margin first, then for the next.

Where no position can come again (`Numbering.is_acyclic`), values are settled by recursion.

Turns of several decisions are followed to their end. Source of the method: Thompson, "Retrograde
analysis of certain endgames", ICCA Journal 9 (1986); Ströhlein (1970).

Shapes: K sets of a numbering, A actions, N values.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.tablebase.ranking import NO_INDEX, RankingTables, decode_position, index_of
from cc_env.tablebase.values import (
    LOST,
    UNKNOWN,
    loss_value,
    margin_of,
    ordering,
    result_of,
    terminal_value,
    turns_of,
    value_before_turn,
    win_value,
)

_LOSES, _OPEN, _WINS = -1, 0, 1  # verdicts on a position, as far as its turns have been looked at

# Indices of `counts`.
WINS, LOSSES, MISSING = range(3)


class Work(NamedTuple):
    """The values of a material and of all that its turns lead to."""

    numbers: RankingTables
    values: NDArray[np.uint16]
    material: NDArray[np.int64]  # [K]
    start: np.int64  # the place of its number 0


class Pass(NamedTuple):
    """What a pass looks for."""

    margin: np.int64
    turns: np.int64
    for_wins: np.bool_  # there is a loss in one turn less
    for_losses: np.bool_  # there is a win in one turn less


@jit(nogil=True)
def initialize(work: Work, like: Position, low: Int, high: Int, counts: NDArray[np.int64]) -> None:
    """Write the values of finished games among the numbers `low` to `high`, UNKNOWN for others.

    To `counts`, int64[3], is added how many are won and lost.
    """
    work = as_raw(work)
    sets = np.empty(len(work.material), np.uint64)
    for number in range(low, high):
        position = decode_position(np.int64(number), work.material, work.numbers, like, sets)
        value = terminal_value(position)
        work.values[work.start + number] = value
        if value != UNKNOWN:
            counts[LOSSES if value & LOST else WINS] += value != 0


@jit(nogil=True)
def advance(
    work: Work,
    like: Position,
    sought: Pass,
    low: Int,
    high: Int,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Do a pass over the numbers `low` to `high`; add to `counts`, int64[3], what was found.

    `legal`, int32[>= 4 * A], is scratch space.
    """
    work, legal = as_raw(work), as_raw(legal)
    sets = np.empty(len(work.material), np.uint64)
    for number in range(low, high):
        place = work.start + number
        if work.values[place] != UNKNOWN:
            continue
        position = decode_position(np.int64(number), work.material, work.numbers, like, sets)
        verdict = _verdict(position, work, sought, legal, counts)
        if verdict == _WINS:
            work.values[place] = win_value(sought.margin, sought.turns)
            counts[WINS] += 1
        elif verdict == _LOSES:
            work.values[place] = loss_value(sought.margin, sought.turns)
            counts[LOSSES] += 1


@jit
def _verdict(
    position: Position,
    work: Work,
    sought: Pass,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> Int:
    """Return what the turns from a position make of it to the player to move, in this pass."""
    count = rules.legal_actions(position, legal)
    verdict: Int = np.int64(_LOSES if sought.for_losses else _OPEN)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        if rules.mid_turn(after):
            reply = _verdict(after, work, sought, legal[count:], counts)
        else:
            reply = _of_turn(_read(after, work, counts), sought)
        if reply == _WINS:
            return reply
        if reply == _OPEN:
            verdict = reply
            if not sought.for_wins:
                break
    return verdict


@jit
def _read(position: Position, work: Work, counts: NDArray[np.int64]) -> Int:
    """Return the value at the end of a turn: from the tables, or that of a finished game."""
    place = index_of(position, work.numbers)
    if place != NO_INDEX:
        return np.int64(work.values[place])
    value = terminal_value(position)
    if value == UNKNOWN:
        counts[MISSING] += 1
    return value


@jit
def _of_turn(value: Int, sought: Pass) -> Int:
    """Return the verdict on a turn that leads to where the opponent has `value`."""
    if value in (UNKNOWN, 0):
        return np.int64(_OPEN)
    margin, turns = margin_of(value), turns_of(value)
    if value & LOST:
        is_found = margin == sought.margin and turns == sought.turns - 1
        return np.int64(_WINS if is_found else _OPEN)
    is_settled = margin > sought.margin or (margin == sought.margin and turns < sought.turns)
    return np.int64(_LOSES if is_settled else _OPEN)


@jit(nogil=True)
def solve_acyclic(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Settle the numbers `low` to `high` of a game in which no position comes again.

    `legal`, int32[256 * A], is scratch space for the actions along the longest game; to `counts`,
    int64[3], are added the positions that lead to no value.
    """
    work, legal = as_raw(work), as_raw(legal)
    sets = np.empty(len(work.material), np.uint64)
    for number in range(low, high):
        position = decode_position(np.int64(number), work.material, work.numbers, like, sets)
        value = _settled(position, work, legal)
        counts[MISSING] += value == UNKNOWN


@jit
def _settled(position: Position, work: Work, legal: NDArray[np.int32]) -> Int:
    """Return the value of a position, and write it if it has a place."""
    is_within = rules.mid_turn(position)
    place: Int = np.int64(NO_INDEX) if is_within else index_of(position, work.numbers)
    if place != NO_INDEX and work.values[place] != UNKNOWN:
        return np.int64(work.values[place])
    best: Int = np.int64(UNKNOWN) if is_within else terminal_value(position)
    if best == UNKNOWN and (place != NO_INDEX or is_within):
        count = rules.legal_actions(position, legal)
        for index in range(count):
            after = rules.apply(position, np.int64(legal[index]))
            value = _settled(after, work, legal[count:])
            if value == UNKNOWN:
                return value
            value = value if rules.mid_turn(after) else value_before_turn(value)
            if best == UNKNOWN or ordering(value) > ordering(best):
                best = value
    if place != NO_INDEX:
        work.values[place] = best
    return best


@jit(nogil=True)
def verify(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    legal: NDArray[np.int32],
    faults: NDArray[np.int64],
) -> None:
    """Compare each value with those that the position's turns lead to; write what is wrong.

    `faults`, int64[3], are how many there are, and the number of the first. Draws are not UNKNOWN
    any more. A position must have the number that it was made from, too.
    """
    work, legal = as_raw(work), as_raw(legal)
    sets = np.empty(len(work.material), np.uint64)
    for number in range(low, high):
        place = work.start + number
        position = decode_position(np.int64(number), work.material, work.numbers, like, sets)
        value = terminal_value(position)
        if value == UNKNOWN:
            value = best_turn(position, work.numbers, work.values, legal)
        if value != work.values[place] or index_of(position, work.numbers) != place:
            if not faults[0]:
                faults[1] = number
            faults[0] += 1


@jit
def best_turn(
    position: Position,
    numbers: RankingTables,
    values: NDArray[np.uint16],
    legal: NDArray[np.int32],
) -> Int:
    """Return the value of an unfinished game by what its turns lead to; UNKNOWN if one is.

    `values` are uint16[places]; `legal`, int32[>= 4 * A], is scratch space.
    """
    count = rules.legal_actions(position, legal)
    best: Int = np.int64(UNKNOWN)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        if rules.mid_turn(after):
            value = best_turn(after, numbers, values, legal[count:])
        else:
            place = index_of(after, numbers)
            value = terminal_value(after) if place == NO_INDEX else np.int64(values[place])
            value = value if value == UNKNOWN else value_before_turn(value)
        if value == UNKNOWN:
            return value
        if best == UNKNOWN or ordering(value) > ordering(best):
            best = value
    return best


@jit(nogil=True)
def mark_draws(values: NDArray[np.uint16]) -> None:
    """Make a draw of every value, uint16[N], that is UNKNOWN."""
    for place in range(len(values)):
        if values[place] == UNKNOWN:
            values[place] = 0


@jit
def count_values(values: NDArray[np.uint16], counts: NDArray[np.int64]) -> None:
    """Add to `counts`, int64[2, 32, 1024], how many losses and wins, by margin and turns.

    Draws are counted at [0, 0, 0], UNKNOWN at [1, 0, 0].
    """
    for place in range(len(values)):
        value = np.int64(values[place])
        if value == UNKNOWN:
            counts[1, 0, 0] += 1
        else:
            is_win = np.int64(value != 0 and not value & LOST)
            counts[is_win, margin_of(value), turns_of(value)] += 1


@jit
def summarize(
    values: NDArray[np.uint16],
    befores: NDArray[np.int64],
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write to `counts`, int64[4], how many positions are lost, drawn and won, by the values.

    And the number of one with the most turns. Positions from `befores[n]` on stand for
    `weights[n]` symmetric ones.
    """
    most: Int = np.int64(-1)
    for orbit in range(len(weights)):
        for number in range(befores[orbit], befores[orbit + 1]):
            value = np.int64(values[number])
            counts[1 + result_of(value)] += weights[orbit]
            if turns_of(value) > most:
                most, counts[3] = turns_of(value), number
