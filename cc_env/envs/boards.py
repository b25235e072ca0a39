"""Any number of boards of one game, stepped by one compiled call: what each environment is made of.

A board is a row of unsigned words: the fields of its position, then the four columns named below.
"""

import operator
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import randomness, rules
from cc_env.compile import jit
from cc_env.envs.turns import TurnLog
from cc_env.errors import BadPosition, EpisodeOver, IllegalAction, UnknownOption, is_whole
from cc_env.game import Game
from cc_env.rules import DRAW, ONGOING, Bool, Int, Position

TURNS, STREAM, SEAT, DONE = -4, -3, -2, -1  # turns played, random stream, seat 0 or 1, game over?
TERMINATED, TRUNCATED, OUTCOME, TO_MOVE = range(4)  # rows of `Seen.facts`
ACCEPTED = -1
ATTEMPTS = 100  # at a reply that does not end the game at once


class Autoreset(IntEnum):
    """When a finished board begins again; the meanings are those of Gymnasium."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


class Settings(NamedTuple):
    """How the boards are played; 0 is no limit."""

    replies: int  # 1: the decisions that are not the seat's are random; 0: all come from outside
    seat: int  # 0, 1, or -1: drawn at every reset
    max_turns: int  # the game is truncated after so many turns
    repetitions: int  # and when one position occurs for the so-manieth time
    autoreset: int


class Seen(NamedTuple):
    """What is seen of the boards, by the seat or, without replies, by who is to move; in place."""

    observations: NDArray[np.int8]  # [N, C, H, W]
    masks: NDArray[np.int8]  # [N, num_actions], all 0 when the game is over
    rewards: NDArray[np.float64]  # [N], of the seat; without replies of who has just moved
    facts: NDArray[np.int8]  # [4, N]
    final_observations: NDArray[np.int8]  # as observations, before the reset in the same step


class Boards:
    """A batch of boards; `seen` shows them after the last `reset` or `step`."""

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        replies: bool = False,
        seat: int | None = None,
        max_turns: int | None = None,
        repetitions: int | None = None,
        autoreset: Autoreset = Autoreset.DISABLED,
    ) -> None:
        """Make `count` boards, to be seeded and reset; raise UnknownOption on bad values."""
        _check(count, seat, max_turns, repetitions)
        if replies and max_turns == 1 and seat != 0:
            raise UnknownOption("max_turns=1; it is 2 or more where the opponent may move first")
        self.game, self.count = game, count
        self.settings = Settings(
            int(replies),
            -1 if seat is None else int(seat),
            int(max_turns or 0),
            int(repetitions or 0),
            int(autoreset),
        )
        self.rows = np.zeros((count, len(game.initial) + 4), np.uint64)
        self.rows[:, DONE] = 1
        keys = (max_turns or 0) + 1 if repetitions else 0
        self._history = np.zeros((count, keys), np.uint64)
        self._action = np.zeros(1, np.int64)
        shape = (count, *game.observation_shape)
        final = shape if autoreset == Autoreset.SAME_STEP else (0, *shape[1:])
        self.seen = Seen(
            np.zeros(shape, np.int8),
            np.zeros((count, game.num_actions), np.int8),
            np.zeros(count),
            np.zeros((4, count), np.int8),
            np.zeros(final, np.int8),
        )

    def seed(
        self, seed: int | Sequence[int] | None, which: NDArray[np.bool_] | None = None
    ) -> None:
        """Give all boards or `which` of them random streams, from one seed or one seed each.

        From one seed, board i has the same stream whatever N is.
        """
        which = np.ones(self.count, np.bool_) if which is None else which
        if isinstance(seed, Sequence):
            streams = np.concatenate([randomness.streams(one, 1) for one in seed])
        else:
            streams = randomness.streams(seed, self.count)
        self.rows[which, STREAM] = streams[which]

    def reset(
        self, which: NDArray[np.bool_] | None = None, positions: Sequence[Position] = ()
    ) -> None:
        """Begin anew on all boards or `which` of them, from the start or from `positions`.

        `positions` has one for all boards or one for each. Raises BadPosition, and changes nothing,
        where the game is over in one of them. Replies that would end the game before the seat has
        anything to decide are drawn again.
        """
        which = np.ones(self.count, np.bool_) if which is None else which
        starts = np.array(positions or [self.game.initial], np.uint64)
        before = self.snapshot()
        _reset(self.game.initial, self.settings, self.rows, self._history, which, starts, self.seen)
        over = np.flatnonzero(which & self.done)
        if len(over):
            self.restore(before)
            raise self.no_episode(starts[over[0] % len(starts)])

    def no_episode(self, start: Iterable[np.uint64]) -> BadPosition:
        """Return the error that says that no episode can begin there."""
        text = self.game.to_text(type(self.game.initial)(*start))
        over = "the game is over, or ends before there is anything to decide"
        return BadPosition(f"no episode can begin in '{text}': {over}")

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play actions[i] on board i; raise IllegalAction or EpisodeOver, and change nothing.

        The actions of boards that begin anew in this step (NEXT_STEP) have no meaning.
        """
        refused = _step(
            self.game.initial, self.settings, self.rows, self._history, actions, self.seen
        )
        if refused != ACCEPTED:
            raise self._refusal(refused, actions[refused])

    def play(self, action: object, log: TurnLog | None = None) -> None:
        """Play one action on the only board, as `step`, and note it in the log."""
        try:
            self._action[0] = operator.index(action)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            raise self.game.illegal(self.position(), action) from None
        before = self.position() if log else None
        self.step(self._action)
        if log:
            log.add(before, int(self._action[0]))

    def _refusal(self, board: int, action: int) -> IllegalAction | EpisodeOver:
        where = f"board {board}: " if self.count > 1 else ""
        if self.rows[board, DONE]:
            return EpisodeOver(f"{where}the episode is over; call reset() before step({action})")
        error = self.game.illegal(self.position(board), int(action))
        return IllegalAction(f"{where}{error}")

    def draw(self, board: int = 0) -> int:
        """Return a random legal action of a board, drawn from its own stream."""
        legal = np.empty(self.game.num_actions, np.int32)
        return int(_draw(self.game.initial, self.rows[board], legal))

    def position(self, board: int = 0) -> Position:
        """Return the position on a board."""
        return type(self.game.initial)(*self.rows[board, : len(self.game.initial)])

    def ending(self, board: int = 0) -> str:
        """Return in one word how the game on a finished board ended: by what rule or what limit."""
        if not self.seen.facts[TRUNCATED, board]:
            return self.game.ending(self.position(board))
        at_limit = self.settings.max_turns and self.rows[board, TURNS] >= self.settings.max_turns
        return "max_turns" if at_limit else "repetition"

    @property
    def done(self) -> NDArray[np.bool_]:
        """Return bool[N]: whether the game on the board is over."""
        return np.asarray(self.rows[:, DONE], np.bool_)

    def snapshot(self) -> list[NDArray[Any]]:
        """Return copies of all that the boards are, for `restore`."""
        return [array.copy() for array in (self.rows, self._history, *self.seen)]

    def restore(self, snapshot: list[NDArray[Any]]) -> None:
        """Put the boards back to where they were."""
        arrays: list[NDArray[Any]] = [self.rows, self._history, *self.seen]
        for array, saved in zip(arrays, snapshot, strict=True):
            array[...] = saved


