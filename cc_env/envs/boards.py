"""A batch of boards of one game, stepped by one compiled call; the environments are built on it.

Shapes: N boards, M of them; F fields of a position; C planes, H rows and W columns of an
observation; K keys of a game's positions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.game import Cell, Game
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, Position
from cc_env.envs import kernels
from cc_env.envs.arguments import check_reset_options
from cc_env.envs.kernels import Autoreset, EpisodeStatus, OpponentMode, StepKind
from cc_env.errors import (
    BadOption,
    BadPosition,
    IllegalAction,
    ResetNeeded,
    as_int,
    check_bool,
    check_choice,
    check_integer,
    invalid_value,
)
from cc_env.jit.compiler import specialize
from cc_env.jit.shares import Shares
from cc_env.jit.threads import ThreadPool
from cc_env.rendering.picture import Picture, draw
from cc_env.search.policies import Policy, RandomPolicy, decide_all, policy_of

NO_EPISODE = "no episode is in progress"
MAX_BOARDS = 2**31 - 1
MAX_THREADS = 1024
MAX_OPENING_TURNS = 1000

# Turns within which repetitions are found in games of unlimited length.
REPETITION_WINDOW = 1023

# The greatest number of hashes that all boards store to find repetitions: one gigabyte.
MAX_POSITION_KEYS = 2**27

# The score of an episode that continues, or whose ending the rules give no score.
NO_SCORE = 0.0, 0.0

MASK_HINT = (
    "choose by the action mask (in sb3-contrib: evaluate_policy and MaskableEvalCallback)"
    ", or make the environment with illegal='lose' or 'random'"
)
COUNTER_PLANES = {
    kernels.Counter.NO_PROGRESS: "turns until a draw without progress",
    kernels.Counter.TURNS_LEFT: "turns until the limit",
    kernels.Counter.REPETITIONS: "occurrences of the position",
}
ILLEGAL_MODES = {mode.name.lower(): mode for mode in kernels.IllegalMode}

# Plain integers: NumPy compares arrays with enumerations five times slower.
_RUNNING, _TERMINATED, _FAULT = map(int, list(EpisodeStatus)[:3])
_TURN_LIMITS = int(EpisodeStatus.TURN_LIMIT_DRAW), int(EpisodeStatus.TURN_LIMIT)

# (boards, numbers of those on which the opponent is to move, int64[M]) -> legal actions, int64[M]
ReplyFunction = Callable[["Boards", NDArray[np.int64]], NDArray[np.int64]]


class CompiledOpponent:
    """A player that decides in compiled code, with random numbers from the stream of each board.

    Each thread has its own policy. Copies have policies of their own.
    """

    def __init__(self, name: str, player: object, policy: Policy | None = None) -> None:
        """Use a player with `make_policy`, and its first policy if there is one already."""
        self.name, self._player = name, player
        self._policies = [] if policy is None else [policy]

    def __reduce__(self) -> tuple[type, tuple[str, object]]:
        # Policies contain large buffers.
        return CompiledOpponent, (self.name, self._player)

    def policies(self, count: int) -> list[Policy]:
        """Return the policies of `count` threads."""
        while len(self._policies) < count:
            policy = policy_of(self._player)
            assert policy is not None
            self._policies.append(policy)
        return self._policies[:count]

    def __call__(self, boards: "Boards", numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the decisions on the boards `numbers`, int64[M], as int64[M]."""
        actions, states = np.empty(len(numbers), np.int64), boards.next_states(numbers)
        start, positions = boards.game.initial, boards.positions[numbers]
        policies = self.policies(boards.threads.thread_count)

        def decide(thread: int, part: slice) -> None:
            arrays = positions[part], states[part], actions[part]
            decide_all(start, policies[thread], *arrays)

        boards.threads.run_slices(decide, len(numbers))
        return actions


# The opponent of `Boards`; None if the caller plays both sides.
BoardsOpponent = ReplyFunction | CompiledOpponent | None


class Ending(TypedDict):
    """How an episode ended.

    `outcome` is 0 or 1 (that player won), 2 (a draw) or -1 (truncated); `ending` names the rule,
    limit or fault in one word; `score` has the scores of both players, NO_SCORE if a limit ended
    the game, and after a fault in games whose rules do not score it.
    """

    outcome: int
    ending: str
    score: tuple[float, float]


