"""Retrograde analysis by predecessors: each position is examined a constant number of times.

A turn is *quiet* if it keeps the material, so that unmoves take it back. The first pass looks up
all other turns, and counts the quiet ones. Then values spread level by level: a loss in n - 1 turns
makes the positions before it wins in n; a win in n - 1 lowers their numbers of open turns, and
those without an open turn are losses. Positions without a value at the end are draws.

A quiet turn leaves the opponent's pieces in place. Hence a position *after a pass*, in which only
the player to move has changed, has the same first set as all positions to which quiet turns lead,
and their numbers are near to each other. The number of open turns of a position is stored at its
number after a pass, so that a level accesses distant memory only once for each value that it finds.

Until the end, a value that other turns achieve may be of a later level than the current one: a win
unless a quiet turn wins sooner, or a loss. It is PROVISIONAL if the position also has quiet turns:
a loss in n turns or more, unless one of them wins or draws.

Sources: as in `cc_env.solver.retrograde`; the numbers of open turns are those of Thompson.

Shapes: K sets of a numbering, A actions, N values, M positions, F fields of a position.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import popcount
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.solver.retrograde import (
    LOSSES,
    MAX_PENDING,
    VALUE_BITS,
    WINS,
    Work,
    append_images,
    read_value,
)
from cc_env.tablebase.ranking import decode_next, decode_position, image_indices, rank_others
from cc_env.tablebase.values import (
    DRAW_VALUE,
    LOST,
    MARGIN_SHIFT,
    UNKNOWN,
    loss_value,
    ordering,
    terminal_value,
    value_before_turn,
    win_value,
)

# Limit of the number of quiet turns of a position.
MAX_QUIET_TURNS = 254
# A bit of a loss that quiet turns may avoid; the margin of these losses is 1.
PROVISIONAL = 1 << (MARGIN_SHIFT + 1)


@jit(nogil=True)
def count_turns(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    counts: NDArray[np.int64],
) -> None:
    """Write the first values and the numbers of open turns of positions before a pass.

    After the pass, they are numbered `low` to `high`. The number of turns that lead to no value is
    added to `counts`, int64[3].
    """
    work, counts = as_raw(work), as_raw(counts)
    sets = work.scratch.sets
    after, pending = work.scratch.after, work.scratch.pending
    passed = decode_position(np.int64(low), work.material, work.ranking, like, sets)
    for number in range(low, high):
        if number > low:
            passed = decode_next(np.int64(number), passed, work.material, work.ranking, sets)
        position = rules.pass_turn(passed)
        value: Int = terminal_value(position)
        quiet: Int = np.int64(0)
        if value == UNKNOWN:
            count = rules.turns(position, work.scratch.legal, after)
            value, quiet = _examine(after[:count], work, like, counts)
        work.open_turns[number] = quiet
        for index in range(image_indices(position, work.ranking, pending)):
            work.values[pending[index]] = value


@jit
def _examine(
    after: NDArray[np.uint64], work: Work, like: Position, counts: NDArray[np.int64]
) -> tuple[Int, Int]:
    """Return the first value and the number of open turns, given the positions after all turns.

    These are uint64[M, F]. The number of positions without a value is added to `counts[MISSING]`.
    """
    best: Int = np.int64(UNKNOWN)
    quiet: Int = np.int64(0)
    for index in range(len(after)):
        position = rules.load(after[index], like)
        if _has_material(position, work.material):
            quiet += 1
            continue
        value = value_before_turn(read_value(position, work, counts))
        if best == UNKNOWN or ordering(value) > ordering(best):
            best = value
    if quiet and best == DRAW_VALUE:
        # The draw counts as an open turn that stays open.
        return np.int64(UNKNOWN), quiet + 1
    if quiet and best != UNKNOWN and best & LOST:
        best |= PROVISIONAL
    return best, quiet


@jit
def _has_material(position: Position, material: NDArray[np.int64]) -> bool:
    """Return whether the sets of a position have these sizes, int64[K]."""
    sets = rules.to_sets(position)
    is_equal = True
    for index in range(len(sets)):
        is_equal = is_equal and popcount(sets[index]) == material[index]
    return is_equal


@jit(nogil=True)
def spread(
    work: Work,
    like: Position,
    turns: Int,
    low: Int,
    high: Int,
    counts: NDArray[np.int64],
) -> None:
    """Find the wins and losses in `turns` turns before the positions numbered `low` to `high`.

    No position outside of this range may have the first set of one within. The numbers of wins and
    losses are added to `counts`, int64[3].
    """
    work, counts = as_raw(work), as_raw(counts)
    sets = work.scratch.sets
    before, pending = work.scratch.after, work.scratch.pending
    count: Int = np.int64(0)
    won, lost = win_value(np.int64(1), turns - 1), loss_value(np.int64(1), turns - 1)
    for number in range(low, high):
        value = np.int64(work.values[work.start + number])
        if value not in (won, lost):
            continue
        position = decode_position(np.int64(number), work.material, work.ranking, like, sets)
        first = number - _rank_within_block(position, work)
        for index in range(rules.unmoves(position, before)):
            passed = rules.load(before[index], like)
            place = first + _rank_within_block(passed, work)
            remaining = np.int64(work.open_turns[place]) - 1
            if remaining < 0:
                continue
            work.open_turns[place] = remaining if value == won else 0
            if value == lost or not remaining:
                counts[WINS if value == lost else LOSSES] += 1
                count = append_images(
                    rules.pass_turn(passed), value_before_turn(value), work, pending, count
                )
                if count >= MAX_PENDING:
                    _write_pending(pending[:count], work.values)
                    count = np.int64(0)
    _write_pending(pending[:count], work.values)


@jit
def _write_pending(pending: NDArray[np.int64], values: NDArray[np.uint16]) -> None:
    """Write the values of `pending` unless there are better ones."""
    for entry in pending:
        _improve(values, entry >> VALUE_BITS, entry & UNKNOWN)


@jit
def _rank_within_block(position: Position, work: Work) -> Int:
    """Return the rank of a position among those with its first set, a representative."""
    sets, state = rules.to_sets(position), rules.numbering_state(position)
    return rank_others(sets, state, sets[0], np.int64(0), work.ranking)


@jit
def _improve(values: NDArray[np.uint16], index: Int, value: Int) -> None:
    """Write a win or a loss of the current level, unless there is a better value."""
    old = np.int64(values[index])
    if old == UNKNOWN:
        values[index] = value
    elif not value & LOST:
        values[index] = value if ordering(value) > ordering(old) else old
    elif old & LOST:
        # All quiet turns lose: the later of both losses is certain.
        values[index] = max(value, old & ~PROVISIONAL)


@jit(nogil=True)
def drop_provisional(values: NDArray[np.uint16]) -> None:
    """Replace provisional losses in the values, uint16[N], by UNKNOWN."""
    for index in range(len(values)):
        if values[index] & LOST and values[index] & PROVISIONAL:
            values[index] = UNKNOWN
