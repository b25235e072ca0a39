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

Shapes: K sets of a numbering, A actions, N values, F fields of a position.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.solver.retrograde import LOSSES, WINS, Work, read_value
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
# Limit of the number of the other turns; no position reaches it.
MAX_LOUD_TURNS = 2**15
# Wins and losses that are written together.
_MAX_FOUND = 1024
# A bit of a loss that quiet turns may avoid; the margin of these losses is 1.
PROVISIONAL = 1 << (MARGIN_SHIFT + 1)


@jit(nogil=True)
def count_turns(
    work: Work,
    like: Position,
    low: Int,
    high: Int,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Write the first values and the numbers of open turns of positions before a pass.

    After the pass, they are numbered `low` to `high`. `legal`, int32[>= 4 * A], is a buffer. The
    number of turns that lead to no value is added to `counts`, int64[3].
    """
    work, legal = as_raw(work), as_raw(legal)
    sets = np.empty(len(work.material), np.uint64)
    images = np.empty(len(work.numbers.cell_maps), np.int64)
    after = np.empty((MAX_LOUD_TURNS, len(like)), np.uint64)
    passed = decode_position(np.int64(low), work.material, work.numbers, like, sets)
    for number in range(low, high):
        if number > low:
            passed = decode_next(np.int64(number), passed, work.material, work.numbers, sets)
        position = rules.pass_turn(passed)
        value, quiet = terminal_value(position), 0
        if value == UNKNOWN:
            quiet, loud = rules.loud_turns(position, legal, after)
            value = _best_value(after[:loud], work, like, counts)
        if quiet and value == DRAW_VALUE:
            # The draw counts as an open turn that stays open.
            value, quiet = np.int64(UNKNOWN), quiet + 1
        elif quiet and value != UNKNOWN and value & LOST:
            value |= PROVISIONAL
        work.open_turns[number] = quiet
        for index in range(image_indices(position, work.numbers, images)):
            work.values[images[index]] = value


@jit
def _best_value(
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


@jit(nogil=True)
def spread(
    work: Work,
    like: Position,
    turns: Int,
    low: Int,
    high: Int,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Find the wins and losses in `turns` turns before the positions numbered `low` to `high`.

    No position outside of this range may have the first set of one within. `legal` is not used. The
    numbers of wins and losses are added to `counts`, int64[3].
    """
    work = as_raw(work)
    sets = np.empty(len(work.material), np.uint64)
    images = np.empty(len(work.numbers.cell_maps), np.int64)
    before = np.empty((2 * MAX_QUIET_TURNS, len(like)), np.uint64)
    found, num_found = np.empty(_MAX_FOUND + len(images), np.int64), 0
    won, lost = win_value(np.int64(1), turns - 1), loss_value(np.int64(1), turns - 1)
    for number in range(low, high):
        value = np.int64(work.values[work.start + number])
        if value not in (won, lost):
            continue
        position = decode_position(np.int64(number), work.material, work.numbers, like, sets)
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
                for image in range(image_indices(rules.pass_turn(passed), work.numbers, images)):
                    found[num_found] = images[image] * 2 + (value == won)
                    num_found += 1
                if num_found >= _MAX_FOUND:
                    _write_found(found[:num_found], turns, work.values)
                    num_found = 0
    _write_found(found[:num_found], turns, work.values)


@jit
def _write_found(found: NDArray[np.int64], turns: Int, values: NDArray[np.uint16]) -> None:
    """Write wins and losses in `turns` turns: twice their indices, and 1 for a loss.

    Separate writes could not be executed in parallel.
    """
    win, loss = win_value(np.int64(1), turns), loss_value(np.int64(1), turns)
    for place in found:
        _improve(values, place >> 1, loss if place & 1 else win)


@jit
def _rank_within_block(position: Position, work: Work) -> Int:
    """Return the rank of a position among those with its first set, a representative."""
    sets, state = rules.to_sets(position), rules.numbering_state(position)
    return rank_others(sets, state, np.int64(0), work.numbers)


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
