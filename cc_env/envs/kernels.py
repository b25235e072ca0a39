"""What happens on boards, compiled: resets, steps, random replies, limits, and what is seen.

A board is a row of unsigned words: the fields of its position, then the four columns named below.
Arguments that recur: `start` is the game's start position, and its class picks the rules; `keys`
are hashes of a board's positions, by turn, none where repetition is no limit; `legal` is room for
a list of actions.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import randomness, rules
from cc_env.bits import ZERO
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.rules import ONGOING, Bool, Int, Position

TURNS, STREAM, SEAT, DONE = -4, -3, -2, -1  # turns played, random stream, seat 0 or 1, game over?
TERMINATED, TRUNCATED, OUTCOME, TO_MOVE = range(4)  # rows of `Seen.facts`
ACCEPTED = -1
ATTEMPTS = 100  # at a reply that does not end the game at once


class Autoreset(IntEnum):
    """When a finished board begins again; the meanings are those of Gymnasium."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


class Replies(IntEnum):
    """Who takes the decisions that are not the seat's; NONE: there is no seat."""

    NONE = 0
    RANDOM = 1
    ANSWERS = 2  # they come by `answer`


class Settings(NamedTuple):
    """How the boards are played; 0 is no limit."""

    replies: int  # who takes the decisions that are not the seat's: a `Replies`
    seat: int  # 0, 1, or -1: drawn at every reset
    max_turns: int  # the game is truncated after so many turns
    repetitions: int  # and when one position occurs for the so-manieth time
    autoreset: int
    stagnation: int  # by the rules a position that so many turns led to ends the game


class Seen(NamedTuple):
    """What is seen of the boards, by the seat or, without replies, by who is to move; in place."""

    observations: NDArray[np.int8]  # [N, C, H, W]
    masks: NDArray[np.int8]  # [N, num_actions], all 0 when the game is over
    rewards: NDArray[np.float64]  # [N], of the seat; without replies of who has just moved
    facts: NDArray[np.int8]  # [4, N]
    final_observations: NDArray[np.int8]  # as observations, before the reset in the same step
    final_rows: NDArray[np.uint64]  # the board's row, too


@jit
def reset(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    which: NDArray[np.bool_],
    starts: NDArray[np.uint64],
    seen: Seen,
) -> None:
    rows, history, seen = borrow(rows), borrow(history), borrow(seen)
    legal = np.empty(seen.masks.shape[1], np.int32)
    for board in range(len(rows)):
        if which[board]:
            position = rules.load(starts[board % len(starts)], start)
            position = _begin(position, settings, rows[board], history[board], legal)
            seen.rewards[board] = 0.0
            seen.facts[TERMINATED, board] = seen.facts[TRUNCATED, board] = 0
            seen.facts[OUTCOME, board] = ONGOING
            _show(position, settings, rows[board], seen, board, legal)


@jit
def step(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    actions: NDArray[np.int64],
    seen: Seen,
) -> int:
    """Step every board, or none: return ACCEPTED or the first board whose action is refused."""
    rows, history, seen = borrow(rows), borrow(history), borrow(seen)
    for board in range(len(rows)):
        if not _accepts(settings, rows[board], actions[board], seen.masks[board]):
            return board
    legal = np.empty(seen.masks.shape[1], np.int32)
    for board in range(len(rows)):
        row = rows[board]
        seen.rewards[board] = 0.0
        if row[DONE]:
            position = _begin(start, settings, row, history[board], legal)
            seen.facts[TERMINATED, board] = seen.facts[TRUNCATED, board] = 0
            seen.facts[OUTCOME, board] = ONGOING
            _show(position, settings, row, seen, board, legal)
        else:
            before = rules.load(row, start)
            position = _play(before, np.int64(actions[board]), row, history[board])
            position = _reply(position, settings, row, history[board], legal)
            viewer = np.int64(row[SEAT]) if settings.replies else rules.to_move(before)
            _conclude(position, viewer, start, settings, row, history[board], seen, board, legal)
    return ACCEPTED


@jit
def answer(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    board: int,
    action: int,
    seen: Seen,
) -> None:
    """Play a legal action that is not the seat's; one before its first leaves rewards and facts."""
    legal = np.empty(seen.masks.shape[1], np.int32)
    row = rows[board]
    is_opening = row[TURNS] == ZERO
    position = _play(rules.load(row, start), np.int64(action), row, history[board])
    if is_opening:
        _, over = _status(position, settings, row, history[board])
        row[DONE] = over
        _show(position, settings, row, seen, board, legal)
    else:
        seat = np.int64(row[SEAT])
        _conclude(position, seat, start, settings, row, history[board], seen, board, legal)


