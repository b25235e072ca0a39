"""Retrograde analysis: compiled passes over all positions of a material.

Pass n examines every position of unknown value: it is won in n turns if a turn leads to a loss in
n - 1, and lost in n turns if all turns lead to wins, the longest of which takes n - 1. Passes need
no list of predecessors, so a game only provides its rules and a numbering. They write the value of
a position once and read only values of earlier passes, so threads need no order, and an interrupted
pass can be repeated. Positions without a value after the last pass are draws: neither side can
force the end. Games with margins are solved for the greatest margin first, then for the next.

If no position can be repeated (`Numbering.is_acyclic`), values are found by recursion.

Turns of several decisions are followed to their end. Source: Thompson, "Retrograde
analysis of certain endgames", ICCA Journal 9 (1986); Ströhlein (1970).

Shapes: K sets of a numbering, G symmetries, A actions, N values, M positions after turns, F fields
of a position, P pending entries.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.tablebase.ranking import (
    NO_INDEX,
    RankingTables,
    cached_index_of,
    decode_next,
    decode_position,
    image_indices,
    index_of,
)
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

# Verdicts on a position, based on the turns examined so far.
_LOSES, _OPEN, _WINS = -1, 0, 1

# Limit of the turns of a position; none reaches it.
MAX_TURNS_OF_POSITION = 2**15
# Indices and values that are processed together.
MAX_PENDING = 1024
VALUE_BITS = 16
# Interval of positions whose legal actions are examined in a verification by `rules.turns`.
_ACTIONS_INTERVAL = 16

# Indices of `counts`.
WINS, LOSSES, MISSING = range(3)


class Scratch(NamedTuple):
    """The memory of a thread; functions that allocate arrays themselves count references."""

    first_sets: NDArray[np.uint64]  # [FIRST_SETS, 5], a cache
    sets: NDArray[np.uint64]  # [K]
    legal: NDArray[np.int32]  # [256 * A]: the legal actions at each decision of a line of play
    after: NDArray[np.uint64]  # [MAX_TURNS_OF_POSITION, F]
    pending: NDArray[np.int64]  # [MAX_PENDING + G]


class Work(NamedTuple):
    """The values of a material and of all materials that its turns lead to."""

    ranking: RankingTables
    values: NDArray[np.uint16]
    material: NDArray[np.int64]  # [K]
    # Index of the first value of the material.
    start: np.int64
    # For each number, the turns not known to lose of the position before a pass; 0 if these do not
    # matter. Empty unless the material is solved by predecessors.
    open_turns: NDArray[np.uint8]
    scratch: Scratch


class Pass(NamedTuple):
    """The wins and losses that a pass finds."""

    margin: np.int64
    turns: np.int64
    # Whether there is a loss in one turn less, so that there may be wins; likewise for losses.
    for_wins: np.bool_
    for_losses: np.bool_


@jit(nogil=True)
def initialize(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    counts: NDArray[np.int64],
) -> None:
    """Write the values of finished games numbered `low` to `high`, UNKNOWN for other positions.

    `counts`, int64[3], is not used.
    """
    work = as_raw(work)
    sets = work.scratch.sets
    for number in range(low, high):
        position = decode_position(np.int64(number), work.material, work.ranking, like, sets)
        work.values[work.start + number] = terminal_value(position)


@jit(nogil=True)
def advance(
    work: Work,
    like: Position,
    sought: Pass,
    low: Int,
    high: Int,
    counts: NDArray[np.int64],
) -> None:
    """Do a pass over the numbers `low` to `high`; add the wins and losses to `counts`, int64[3]."""
    work, counts = as_raw(work), as_raw(counts)
    sets = work.scratch.sets
    for number in range(low, high):
        place = work.start + number
        if work.values[place] != UNKNOWN:
            continue
        position = decode_position(np.int64(number), work.material, work.ranking, like, sets)
        verdict = _verdict(position, work, sought, work.scratch.legal, counts)
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
    """Return the verdict of this pass on a position, for the player to move."""
    count = rules.legal_actions(position, legal)
    verdict: Int = np.int64(_LOSES if sought.for_losses else _OPEN)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        if rules.mid_turn(after):
            reply = _verdict(after, work, sought, legal[count:], counts)
        else:
            reply = _turn_verdict(read_value(after, work, counts), sought)
        if reply == _WINS:
            return reply
        if reply == _OPEN:
            verdict = reply
            if not sought.for_wins:
                break
    return verdict


@jit
def read_value(position: Position, work: Work, counts: NDArray[np.int64]) -> Int:
    """Return the value at the end of a turn: from the tables, or that of a finished game.

    UNKNOWN for other positions, which are counted in `counts[MISSING]`.
    """
    place = cached_index_of(position, work.ranking, work.scratch.first_sets)
    if place != NO_INDEX:
        return np.int64(work.values[place])
    value = terminal_value(position)
    if value == UNKNOWN:
        counts[MISSING] += 1
    return value


@jit
def _turn_verdict(value: Int, sought: Pass) -> Int:
    """Return the verdict on a turn, given the opponent's `value` after it."""
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
    counts: NDArray[np.int64],
) -> None:
    """Solve the positions numbered `low` to `high` of a game without repetitions.

    The number of positions that lead to a missing value is added to `counts`, int64[3].
    """
    work, counts = as_raw(work), as_raw(counts)
    sets = work.scratch.sets
    for number in range(low, high):
        position = decode_position(np.int64(number), work.material, work.ranking, like, sets)
        value = _solve_position(position, work, work.scratch.legal)
        counts[MISSING] += value == UNKNOWN


