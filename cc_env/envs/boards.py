"""Any number of boards of one game, stepped by one compiled call; the environments use them.

Shapes: N boards, M of them, or M starts; C planes, H rows and W columns of an observation; K keys
of a game's positions.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams
from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.envs import kernels
from cc_env.envs.arguments import as_int, check_choice, check_integer
from cc_env.envs.kernels import (
    ACCEPTED,
    COLUMNS,
    EPISODE,
    MAX_RESET_ATTEMPTS,
    SEAT,
    STATUS,
    STREAM,
    TURNS,
    Autoreset,
    Batch,
    EpisodeStatus,
    IllegalMode,
    OpponentMode,
    Settings,
    StepKind,
    describe_endings,
    find_refused,
    play_replies,
)
from cc_env.errors import (
    BadOption,
    BadPosition,
    IllegalAction,
    ResetNeeded,
    UnknownKeyword,
    UnknownOption,
    format_list,
    suggest,
)
from cc_env.games.factory import game_option_defaults, make_game
from cc_env.jit.threads import ThreadPool

NO_EPISODE = "no episode has begun"
REPETITION_WINDOW = (
    1023  # turns back that a repetition is seen where no limit says how long games are
)
MAX_BOARDS = MAX_TURNS = 2**31 - 1
MAX_THREADS = 1024
MAX_POSITION_KEYS = 2**27  # positions that all boards together remember for that: a gigabyte
NO_SCORE = 0.0, 0.0  # of an episode that goes on, or that the rules give no score
MASK_HINT = (
    "a policy chooses by the action mask (of sb3-contrib: evaluate_policy and MaskableEvalCallback)"
    ", or the environment is made with illegal='lose' or 'random'"
)
ILLEGAL_MODES = {"raise": IllegalMode.RAISE, "lose": IllegalMode.LOSE, "random": IllegalMode.RANDOM}

_TERMINATED = int(EpisodeStatus.TERMINATED)  # compared for each game that ends

# (boards, numbers of the boards on which the opponent is to move, int64[M]) -> M actions
ReplyFunction = Callable[["Boards", NDArray[np.int64]], Sequence[object] | NDArray[np.int64]]
StartFunction = Callable[[NDArray[np.bool_]], NDArray[np.uint64]]


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
        opponent: ReplyFunction | OpponentMode = OpponentMode.NONE,
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
        count = check_integer("num_envs", count, range(1, MAX_BOARDS + 1), f"1 to {MAX_BOARDS:,}")
        threads = check_integer(
            "threads", threads, range(1, MAX_THREADS + 1), f"1 to {MAX_THREADS:,}"
        )
        self._settings = _settings(game, opponent, seat, max_turns, repetitions)._replace(
            autoreset=int(autoreset),
            illegal=int(ILLEGAL_MODES[check_choice("illegal", illegal, ILLEGAL_MODES)]),
        )
        self.game, self.count = game, count
        self._opponent = None if isinstance(opponent, OpponentMode) else opponent
        try:
            self._batch = _new_batch(game, count, _keys(self._settings, count), autoreset)
        except MemoryError:
            why = "this machine does not have enough memory"
            raise BadOption(f"num_envs={count}: {why}") from None
        self._batch.rows[:, STATUS] = EpisodeStatus.TERMINATED
        self._batch.rows[:, STREAM] = self.streams(None)
        self.observations, self._has_masks = self._batch.observations, False
        self.rewards, self.outcomes = self._batch.rewards, self._batch.outcomes
        self.terminated, self.truncated = self._batch.terminated, self._batch.truncated
        self.to_move, self.final_observations = self._batch.to_move, self._batch.final_observations
        self.was_illegal = np.zeros(count, np.bool_)
        self.raises = illegal == "raise"
        self._action = np.zeros(1, np.int64)
        self._no_actions = np.zeros(count, np.int64)
        self._all_due = np.full(count, StepKind.DECISION, np.int8)
        self._initial = self._rows_of(())
        self._threads = ThreadPool(threads)

    def streams(self, seed: int | list[int | None] | None) -> NDArray[np.uint64]:
        """Return random streams for `reset`, uint64[N], from one seed or one seed each.

        From one seed, board i has the same stream whatever N is.
        """
        if isinstance(seed, list):
            return np.concatenate([random_streams.streams(own_seed, 1) for own_seed in seed])
        return random_streams.streams(seed, self.count)

    def reset(
        self,
        which: NDArray[np.bool_] | None = None,
        starts: Sequence[Position] | StartFunction = (),
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
        begun = which
        with self.all_or_nothing():
            if streams is not None:
                self._batch.rows[which, STREAM] = streams[which]
            for _ in range(
                MAX_RESET_ATTEMPTS if self._opponent else 1
            ):  # compiled replies try there
                rows = starts(which) if callable(starts) else self._rows_of(starts)
                due = np.where(which, np.int8(StepKind.RESET), np.int8(StepKind.SKIP))
                self._run(due, self._no_actions, rows)
                self._reply()
                which = which & self.done
                if not which.any():
                    self._has_masks = True
                    self.was_illegal[begun] = False
                    return
            text = self.game.to_text(self._position(rows[which.argmax() % len(rows)]))
            over = "the game is over, or ends before there is anything to decide"
            raise BadPosition(f"no episode can begin in '{text}': {over}")

    def _rows_of(self, starts: Sequence[Position]) -> NDArray[np.uint64]:
        return np.array(starts or [self.game.initial], np.uint64)

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play actions[i] (int64[N]) on board i; if one is refused, nothing changes.

        The actions of boards whose next game begins in this step (NEXT_STEP) are ignored. Raises
        IllegalAction or ResetNeeded, naming the first board that refuses.
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
        number = as_int(action)
        if number is None:
            what = f"action {action!r} is not an integer"
            if shape := getattr(action, "shape", ()):
                what += f", but an array of shape {shape}; one of its elements may be meant"
            raise IllegalAction(f"{what}; valid: 0 to {self.game.num_actions - 1}")
        try:
            self._action[0] = number
        except OverflowError:
            raise self._illegal(0, action) from None
        return self._action

    def _step(self, actions: NDArray[np.int64]) -> None:
        refused = self._run(self._all_due, actions, self._initial)
        if refused != ACCEPTED:
            raise self._refusal(refused, actions[refused])

    def _run(
        self, due: NDArray[np.int8], actions: NDArray[np.int64], starts: NDArray[np.uint64]
    ) -> int:
        """Do what is due on all boards as `kernels.step`, each thread on some; or on none."""
        if self._threads.thread_count == 1:
            return kernels.step(*self._args(), due, actions, starts)
        refused = find_refused(self._settings, self._batch, due, actions)
        if refused == ACCEPTED:
            self._threads.run_slices(partial(self._run_slice, due, actions, starts), self.count)
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
            play_replies(*self._args(), which, chosen)

    def _awaits_reply(self) -> NDArray[np.bool_]:
        return np.asarray(~self.done & (self.to_move != self.seats))

    def _checked(
        self, which: NDArray[np.int64], actions: Sequence[object] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return an opponent's actions; raise IllegalAction where one is not legal."""
        most = self.game.num_actions - 1
        chosen = np.array([_index(action, most) for action in actions], np.int64)
        legal = (chosen >= 0) & (self._batch.masks[which, chosen] == 1)
        if not legal.all():
            refused = int(legal.argmin())
            raise self.game.illegal(self.position(int(which[refused])), actions[refused])
        return chosen

    def _note_illegal(self, actions: NDArray[np.int64]) -> None:
        within = (actions >= 0) & (actions < self.game.num_actions)
        chosen = self._batch.masks[np.arange(self.count), np.where(within, actions, 0)]
        self.was_illegal[:] = ~self.done & (chosen == 0)

    def _refusal(self, board: int, action: int) -> IllegalAction | ResetNeeded:
        where = f"board {board}: " if self.count > 1 else ""
        if self.done[board]:
            why = "the episode is over" if self.has_begun else NO_EPISODE
            return ResetNeeded(f"{where}{why}; call reset() before step({action})")
        return IllegalAction(f"{where}{self._illegal(board, int(action))}")

    def _illegal(self, board: int, action: object) -> IllegalAction:
        error = self.game.illegal(self.position(board), action)
        return IllegalAction(f"{error}; {MASK_HINT}" if self.raises else str(error))

    @property
    def masks(self) -> NDArray[np.int8]:
        """int8[N, num_actions]: the legal actions of the player to move, see `kernels.Batch`.

        Before the first reset, those of `Game.opening_mask`.
        """
        if not self._has_masks and not self.has_begun:
            self._batch.masks[:] = self.game.opening_mask()
        self._has_masks = True
        return self._batch.masks

    def observe(self) -> None:
        """Write the observations again, as whoever has them may have changed them."""
        kernels.observe(*self._args())

    @property
    def has_begun(self) -> bool:
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
        return np.asarray(self._batch.rows[:, STATUS] != EpisodeStatus.RUNNING)

    @property
    def position_keys(self) -> NDArray[np.uint64]:
        """Keys of each board's positions so far, by turn, then 0: uint64[N, K].

        K is 0 where neither a limit nor the rules count repetitions.
        """
        turns = self._batch.rows[:, TURNS, np.newaxis]
        keys = self._batch.keys
        return np.where(np.arange(keys.shape[1]) <= turns, keys, np.uint64(0))

    def observe_movers(self, which: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the players to move see on the boards `which`, int8[len(which), C, H, W]."""
        planes = np.empty((len(which), *self.game.observation_shape), np.int8)
        kernels.observe_movers(self.game.initial, self._batch.rows, which, planes)
        return planes

    @property
    def episodes(self) -> NDArray[np.uint64]:
        """The number of games begun on each board, uint64[N]; a copy."""
        return self._batch.rows[:, EPISODE].copy()

    def generator(self, board: int) -> np.random.Generator:
        """Return a generator from the board's own random stream, which goes on."""
        stream = self._batch.rows[board, STREAM]
        self._batch.rows[board, STREAM] = random_streams.advance(stream)
        return np.random.default_rng(int(stream))

    def position(self, board: int = 0) -> Position:
        """Return the position on a board; raise ResetNeeded before the first reset."""
        if not self.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() first")
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

    def result(self, board: int = 0) -> dict[str, Any]:
        """Return how the game that the last step ended, or that is over, ended.

        `outcome` is 0, 1 (that player won), 2 (a draw) or -1 (truncated); `ending` one word for
        the rule, limit or fault; `score` the scores of both players, NO_SCORE where a limit ended
        the game, and after a fault in games whose rules do not say what it costs.
        """
        game, outcome, row = self.game, int(self.outcomes[board]), self._last_row(board)
        position, status, score = self._position(row), int(row[STATUS]), NO_SCORE
        if status == EpisodeStatus.TERMINATED:
            score = game.score(position)
        elif status == EpisodeStatus.FAULT and game.scores:
            score = game.score(position, 1 - outcome)
        first, second = map(float, score)
        ending = self._ending(position, status, int(row[TURNS]))
        return {"outcome": outcome, "ending": ending, "score": (first, second)}

    def results(self, which: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return how the games that the last step ended on the boards `which` ended: M of them.

        As `end`, outcome int8[M], ending object[M] and score float64[M, 2]; and who was to move,
        to_move int8[M].
        """
        rows = self._batch.final_rows[which]
        to_move, margins = np.empty(len(rows), np.int8), np.empty(len(rows), np.int64)
        describe_endings(self.game.initial, rows, to_move, margins)
        margins[rows[:, STATUS] != EpisodeStatus.TERMINATED] = 0
        score = np.stack([margins, 0 - margins], 1).astype(np.float64)
        ending = np.full(len(rows), "", object)
        columns = rows[:, : len(self.game.initial)].T
        positions = map(type(self.game.initial)._make, zip(*columns, strict=True))
        statuses, turns = rows[:, STATUS].tolist(), rows[:, TURNS].tolist()
        ending[:] = list(map(self._ending, positions, statuses, turns))
        if self.game.scores:
            score[:] = [self.result(board)["score"] for board in which.tolist()]
        outcome = self.outcomes[which]
        return {"to_move": to_move, "outcome": outcome, "ending": ending, "score": score}

    def _ending(self, position: Position, status: int, turns: int) -> str:
        """Return in one word how an episode ended; `status` is its `EpisodeStatus`."""
        if status == _TERMINATED:
            return self.game.ending(position)
        if status == EpisodeStatus.FAULT:
            return "illegal"
        return "max_turns" if 0 < self._settings.max_turns <= turns else "repetition"

    def _last_row(self, board: int) -> NDArray[np.uint64]:
        """Return the row of the game that `end` describes."""
        rows = self._batch.rows if self.done[board] else self._batch.final_rows
        row: NDArray[np.uint64] = rows[board]
        return row

    def final_position(self, board: int = 0) -> Position:
        """Return the last position of the game that `end` describes."""
        return self._position(self._last_row(board))

    def has_ended(self, board: int = 0) -> bool:
        """Return whether the game on a board is over, or ended in the last step."""
        return bool(self.terminated[board] or self.truncated[board])

    def shown_result(self, board: int = 0) -> tuple[int, str] | None:
        """Return outcome and ending, see `end`, of a board whose game is over, else None.

        That it is not before the first game, nor where the next one has begun in the same step.
        """
        if not (self.has_ended(board) and self.done[board]):
            return None
        end = self.result(board)
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
    chosen = as_int(action)
    return chosen if chosen is not None and 0 <= chosen <= most else -1


def check_reset_options(options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a reset; raise UnknownOption if one is not `known`, else BadOption."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        would_do = 'a dict, such as {"position": TEXT}'
        raise BadOption(f"options={options!r} of reset; wanted: None or {would_do}")
    if unknown := [name for name in options if name not in known]:
        has = f"{suggest(unknown[0], known)}it has: {format_list(known)}"
        raise UnknownOption(f"reset has no option {format_list(unknown)}; {has}")
    return options


def make_environment_game(environment: type, game: str, options: Mapping[str, Any]) -> Game:
    """Return the game of an environment; raise UnknownKeyword, with all that it takes."""
    of_game = list(game_option_defaults(game))
    if unknown := sorted(set(options) - set(of_game)):
        parameters = inspect.signature(environment).parameters.values()
        own = [
            parameter.name for parameter in parameters if parameter.name not in ("game", "options")
        ]
        there = f"{game} has: {format_list(of_game, 99)}; every game: {format_list(own, 99)}"
        got = f"{environment.__name__}() got an unexpected keyword argument '{unknown[0]}'"
        raise UnknownKeyword(f"{got}; {suggest(unknown[0], own + of_game)}{there}")
    return make_game(game, **options)


def _settings(
    game: Game,
    opponent: ReplyFunction | OpponentMode,
    seat: int | None,
    max_turns: int | None,
    repetitions: int | None,
) -> Settings:
    """Return the settings of boards that are reset by hand; raise BadOption on bad values."""
    if seat is not None:
        seat = check_integer("seat", seat, range(2), "0 (moves first), 1, or None for a drawn seat")
    if max_turns is not None:
        turns = range(1, MAX_TURNS + 1)
        max_turns = check_integer("max_turns", max_turns, turns, "1 or more, or None for no limit")
    if repetitions is not None:
        counts = range(2, MAX_TURNS + 1) if max_turns else range(0)
        expected = "None for no limit, or 2 or more with max_turns set"
        repetitions = check_integer("repetitions", repetitions, counts, expected)
        if game.repetition_limit:
            wanted = f"None for {game.name}, whose own rules end a game that repeats itself"
            raise BadOption(f"repetitions={repetitions}; it is {wanted}")
    if opponent is not OpponentMode.NONE and max_turns == 1 and seat != 0:
        raise BadOption("max_turns=1; it is 2 or more where the opponent may move first")
    return Settings(
        int(opponent if isinstance(opponent, OpponentMode) else OpponentMode.EXTERNAL),
        -1 if seat is None else seat,
        max_turns or 0,
        repetitions or 0,
        int(Autoreset.DISABLED),
        int(IllegalMode.RAISE),
        game.repetition_limit,
    )


def _keys(settings: Settings, count: int) -> int:
    """Return how many positions of a game are remembered, so that repetitions are seen.

    Raises BadOption where `count` boards would remember too many.
    """
    if not (settings.repetitions or settings.repetition_limit):
        return 0
    keys = (settings.max_turns or REPETITION_WINDOW) + 1
    if count * keys > MAX_POSITION_KEYS:
        most = MAX_POSITION_KEYS // count - 1
        wanted = f"with {count} boards whose repetitions are counted it is {most:,} at most"
        raise BadOption(f"max_turns={settings.max_turns or None}; {wanted}")
    return keys


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