@jit
def _conclude(
    position: Position,
    viewer: Int,
    start: Position,
    settings: Settings,
    row: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    seen: Seen,
    board: int,
    legal: NDArray[np.int32],
) -> None:
    """Write what a played decision brought to `viewer`; begin anew where that is due at once."""
    result, over = _status(position, settings, row, keys)
    seen.rewards[board] = rules.reward(result, viewer)
    row[DONE] = over
    ended = result != ONGOING
    seen.facts[TERMINATED, board] = ended
    seen.facts[TRUNCATED, board] = over and not ended
    if over and settings.autoreset == Autoreset.SAME_STEP:
        _observe(position, settings, row, seen.final_observations[board])
        _copy(row, seen.final_rows[board])
        rules.store(position, seen.final_rows[board])
        position = _begin(start, settings, row, keys, legal)
    _show(position, settings, row, seen, board, legal)
    seen.facts[OUTCOME, board] = result


@jit
def _copy(row: NDArray[np.uint64], into: NDArray[np.uint64]) -> None:
    for index in range(len(row)):  # an assignment of slices would compile its error message, too
        into[index] = row[index]


@jit
def _accepts(
    settings: Settings, row: NDArray[np.uint64], action: int, mask: NDArray[np.int8]
) -> bool:
    if row[DONE]:
        return settings.autoreset == Autoreset.NEXT_STEP
    return 0 <= action < len(mask) and mask[action] == 1


@jit
def _begin(
    position: Position,
    settings: Settings,
    row: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    legal: NDArray[np.int32],
) -> Position:
    """Return the position in which the seat decides first; the random stream goes on."""
    row[SEAT] = settings.seat
    after = position
    if settings.seat < 0:
        row[SEAT] = randomness.below(row[STREAM], 2)
        row[STREAM] = randomness.advance(row[STREAM])
    if len(keys):
        keys[0] = rules.key(position)
    for _ in range(ATTEMPTS):
        row[TURNS] = 0
        after = _reply(position, settings, row, keys, legal)
        _, over = _status(after, settings, row, keys)
        row[DONE] = over
        if not over:
            break
    return after


@jit
def _play(
    position: Position, action: Int, row: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> Position:
    """Return the position after a legal action, its turn counted where it ends one."""
    position = rules.apply(position, action)
    if not rules.mid_turn(position):
        row[TURNS] += np.uint64(1)
        if len(keys):
            keys[np.int64(row[TURNS]) % len(keys)] = rules.key(position)
    return position


@jit
def _reply(
    position: Position,
    settings: Settings,
    row: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    legal: NDArray[np.int32],
) -> Position:
    """Return the position after all random decisions until the seat is to move, if any are due."""
    while settings.replies == Replies.RANDOM and rules.to_move(position) != np.int64(row[SEAT]):
        _, over = _status(position, settings, row, keys)
        if over:
            break
        position = _play(position, _draw(position, row, legal), row, keys)
    return position


@jit
def _draw(position: Position, row: NDArray[np.uint64], legal: NDArray[np.int32]) -> Int:
    count = rules.legal_actions(position, legal)
    action = legal[randomness.below(row[STREAM], count)]
    row[STREAM] = randomness.advance(row[STREAM])
    return np.int64(action)


@jit
def draw(start: Position, row: NDArray[np.uint64], legal: NDArray[np.int32]) -> Int:
    return _draw(rules.load(row, start), row, legal)


@jit
def _status(
    position: Position, settings: Settings, row: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> tuple[Int, Bool]:
    """Return the outcome by the rules, and whether the episode is over by them or by a limit."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result, True
    if rules.mid_turn(position):
        return result, False
    turns = np.int64(row[TURNS])
    over: Bool = settings.max_turns > 0 and turns >= settings.max_turns
    if len(keys):
        newest, kept = keys[turns % len(keys)], keys[: turns + 1]
        count = 0
        for each in kept:
            if each == newest:
                count += 1
        if settings.stagnation:
            is_from_start = turns < len(keys) and keys[0] == newest
            if count - is_from_start >= settings.stagnation:
                return rules.stagnant(position), True
        elif not over:
            over = count >= settings.repetitions
    return result, over


@jit
def _observe(
    position: Position, settings: Settings, row: NDArray[np.uint64], planes: NDArray[np.int8]
) -> None:
    viewer = np.int64(row[SEAT]) if settings.replies else rules.to_move(position)
    rules.observe(position, viewer, planes)


@jit
def _show(
    position: Position,
    settings: Settings,
    row: NDArray[np.uint64],
    seen: Seen,
    board: int,
    legal: NDArray[np.int32],
) -> None:
    """Store the position, and write what is seen of it."""
    rules.store(position, row)
    seen.facts[TO_MOVE, board] = rules.to_move(position)
    _observe(position, settings, row, seen.observations[board])
    mask = seen.masks[board]
    mask[:] = 0
    if not row[DONE]:
        for index in range(rules.legal_actions(position, legal)):
            mask[legal[index]] = 1
