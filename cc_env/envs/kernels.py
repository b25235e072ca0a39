"""Compiled core of the environments: resets, steps, random replies, limits and observations.

A board is a row of unsigned words: the fields of its position, the fields of the position in which
the last turn began, then the columns named below.

Shapes: N boards, M of them or M starts; C planes, H rows and W columns of an observation; K keys
of a game's positions.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.bitboard import ZERO
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw, by_reference
from cc_env.search.policies import Policy, decide

# Columns at the end of a row: whether the current episode has had a step, number of the opponent,
# from 1, or 0 if none was drawn, episodes begun, turns played in the current one, state of the
# random stream, the learner's seat (0 or 1), and an `EpisodeStatus`.
HAS_STEP, OPPONENT, EPISODE, TURNS, STREAM, SEAT, STATUS = COLUMNS = tuple(range(-7, 0))

# Returned if every board accepts its action.
ACCEPTED = -1

# If the opponent's first reply ends the game, a reset draws again, at most this number of times.
MAX_RESET_ATTEMPTS = 100

_1 = np.uint64(1)
# Resolution of the random number that selects an opponent.
_RESOLUTION = 1 << 32


class Autoreset(IntEnum):
    """When a finished board is reset, by the names of Gymnasium's `AutoresetMode`."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


class OpponentMode(IntEnum):
    """How the decisions of the seat's opponent are made.

    NONE: the caller of `step` plays both sides. RANDOM: at random, within `step`. EXTERNAL: by the
    caller of `play_replies`. POLICY: by `play_policy`, after each call of `step`.
    """

    NONE = 0
    RANDOM = 1
    EXTERNAL = 2
    POLICY = 3


class IllegalMode(IntEnum):
    """How illegal actions are handled.

    RAISE: they are refused. LOSE: the player loses the game. RANDOM: a random legal action is
    played instead.
    """

    RAISE = 0
    LOSE = 1
    RANDOM = 2


class EpisodeStatus(IntEnum):
    """The state of an episode.

    It is running, terminated by the rules or by an illegal action (FAULT), drawn by a limit of
    turns or repetitions, which terminates it, too, or truncated by such a limit.
    """

    RUNNING = 0
    TERMINATED = 1
    FAULT = 2
    TURN_LIMIT_DRAW = 3
    REPETITION_DRAW = 4
    TURN_LIMIT = 5
    REPETITION_LIMIT = 6


class StepKind(IntEnum):
    """The effect of a step on a board.

    DECISION plays an action, or resets a finished board if it resets itself (`Autoreset`). RESET
    begins a game after a random opening, RESET_TO_POSITION in the given position.
    """

    SKIP = 0
    DECISION = 1
    RESET = 2
    RESET_TO_POSITION = 3


class Counter(IntEnum):
    """Bits of the counters that observations may contain, each in a plane, in this order.

    NO_PROGRESS: turns until the rules draw a game without progress. TURNS_LEFT: turns until the
    limit of turns. REPETITIONS: occurrences of the position, as the rules or the limit count them.
    """

    NO_PROGRESS = 1
    TURNS_LEFT = 2
    REPETITIONS = 4


# Greater numbers are observed as this one.
MAX_COUNT = 127


class Settings(NamedTuple):
    """The settings of a batch of boards.

    opponent_mode
        An `OpponentMode`.
    seat
        The learner's seat, 0 or 1, or -1: drawn at each reset.
    max_turns
        Number of turns after which an episode ends; 0 for no limit.
    repetitions
        The occurrence of a position at which an episode ends; 0 for no limit.
    draw_at_limits
        1 if an episode that these limits end is drawn, 0 if it is truncated.
    autoreset, illegal
        An `Autoreset` and an `IllegalMode`.
    repetition_limit
        Turns leading to the same position after which the game's own rules end it; 0 for none.
    max_opening_turns
        Games begin after 0 to this number of random turns.
    counters
        The `Counter`s in the last planes of observations, added up.
    """

    opponent_mode: int
    seat: int
    max_turns: int
    repetitions: int
    draw_at_limits: int
    autoreset: int
    illegal: int
    repetition_limit: int
    max_opening_turns: int
    counters: int