def _check(count: int, seat: int | None, max_turns: int | None, repetitions: int | None) -> None:
    if not is_whole(count, 1):
        raise UnknownOption(f"num_envs={count!r}; it is 1 or more")
    if seat is not None and not (is_whole(seat, 0) and seat <= 1):
        raise UnknownOption(f"seat={seat!r}; it is 0 (moves first), 1, or None for a drawn seat")
    if max_turns is not None and not is_whole(max_turns, 1):
        raise UnknownOption(f"max_turns={max_turns!r}; it is 1 or more, or None for no limit")
    if repetitions is not None and not (is_whole(repetitions, 2) and max_turns):
        would_do = "it is None for no limit, or 2 or more with max_turns set"
        raise UnknownOption(f"repetitions={repetitions!r}; {would_do}")


@jit
def _reset(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    which: NDArray[np.bool_],
    starts: NDArray[np.uint64],
    seen: Seen,
) -> None:
    legal = np.empty(seen.masks.shape[1], np.int32)
    for board in range(len(rows)):
        if which[board]:
            position = rules.load(starts[board % len(starts)], start)
            position = _begin(position, settings, rows[board], history[board], legal)
            seen.rewards[board] = 0.0
            seen.facts[TERMINATED, board] = seen.facts[TRUNCATED, board] = 0
            _show(position, settings, rows[board], seen, board, legal)


