"""Any number of boards of one game, stepped by one compiled call; the environments use them.

Shapes: N boards, M of them, or M starts; C planes, H rows and W columns of an observation; K keys
of a game's positions.
"""

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import games, randomness
from cc_env.envs import kernels
from cc_env.envs.kernels import (
    ACCEPTED,
    ATTEMPTS,
    COLUMNS,
    DONE,
    EPISODE,
    SEAT,
    STREAM,
    TURNS,
    Autoreset,
    Batch,
    Due,
    Illegal,
    Over,
    Replies,
    Settings,
)
from cc_env.errors import (
    BadOption,
    BadPosition,
    EpisodeOver,
    IllegalAction,
    UnknownKeyword,
    UnknownOption,
    is_whole,
    listed,
    suggestion,
)
from cc_env.game import Game, Turn
from cc_env.rules import Position
from cc_env.threads import Threads

NOT_BEGUN = "no episode has begun"
LONGEST = 1023  # turns back that a repetition is seen where no limit says how long games are
MOST_BOARDS = 2**31 - 1
MOST_THREADS = 1024
MOST_KEYS = 2**27  # positions that all boards together remember for that: a gigabyte
ILLEGAL = {"raise": Illegal.RAISE, "lose": Illegal.LOSE, "random": Illegal.RANDOM}

# An opponent: what it chooses, an action for each, on those boards (int64[M], their numbers) on
# which it is to move. Or a `Replies`: RANDOM, or NONE where whoever steps the boards plays both.
Opponent = Callable[["Boards", NDArray[np.int64]], Sequence[object] | NDArray[np.int64]]
Starts = Callable[[NDArray[np.bool_]], NDArray[np.uint64]]