class Batch(NamedTuple):
    """The arrays of N boards, as seen by the seat or, without an opponent, by the player to move.

    `rows` is described in the docstring of this module. `keys` has hashes of positions by turn; K
    is 0 if repetitions are not counted. `masks` are 1 for the legal actions of the player to move,
    and all 1 if the episode is terminated. `rewards` are the seat's or, without an
    opponent, those of the player who moved last. `outcomes` are of the game that the last step
    ended or continued. The final arrays describe games before they were reset in the same step;
    they are empty in other modes.
    """

    rows: NDArray[np.uint64]  # [N, 2 * fields + 7]
    keys: NDArray[np.uint64]  # [N, K]
    observations: NDArray[np.int8]  # [N, C, H, W]
    masks: NDArray[np.int8]  # [N, num_actions]
    rewards: NDArray[np.float64]  # [N]
    terminated: NDArray[np.bool_]  # [N]
    truncated: NDArray[np.bool_]  # [N]
    outcomes: NDArray[np.int8]  # [N]
    to_move: NDArray[np.int8]  # [N]
    final_observations: NDArray[np.int8]  # [N or 0, C, H, W]
    final_rows: NDArray[np.uint64]  # [N or 0, 2 * fields + 7]


# `Settings` and `Batch` as plain tuples: numba reads these in half the time of named tuples.
SettingsTuple = tuple[int, ...]
BatchTuple = tuple[NDArray[Any], ...]


class Board(NamedTuple):
    """One of the boards; `legal` is a buffer for a list of actions."""

    number: int
    row: NDArray[np.uint64]  # [2 * fields + 7]
    keys: NDArray[np.uint64]  # [K]
    legal: NDArray[np.int32]  # [num_actions]


@jit
def find_refused(
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    kinds: NDArray[np.int8],
    actions: NDArray[np.int64],
) -> int:
    """Return the first board that refuses its action, or ACCEPTED.

    Board i is to take the step kinds[i] (int8[N], a `StepKind`), with actions[i] (int64[N]).
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    return _find_refused(settings, batch, kinds, actions)


@jit
def _find_refused(
    settings: Settings, batch: Batch, kinds: NDArray[np.int8], actions: NDArray[np.int64]
) -> int:
    for number in range(len(batch.rows)):
        row, mask = batch.rows[number], batch.masks[number]
        if kinds[number] == StepKind.DECISION and not _accepts(
            settings, row, actions[number], mask
        ):
            return number
    return ACCEPTED


@jit(nogil=True)
def step(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    kinds: NDArray[np.int8],
    actions: NDArray[np.int64],
    starts: NDArray[np.uint64],
) -> int:
    """Play actions[i] (int64[N]) or begin a game on board i, by its `StepKind` kinds[i] (int8[N]).

    Return ACCEPTED or, if nothing has changed, the first board whose action is refused. Games begin
    in row i % M of `starts`, uint64[M, fields], unfinished positions, or after a random opening
    from there. With SAME_STEP, the next game begins in `start`, or after a random opening from it.
    The class of `start` selects the rules, here and below.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    refused = _find_refused(settings, batch, kinds, actions)
    if refused != ACCEPTED:
        return refused
    legal = np.empty(batch.masks.shape[1], np.int32)
    for number in range(len(batch.rows)):
        board = by_reference(Board(number, batch.rows[number], batch.keys[number], legal))
        kind = kinds[number]
        if kind == StepKind.DECISION and not board.row[STATUS]:
            _play_action(np.int64(actions[number]), start, settings, batch, board)
        elif kind != StepKind.SKIP:
            first = rules.load(starts[number % len(starts)], start)
            _reset_board(first, kind != StepKind.RESET_TO_POSITION, settings, batch, board)
    return ACCEPTED