@jit
def _solve_position(position: Position, work: Work, legal: NDArray[np.int32]) -> Int:
    """Return the value of a position, and store it if the position has a number."""
    is_within = rules.mid_turn(position)
    place: Int = np.int64(NO_INDEX) if is_within else index_of(position, work.ranking)
    if place != NO_INDEX and work.values[place] != UNKNOWN:
        return np.int64(work.values[place])
    best: Int = np.int64(UNKNOWN) if is_within else terminal_value(position)
    if best == UNKNOWN and (place != NO_INDEX or is_within):
        count = rules.legal_actions(position, legal)
        for index in range(count):
            after = rules.apply(position, np.int64(legal[index]))
            value = _solve_position(after, work, legal[count:])
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
    faults: NDArray[np.int64],
) -> None:
    """Check that each value follows from the values after the position's turns.

    Also check that each position has the number that it was decoded from. Draws must be marked.
    `faults`, int64[3], receives the number of faults, the index of the first faulty position, and
    the number of turns that lead to no value.
    """
    work, faults = as_raw(work), as_raw(faults)
    sets = work.scratch.sets
    pending = work.scratch.pending
    count: Int = np.int64(0)
    for number in range(low, high):
        position = decode_position(np.int64(number), work.material, work.ranking, like, sets)
        _verify_number(position, work.start + number, work, faults)
        value = terminal_value(position)
        if value == UNKNOWN:
            value = _best_turn(position, work, work.scratch.legal, faults)
        count = append_images(position, value, work, pending, count)
        if count >= MAX_PENDING or number + 1 == high:
            _verify_pending(pending[:count], work.values, faults)
            count = np.int64(0)


@jit(nogil=True)
def verify_after_pass(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    faults: NDArray[np.int64],
) -> None:
    """Do the checks of `verify` on the positions before a pass, which is faster.

    In this order, most turns lead to numbers that are near to each other. The turns are those of
    `rules.turns`; those of every `_ACTIONS_INTERVAL`-th position must lead to the same value as its
    legal actions. `faults` is int64[3] as in `verify`.
    """
    work, faults = as_raw(work), as_raw(faults)
    sets = work.scratch.sets
    pending = work.scratch.pending
    count: Int = np.int64(0)
    after = work.scratch.after
    passed = decode_position(np.int64(low), work.material, work.ranking, like, sets)
    for number in range(low, high):
        if number > low:
            passed = decode_next(np.int64(number), passed, work.material, work.ranking, sets)
        _verify_number(passed, work.start + number, work, faults)
        position = rules.pass_turn(passed)
        value = terminal_value(position)
        if value == UNKNOWN:
            num_turns = rules.turns(position, work.scratch.legal, after)
            value = _best_of(after[:num_turns], work, like, faults)
            is_sample = number % _ACTIONS_INTERVAL == 0
            if is_sample and value != _best_turn(position, work, work.scratch.legal, faults):
                _add_fault(work.start + number, faults)
        count = append_images(position, value, work, pending, count)
        if count >= MAX_PENDING or number + 1 == high:
            _verify_pending(pending[:count], work.values, faults)
            count = np.int64(0)


