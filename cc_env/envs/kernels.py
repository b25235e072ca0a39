"""What happens on boards, compiled: resets, steps, random replies, limits, and what is seen.

A board is a row of unsigned words: the fields of its position, those of the position in which the
last turn began, then the five columns named below. N boards, M of them or M starts;
C planes, H rows and W columns of an observation; K keys of a game's positions.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.bitboard import ZERO
from cc_env.core.rules import FIRST_WINS, ONGOING, SECOND_WINS, Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw

# Columns: games begun, turns played, random stream, seat 0 or 1, an `EpisodeStatus`.
EPISODE, TURNS, STREAM, SEAT, STATUS = COLUMNS = tuple(range(-5, 0))
ACCEPTED = -1
MAX_RESET_ATTEMPTS = 100  # at a reply that does not end the game at once

_1 = np.uint64(1)


class Autoreset(IntEnum):
    """When a finished board begins again; the meanings are those of Gymnasium."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


class OpponentMode(IntEnum):
    """Who takes the decisions that are not the seat's."""

    NONE = 0  # whoever steps the boards plays both sides
    RANDOM = 1  # the step itself, at random
    EXTERNAL = 2  # whoever calls `play_replies`


class IllegalMode(IntEnum):
    """What becomes of an illegal action of the action space."""

    RAISE = 0
    LOSE = 1  # who chose it loses the game
    RANDOM = 2  # a random legal one is played in its place


class EpisodeStatus(IntEnum):
    """Whether the episode on a board is running, and if not, what ended it."""

    RUNNING = 0
    TERMINATED = 1  # by the rules
    TRUNCATED = 2  # by a limit
    FAULT = 3  # by an illegal action


class StepKind(IntEnum):
    """What a step does on a board."""

    SKIP = 0
    DECISION = 1  # a new game where the last one is over, if that is how boards begin again
    RESET = 2


class Settings(NamedTuple):
    """How the boards are played; a limit of 0 does not apply."""

    replies: int  # a `OpponentMode`
    seat: int  # 0, 1, or -1: drawn at every reset
    max_turns: int  # truncate after this number of turns
    repetitions: int  # truncate at the Nth occurrence of a position
    autoreset: int  # an `Autoreset`
    illegal: int  # an `IllegalMode`
    repetition_limit: int  # turns leading to the same position after which its rules end a game


class Batch(NamedTuple):
    """N boards and what is seen of them, by the seat or, without replies, by who is to move."""

    rows: NDArray[np.uint64]  # [N, 2 * fields + 5], see the head of the module
    keys: NDArray[np.uint64]  # [N, K]: hashes of positions, by turn; K is 0 where none are kept
    observations: NDArray[np.int8]  # [N, C, H, W]
    masks: NDArray[np.int8]  # [N, num_actions], see `_write_mask`
    rewards: NDArray[np.float64]  # [N], of the seat; without replies of who has just moved
    terminated: NDArray[np.bool_]  # [N]: by the rules or by an illegal action
    truncated: NDArray[np.bool_]  # [N]: by a limit
    outcomes: NDArray[np.int8]  # [N], of the game that the last step ended or went on with
    to_move: NDArray[np.int8]  # [N]
    final_observations: NDArray[np.int8]  # [N or 0, C, H, W], before the reset in the same step
    final_rows: NDArray[np.uint64]  # [N or 0, 2 * fields + 5]


class Board(NamedTuple):
    """One of the boards."""

    number: int
    row: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    legal: NDArray[np.int32]  # [num_actions]: room for a list of actions


@jit
def _board(batch: Batch, number: int, legal: NDArray[np.int32]) -> Board:
    return Board(number, batch.rows[number], batch.keys[number], legal)


@jit
def find_refused(
    settings: Settings, batch: Batch, due: NDArray[np.int8], actions: NDArray[np.int64]
) -> int:
    """Return the first board that refuses its action, or ACCEPTED; `due` and `actions` are [N].

    Only boards on which a decision is due (`StepKind`) look at their actions.
    """
    batch = as_raw(batch)
    for number in range(len(batch.rows)):
        row, mask = batch.rows[number], batch.masks[number]
        if due[number] == StepKind.DECISION and not _accepts(settings, row, actions[number], mask):
            return number
    return ACCEPTED


@jit(nogil=True)
def step(
    start: Position,
    settings: Settings,
    batch: Batch,
    due: NDArray[np.int8],
    actions: NDArray[np.int64],
    starts: NDArray[np.uint64],
) -> int:
    """Play actions[i] (int64[N]) or begin a game on board i, by its `StepKind` due[i] (int8[N]).

    Games begin in row i % M of `starts`, uint64[M, fields], positions in which a game is not over,
    but in `start` where they begin in the step that ends one; its class picks the rules, here and
    below. Return ACCEPTED or, where nothing changes, the first board whose action is refused.
    """
    batch = as_raw(batch)
    first_refused = find_refused(settings, batch, due, actions)
    if first_refused != ACCEPTED:
        return first_refused
    legal = np.empty(batch.masks.shape[1], np.int32)
    for number in range(len(batch.rows)):
        board = _board(batch, number, legal)
        if due[number] == StepKind.RESET or (
            due[number] == StepKind.DECISION and board.row[STATUS]
        ):
            first = rules.load(starts[number % len(starts)], start)
            _restart(first, settings, batch, board)
        elif due[number] == StepKind.DECISION:
            _decide(np.int64(actions[number]), start, settings, batch, board)
    return ACCEPTED