class Boards:
    """A batch of N boards, as they are after the last `reset` or `step`.

    The arrays are those of `kernels.Batch`, which the next call overwrites; `was_illegal`, bool[N],
    says whether the last action was illegal, unless illegal actions raise errors (`raises`).
    """

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        opponent: Opponent | Replies = Replies.NONE,
        seat: int | None = None,
        max_turns: int | None = None,
        repetitions: int | None = None,
        autoreset: Autoreset = Autoreset.DISABLED,
        illegal: str = "raise",
        threads: int = 1,
    ) -> None:
        """Make `count` boards, to be reset; raise BadOption on bad values.

        The opponent takes the decisions that are not the seat's. `illegal`, one of ILLEGAL, says
        what becomes of illegal actions in `step`. The boards are shared out among so many threads,
        and play the same games whatever their number.
        """
        _check(game, count, seat, max_turns, repetitions)
        if not is_whole(threads, 1, MOST_THREADS):
            raise BadOption(f"threads={threads!r}; it is 1 to {MOST_THREADS:,}")
        if opponent != Replies.NONE and max_turns == 1 and seat != 0:
            raise BadOption("max_turns=1; it is 2 or more where the opponent may move first")
        if illegal not in ILLEGAL:
            raise BadOption(f"illegal={illegal!r}; it is one of: {listed(ILLEGAL)}")
        self.game, self.count = game, count
        self._opponent = None if isinstance(opponent, Replies) else opponent
        self._settings = Settings(
            int(opponent if isinstance(opponent, Replies) else Replies.ANSWERS),
            -1 if seat is None else int(seat),
            int(max_turns or 0),
            int(repetitions or 0),
            int(autoreset),
            int(ILLEGAL[illegal]),
            game.repetition_limit,
        )
        try:
            self._batch = _new_batch(game, count, _keys(game, max_turns, repetitions), autoreset)
        except MemoryError:
            why = "this machine does not have enough memory"
            raise BadOption(f"num_envs={count}: {why}") from None
        self._batch.rows[:, DONE] = Over.ENDED
        self.observations, self.masks = self._batch.observations, self._batch.masks
        self.rewards, self.outcomes = self._batch.rewards, self._batch.outcomes
        self.terminated, self.truncated = self._batch.terminated, self._batch.truncated
        self.to_move, self.final_observations = self._batch.to_move, self._batch.final_observations
        self.was_illegal = np.zeros(count, np.bool_)
        self.raises = illegal == "raise"
        self._action = np.zeros(1, np.int64)
        self._no_actions = np.zeros(count, np.int64)
        self._all_due = np.full(count, Due.DECISION, np.int8)
        self._initial = self._rows_of(())
        self._threads = Threads(threads)

    def streams(self, seed: int | list[int] | None) -> NDArray[np.uint64]:
        """Return random streams for `reset`, uint64[N], from one seed or one seed each.

        From one seed, board i has the same stream whatever N is.
        """
        if isinstance(seed, list):
            return np.concatenate([randomness.streams(own_seed, 1) for own_seed in seed])
        return randomness.streams(seed, self.count)

    def reset(
        self,
        which: NDArray[np.bool_] | None = None,
        starts: Sequence[Position] | Starts = (),
        streams: NDArray[np.uint64] | None = None,
    ) -> None:
        """Begin games on all boards or on `which` (bool[N]) of them, with these random streams.

        They begin at the game's start, or at `starts`: positions, one for all boards or one for
        each, or a function that returns them, uint64[N, fields], for the boards that it is given.
        The streams of uint64[N] replace those that `which` has. Replies that would end a game
        before the seat has anything to decide are drawn again. Raises BadPosition, and changes
        nothing, where that does not help.
        """
        which = np.ones(self.count, np.bool_) if which is None else which
        with self.all_or_nothing():
            if streams is not None:
                self._batch.rows[which, STREAM] = streams[which]
            for _ in range(ATTEMPTS if self._opponent else 1):  # compiled replies try there
                rows = starts(which) if callable(starts) else self._rows_of(starts)
                due = np.where(which, np.int8(Due.GAME), np.int8(Due.NOTHING))
                self._run(due, self._no_actions, rows)
                self._reply()
                which = which & self.done
                if not which.any():
                    return
            text = self.game.to_text(self._position(rows[which.argmax() % len(rows)]))
            over = "the game is over, or ends before there is anything to decide"
            raise BadPosition(f"no episode can begin in '{text}': {over}")

    def _rows_of(self, starts: Sequence[Position]) -> NDArray[np.uint64]:
        return np.array(starts or [self.game.initial], np.uint64)

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play actions[i] (int64[N]) on board i; if one is refused, nothing changes.

        The actions of boards whose next game begins in this step (NEXT_STEP) are ignored. Raises
        IllegalAction or EpisodeOver, naming the first board that refuses.
        """
        if not self.raises:
            self._note_illegal(actions)
        if not self._opponent:
            self._step(actions)
            return
        with self.all_or_nothing():
            self._step(actions)
            self._reply()

    def one_action(self, action: object) -> NDArray[np.int64]:
        """Return int64[1] for the only board; raise IllegalAction for what is not an integer."""
        try:
            self._action[0] = operator.index(action)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            raise self.game.illegal(self.position(), action) from None
        return self._action

    def _step(self, actions: NDArray[np.int64]) -> None:
        refused = self._run(self._all_due, actions, self._initial)
        if refused != ACCEPTED:
            raise self._refusal(refused, actions[refused])

    def _run(
        self, due: NDArray[np.int8], actions: NDArray[np.int64], starts: NDArray[np.uint64]
    ) -> int:
        """Do what is due on all boards as `kernels.step`, each thread on some; or on none."""
        if self._threads.count == 1:
            return kernels.step(*self._args(), due, actions, starts)
        refused = kernels.refused(self._settings, self._batch, due, actions)
        if refused == ACCEPTED:
            self._threads.run(partial(self._run_slice, due, actions, starts), self.count)
        return refused

    def _run_slice(
        self,
        due: NDArray[np.int8],
        actions: NDArray[np.int64],
        starts: NDArray[np.uint64],
        some: slice,
    ) -> None:
        batch = Batch._make(array[some] for array in self._batch)
        starts = starts[some] if len(starts) == self.count else starts
        kernels.step(self.game.initial, self._settings, batch, due[some], actions[some], starts)

    def close(self) -> None:
        """End the threads that step the boards; more steps start others."""
        self._threads.close()

    def _args(self) -> tuple[Position, Settings, Batch]:
        """Return what the kernels begin with."""
        return self.game.initial, self._settings, self._batch

    def _reply(self) -> None:
        """Let the opponent decide on all boards until it is the seat's turn."""
        while self._opponent and len(which := np.flatnonzero(self._awaits_reply())):
            chosen = self._checked(which, self._opponent(self, which))
            kernels.answer(*self._args(), which, chosen)

    def _awaits_reply(self) -> NDArray[np.bool_]:
        return np.asarray(~self.done & (self.to_move != self.seats))

    def _checked(
        self, which: NDArray[np.int64], actions: Sequence[object] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return an opponent's actions; raise IllegalAction where one is not legal."""
        most = self.game.num_actions - 1
        chosen = np.array([_index(action, most) for action in actions], np.int64)
        legal = (chosen >= 0) & (self.masks[which, chosen] == 1)
        if not legal.all():
            refused = int(legal.argmin())
            raise self.game.illegal(self.position(int(which[refused])), actions[refused])
        return chosen

    def _note_illegal(self, actions: NDArray[np.int64]) -> None:
        within = (actions >= 0) & (actions < self.game.num_actions)
        chosen = self.masks[np.arange(self.count), np.where(within, actions, 0)]
        self.was_illegal[:] = ~self.done & (chosen == 0)

    def _refusal(self, board: int, action: int) -> IllegalAction | EpisodeOver:
        where = f"board {board}: " if self.count > 1 else ""
        if self.done[board]:
            why = "the episode is over" if self.begun else NOT_BEGUN
            return EpisodeOver(f"{where}{why}; call reset() before step({action})")
        error = self.game.illegal(self.position(board), int(action))
        return IllegalAction(f"{where}{error}")

    @property
    def begun(self) -> bool:
        """Whether games were begun, on all boards: the first reset is of all."""
        return bool(self._batch.rows[0, EPISODE])

    @property
    def seats(self) -> NDArray[np.int8]:
        """The learner's seats, int8[N]; a copy."""
        return self._batch.rows[:, SEAT].astype(np.int8)

    def seat(self, board: int = 0) -> int:
        """Return the learner's seat on a board."""
        return int(self._batch.rows[board, SEAT])

    @property
    def positions(self) -> NDArray[np.uint64]:
        """The fields of the positions, uint64[N, fields]."""
        return self._batch.rows[:, : len(self.game.initial)]

    @property
    def positions_before(self) -> NDArray[np.uint64]:
        """The fields of the positions in which the last turns began, uint64[N, fields]."""
        fields = len(self.game.initial)
        return self._batch.rows[:, fields : 2 * fields]

    @property
    def max_turns(self) -> int:
        """Truncate after this number of turns; 0: no limit."""
        return self._settings.max_turns

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the game on a board is over, bool[N]; a copy."""
        return np.asarray(self._batch.rows[:, DONE] != Over.NOT)

    @property
    def occurred(self) -> NDArray[np.uint64]:
        """Keys of each board's positions so far, by turn, then 0: uint64[N, K].

        K is 0 where neither a limit nor the rules count repetitions.
        """
        turns = self._batch.rows[:, TURNS, np.newaxis]
        keys = self._batch.keys
        return np.where(np.arange(keys.shape[1]) <= turns, keys, np.uint64(0))

    def seen_by_movers(self, which: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the players to move see on the boards `which`, int8[len(which), C, H, W]."""
        planes = np.empty((len(which), *self.game.observation_shape), np.int8)
        kernels.observe_movers(self.game.initial, self._batch.rows, which, planes)
        return planes

    def generator(self, board: int) -> np.random.Generator:
        """Return a generator from the board's own random stream, which goes on."""
        stream = self._batch.rows[board, STREAM]
        self._batch.rows[board, STREAM] = randomness.advance(stream)
        return np.random.default_rng(int(stream))

    def position(self, board: int = 0) -> Position:
        """Return the position on a board; raise EpisodeOver before the first reset."""
        if not self.begun:
            raise EpisodeOver(f"{NOT_BEGUN}; call reset() first")
        return self._position(self._batch.rows[board])

    def _position(self, row: NDArray[np.uint64]) -> Position:
        return type(self.game.initial)(*row[: len(self.game.initial)])

    def turns(self, board: int = 0) -> int:
        """Return how many turns were played on a board."""
        return int(self._batch.rows[board, TURNS])

    def episode(self, board: int = 0) -> int:
        """Return how many games were begun on a board."""
        return int(self._batch.rows[board, EPISODE])

    def last_turn(self, board: int = 0) -> tuple[Position, Turn] | None:
        """Return the last turn, finished or not, with the position before it; None at the start.

        Where several turns lead to the same position, it is any of them.
        """
        before, after = self._position(self.positions_before[board]), self.position(board)
        if before == after:
            return None
        return before, next(self.game.ways(before, after, unfinished=True))

    def end(self, board: int = 0) -> dict[str, Any]:
        """Return how the game that the last step ended, or that is over, ended.

        `outcome` is 0, 1 (that player won), 2 (a draw) or -1 (truncated); `ending` one word for
        the rule, limit or fault; `score`, if there is one, the scores of both players.
        """
        game, outcome, row = self.game, int(self.outcomes[board]), self._last_row(board)
        position = self._position(row)
        if row[DONE] == Over.FAULT:
            end = {"outcome": outcome, "ending": "illegal"}
            return end | ({"score": game.score(position, 1 - outcome)} if game.scores else {})
        if not self.truncated[board]:
            ending, score = game.ending(position), game.score(position)
            return {"outcome": outcome, "ending": ending, "score": score}
        at_limit = self._settings.max_turns and row[TURNS] >= self._settings.max_turns
        return {"outcome": outcome, "ending": "max_turns" if at_limit else "repetition"}

    def _last_row(self, board: int) -> NDArray[np.uint64]:
        """Return the row of the game that `end` tells of."""
        rows = self._batch.rows if self.done[board] else self._batch.final_rows
        row: NDArray[np.uint64] = rows[board]
        return row

    def final_position(self, board: int = 0) -> Position:
        """Return the position in which the game ended that `end` tells of."""
        return self._position(self._last_row(board))

    def ended(self, board: int = 0) -> bool:
        """Return whether the game on a board is over, or ended in the last step."""
        return bool(self.terminated[board] or self.truncated[board])

    def over(self, board: int = 0) -> tuple[int, str] | None:
        """Return outcome and ending, see `end`, of a board whose game is over, else None.

        That it is not before the first game, nor where the next one has begun in the same step.
        """
        if not (self.ended(board) and self.done[board]):
            return None
        end = self.end(board)
        return end["outcome"], end["ending"]

    def snapshot(self) -> list[NDArray[Any]]:
        """Return copies of the boards' state, arrays of any shape, for `restore`."""
        return [array.copy() for array in self._arrays()]

    def restore(self, snapshot: list[NDArray[Any]]) -> None:
        """Put the boards back into the state of a `snapshot`."""
        for array, saved in zip(self._arrays(), snapshot, strict=True):
            array[...] = saved

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return tuple(self._batch)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Put the boards back to where they were if the block fails."""
        before = self.snapshot()
        try:
            yield
        except BaseException:
            self.restore(before)
            raise


def _index(action: object, most: int) -> int:
    """Return an action as an int; -1 if it is not a whole number from 0 to `most`."""
    try:
        chosen = operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        return -1
    return chosen if 0 <= chosen <= most else -1


def reset_options(options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a reset; raise UnknownOption if one is not `known`, else BadOption."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        would_do = 'a dict, such as {"position": TEXT}'
        raise BadOption(f"options={options!r} of reset; wanted: None or {would_do}")
    if unknown := [name for name in options if name not in known]:
        has = f"{suggestion(unknown[0], known)}it has: {listed(known)}"
        raise UnknownOption(f"reset has no option {listed(unknown)}; {has}")
    return options


def make_game(environment: type, game: str, options: Mapping[str, Any]) -> Game:
    """Return the game of an environment; raise UnknownKeyword, with all that it takes."""
    of_game = list(games.option_defaults(game))
    if unknown := sorted(set(options) - set(of_game)):
        parameters = inspect.signature(environment).parameters.values()
        own = [
            parameter.name for parameter in parameters if parameter.name not in ("game", "options")
        ]
        there = f"{game} has: {listed(of_game, 99)}; every game: {listed(own, 99)}"
        got = f"{environment.__name__}() got an unexpected keyword argument '{unknown[0]}'"
        raise UnknownKeyword(f"{got}; {suggestion(unknown[0], own + of_game)}{there}")
    return games.make(game, **options)


def _keys(game: Game, max_turns: int | None, repetitions: int | None) -> int:
    """Return how many positions of a game are remembered, so that repetitions are seen."""
    return (max_turns or LONGEST) + 1 if repetitions or game.repetition_limit else 0


def _new_batch(game: Game, count: int, keys: int, autoreset: Autoreset) -> Batch:
    words = 2 * len(game.initial) + len(COLUMNS)
    finals = count if autoreset == Autoreset.SAME_STEP else 0
    return Batch(
        np.zeros((count, words), np.uint64),
        np.zeros((count, keys), np.uint64),
        np.zeros((count, *game.observation_shape), np.int8),
        np.zeros((count, game.num_actions), np.int8),
        np.zeros(count),
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
        np.zeros(count, np.int8),
        np.zeros(count, np.int8),
        np.zeros((finals, *game.observation_shape), np.int8),
        np.zeros((finals, words), np.uint64),
    )


def _check(
    game: Game, count: int, seat: int | None, max_turns: int | None, repetitions: int | None
) -> None:
    if not is_whole(count, 1, MOST_BOARDS):
        raise BadOption(f"num_envs={count!r}; it is 1 to {MOST_BOARDS:,}")
    if seat is not None and not (is_whole(seat, 0) and seat <= 1):
        raise BadOption(f"seat={seat!r}; it is 0 (moves first), 1, or None for a drawn seat")
    if max_turns is not None and not is_whole(max_turns, 1):
        raise BadOption(f"max_turns={max_turns!r}; it is 1 or more, or None for no limit")
    if repetitions is not None and not (is_whole(repetitions, 2) and max_turns):
        would_do = "it is None for no limit, or 2 or more with max_turns set"
        raise BadOption(f"repetitions={repetitions!r}; {would_do}")
    if count * _keys(game, max_turns, repetitions) > MOST_KEYS:
        most = MOST_KEYS // count - 1
        would_do = f"with {count} boards whose repetitions are counted it is {most:,} at most"
        raise BadOption(f"max_turns={max_turns}; {would_do}")
    if repetitions and game.repetition_limit:
        would_do = f"it is None for {game.name}, whose own rules end a game that repeats itself"
        raise BadOption(f"repetitions={repetitions!r}; {would_do}")
