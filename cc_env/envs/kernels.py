"""Compiled core of the environments: resets, steps, replies, limits and observations.

Shapes: N boards, M of them; F fields of a position; C planes, H rows and W columns of an
observation; K keys of a game's positions.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.repetition import count_occurrences
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw, by_reference
from cc_env.jit.shares import Shares, finish_share, is_finished, open_shares, take_share
from cc_env.search.policies import Policy, decide

# What a board stores besides positions and their keys.
EPISODE = np.dtype(
    [
        # State of the random stream.
        ("stream", np.uint64),
        # Episodes begun, and turns played in the current one.
        ("number", np.int64),
        ("turns", np.int64),
        # Index of the opponent plus 1; 0 if none was sampled.
        ("opponent", np.int64),
        # The learner's seat, 0 or 1.
        ("seat", np.int8),
        # An `EpisodeStatus`.
        ("status", np.int8),
        # Whether the episode has had a step.
        ("has_step", np.bool_),
    ],
    align=True,
)

# Returned if every board accepts its action.
ACCEPTED = -1

# If the opponent's first replies end a game, it begins again; the number of attempts.
MAX_RESET_ATTEMPTS = 100

# Resolution of the random number that selects an opponent.
_RESOLUTION = 1 << 32


class Autoreset(IntEnum):
    """When a finished board is reset, by the names of Gymnasium's `AutoresetMode`."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


class OpponentMode(IntEnum):
    """How the decisions of the seat's opponent are made.

    NONE: the caller of `step` plays both sides. EXTERNAL: by the caller of `play_replies`. POLICY:
    by a policy, within `step`.
    """

    NONE = 0
    EXTERNAL = 1
    POLICY = 2


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
    begins a game after a random opening from the board's position, RESET_TO_POSITION in it.
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
        The learner's seat, 0 or 1, or -1: sampled at each reset.
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

    `positions` has those of the boards, and those in which the last turns began. `keys` has hashes
    of positions by turn; K is 0 if repetitions are not counted. `masks` are 1 for the legal actions
    of the player to move, and all 1 if the episode is terminated. `rewards` are the seat's or,
    without an opponent, those of the player who moved last. `outcomes` are of the game that the
    last step ended or continued. The final arrays describe games before they were reset in the same
    step; they are empty in other modes.
    """

    positions: NDArray[np.uint64]  # [N, 2, F]
    keys: NDArray[np.uint64]  # [N, K]
    observations: NDArray[np.int8]  # [N, C, H, W]
    masks: NDArray[np.int8]  # [N, num_actions]
    rewards: NDArray[np.float64]  # [N]
    terminated: NDArray[np.bool_]  # [N]
    truncated: NDArray[np.bool_]  # [N]
    outcomes: NDArray[np.int8]  # [N]
    to_move: NDArray[np.int8]  # [N]
    final_observations: NDArray[np.int8]  # [N or 0, C, H, W]
    final_positions: NDArray[np.uint64]  # [N or 0, F]
    final_episodes: NDArray[Any]  # EPISODE[N or 0]
    episodes: NDArray[Any]  # EPISODE[N]


# `Settings` and `Batch` as plain tuples: numba reads these in half the time of named tuples.
SettingsTuple = tuple[int, ...]
BatchTuple = tuple[NDArray[Any], ...]


class Board(NamedTuple):
    """One of the boards; `legal` is a buffer for a list of actions.

    A function cannot return it: numba does not return records.
    """

    number: int
    position: NDArray[np.uint64]  # [F]
    turn_start: NDArray[np.uint64]  # [F]
    episode: Any  # EPISODE
    keys: NDArray[np.uint64]  # [K]
    legal: NDArray[np.int32]  # [num_actions]


@jit(nogil=True)
def step(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    packed_policy: Policy,
    legal: NDArray[np.int32],
    kinds: NDArray[np.int8],
    actions: NDArray[np.int64],
) -> int:
    """Play actions[i] (int64[N]) or begin a game on board i, by its `StepKind` kinds[i] (int8[N]).

    Return ACCEPTED or, if nothing has changed, the first board whose action is refused. With POLICY
    the policy, of `cc_env.search.policies`, replies until each seat is to move; if its replies
    before the first decision end a game, another game begins. Boards that reset themselves begin
    in `start`, or after a random opening from it. The class of `start` selects the rules, here and
    below; `legal`, int32[num_actions], is a buffer.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    policy = as_raw(packed_policy)
    refused = _find_refused(settings, batch, kinds, actions)
    if refused != ACCEPTED:
        return refused
    for number in range(len(kinds)):
        kind, action = kinds[number], actions[number]
        _step_board(number, kind, action, start, settings, batch, policy, legal)
    return ACCEPTED