@jit
def play_replies(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    numbers: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Play the opponent's legal `actions`, int64[M], on the boards `numbers`, int64[M].

    Replies before the seat's first decision leave `rewards`, `terminated` and `truncated`
    unchanged.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    legal = np.empty(batch.masks.shape[1], np.int32)
    for index in range(len(numbers)):
        number = numbers[index]
        board = by_reference(Board(number, batch.rows[number], batch.keys[number], legal))
        row = board.row
        is_before_first_decision = row[HAS_STEP] == ZERO
        position = _advance(rules.load(row, start), np.int64(actions[index]), board)
        result, status = _status(position, settings, board)
        if is_before_first_decision:
            row[STATUS] = status
            _write_board(position, settings, batch, board)
        else:
            seat = np.int64(row[SEAT])
            _conclude(position, seat, result, status, start, settings, batch, board)


@jit(nogil=True)
def play_policy(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    kinds: NDArray[np.int8],
    packed_policy: Policy,
) -> None:
    """Play the decisions of a policy of `cc_env.search.policies` until each seat is to move.

    Its decisions before the seat's first one leave `rewards`, `terminated` and `truncated`
    unchanged. If they end a game, it begins again unless kinds[i] (int8[N]) is RESET_TO_POSITION.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    policy = as_raw(packed_policy)
    legal = np.empty(batch.masks.shape[1], np.int32)
    for number in range(len(batch.rows)):
        board = by_reference(Board(number, batch.rows[number], batch.keys[number], legal))
        # After the end of a game with SAME_STEP, the policy may begin the next one.
        while _is_policy_to_move(board.row, batch.to_move[number]):
            may_restart = kinds[number] != StepKind.RESET_TO_POSITION
            _play_policy(policy, may_restart, start, settings, batch, board)


@jit
def _is_policy_to_move(row: NDArray[np.uint64], player: Int) -> Bool:
    return bool(row[STATUS] == ZERO and np.uint64(player) != row[SEAT])


@jit
def _play_policy(
    policy: Policy,
    may_restart: Bool,
    start: Position,
    settings: Settings,
    batch: Batch,
    board: Board,
) -> None:
    """Play the policy's decisions on a board until the seat is to move or the game ends."""
    row = board.row
    is_before_first_decision = row[HAS_STEP] == ZERO
    position = rules.load(row, start)
    result: Int = np.int64(ONGOING)
    status: Int = np.int64(EpisodeStatus.RUNNING)
    attempts_left = MAX_RESET_ATTEMPTS if may_restart and is_before_first_decision else 0
    while True:
        seat = np.int64(row[SEAT])
        while status == EpisodeStatus.RUNNING and rules.to_move(position) != seat:
            state = row[STREAM]
            row[STREAM] = random_streams.advance(state)
            action = np.int64(decide(policy, position, state))
            position = _advance(position, action, board)
            result, status = _status(position, settings, board)
        if status == EpisodeStatus.RUNNING or not attempts_left:
            break
        attempts_left -= 1
        position = _start_episode(start, attempts_left > 0, settings, board)
        status = np.int64(EpisodeStatus.RUNNING)
    if is_before_first_decision:
        row[STATUS] = status
        _write_board(position, settings, batch, board)
    else:
        _conclude(position, seat, result, status, start, settings, batch, board)


@jit
def draw_opponents(
    rows: NDArray[np.uint64], numbers: NDArray[np.int64], limits: NDArray[np.float64]
) -> None:
    """Draw opponents for the boards `numbers`, int64[M], that have none.

    `limits`, float64[K], are the cumulative weights of the opponents.
    """
    last = len(limits) - 1
    for index in range(len(numbers)):
        row = rows[numbers[index]]
        if row[OPPONENT]:
            continue
        opponent = 0
        if last:
            draw = limits[last] * random_streams.below(row[STREAM], _RESOLUTION) / _RESOLUTION
            row[STREAM] = random_streams.advance(row[STREAM])
            while opponent < last and draw >= limits[opponent]:
                opponent += 1
        row[OPPONENT] = np.uint64(opponent + 1)


@jit
def observe_players(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    numbers: NDArray[np.int64],
    players: NDArray[np.int64],
    planes: NDArray[np.int8],
) -> None:
    """Write the observations of `players`, int64[M], on the boards `numbers`, int64[M].

    They are written into `planes`, int8[M, C, H, W].
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    for index in range(len(numbers)):
        row, keys = batch.rows[numbers[index]], batch.keys[numbers[index]]
        position = rules.load(row, start)
        _write_planes(position, players[index], settings, row, keys, planes[index])


@jit
def write_final_states(
    start: Position,
    rows: NDArray[np.uint64],
    to_move: NDArray[np.int8],
    margins: NDArray[np.int64],
    masks: NDArray[np.int8],
) -> None:
    """Write the players to move, int8[M], margins, int64[M], and masks, int8[M, num_actions].

    The margin is the first player's, 0 for a draw and if the rules have not decided the game. A
    mask is 1 for legal actions, and all 1 if the episode is terminated.
    """
    legal = np.empty(masks.shape[1], np.int32)
    for index in range(len(rows)):
        position = rules.load(rows[index], start)
        to_move[index] = rules.to_move(position)
        _write_mask(position, np.int64(rows[index, STATUS]), legal, masks[index])
        result = rules.outcome(position)
        margins[index] = 0
        if result == FIRST_WINS:
            margins[index] = rules.margin(position)
        elif result == SECOND_WINS:
            margins[index] = -rules.margin(position)


@jit
def observe(start: Position, packed_settings: SettingsTuple, packed_batch: BatchTuple) -> None:
    """Write the observation of every board into the `observations` of the batch."""
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    for number in range(len(batch.rows)):
        row, keys = batch.rows[number], batch.keys[number]
        _observe(rules.load(row, start), settings, row, keys, batch.observations[number])


@jit
def _play_action(
    action: Int, start: Position, settings: Settings, batch: Batch, board: Board
) -> None:
    """Play an action of the action space, and the random replies to it."""
    before = rules.load(board.row, start)
    viewer = np.int64(board.row[SEAT]) if settings.opponent_mode else rules.to_move(before)
    board.row[HAS_STEP] = _1
    is_legal = batch.masks[board.number, action] == 1
    if not is_legal and settings.illegal == IllegalMode.LOSE:
        position, status = before, np.int64(EpisodeStatus.FAULT)
        result: Int = 1 - rules.to_move(before)
    else:
        legal_action = action if is_legal else _draw(before, board)
        position = _reply(_advance(before, legal_action, board), settings, board)
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
    """Write reward, flags and outcome for `viewer`; with SAME_STEP, restart a finished game.

    `result` is the outcome, `status` an `EpisodeStatus`.
    """
    number, row = board.number, board.row
    batch.rewards[number] = rules.reward(result, viewer)
    row[STATUS] = status
    batch.terminated[number] = result != ONGOING
    batch.truncated[number] = status >= EpisodeStatus.TURN_LIMIT
    if status != EpisodeStatus.RUNNING and settings.autoreset == Autoreset.SAME_STEP:
        _observe(position, settings, row, board.keys, batch.final_observations[number])
        rules.store(position, row)
        _copy(row, batch.final_rows[number])
        position = _start_episode(start, True, settings, board)
    _write_board(position, settings, batch, board)
    batch.outcomes[number] = result


@jit
def _copy(source: NDArray[np.uint64], target: NDArray[np.uint64]) -> None:
    # An assignment of slices takes longer to compile: it includes an error message.
    for index in range(len(source)):
        target[index] = source[index]


@jit
def _accepts(
    settings: Settings, row: NDArray[np.uint64], action: int, mask: NDArray[np.int8]
) -> bool:
    if row[STATUS]:
        return settings.autoreset == Autoreset.NEXT_STEP
    is_action = 0 <= action < len(mask)
    return is_action and (settings.illegal != IllegalMode.RAISE or mask[action] == 1)


@jit
def _reset_board(
    start: Position, has_opening: Bool, settings: Settings, batch: Batch, board: Board
) -> None:
    """Begin a game as `_start_episode`; write its observation and mask."""
    position = _start_episode(start, has_opening, settings, board)
    number = board.number
    batch.rewards[number] = 0.0
    batch.terminated[number] = batch.truncated[number] = False
    batch.outcomes[number] = ONGOING
    _write_board(position, settings, batch, board)


@jit
def _random_opening(position: Position, settings: Settings, board: Board) -> Position:
    """Return an unfinished position after 0 to `max_opening_turns` random turns.

    If all attempts end the game, it is the given position.
    """
    row = board.row
    for _ in range(MAX_RESET_ATTEMPTS if settings.max_opening_turns else 0):
        turns = random_streams.below(row[STREAM], settings.max_opening_turns + 1)
        row[STREAM] = random_streams.advance(row[STREAM])
        after = position
        while turns > 0 and rules.outcome(after) == ONGOING:
            after = rules.apply(after, _draw(after, board))
            turns -= not rules.mid_turn(after)
        if rules.outcome(after) == ONGOING:
            return after
    return position


@jit
def _start_episode(
    start: Position, has_opening: Bool, settings: Settings, board: Board
) -> Position:
    """Begin a game in `start` or after a random opening from there.

    Return the position after random replies, if these are the opponent's. If they end a game, it
    begins again with new random numbers; the last attempt has no opening.
    """
    row, keys = board.row, board.keys
    row[HAS_STEP] = row[OPPONENT] = ZERO
    row[EPISODE] += _1
    row[SEAT] = settings.seat
    if settings.seat < 0:
        row[SEAT] = random_streams.below(row[STREAM], 2)
        row[STREAM] = random_streams.advance(row[STREAM])
    after = start
    for attempts_left in range(MAX_RESET_ATTEMPTS - 1, -1, -1):
        first = start
        if has_opening and attempts_left:
            first = _random_opening(start, settings, board)
        if len(keys):
            keys[0] = rules.key(first)
        row[TURNS] = 0
        rules.store(first, row[len(first) :])
        after = _reply(first, settings, board)
        _, status = _status(after, settings, board)
        row[STATUS] = status
        if status == EpisodeStatus.RUNNING:
            break
    return after


@jit
def _advance(position: Position, action: Int, board: Board) -> Position:
    """Return the position after a legal action; count the turn if the action ends it."""
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
    """Return the position after random replies until the seat is to move or the game ends.

    With other opponents, it is the same position.
    """
    while settings.opponent_mode == OpponentMode.RANDOM and rules.to_move(position) != np.int64(
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
    """Return the outcome and the `EpisodeStatus`, by the rules and the limits."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result, np.int64(EpisodeStatus.TERMINATED)
    if rules.mid_turn(position):
        return result, np.int64(EpisodeStatus.RUNNING)
    turns = np.int64(board.row[TURNS])
    if len(board.keys):
        count = _repetitions(turns, settings, board.keys)
        if settings.repetition_limit:
            if count >= settings.repetition_limit:
                return rules.repetition_outcome(position), np.int64(EpisodeStatus.TERMINATED)
        elif count >= settings.repetitions:
            if settings.draw_at_limits:
                return np.int64(DRAW), np.int64(EpisodeStatus.REPETITION_DRAW)
            return result, np.int64(EpisodeStatus.REPETITION_LIMIT)
    if settings.max_turns > 0 and turns >= settings.max_turns:
        if settings.draw_at_limits:
            return np.int64(DRAW), np.int64(EpisodeStatus.TURN_LIMIT_DRAW)
        return result, np.int64(EpisodeStatus.TURN_LIMIT)
    return result, np.int64(EpisodeStatus.RUNNING)


@jit
def _repetitions(turns: Int, settings: Settings, keys: NDArray[np.uint64]) -> Int:
    """Return the occurrences of the position after the last turn.

    The rules of a game, if they have a `repetition_limit`, do not count the start.
    """
    newest = keys[turns % len(keys)]
    count: Int = np.int64(0)
    for key in keys[: turns + 1]:
        if key == newest:
            count += 1
    if settings.repetition_limit and turns < len(keys) and keys[0] == newest:
        count -= 1
    return count


@jit
def _observe(
    position: Position,
    settings: Settings,
    row: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    planes: NDArray[np.int8],
) -> None:
    viewer = np.int64(row[SEAT]) if settings.opponent_mode else rules.to_move(position)
    _write_planes(position, viewer, settings, row, keys, planes)


@jit
def _write_planes(
    position: Position,
    viewer: Int,
    settings: Settings,
    row: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    planes: NDArray[np.int8],
) -> None:
    """Write the observation of a player, and the counters, into `planes`, int8[C, H, W]."""
    if not settings.counters:
        rules.observe(position, viewer, planes)
        return
    plane, turns = len(planes), np.int64(row[TURNS])
    if settings.counters & Counter.REPETITIONS:
        plane -= 1
        _fill(planes[plane], _repetitions(turns, settings, keys))
    if settings.counters & Counter.TURNS_LEFT:
        plane -= 1
        _fill(planes[plane], settings.max_turns - turns)
    if settings.counters & Counter.NO_PROGRESS:
        plane -= 1
        _fill(planes[plane], rules.turns_to_draw(position))
    rules.observe(position, viewer, planes[:plane])


@jit
def _fill(plane: NDArray[np.int8], count: Int) -> None:
    value = np.int8(count if count < MAX_COUNT else MAX_COUNT)
    for row in range(plane.shape[0]):
        for column in range(plane.shape[1]):
            plane[row, column] = value


@jit
def _write_board(position: Position, settings: Settings, batch: Batch, board: Board) -> None:
    """Store the position; write its observation and mask, unless `play_policy` will."""
    number, row = board.number, board.row
    rules.store(position, row)
    batch.to_move[number] = rules.to_move(position)
    is_policy = settings.opponent_mode == OpponentMode.POLICY
    if is_policy and _is_policy_to_move(row, batch.to_move[number]):
        return
    _observe(position, settings, row, board.keys, batch.observations[number])
    _write_mask(position, np.int64(row[STATUS]), board.legal, batch.masks[number])


@jit
def _write_mask(
    position: Position, status: Int, legal: NDArray[np.int32], mask: NDArray[np.int8]
) -> None:
    """Write 1 for each legal action of the player to move, else 0, into `mask`, int8[num_actions].

    Once the episode is terminated, the mask is all 1, so that a policy that normalizes over the
    mask stays finite. A truncated position has its legal actions.
    """
    if EpisodeStatus.RUNNING < status < EpisodeStatus.TURN_LIMIT:
        mask[:] = 1
        return
    mask[:] = 0
    for index in range(rules.legal_actions(position, legal)):
        mask[legal[index]] = 1
