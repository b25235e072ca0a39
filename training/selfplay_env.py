"""The environment of self-play for Stable-Baselines3: many boards, an opponent drawn for each game.

The learner has a drawn seat on each board and sees only the positions in which it is to move. All
boards that wait for the same opponent are put to it at once.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.arrays import expect
from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.envs import kernels
from cc_env.envs.boards import Boards
from cc_env.envs.kernels import SEAT, TO_MOVE, TURNS, Replies, Seen, Settings
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.game import Game
from cc_env.match import Limits, repetition_limit
from cc_env.rules import Position
from training.arena.schedule import opening
from training.pool import Asked, Opponent

OPENINGS = 2048  # positions that games begin at


class AskedBoards(Boards):
    """Boards on which whoever uses them takes the opponents' decisions too, many at a time."""

    def waiting(self) -> NDArray[np.bool_]:
        """Return bool[N]: whether it is the opponent's turn on the board."""
        seats = self.rows[:, SEAT].astype(np.int8)
        return np.asarray(~self.done & (self.seen.facts[TO_MOVE] != seats))

    def asked(self, which: NDArray[np.int64]) -> Asked:
        """Return what the player to move sees on these boards."""
        planes = np.empty((len(which), *self.game.observation_shape), np.int8)
        _observe(self.game.initial, self.rows, which, planes)
        positions = self.rows[which, : len(self.game.initial)]
        return Asked(positions, planes, self.seen.masks[which])

    def check(self) -> None:
        """Raise BadCheckpoint where the boards, restored from a file, cannot be.

        On all of them a game goes on, in which the learner is to move and sees what there is.
        """
        try:
            self.game.check_words(self.rows[:, : len(self.game.initial)])
        except BadPosition as error:
            raise BadCheckpoint(f"boards: {error}") from None
        seen = self.asked(np.arange(self.count))
        masks = np.array([self.game.action_mask(self.position(n)) for n in range(self.count)])
        movers = [self.game.to_move(self.position(n)) for n in range(self.count)]
        is_whole = (
            not self.done.any()
            and masks.any(1).all()
            and (self.rows[:, TURNS] < self.settings.max_turns).all()
            and all(
                np.array_equal(movers, each)
                for each in (self.rows[:, SEAT], self.seen.facts[TO_MOVE])
            )
            and np.array_equal(masks, self.seen.masks)
            and np.array_equal(seen.observations, self.seen.observations)
        )
        if not is_whole:
            raise BadCheckpoint("boards: what is noted of the positions is not what they are")

    def answer(self, which: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Play the opponents' actions on these boards; raise IllegalAction, and change nothing."""
        known = (actions >= 0) & (actions < self.game.num_actions)
        legal = known & (self.seen.masks[which, np.where(known, actions, 0)] == 1)
        if not legal.all():
            refused = legal.argmin()
            raise self.game.illegal(self.position(which[refused]), int(actions[refused]))
        _answer(*self._args(), which, actions, self.seen)


class SelfPlay(VecEnv):
    """Boards on which a learner plays its opponents; `action_masks` says what is legal.

    Observations are int8[N, C, H, W], rewards those of the learner at the end of the game: 1, -1,
    or 0 for a draw, by the rules or by the arena's limits.
    """

    render_mode = None

    def __init__(
        self, game: Game, count: int, opponents: Sequence[Opponent], opening_turns: int, seed: int
    ) -> None:
        """Make boards whose games begin after 0 to `opening_turns` random turns."""
        limits = Limits()
        self.opponents = opponents
        self.boards = AskedBoards(
            game,
            count,
            replies=Replies.ANSWERS,
            max_turns=limits.max_turns,
            repetitions=repetition_limit(game, limits.repetitions),
        )
        self.boards.seed(seed)
        self.rng = np.random.default_rng(seed)
        self.met = np.zeros(count, np.int64)  # the opponent on each board, by index
        self.over = np.ones(count, np.bool_)  # whether a game ended there in the last step
        self.seconds = {"boards": 0.0, "opponents": 0.0}  # spent so far
        rng = np.random.default_rng(seed)
        self._starts = [opening(game, opening_turns, rng) for _ in range(OPENINGS)]
        self._actions = np.zeros(count, np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]
        observed = spaces.MultiBinary(game.observation_shape)
        super().__init__(count, observed, spaces.Discrete(game.num_actions))

    def reset(self) -> NDArray[np.int8]:
        """Begin a game on every board."""
        self._begin(np.ones(self.num_envs, np.bool_))
        return self.boards.seen.observations.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the learner's actions, int[N]."""
        self._actions[:] = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play them, and the answers; raise IllegalAction where one is illegal."""
        began, asking = time.perf_counter(), self.seconds["opponents"]
        self.boards.step(self._actions)
        self._answer()
        rewards, self.over = self.boards.seen.rewards.astype(np.float32), self.boards.done
        self._note(rewards)
        self._begin(self.over)
        spent = time.perf_counter() - began
        self.seconds["boards"] += spent - (self.seconds["opponents"] - asking)
        return self.boards.seen.observations.copy(), rewards, self.over.copy(), self._infos

    def action_masks(self) -> list[NDArray[np.int8]]:
        """Return int8[num_actions] for each board: 1 where the action is legal."""
        return list(self.boards.seen.masks)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that goes on from step to step, but `rng`."""
        boards = {f"boards.{n}": each for n, each in enumerate(self.boards.snapshot())}
        return {**boards, "met": self.met.copy(), "over": self.over.copy()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on with what `state` returned after a step.

        Raises BadCheckpoint, and changes nothing, where that cannot be.
        """
        own = self.state()
        found = {name: expect(arrays, name, each.shape, each.dtype) for name, each in own.items()}
        if not ((found["met"] >= 0) & (found["met"] < len(self.opponents))).all():
            raise BadCheckpoint("met has numbers that are none of an opponent")
        before = self.boards.snapshot()
        self.boards.restore([found[f"boards.{n}"] for n in range(len(before))])
        try:
            self.boards.check()
        except BadCheckpoint:
            self.boards.restore(before)
            raise
        self.met[:], self.over[:] = found["met"], found["over"]

    def _begin(self, which: NDArray[np.bool_]) -> None:
        """Begin games on these boards, until there are some in which the learner is to move."""
        shares = np.array([each.share for each in self.opponents])
        while which.any():
            count = int(which.sum())
            self.met[which] = self.rng.choice(len(shares), count, p=shares / shares.sum())
            starts = [self.boards.game.initial] * self.num_envs
            for board, start in zip(
                np.flatnonzero(which), self.rng.integers(len(self._starts), size=count), strict=True
            ):
                starts[board] = self._starts[start]
            self.boards.reset(which, starts)
            self._answer()
            which = self.boards.done

    def _answer(self) -> None:
        """Let the opponents decide until the learner is to move, or the game is over."""
        while (waiting := self.boards.waiting()).any():
            for index in np.unique(self.met[waiting]):
                which = np.flatnonzero(waiting & (self.met == index))
                asked = self.boards.asked(which)
                began = time.perf_counter()
                actions = self.opponents[index].choose(asked, self.rng)
                self.seconds["opponents"] += time.perf_counter() - began
                self.boards.answer(which, actions)

    def _note(self, rewards: NDArray[np.float32]) -> None:
        """Note the results of finished games with the opponents."""
        over = np.flatnonzero(self.over)
        for index, reward in zip(self.met[over].tolist(), rewards[over].tolist(), strict=True):
            self.opponents[index].points.append((1 + reward) / 2)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Return what a method gives for each board."""
        found: list[Any] = getattr(self, method_name)(*method_args, **method_kwargs)
        return found

    def get_attr(self, name: str, indices: Any = None) -> list[Any]:
        """Return an attribute for each board; raise AttributeError."""
        return [getattr(self, name)] * self.num_envs

    def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute."""
        setattr(self, name, value)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return that no board is wrapped."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


@jit
def _observe(
    start: Position, rows: NDArray[np.uint64], which: NDArray[np.int64], planes: NDArray[np.int8]
) -> None:
    for place in range(len(which)):
        position = rules.load(rows[which[place]], start)
        rules.observe(position, rules.to_move(position), planes[place])


@jit
def _answer(
    start: Position,
    settings: Settings,
    rows: NDArray[np.uint64],
    history: NDArray[np.uint64],
    which: NDArray[np.int64],
    actions: NDArray[np.int64],
    seen: Seen,
) -> None:
    rows, history, seen = borrow(rows), borrow(history), borrow(seen)
    for place in range(len(which)):
        kernels.answer(start, settings, rows, history, which[place], actions[place], seen)