@jit
def open_step(
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    kinds: NDArray[np.int8],
    actions: NDArray[np.int64],
    shares: Shares,
) -> int:
    """Let threads that call `step_shares` make a step; return as `step`.

    No thread makes it if a board refuses its action.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    refused = _find_refused(settings, batch, kinds, actions)
    if refused == ACCEPTED:
        open_shares(shares)
    return refused


@jit(nogil=True)
def step_shares(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    packed_policy: Policy,
    legal: NDArray[np.int32],
    kinds: NDArray[np.int8],
    actions: NDArray[np.int64],
    packed_shares: Shares,
    is_helper: bool,
) -> bool:
    """Make a step as `step`, in shares of the boards; return whether all are finished.

    A helper returns if no step begins for a while, another caller after the current step. The
    policies of the threads differ.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    policy, shares = as_raw(packed_policy), as_raw(packed_shares)
    share = take_share(shares, is_helper)
    while share >= 0:
        for number in range(shares.bounds[share], shares.bounds[share + 1]):
            kind, action = kinds[number], actions[number]
            _step_board(number, kind, action, start, settings, batch, policy, legal)
        finish_share(shares)
        share = take_share(shares, is_helper)
    return is_finished(shares)


@jit
def _find_refused(
    settings: Settings, batch: Batch, kinds: NDArray[np.int8], actions: NDArray[np.int64]
) -> int:
    for number in range(len(kinds)):
        status, mask = batch.episodes[number].status, batch.masks[number]
        if kinds[number] == StepKind.DECISION and not _accepts(
            settings, status, actions[number], mask
        ):
            return number
    return ACCEPTED


@jit
def _accepts(settings: Settings, status: Int, action: int, mask: NDArray[np.int8]) -> bool:
    if status != EpisodeStatus.RUNNING:
        return settings.autoreset == Autoreset.NEXT_STEP
    is_action = 0 <= action < len(mask)
    return is_action and (settings.illegal != IllegalMode.RAISE or mask[action] == 1)


@jit
def _step_board(
    number: int,
    kind: Int,
    action: Int,
    start: Position,
    settings: Settings,
    batch: Batch,
    policy: Policy,
    legal: NDArray[np.int32],
) -> None:
    """Make a step of this kind on a board, which accepts the action."""
    row, episode = batch.positions[number], batch.episodes[number]
    board = by_reference(Board(number, row[0], row[1], episode, batch.keys[number], legal))
    is_decision = kind == StepKind.DECISION
    first = start if is_decision else rules.load(board.position, start)
    position, begins = first, kind != StepKind.SKIP
    if is_decision and episode.status == EpisodeStatus.RUNNING:
        position, begins = _play_action(action, start, settings, batch, policy, board)
    elif begins:
        batch.rewards[number] = 0.0
        batch.terminated[number] = batch.truncated[number] = False
        batch.outcomes[number] = ONGOING
    if begins:
        has_opening = kind != StepKind.RESET_TO_POSITION
        position = _begin_game(first, has_opening, settings, policy, board)
    if kind != StepKind.SKIP:
        _write_board(position, settings, batch, board)