class Boards:
    """A batch of N boards, in the state after the last `reset` or `step`, divided among `threads`.

    The arrays are those of `kernels.Batch`; the next call overwrites them. `was_illegal`, bool[N],
    is true if the last action was illegal; it stays false if illegal actions raise errors
    (`raises`). `has_begun` is false before the first reset, and after an opponent raised an error,
    until the next reset.
    """

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        opponent: BoardsOpponent = None,
        seat: int | None = None,
        max_turns: int | None = None,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        autoreset: Autoreset = Autoreset.DISABLED,
        illegal: str = "raise",
        max_opening_turns: int = 0,
        counters: bool = False,
        threads: int = 1,
    ) -> None:
        """Allocate `count` boards; call `reset` before `step`. Raise BadOption on bad values.

        The opponent makes the decisions of the player who is not in the seat. `illegal`, one of
        ILLEGAL_MODES, is how `step` handles illegal actions. With `draw_at_limits`, the limits end
        games as draws instead of truncating them. Games begin after 0 to `max_opening_turns` random
        turns. With `counters`, the last planes of observations are the `kernels.Counter`s that
        these limits and the rules have. The boards are divided among `threads`; the games do not
        depend on their number.
        """
        count = check_integer("num_envs", count, 1, MAX_BOARDS)
        threads = check_integer("threads", threads, 1, MAX_THREADS)
        max_opening_turns = check_integer(
            "max_opening_turns", max_opening_turns, 0, MAX_OPENING_TURNS
        )
        check_choice("illegal", illegal, ILLEGAL_MODES)
        mode = ILLEGAL_MODES[illegal]
        check_bool("counters", counters)
        check_bool("draw_at_limits", draw_at_limits)
        self._settings = _settings(game, opponent, seat, max_turns, repetitions)._replace(
            draw_at_limits=int(draw_at_limits),
            autoreset=int(autoreset),
            illegal=int(mode),
            max_opening_turns=max_opening_turns,
        )
        limits = _counter_limits(game, self._settings) if counters else {}
        self._settings = self._settings._replace(counters=sum(limits))
        self.planes = *game.planes, *(COUNTER_PLANES[counter] for counter in limits)
        """The names of the planes of an observation, C strings."""
        bounds = [1] * len(game.planes) + [min(n, kernels.MAX_COUNT) for n in limits.values()]
        self.plane_bounds = np.array(bounds, np.int8)
        """The greatest value in each plane, int8[C]; the least is 0."""
        self.game = game
        self.count = count
        is_compiled = isinstance(opponent, CompiledOpponent)
        self._compiled_opponent = cast(CompiledOpponent, opponent) if is_compiled else None
        self._opponent = None if is_compiled else opponent
        # Whether a step can begin a game that the opponent's first replies end.
        may_begin = self._opponent is not None and autoreset != Autoreset.DISABLED
        self._may_begin_finished = may_begin
        self.threads = ThreadPool(min(threads, count))
        try:
            policies = self._make_policies()
            keys = _keys_per_board(self._settings, count)
            self._batch = _allocate(game, count, keys, self.observation_shape, autoreset)
        except MemoryError:
            reason = "this machine does not have enough memory"
            raise BadOption(f"num_envs={count}: {reason}") from None
        episodes, streams = self._batch.episodes, self.streams(None)
        episodes["status"], episodes["stream"] = EpisodeStatus.TERMINATED, streams
        # Between calls, all boards are to make a decision.
        self._kinds = np.full(count, StepKind.DECISION, np.int8)
        self._actions = np.zeros(count, np.int64)
        # An opponent in Python needs the cores between the steps.
        self._shares = Shares.make(count, threads, helpers_wait=self._opponent is None)
        self._set_arguments(policies)
        self.observations = self._batch.observations
        self.rewards = self._batch.rewards
        self.outcomes = self._batch.outcomes
        self.terminated = self._batch.terminated
        self.truncated = self._batch.truncated
        self.to_move = self._batch.to_move
        self.final_observations = self._batch.final_observations
        self.was_illegal = np.zeros(count, np.bool_)
        self.raises = mode == kernels.IllegalMode.RAISE
        self.has_begun = False
        # Whether the masks of the batch are valid; before the first reset they are written late.
        self._has_masks = False
        self._all_boards = np.ones(count, np.bool_)
        self._initial = np.array([game.initial], np.uint64)

    def __getstate__(self) -> dict[str, object]:
        # Policies contain large buffers.
        return {**vars(self), "_arguments": [], "_compiled_step": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._set_arguments(self._make_policies())

    def _make_policies(self) -> list[Policy]:
        """Return the policies of the compiled opponent, one for each thread, random without it."""
        thread_count = self.threads.thread_count
        if self._compiled_opponent:
            return self._compiled_opponent.policies(thread_count)
        return [RandomPolicy.make(self.game) for _ in range(thread_count)]

    def _set_arguments(self, policies: Sequence[Policy]) -> None:
        """Set the arguments of `kernels.step` in each thread."""
        start, settings = self.game.initial, tuple(self._settings)
        batch: kernels.BatchTuple = tuple(self._batch)
        actions = self.game.num_actions
        self._arguments = [
            (
                start,
                settings,
                batch,
                policy,
                np.empty(actions, np.int32),
                self._kinds,
                self._actions,
            )
            for policy in policies
        ]
        # `kernels.step` for arguments of these types, once it is compiled.
        self._compiled_step: Callable[..., int] | None = None

    def streams(self, seed: int | list[int | None] | None) -> NDArray[np.uint64]:
        """Return random streams for `reset`, uint64[N], from one seed or a list of N seeds.

        With one seed, the stream of board i does not depend on N.
        """
        if isinstance(seed, list):
            return np.concatenate([random_streams.streams(own_seed, 1) for own_seed in seed])
        return random_streams.streams(seed, self.count)

    def reset(
        self,
        selected: NDArray[np.bool_] | None = None,
        starts: Sequence[Position] = (),
        streams: NDArray[np.uint64] | None = None,
    ) -> None:
        """Begin games on the boards `selected`, bool[N], by default on all.

        Games begin after a random opening, or in `starts`: one position or N positions.
        `streams`, uint64[N], replace the random streams of these boards. If the
        opponent's first replies end a game, it begins again with new random numbers.

        Raises BadPosition if a game is over in one of the positions, or the opponent's first
        replies end it MAX_RESET_ATTEMPTS times. After this error, or one that the opponent raises,
        all boards must be reset.
        """
        selected = self._all_boards if selected is None else selected
        if streams is not None:
            self._batch.episodes["stream"][selected] = streams[selected]
        kind = StepKind.RESET_TO_POSITION if starts else StepKind.RESET
        rows = np.array(starts, np.uint64) if starts else self._initial
        self._begin_games(selected, kind, rows)
        self.was_illegal &= ~selected

    def _begin_games(
        self, selected: NDArray[np.bool_], kind: StepKind, starts: NDArray[np.uint64]
    ) -> None:
        """Begin games on the boards `selected`, again while the opponent's first replies end them.

        `starts` is uint64[1, F] or uint64[N, F]. The last attempt has no random opening; those of
        compiled opponents are in `kernels.step`. Raises BadPosition if all attempts fail.
        """
        pending = selected
        for attempts_left in reversed(range(kernels.MAX_RESET_ATTEMPTS if self._opponent else 1)):
            self.positions[pending] = starts[pending] if len(starts) > 1 else starts
            self._kinds.fill(StepKind.SKIP)
            is_last = self._opponent and not attempts_left
            self._kinds[pending] = StepKind.RESET_TO_POSITION if is_last else kind
            try:
                self._run()
            finally:
                self._kinds.fill(StepKind.DECISION)
            self.has_begun = self._has_masks = True
            self._reply()
            pending = pending & self.done
            if not pending.any():
                return
        self.has_begun = False
        raise self._no_decision_error(
            self.game.make_position(starts[pending.argmax() % len(starts)])
        )

    def parse_start(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition if it is invalid or the game is over."""
        position = self.game.from_text(text)
        if self.game.outcome(position) != ONGOING:
            raise self._no_decision_error(position)
        return position

    def parse_options(self, options: object) -> list[Position]:
        """Return a list with the starting position of the options of a reset, [] without one.

        Raises BadOption or UnknownOption for other options, BadPosition if the text is not a
        position or its game is over.
        """
        valid = check_reset_options(options, ["position"])
        return [self.parse_start(valid["position"])] if "position" in valid else []

    def _no_decision_error(self, position: Position) -> BadPosition:
        reason = "the game is over, or ends before the first decision"
        return BadPosition(f"no episode can begin in '{self.game.to_text(position)}': {reason}")

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play actions[i] (int64[N]) on board i, and the replies.

        The action of a board that is reset in this step (NEXT_STEP) is ignored. Raises
        IllegalAction or ResetNeeded, naming the first board that refuses its action; then nothing
        has changed. If the opponent raises an error, or IllegalAction is raised for its choice, all
        boards need a reset.
        """
        self._actions[:] = actions
        self._step()

    def _step(self) -> None:
        """Play the actions that are in `_actions`."""
        if not self.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() before step()")
        if not self.raises:
            self._set_was_illegal()
        try:
            refused_board = self._run()
        except BaseException:
            self.has_begun = False
            raise
        if refused_board != kernels.ACCEPTED:
            raise self._refusal_error(refused_board)
        if self._opponent:
            self._reply()
        if self._may_begin_finished:
            self._replace_finished_episodes()

    def _replace_finished_episodes(self) -> None:
        """Begin other games on boards whose new game was ended by the opponent's first replies."""
        is_finished = self.done
        if self._settings.autoreset == Autoreset.NEXT_STEP:
            is_finished &= ~(self.terminated | self.truncated)
        if not is_finished.any():
            return
        # With SAME_STEP these describe the games that ended in this step.
        arrays: list[NDArray[Any]] = [
            self.rewards,
            self.terminated,
            self.truncated,
            self.outcomes,
        ]
        ended = [array[is_finished] for array in arrays]
        self._begin_games(is_finished, StepKind.RESET, self._initial)
        for array, values in zip(arrays, ended, strict=True):
            array[is_finished] = values

    def step_one(self, action: object) -> None:
        """Play an action on the only board.

        Raises the errors of `step`, and IllegalAction for an action that is not an integer.
        """
        number = action if isinstance(action, np.int64) else as_int(action)
        if number is None:
            raise self.game.non_integer_action(action)
        try:
            self._actions[0] = number
        except OverflowError:
            raise self._illegal_error(0, action) from None
        self._step()

    def _run(self) -> int:
        """Make the steps `_kinds`; return ACCEPTED or the first board that refuses its action."""
        if self.threads.thread_count == 1:
            if self._compiled_step:
                return self._compiled_step(*self._arguments[0])
            refused_board = kernels.step(*self._arguments[0])
            self._compiled_step = specialize(kernels.step, *self._arguments[0])
            return refused_board
        _, settings, batch, *_ = self._arguments[0]
        refused_board = kernels.open_step(settings, batch, self._kinds, self._actions, self._shares)
        if refused_board == kernels.ACCEPTED:
            self.threads.share(self._step_shares)
        return refused_board

    def _step_shares(self, thread: int) -> bool:
        """Make a part of the steps in a thread; return whether all are finished."""
        return kernels.step_shares(*self._arguments[thread], self._shares, thread > 0)

    def close(self) -> None:
        """End the threads that step the boards; the next step starts new ones."""
        self.threads.close()

    def _reply(self) -> None:
        """Play the opponent's decisions on all boards until the seat is to move."""
        try:
            while self._opponent:
                is_due = ~self.done & (self.to_move != self.seats)
                if not len(numbers := np.flatnonzero(is_due)):
                    return
                actions = self._opponent(self, numbers)
                kernels.play_replies(*self._arguments[0][:5], numbers, actions)
        except BaseException:
            self.has_begun = False
            raise

    def _set_was_illegal(self) -> None:
        actions = self._actions
        is_valid = (actions >= 0) & (actions < self.game.num_actions)
        bits = self._batch.masks[np.arange(self.count), np.where(is_valid, actions, 0)]
        self.was_illegal[:] = ~self.done & (bits == 0)

    def _refusal_error(self, board: int) -> IllegalAction | ResetNeeded:
        action, prefix = self._actions[board], f"board {board}: " if self.count > 1 else ""
        if self.done[board]:
            return ResetNeeded(f"{prefix}the episode is over; call reset() before step({action})")
        return IllegalAction(f"{prefix}{self._illegal_error(board, int(action))}")

    def _illegal_error(self, board: int, action: object) -> IllegalAction:
        error = self.game.illegal_action(self.position(board), action)
        return IllegalAction(f"{error}; {MASK_HINT}" if self.raises else str(error))

    @property
    def masks(self) -> NDArray[np.int8]:
        """The masks of the legal actions of the players to move, int8[N, num_actions].

        All 1 if the episode is terminated. Before the first reset, those of
        `Game.opening_mask`.
        """
        if not self._has_masks:
            self._batch.masks[:] = self.game.opening_mask()
            self._has_masks = True
        return self._batch.masks

    def observe(self) -> None:
        """Write the observations again, in case a caller changed them."""
        kernels.observe(*self._arguments[0][:3])

    @property
    def seats(self) -> NDArray[np.int8]:
        """The learner's seats, int8[N]; a copy."""
        seats: NDArray[np.int8] = self._batch.episodes["seat"].copy()
        return seats

    def seat(self, board: int = 0) -> int:
        """Return the learner's seat on a board."""
        return int(self._batch.episodes["seat"][board])

    @property
    def positions(self) -> NDArray[np.uint64]:
        """The fields of the positions, uint64[N, F]."""
        return self._batch.positions[:, 0]

    @property
    def positions_before(self) -> NDArray[np.uint64]:
        """The fields of the positions in which the last turns began, uint64[N, F]."""
        return self._batch.positions[:, 1]

    @property
    def max_turns(self) -> int:
        """The number of turns after which an episode is truncated; 0 for no limit."""
        return self._settings.max_turns

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the episode on each board is over, bool[N]; a copy."""
        return np.asarray(self._batch.episodes["status"] != _RUNNING)

    @property
    def position_keys(self) -> NDArray[np.uint64]:
        """The hashes of each board's positions so far, by turn, padded with 0: uint64[N, K].

        K is 0 if neither a limit nor the rules count repetitions.
        """
        turns = self._batch.episodes["turns"][:, np.newaxis]
        keys = self._batch.keys
        return np.where(np.arange(keys.shape[1]) <= turns, keys, np.uint64(0))

    def observe_movers(self, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the observations of the players to move on these boards, int8[M, C, H, W]."""
        return self.observe_players(numbers, self.to_move[numbers].astype(np.int64))

    def observe_players(
        self, numbers: NDArray[np.int64], players: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """Return the observations of `players`, int64[M], on these boards, int8[M, C, H, W]."""
        planes = np.empty((len(numbers), *self.observation_shape), np.int8)
        kernels.observe_players(*self._arguments[0][:3], numbers, players, planes)
        return planes

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """The shape of an observation: C, H, W."""
        _, rows, columns = self.game.observation_shape
        return len(self.planes), rows, columns

    @property
    def episodes(self) -> NDArray[np.int64]:
        """The number of episodes begun on each board, int64[N]; a copy."""
        numbers: NDArray[np.int64] = self._batch.episodes["number"].copy()
        return numbers

    @property
    def opponents(self) -> NDArray[np.int64]:
        """The index of the opponent in each game, int64[N], -1 if none was sampled; a copy."""
        return np.asarray(self._batch.episodes["opponent"] - 1)

    def opponent_index(self, board: int = 0) -> int:
        """Return the index of the opponent on a board, -1 if none was sampled."""
        return int(self._batch.episodes["opponent"][board]) - 1

    def sample_opponents(
        self, numbers: NDArray[np.int64], cumulative_shares: NDArray[np.float64]
    ) -> None:
        """Sample opponents for the games on the boards `numbers`, int64[M], that have none.

        `cumulative_shares`, float64[K], are those of the opponents. Games whose opponent no longer
        exists get another.
        """
        opponents = self._batch.episodes["opponent"]
        opponents[opponents > len(cumulative_shares)] = 0
        kernels.sample_opponents(self._batch.episodes, numbers, cumulative_shares)

    def next_states(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the states of the random streams of these boards, uint64[M]; advance them."""
        streams = self._batch.episodes["stream"]
        states: NDArray[np.uint64] = streams[numbers]
        streams[numbers] = random_streams.advance(states)
        return states

    def generator(self, board: int) -> np.random.Generator:
        """Return a generator seeded by the board's random stream; advance the stream."""
        return np.random.default_rng(int(self.next_states(np.array([board]))[0]))

    def position(self, board: int = 0) -> Position:
        """Return the position on a board; raise ResetNeeded if a reset is needed."""
        if not self.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() first")
        return self.game.make_position(self.positions[board])

    def turns(self, board: int = 0) -> int:
        """Return the number of turns played in a board's episode."""
        return int(self._batch.episodes["turns"][board])

    def picture(self, board: int = 0, select: Cell | None = None) -> Picture:
        """Return a picture of a board, its last turn and the targets of the piece on `select`.

        If several turns lead to the position, the last turn is any of them. The picture shows the
        result unless the next episode began in the same step. Raises ResetNeeded if a reset is
        needed.
        """
        before, after = self.positions_before[board], self.position(board)
        before, last, end = self.game.make_position(before), None, None
        if before != after:
            last = before, next(self.game.turns_between(before, after, unfinished=True))
        if self.has_ended(board) and self.done[board]:
            result = self.result(board)
            end = result["outcome"], result["ending"]
        return draw(self.game, after, last=last, select=select, end=end)

    def result(self, board: int = 0) -> Ending:
        """Return how the episode ended that the last step ended, or that is over."""
        game, outcome, score = self.game, int(self.outcomes[board]), NO_SCORE
        position, status = self.final_position(board), self._final_status(board)
        if status == _TERMINATED and not game.has_scores:
            # Faster than `Game.score`, which computes the outcome again.
            lead = 0 if outcome == DRAW else rules.margin(position)
            score = (lead, -lead) if outcome == FIRST_WINS else (-lead, lead)
        elif status == _TERMINATED:
            score = game.score(position)
        elif status == _FAULT and game.has_scores:
            score = game.score(position, 1 - outcome)
        first, second = map(float, score)
        ending = self._ending(position, status)
        return {"outcome": outcome, "ending": ending, "score": (first, second)}

    def results(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[np.generic]]:
        """Return how the episodes ended that the last step ended on the boards `numbers`, int64[M].

        The keys are outcome int8[M], ending object[M], score float64[M, 2], the learner's seat and
        the player to_move int8[M], opponent int64[M], -1 if none was sampled, and action_mask
        int8[M, num_actions], all 1 if the game is terminated.
        """
        count, positions = len(numbers), self._batch.final_positions[numbers]
        episodes = self._batch.final_episodes[numbers]
        statuses, to_move = episodes["status"].copy(), np.empty(count, np.int8)
        margins, masks = (
            np.empty(count, np.int64),
            np.empty((count, self.game.num_actions), np.int8),
        )
        start, legal = self.game.initial, np.empty(self.game.num_actions, np.int32)
        kernels.write_final_states(start, positions, statuses, to_move, margins, masks, legal)
        margins[statuses != _TERMINATED] = 0
        score = np.stack([margins, -margins], 1).astype(np.float64)
        if self.game.has_scores:
            score[:] = [self.result(board)["score"] for board in numbers.tolist()]
        ending = np.full(count, "", object)
        ending[:] = list(map(self._ending, map(self.game.make_position, positions), statuses))
        return {
            "action_mask": masks,
            "to_move": to_move,
            "seat": episodes["seat"],
            "opponent": episodes["opponent"] - 1,
            "outcome": self.outcomes[numbers],
            "ending": ending,
            "score": score,
        }

    def _ending(self, position: Position, status: int) -> str:
        """Return one word for the ending of an episode in this position."""
        if status == _TERMINATED:
            return self.game.ending(position)
        if status == _FAULT:
            return "illegal"
        return "max_turns" if status in _TURN_LIMITS else "repetition"

    def _is_over(self, board: int) -> bool:
        """Return whether the episode that `result` describes is the current one."""
        return bool(self._batch.episodes["status"][board] != _RUNNING)

    def _final_status(self, board: int) -> int:
        """Return the status of the episode that `result` describes."""
        batch = self._batch
        episodes = batch.episodes if self._is_over(board) else batch.final_episodes
        return int(episodes["status"][board])

    def final_position(self, board: int = 0) -> Position:
        """Return the last position of the episode that `result` describes."""
        positions = self.positions if self._is_over(board) else self._batch.final_positions
        return self.game.make_position(positions[board])

    def has_ended(self, board: int = 0) -> bool:
        """Return whether the episode on a board is over, or ended in the last step."""
        return bool(self.terminated[board] or self.truncated[board])

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return copies of the arrays of `kernels.Batch`, of any shape, by name, for `restore`.

        The fields of the records are arrays of their own.
        """
        return {name: array.copy() for name, array in self._arrays()}

    def restore(self, snapshot: Mapping[str, NDArray[np.generic]]) -> None:
        """Restore the state of the boards from a `snapshot`, taken after a reset."""
        for name, array in self._arrays():
            array[...] = snapshot[name]
        self.has_begun = self._has_masks = True

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays of the batch, and the fields of its records, with their names."""
        for name, array in self._batch._asdict().items():
            if array.dtype.names is None:
                yield name, array
            for field in array.dtype.names or ():
                yield f"{name.removesuffix('s')}_{field}", array[field]


def _settings(
    game: Game,
    opponent: BoardsOpponent,
    seat: int | None,
    max_turns: int | None,
    repetitions: int | None,
) -> kernels.Settings:
    """Return the settings of boards without automatic resets; raise BadOption on bad values."""
    if seat is not None:
        seat = check_integer("seat", seat, 0, 1, ", or None for a random seat")
    if max_turns is not None:
        max_turns = check_integer("max_turns", max_turns, 1, note=", or None for no limit")
    if repetitions is not None:
        if not max_turns:
            expected = "None for no limit, or 2 or more with max_turns set"
            raise invalid_value("repetitions", repetitions, expected)
        repetitions = check_integer("repetitions", repetitions, 2, note=", or None for no limit")
        if game.repetition_limit:
            expected = f"None for {game.name}, whose own rules end a game that repeats itself"
            raise BadOption(f"repetitions={repetitions}; expected: {expected}")
    if opponent is not None and max_turns == 1 and seat != 0:
        raise BadOption("max_turns=1; expected: 2 or more if the opponent may move first")
    mode = OpponentMode.NONE
    if opponent is not None:
        is_compiled = isinstance(opponent, CompiledOpponent)
        mode = OpponentMode.POLICY if is_compiled else OpponentMode.EXTERNAL
    return kernels.Settings(
        int(mode),
        -1 if seat is None else seat,
        max_turns or 0,
        repetitions or 0,
        draw_at_limits=0,
        autoreset=int(Autoreset.DISABLED),
        illegal=int(kernels.IllegalMode.RAISE),
        repetition_limit=game.repetition_limit,
        max_opening_turns=0,
        counters=0,
    )


def _keys_per_board(settings: kernels.Settings, count: int) -> int:
    """Return the number of positions that each board stores to find repetitions.

    Raises BadOption if `count` boards would store more than MAX_POSITION_KEYS.
    """
    if not (settings.repetitions or settings.repetition_limit):
        return 0
    keys = (settings.max_turns or REPETITION_WINDOW) + 1
    if count * keys > MAX_POSITION_KEYS:
        limit = MAX_POSITION_KEYS // count - 1
        expected = f"at most {limit:,} with {count} boards whose repetitions are counted"
        raise BadOption(f"max_turns={settings.max_turns or None}; expected: {expected}")
    return keys


def _counter_limits(game: Game, settings: kernels.Settings) -> dict[kernels.Counter, int]:
    """Return the greatest values of the counters that the limits and the rules have, in order."""
    turns_to_draw = int(rules.turns_to_draw(game.initial))
    limits = {
        kernels.Counter.NO_PROGRESS: turns_to_draw if turns_to_draw < rules.UNLIMITED else 0,
        kernels.Counter.TURNS_LEFT: settings.max_turns,
        kernels.Counter.REPETITIONS: settings.repetitions or settings.repetition_limit,
    }
    return {counter: limit for counter, limit in limits.items() if limit}


def _allocate(
    game: Game, count: int, keys: int, observation_shape: tuple[int, ...], autoreset: Autoreset
) -> kernels.Batch:
    fields = len(game.initial)
    finals = count if autoreset == Autoreset.SAME_STEP else 0
    return kernels.Batch(
        positions=np.zeros((count, 2, fields), np.uint64),
        keys=np.zeros((count, keys), np.uint64),
        observations=np.zeros((count, *observation_shape), np.int8),
        masks=np.zeros((count, game.num_actions), np.int8),
        rewards=np.zeros(count),
        terminated=np.zeros(count, np.bool_),
        truncated=np.zeros(count, np.bool_),
        outcomes=np.zeros(count, np.int8),
        to_move=np.zeros(count, np.int8),
        final_observations=np.zeros((finals, *observation_shape), np.int8),
        final_positions=np.zeros((finals, fields), np.uint64),
        final_episodes=np.zeros(finals, kernels.EPISODE),
        episodes=np.zeros(count, kernels.EPISODE),
    )