@jit
def _best_of(
    after: NDArray[np.uint64], work: Work, like: Position, counts: NDArray[np.int64]
) -> Int:
    """Return the value of the best turn to one of these positions, uint64[M, F]; UNKNOWN if M is 0.

    The number of positions without a value is added to `counts[MISSING]`.
    """
    best: Int = np.int64(UNKNOWN)
    for index in range(len(after)):
        value = value_before_turn(read_value(rules.load(after[index], like), work, counts))
        if best == UNKNOWN or ordering(value) > ordering(best):
            best = value
    return best


@jit
def _verify_number(position: Position, index: Int, work: Work, faults: NDArray[np.int64]) -> None:
    """Check the index of a position."""
    if index_of(position, work.ranking) != index:
        _add_fault(index, faults)


@jit
def append_images(
    position: Position, value: Int, work: Work, pending: NDArray[np.int64], count: Int
) -> Int:
    """Append the images of a position, with a value, to `pending`, int64[P]; return the count.

    An entry is an index shifted by VALUE_BITS, and the value. Many entries are processed together,
    since then the processor waits for several places in memory at the same time.
    """
    images = pending[count : count + len(work.ranking.cell_maps)]
    num_images = image_indices(position, work.ranking, images)
    for image in range(num_images):
        images[image] = images[image] << VALUE_BITS | value
    return count + num_images


@jit
def _verify_pending(
    pending: NDArray[np.int64], values: NDArray[np.uint16], faults: NDArray[np.int64]
) -> None:
    """Check that the values are those of `pending`."""
    for entry in pending:
        if np.int64(values[entry >> VALUE_BITS]) != entry & UNKNOWN:
            _add_fault(entry >> VALUE_BITS, faults)


@jit
def _add_fault(index: Int, faults: NDArray[np.int64]) -> None:
    if not faults[0]:
        faults[1] = index
    faults[0] += 1


@jit
def _best_turn(
    position: Position, work: Work, legal: NDArray[np.int32], counts: NDArray[np.int64]
) -> Int:
    """Return the value of the best turn of an unfinished game; UNKNOWN if one is UNKNOWN.

    `legal`, int32[>= 4 * A], is a buffer.
    """
    count = rules.legal_actions(position, legal)
    best: Int = np.int64(UNKNOWN)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        if rules.mid_turn(after):
            value = _best_turn(after, work, legal[count:], counts)
        else:
            value = read_value(after, work, counts)
            value = value if value == UNKNOWN else value_before_turn(value)
        if value == UNKNOWN:
            return value
        if best == UNKNOWN or ordering(value) > ordering(best):
            best = value
    return best


@jit(nogil=True)
def mark_draws(values: NDArray[np.uint16]) -> None:
    """Replace UNKNOWN by a draw in the values, uint16[N]."""
    for place in range(len(values)):
        if values[place] == UNKNOWN:
            values[place] = 0


@jit
def count_values(values: NDArray[np.uint16], counts: NDArray[np.int64]) -> None:
    """Add the number of losses and wins by margin and turns to `counts`, int64[2, 32, 1024].

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
    """Write a summary to `counts`, int64[4].

    It consists of the number of lost, drawn and won positions, and the number of a position with
    the most turns. The positions from `befores[n]` on each represent `weights[n]` symmetric ones.
    """
    max_turns: Int = np.int64(-1)
    for orbit in range(len(weights)):
        for number in range(befores[orbit], befores[orbit + 1]):
            value = np.int64(values[number])
            counts[1 + result_of(value)] += weights[orbit]
            if turns_of(value) > max_turns:
                max_turns, counts[3] = turns_of(value), number