@jit
def play_replies(
    start: Position,
    packed_settings: SettingsTuple,
    packed_batch: BatchTuple,
    packed_policy: Policy,
    legal: NDArray[np.int32],
    numbers: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Play the opponent's legal `actions`, int64[M], on the boards `numbers`, int64[M].

    Replies before the seat's first decision leave `rewards`, `terminated` and `truncated`
    unchanged.
    """
    settings, batch = Settings(*packed_settings), by_reference(Batch(*packed_batch))
    policy = as_raw(packed_policy)
    for index in range(len(numbers)):
        number = numbers[index]
        row, episode = batch.positions[number], batch.episodes[number]
        board = by_reference(Board(number, row[0], row[1], episode, batch.keys[number], legal))
        position = _advance(rules.load(board.position, start), np.int64(actions[index]), board)
        result, status = _status(position, settings, board)
        if not episode.has_step:
            episode.status = status
        elif _conclude(position, np.int64(episode.seat), result, status, settings, batch, board):
            position = _begin_game(start, np.bool_(True), settings, policy, board)
        _write_board(position, settings, batch, board)


@jit
def sample_opponents(
    episodes: NDArray[Any], numbers: NDArray[np.int64], cumulative_shares: NDArray[np.float64]
) -> None:
    """Sample opponents for the boards `numbers`, int64[M], that have none, by their shares.

    `episodes` is EPISODE[N], `cumulative_shares` float64[K] for K opponents.
    """
    last = len(cumulative_shares) - 1
    for index in range(len(numbers)):
        episode = episodes[numbers[index]]
        if episode.opponent:
            continue
        opponent = 0
        if last:
            number = random_streams.below(episode.stream, _RESOLUTION)
            episode.stream = random_streams.advance(episode.stream)
            draw = cumulative_shares[last] * number / _RESOLUTION
            while opponent < last and draw >= cumulative_shares[opponent]:
                opponent += 1
        episode.opponent = opponent + 1


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
        number = numbers[index]
        position = rules.load(batch.positions[number, 0], start)
        turns, keys = batch.episodes[number].turns, batch.keys[number]
        _write_planes(position, players[index], settings, turns, keys, planes[index])


@jit
def write_final_states(
    start: Position,
    positions: NDArray[np.uint64],
    statuses: NDArray[np.int8],
    to_move: NDArray[np.int8],
    margins: NDArray[np.int64],
    masks: NDArray[np.int8],
    legal: NDArray[np.int32],
) -> None:
    """Write the players to move, int8[M], margins, int64[M], and masks, int8[M, num_actions].

    `positions`, uint64[M, F], are the last ones of episodes with these `EpisodeStatus`es, int8[M].
    The margin is the first player's, 0 for a draw and if the rules have not decided the game. A
    mask is 1 for legal actions, and all 1 if the episode is terminated. `legal` is a buffer,
    int32[num_actions].
    """
    for index in range(len(positions)):
        position = rules.load(positions[index], start)
        to_move[index] = rules.to_move(position)
        _write_mask(position, statuses[index], legal, masks[index])
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
    for number in range(len(batch.positions)):
        position = rules.load(batch.positions[number, 0], start)
        episode, keys = batch.episodes[number], batch.keys[number]
        _observe(position, settings, episode, keys, batch.observations[number])


@jit
def _play_action(
    action: Int, start: Position, settings: Settings, batch: Batch, policy: Policy, board: Board
) -> tuple[Position, Bool]:
    """Play an action of the action space, and the policy's replies to it.

    Return the position, and whether the next game begins in the same step.
    """
    before = rules.load(board.position, start)
    player = np.int64(rules.to_move(before))
    viewer = np.int64(board.episode.seat) if settings.opponent_mode else player
    board.episode.has_step = True
    is_legal = batch.masks[board.number, action] == 1
    position = before
    result: Int = 1 - player
    status: Int = np.int64(EpisodeStatus.FAULT)
    if is_legal or settings.illegal != IllegalMode.LOSE:
        legal_action = action if is_legal else _sample_action(before, board)
        after = _advance(before, legal_action, board)
        position, result, status = _reply(after, settings, policy, board)
    begins = _conclude(position, viewer, result, status, settings, batch, board)
    return position, begins


@jit
def _conclude(
    position: Position,
    viewer: Int,
    result: Int,
    status: Int,
    settings: Settings,
    batch: Batch,
    board: Board,
) -> Bool:
    """Write reward, flags and outcome for `viewer`; return whether the next game begins at once.

    `result` is the outcome, `status` an `EpisodeStatus`.
    """
    number, episode = board.number, board.episode
    batch.rewards[number] = rules.reward(result, viewer)
    batch.terminated[number] = result != ONGOING
    batch.truncated[number] = status >= EpisodeStatus.TURN_LIMIT
    batch.outcomes[number] = result
    episode.status = status
    begins = status != EpisodeStatus.RUNNING and settings.autoreset == Autoreset.SAME_STEP
    if begins:
        planes = batch.final_observations[number]
        _observe(position, settings, episode, board.keys, planes)
        rules.store(position, batch.final_positions[number])
        batch.final_episodes[number] = episode
    return begins


@jit
def _begin_game(
    start: Position, has_opening: Bool, settings: Settings, policy: Policy, board: Board
) -> Position:
    """Begin an episode in `start` or after a random opening from there.

    Return the position after the policy's replies, if it moves first. If they end the game, another
    episode begins; the last attempt has no opening.
    """
    position = start
    for attempts_left in range(MAX_RESET_ATTEMPTS - 1, -1, -1):
        first = _start_episode(start, has_opening and attempts_left > 0, settings, board)
        position, _, status = _reply(first, settings, policy, board)
        board.episode.status = status
        if status == EpisodeStatus.RUNNING:
            break
    return position


@jit
def _random_opening(position: Position, settings: Settings, board: Board) -> Position:
    """Return an unfinished position after 0 to `max_opening_turns` random turns.

    If all attempts end the game, it is the given position.
    """
    episode = board.episode
    for _ in range(MAX_RESET_ATTEMPTS if settings.max_opening_turns else 0):
        turns = random_streams.below(episode.stream, settings.max_opening_turns + 1)
        episode.stream = random_streams.advance(episode.stream)
        after = position
        while turns > 0 and rules.outcome(after) == ONGOING:
            after = rules.apply(after, _sample_action(after, board))
            turns -= not rules.mid_turn(after)
        if rules.outcome(after) == ONGOING:
            return after
    return position


@jit
def _start_episode(
    start: Position, has_opening: Bool, settings: Settings, board: Board
) -> Position:
    """Begin an episode; return its first position: `start`, or one after a random opening."""
    episode, keys = board.episode, board.keys
    episode.has_step, episode.opponent, episode.turns = False, 0, 0
    episode.number += 1
    episode.seat = settings.seat
    if settings.seat < 0:
        episode.seat = random_streams.below(episode.stream, 2)
        episode.stream = random_streams.advance(episode.stream)
    first = _random_opening(start, settings, board) if has_opening else start
    if len(keys):
        keys[0] = rules.key(first)
    rules.store(first, board.turn_start)
    return first


@jit
def _reply(
    position: Position, settings: Settings, policy: Policy, board: Board
) -> tuple[Position, Int, Int]:
    """Play the policy's decisions until the seat is to move or the game ends.

    Return the position, its outcome and `EpisodeStatus`. Without a policy, none is played.
    """
    episode = board.episode
    result, status = _status(position, settings, board)
    while (
        settings.opponent_mode == OpponentMode.POLICY
        and status == EpisodeStatus.RUNNING
        and rules.to_move(position) != episode.seat
    ):
        state = episode.stream
        episode.stream = random_streams.advance(state)
        position = _advance(position, np.int64(decide(policy, position, state)), board)
        result, status = _status(position, settings, board)
    return position, result, status


@jit
def _advance(position: Position, action: Int, board: Board) -> Position:
    """Return the position after a legal action; count the turn if the action ends it."""
    episode, keys = board.episode, board.keys
    if not rules.mid_turn(position):
        rules.store(position, board.turn_start)
    position = rules.apply(position, action)
    if not rules.mid_turn(position):
        episode.turns += 1
        if len(keys):
            keys[episode.turns % len(keys)] = rules.key(position)
    return position


@jit
def _sample_action(position: Position, board: Board) -> Int:
    """Return a random legal action."""
    episode = board.episode
    count = rules.legal_actions(position, board.legal)
    action = board.legal[random_streams.below(episode.stream, count)]
    episode.stream = random_streams.advance(episode.stream)
    return np.int64(action)


@jit
def _status(position: Position, settings: Settings, board: Board) -> tuple[Int, Int]:
    """Return the outcome and the `EpisodeStatus`, by the rules and the limits."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result, np.int64(EpisodeStatus.TERMINATED)
    if rules.mid_turn(position):
        return result, np.int64(EpisodeStatus.RUNNING)
    turns = board.episode.turns
    if len(board.keys):
        count = count_occurrences(board.keys, turns, settings.repetition_limit > 0)
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
def _observe(
    position: Position,
    settings: Settings,
    episode: Any,
    keys: NDArray[np.uint64],
    planes: NDArray[np.int8],
) -> None:
    viewer = np.int64(episode.seat) if settings.opponent_mode else rules.to_move(position)
    _write_planes(position, viewer, settings, episode.turns, keys, planes)


@jit
def _write_planes(
    position: Position,
    viewer: Int,
    settings: Settings,
    turns: Int,
    keys: NDArray[np.uint64],
    planes: NDArray[np.int8],
) -> None:
    """Write the observation of a player, and the counters, into `planes`, int8[C, H, W]."""
    if not settings.counters:
        rules.observe(position, viewer, planes)
        return
    plane = len(planes)
    if settings.counters & Counter.REPETITIONS:
        plane -= 1
        _fill(planes[plane], count_occurrences(keys, turns, settings.repetition_limit > 0))
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
    """Store the position; write its observation and mask."""
    number, episode = board.number, board.episode
    rules.store(position, board.position)
    batch.to_move[number] = rules.to_move(position)
    _observe(position, settings, episode, board.keys, batch.observations[number])
    _write_mask(position, episode.status, board.legal, batch.masks[number])


@jit
def _write_mask(
    position: Position, status: Int, legal: NDArray[np.int32], mask: NDArray[np.int8]
) -> None:
    """Write 1 for each legal action of the player to move, else 0, into `mask`, int8[num_actions].

    Once the episode is terminated, the mask is all 1, so that a policy that normalizes over the
    mask stays finite. A truncated position has its legal actions.
    """
    is_terminated = EpisodeStatus.RUNNING < status < EpisodeStatus.TURN_LIMIT
    for action in range(len(mask)):
        mask[action] = is_terminated
    if not is_terminated:
        for index in range(rules.legal_actions(position, legal)):
            mask[legal[index]] = 1