@jit
def play_replies(
    start: Position,
    settings: Settings,
    batch: Batch,
    which: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Play the opponent's `actions`, int64[M], all legal, on the boards `which`, int64[M].

    Those before the seat's first decision leave rewards and endings as they are.
    """
    batch = as_raw(batch)
    legal = np.empty(batch.masks.shape[1], np.int32)
    for place in range(len(which)):
        board = _board(batch, which[place], legal)
        row = board.row
        is_opening = row[TURNS] == ZERO
        position = _advance(rules.load(row, start), np.int64(actions[place]), board)
        result, status = _status(position, settings, board)
        if is_opening:
            row[STATUS] = status
            _show(position, settings, batch, board)
        else:
            _conclude(position, np.int64(row[SEAT]), result, status, start, settings, batch, board)


@jit
def observe_movers(
    start: Position, rows: NDArray[np.uint64], which: NDArray[np.int64], planes: NDArray[np.int8]
) -> None:
    """Write what the players to move see on the boards `which` into `planes`, int8[M, C, H, W]."""
    for place in range(len(which)):
        position = rules.load(rows[which[place]], start)
        rules.observe(position, rules.to_move(position), planes[place])


@jit
def describe_endings(
    start: Position,
    rows: NDArray[np.uint64],
    to_move: NDArray[np.int8],
    margins: NDArray[np.int64],
) -> None:
    """Write who is to move in M rows of boards, int8[M], and by how much the first player has won.

    That is 0, int64[M], where the rules of the game alone have not decided it.
    """
    for place in range(len(rows)):
        position = rules.load(rows[place], start)
        to_move[place] = rules.to_move(position)
        result = rules.outcome(position)
        margins[place] = 0
        if result == FIRST_WINS:
            margins[place] = rules.margin(position)
        elif result == SECOND_WINS:
            margins[place] = -rules.margin(position)


@jit
def observe(start: Position, settings: Settings, batch: Batch) -> None:
    """Write what is seen of every board into `batch.observations`."""
    batch = as_raw(batch)
    for number in range(len(batch.rows)):
        row = batch.rows[number]
        _observe(rules.load(row, start), settings, row, batch.observations[number])


@jit
def _decide(action: Int, start: Position, settings: Settings, batch: Batch, board: Board) -> None:
    """Play an action of the action space, and the random replies to it."""
    before = rules.load(board.row, start)
    viewer = np.int64(board.row[SEAT]) if settings.replies else rules.to_move(before)
    is_legal = batch.masks[board.number, action] == 1
    if not is_legal and settings.illegal == IllegalMode.LOSE:
        position, status = before, np.int64(EpisodeStatus.FAULT)
        result: Int = 1 - rules.to_move(before)
    else:
        chosen = action if is_legal else _draw(before, board)
        position = _reply(_advance(before, chosen, board), settings, board)
        result, ended = _status(position, settings, board)
        status = np.int64(ended)
    _conclude(position, viewer, result, status, start, settings, batch, board)


@jit
def _conclude(
    position: Position,
    viewer: Int,
    result: Int,
    status: Int,
    start: Position,
    settings: Settings,
    batch: Batch,
    board: Board,
) -> None:
    """Write what a decision brought to `viewer`; begin again where that is due at once.

    `result` is the outcome, `status` an `EpisodeStatus`.
    """
    number, row = board.number, board.row
    batch.rewards[number] = rules.reward(result, viewer)
    row[STATUS] = status
    batch.terminated[number] = result != ONGOING
    batch.truncated[number] = status == EpisodeStatus.TRUNCATED
    if status != EpisodeStatus.RUNNING and settings.autoreset == Autoreset.SAME_STEP:
        _observe(position, settings, row, batch.final_observations[number])
        rules.store(position, row)
        _copy(row, batch.final_rows[number])
        position = _begin(start, settings, board)
    _show(position, settings, batch, board)
    batch.outcomes[number] = result


@jit
def _copy(row: NDArray[np.uint64], into: NDArray[np.uint64]) -> None:
    for index in range(len(row)):  # an assignment of slices would compile its error message, too
        into[index] = row[index]


@jit
def _accepts(
    settings: Settings, row: NDArray[np.uint64], action: int, mask: NDArray[np.int8]
) -> bool:
    if row[STATUS]:
        return settings.autoreset == Autoreset.NEXT_STEP
    is_action = 0 <= action < len(mask)
    return is_action and (settings.illegal != IllegalMode.RAISE or mask[action] == 1)


@jit
def _restart(position: Position, settings: Settings, batch: Batch, board: Board) -> None:
    """Begin a game in `position`, and write what is seen of it."""
    position = _begin(position, settings, board)
    number = board.number
    batch.rewards[number] = 0.0
    batch.terminated[number] = batch.truncated[number] = False
    batch.outcomes[number] = ONGOING
    _show(position, settings, batch, board)


@jit
def _begin(position: Position, settings: Settings, board: Board) -> Position:
    """Return the position in which the seat decides first; the random stream goes on."""
    row, keys = board.row, board.keys
    row[EPISODE] += _1
    row[SEAT] = settings.seat
    after = position
    if settings.seat < 0:
        row[SEAT] = random_streams.below(row[STREAM], 2)
        row[STREAM] = random_streams.advance(row[STREAM])
    if len(keys):
        keys[0] = rules.key(position)
    for _ in range(MAX_RESET_ATTEMPTS):
        row[TURNS] = 0
        rules.store(position, row[len(position) :])
        after = _reply(position, settings, board)
        _, status = _status(after, settings, board)
        row[STATUS] = status
        if status == EpisodeStatus.RUNNING:
            break
    return after


@jit
def _advance(position: Position, action: Int, board: Board) -> Position:
    """Return the position after a legal action, its turn counted where it ends one."""
    row, keys = board.row, board.keys
    if not rules.mid_turn(position):
        rules.store(position, row[len(position) :])
    position = rules.apply(position, action)
    if not rules.mid_turn(position):
        row[TURNS] += _1
        if len(keys):
            keys[np.int64(row[TURNS]) % len(keys)] = rules.key(position)
    return position


@jit
def _reply(position: Position, settings: Settings, board: Board) -> Position:
    """Return the position after all random decisions until the seat is to move, if any are due."""
    while settings.replies == OpponentMode.RANDOM and rules.to_move(position) != np.int64(
        board.row[SEAT]
    ):
        _, status = _status(position, settings, board)
        if status != EpisodeStatus.RUNNING:
            break
        position = _advance(position, _draw(position, board), board)
    return position


@jit
def _draw(position: Position, board: Board) -> Int:
    """Return a random legal action."""
    count = rules.legal_actions(position, board.legal)
    action = board.legal[random_streams.below(board.row[STREAM], count)]
    board.row[STREAM] = random_streams.advance(board.row[STREAM])
    return np.int64(action)


@jit
def _status(position: Position, settings: Settings, board: Board) -> tuple[Int, Int]:
    """Return the outcome by the rules, and the `EpisodeStatus` by them and by the limits."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result, np.int64(EpisodeStatus.TERMINATED)
    if rules.mid_turn(position):
        return result, np.int64(EpisodeStatus.RUNNING)
    keys, turns = board.keys, np.int64(board.row[TURNS])
    at_limit: Bool = settings.max_turns > 0 and turns >= settings.max_turns
    if len(keys):
        newest, kept = keys[turns % len(keys)], keys[: turns + 1]
        count = 0
        for key in kept:
            if key == newest:
                count += 1
        if settings.repetition_limit:
            is_from_start = turns < len(keys) and keys[0] == newest
            if count - is_from_start >= settings.repetition_limit:
                return rules.repetition_outcome(position), np.int64(EpisodeStatus.TERMINATED)
        elif not at_limit:
            at_limit = count >= settings.repetitions
    if at_limit:
        return result, np.int64(EpisodeStatus.TRUNCATED)
    return result, np.int64(EpisodeStatus.RUNNING)


@jit
def _observe(
    position: Position, settings: Settings, row: NDArray[np.uint64], planes: NDArray[np.int8]
) -> None:
    viewer = np.int64(row[SEAT]) if settings.replies else rules.to_move(position)
    rules.observe(position, viewer, planes)


@jit
def _show(position: Position, settings: Settings, batch: Batch, board: Board) -> None:
    """Store the position, and write what is seen of it."""
    number, row = board.number, board.row
    rules.store(position, row)
    batch.to_move[number] = rules.to_move(position)
    _observe(position, settings, row, batch.observations[number])
    _write_mask(position, board, batch.masks[number])


@jit
def _write_mask(position: Position, board: Board, mask: NDArray[np.int8]) -> None:
    """Write 1 for each legal action of the player to move, else 0, into `mask`, int8[num_actions].

    Where the rules or a fault ended the episode no action is legal, and the mask is all 1, so that
    a policy that normalizes over the mask stays finite. A truncated position has its legal actions.
    """
    status, legal = np.int64(board.row[STATUS]), board.legal
    if status in (EpisodeStatus.TERMINATED, EpisodeStatus.FAULT):
        mask[:] = 1
        return
    mask[:] = 0
    for index in range(rules.legal_actions(position, legal)):
        mask[legal[index]] = 1