@jit
def _step(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    actions: NDArray[np.int64],
    seen: Seen,
) -> int:
    """Step every board, or none: return ACCEPTED or the first board whose action is refused."""
    for board in range(len(rows)):
        if not _accepts(settings, rows[board], actions[board], seen.masks[board]):
            return board
    legal = np.empty(seen.masks.shape[1], np.int32)
    for board in range(len(rows)):
        row = rows[board]
        result: Int = ONGOING
        over: Bool = False
        seen.rewards[board] = 0.0
        if row[DONE]:
            position = _begin(start, settings, row, history[board], legal)
        else:
            before = rules.load(row, start)
            position = _play(before, np.int64(actions[board]), row, history[board])
            position = _reply(position, settings, row, history[board], legal)
            result, over = _status(position, settings, row, history[board])
            viewer = np.int64(row[SEAT]) if settings.replies else rules.to_move(before)
            seen.rewards[board] = _reward(result, viewer)
            row[DONE] = over
        ended = result != ONGOING
        seen.facts[TERMINATED, board] = ended
        seen.facts[TRUNCATED, board] = over and not ended
        if over and settings.autoreset == Autoreset.SAME_STEP:
            _observe(position, settings, row, seen.final_observations[board])
            position = _begin(start, settings, row, history[board], legal)
        _show(position, settings, row, seen, board, legal)
        seen.facts[OUTCOME, board] = result
    return ACCEPTED


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
    row[TURNS] = 0
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
            keys[np.int64(row[TURNS])] = rules.key(position)
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
    while settings.replies and rules.to_move(position) != np.int64(row[SEAT]):
        _, over = _status(position, settings, row, keys)
        if over:
            break
        position = _play(position, _draw_in(position, row, legal), row, keys)
    return position


@jit
def _draw_in(position: Position, row: NDArray[np.uint64], legal: NDArray[np.int32]) -> Int:
    count = rules.legal_actions(position, legal)
    action = legal[randomness.below(row[STREAM], count)]
    row[STREAM] = randomness.advance(row[STREAM])
    return np.int64(action)


@jit
def _draw(start: Position, row: NDArray[np.uint64], legal: NDArray[np.int32]) -> Int:
    return _draw_in(rules.load(row, start), row, legal)


@jit
def _status(
    position: Position, settings: Settings, row: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> tuple[Int, Bool]:
    """Return the outcome by the rules, and whether the episode is over by them or by a limit."""
    result = rules.outcome(position)
    if result != ONGOING:
        return result, True
    turns = np.int64(row[TURNS])
    over = settings.max_turns > 0 and turns >= settings.max_turns
    if len(keys) and not over:
        over = np.sum(keys[: turns + 1] == keys[turns]) >= settings.repetitions
    return result, over and not rules.mid_turn(position)


@jit
def _reward(result: Int, player: Int) -> float:
    if result in (ONGOING, DRAW):
        return 0.0
    return 1.0 if result == player else -1.0


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
    seen.facts[OUTCOME, board] = rules.outcome(position)
    seen.facts[TO_MOVE, board] = rules.to_move(position)
    _observe(position, settings, row, seen.observations[board])
    mask = seen.masks[board]
    mask[:] = 0
    if not row[DONE]:
        for index in range(rules.legal_actions(position, legal)):
            mask[legal[index]] = 1
