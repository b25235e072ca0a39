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
from cc_env.envs.boards import Boards
from cc_env.envs.spaces import planes_space
from cc_env.errors import BadCheckpoint, BadPosition
from cc_env.game import Game
from cc_env.match import Limits, limit_of_repetitions
from cc_env.openings import opening
from training.pool import Asked, Opponent

OPENINGS = 2048  # positions that games begin at


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
        self.boards = Boards(
            game,
            count,
            opponent=self._answers,
            max_turns=limits.max_turns,
            repetitions=limit_of_repetitions(game, limits.repetitions),
        )
        self.rng = np.random.default_rng(seed)
        self.met = np.zeros(count, np.int64)  # the opponent on each board, by index
        self.over = np.ones(count, np.bool_)  # whether a game ended there in the last step
        self.seconds = {"boards": 0.0, "opponents": 0.0}  # spent so far
        rng = np.random.default_rng(seed)
        openings = [opening(game, opening_turns, rng) for _ in range(OPENINGS)]
        self._starts = np.array(openings, np.uint64)
        self._actions = np.zeros(count, np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]
        super().__init__(count, planes_space(game), spaces.Discrete(game.num_actions))
        self._streams: NDArray[np.uint64] | None = self.boards.streams(seed)  # for the first games

    def reset(self) -> NDArray[np.int8]:
        """Begin a game on every board."""
        self._begin(np.ones(self.num_envs, np.bool_))
        return self.boards.observations.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the learner's actions, int[N]."""
        self._actions[:] = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play them, and the answers; raise IllegalAction where one is illegal."""
        began, asking = time.perf_counter(), self.seconds["opponents"]
        self.boards.step(self._actions)
        rewards, self.over = self.boards.rewards.astype(np.float32), self.boards.done
        self._note(rewards)
        self._begin(self.over)
        spent = time.perf_counter() - began
        self.seconds["boards"] += spent - (self.seconds["opponents"] - asking)
        return self.boards.observations.copy(), rewards, self.over.copy(), self._infos

    def action_masks(self) -> list[NDArray[np.int8]]:
        """Return int8[num_actions] for each board: 1 where the action is legal."""
        return list(self.boards.masks)

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
            _check(self.boards)
        except BadCheckpoint:
            self.boards.restore(before)
            raise
        self.met[:], self.over[:] = found["met"], found["over"]
        self._streams = None  # they are the boards' own

    def _begin(self, which: NDArray[np.bool_]) -> None:
        """Begin games on these boards in which the learner is to move."""
        if which.any():
            self.boards.reset(which, self._draw_starts, self._streams)
            self._streams = None

    def _draw_starts(self, which: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """Draw opponents and openings for games on these boards; return where all boards begin."""
        count, shares = int(which.sum()), np.array([each.share for each in self.opponents])
        self.met[which] = self.rng.choice(len(shares), count, p=shares / shares.sum())
        starts = np.zeros((self.num_envs, self._starts.shape[1]), np.uint64)
        starts[which] = self._starts[self.rng.integers(len(self._starts), size=count)]
        return starts

    def _answers(self, boards: Boards, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the opponents choose on these boards, all those of one opponent at once."""
        actions = np.zeros(len(which), np.int64)
        asked = Asked(boards.positions[which], boards.seen_by_movers(which), boards.masks[which])
        for index in np.unique(self.met[which]):
            of_it = self.met[which] == index
            began = time.perf_counter()
            theirs = Asked(*(array[of_it] for array in asked))
            actions[of_it] = self.opponents[index].choose(theirs, self.rng)
            self.seconds["opponents"] += time.perf_counter() - began
        return actions

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


def _check(boards: Boards) -> None:
    """Raise BadCheckpoint where the boards, restored from a file, cannot be.

    On all of them a game goes on, in which the learner is to move and sees what there is.
    """
    game, every = boards.game, range(boards.count)
    try:
        for rows in (boards.positions, boards.positions_before):
            game.check_words(rows)
    except BadPosition as error:
        raise BadCheckpoint(f"boards: {error}") from None
    masks = np.array([game.action_mask(boards.position(board)) for board in every])
    movers = [game.to_move(boards.position(board)) for board in every]
    is_whole = (
        not boards.done.any()
        and masks.any(1).all()
        and all(boards.turns(board) < boards.max_turns for board in every)
        and all(np.array_equal(movers, each) for each in (boards.seats, boards.to_move))
        and np.array_equal(masks, boards.masks)
        and np.array_equal(boards.seen_by_movers(np.arange(boards.count)), boards.observations)
    )
    if not is_whole:
        raise BadCheckpoint("boards: what is noted of the positions is not what they are")
