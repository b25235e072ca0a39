"""The Gymnasium environment: one learner against an opponent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cc_env import players, randomness, rules
from cc_env.envs.boards import Boards, make_game, reset_options
from cc_env.envs.kernels import ATTEMPTS, SEAT, STREAM, TO_MOVE, Replies
from cc_env.envs.rendering import FRAMES_PER_SECOND, MODES, Renderer
from cc_env.envs.spaces import LegalActions
from cc_env.envs.turns import TurnLog
from cc_env.game import Cell
from cc_env.pictures import Picture, draw
from cc_env.referee import Player
from cc_env.rules import Position

Observation = NDArray[np.int8]
Info = dict[str, Any]
Opponent = Callable[[Observation, Info], int]


class BoardGameEnv(gymnasium.Env[Observation, np.int64]):
    """A two-player game seen by one player; the opponent answers within `step`.

    Observation
        MultiBinary([C, H, W]), int8: planes in the learner's own frame, named in `game.planes`.
    Action
        Discrete(num_actions): one decision; an id means the same in every position. Legal are those
        of `info["action_mask"]` (int8[num_actions]), also `action_masks()` (bool); by default
        `action_space.sample()` samples among them.
    Reward
        +1 for a win, -1 for a loss, 0 for a draw and before the end.
    Ending
        `terminated` by the rules of the game; `truncated` after `max_turns` turns of both players
        together, or when one position occurs for the `repetitions`-th time, a limit that is refused
        where the game's own rules know repetition.
    Info
        action_mask; seat, 0 (moves first) or 1. At the end also outcome: the player who won, 2 for
        a draw, -1 if truncated; ending: in one word, how; and, if terminated, score: what the first
        and the second player have by the rules of the game, 1 and -1 where it knows no more.
    Reset
        `options={"position": TEXT}` begins in that position instead of the start.

    Versions
        v0: as first published.
    """

    metadata = {"render_modes": list(MODES), "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        game: str,
        *,
        opponent: str | Player | Opponent = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the environment of `game` with its `options`; raise UnknownOption on bad values.

        `opponent` is a player's spoken name (see `cc_env.players`), a player, or a function
        `(observation, info) -> action` that is given what a learner in its seat would be given.
        `seat` None is drawn at every reset. `max_turns` and `repetitions` None are no limits.
        """
        self.game = make_game(BoardGameEnv, game, options)
        self.opponent = opponent
        self._player = None if _is_function(opponent) else players.of(opponent, self.game)
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self.game.name)
        self._compiled = render_mode is None and opponent == "random"
        self._boards = Boards(
            self.game,
            replies=Replies.RANDOM if self._compiled else Replies.NONE,
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
        )
        self._log = TurnLog(self.game)
        self.observation_space = spaces.MultiBinary(self.game.observation_shape)
        self.action_space = LegalActions(self._boards.seen.masks[0], self.game.opening_mask)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode; raise UnknownOption or BadPosition, and change nothing, on bad ones."""
        start = self._start(reset_options(options, ["position"]))
        randomness.check_seed(seed)
        with self._all_or_nothing():
            super().reset(seed=seed)
            self._boards.rows[0, STREAM] = self.np_random.integers(2**64, dtype=np.uint64)
            self._boards.reset(positions=start)
            self._first_reply()
        if self.render_mode == "human":
            self.render()
        return self._result()[0], self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Play a legal action and the opponent's answer.

        Raises IllegalAction for an action that is not legal here, EpisodeOver after the end; what
        the opponent raises, or IllegalAction for what it chose, comes through. Then nothing has
        changed.
        """
        if self._compiled:
            self._boards.play(action)
        else:
            with self._all_or_nothing():
                self._boards.play(action, self._log)
                self._reply()
        observation, reward, terminated, truncated = self._result()
        info = self._info()
        if terminated or truncated:
            info |= self._boards.end()
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[num_actions], true where the action is legal; sb3-contrib looks for this."""
        return np.array(self._boards.seen.masks[0], np.bool_)

    @property
    def position(self) -> Position:
        """Return the position on the board, for `self.game`."""
        return self._boards.position()

    def picture(self, select: Cell | None = None) -> Picture:
        """Return the board with the last turn, unless replies are random and there is no render
        mode, and, where `select` names a cell, the legal targets of its piece.
        """
        end = self._boards.over()
        return draw(self.game, self.position, last=self._log.last, select=select, end=end)

    def _repr_svg_(self) -> str:
        return self.picture()._repr_svg_()

    def render(self) -> Any:
        """Return the frame that `render_mode` asks for, or show it."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() has nothing to do: make the environment with a render_mode"
            )
            return None
        return self._renderer.frame(self.picture())

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _start(self, options: Mapping[str, Any]) -> list[Position]:
        return [self.game.from_text(options["position"])] if "position" in options else []

    def _first_reply(self) -> None:
        """Let the opponent open the game, without ending it; the boards do so if compiled."""
        if self._compiled:
            return
        boards, begun = self._boards, self._boards.snapshot()
        for _ in range(ATTEMPTS):
            self._log.clear()
            self._reply()
            if not boards.done[0]:
                return
            stream = boards.rows[0, STREAM]
            boards.restore(begun)
            boards.rows[0, STREAM] = stream
        raise boards.no_episode(boards.position())

    def _reply(self) -> None:
        """Let the opponent decide until it is the learner's turn; the boards do so if compiled."""
        boards = self._boards
        while not self._compiled and not boards.done[0]:
            if boards.seen.facts[TO_MOVE, 0] == boards.rows[0, SEAT]:
                break
            boards.play(self._answer(), self._log)

    def _answer(self) -> int:
        """Return what the opponent chooses."""
        boards = self._boards
        if self.opponent == "random":
            return boards.draw()
        if self._player:
            return boards.choose(self._player)
        info = {"action_mask": boards.seen.masks[0].copy(), "seat": 1 - self._seat()}
        return cast(Opponent, self.opponent)(boards.seen.observations[0].copy(), info)

    def _seat(self) -> int:
        return int(self._boards.rows[0, SEAT])

    def _info(self) -> Info:
        return {"action_mask": self._boards.seen.masks[0].copy(), "seat": self._seat()}

    def _result(self) -> tuple[Observation, float, bool, bool]:
        """Return observation, reward, terminated and truncated, all as the learner sees them."""
        boards = self._boards
        terminated, truncated, outcome, _ = boards.seen.facts[:, 0].tolist()
        if self._compiled:
            observation, reward = boards.seen.observations[0].copy(), float(boards.seen.rewards[0])
        else:
            observation = self.game.observe(self.position, self._seat())
            reward = rules.reward(outcome, self._seat())
        return observation, reward, bool(terminated), bool(truncated)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Put everything back if the block fails."""
        last, generator, seed = self._log.last, self._np_random, self._np_random_seed
        state = dict(generator.bit_generator.state) if generator else {}
        try:
            with self._boards.all_or_nothing():
                yield
        except BaseException:
            self._log.last, self._np_random, self._np_random_seed = last, generator, seed
            if generator:
                generator.bit_generator.state = state
            raise


def _is_function(opponent: object) -> bool:
    return callable(opponent) and not hasattr(opponent, "choose")


class MaskInObservation(
    gymnasium.ObservationWrapper[dict[str, Observation], np.int64, Observation],
    gymnasium.utils.RecordConstructorArgs,
):
    """Observations {"observation": planes, "action_mask": mask}, as RLlib and others want them."""

    def __init__(self, env: gymnasium.Env[Observation, np.int64]) -> None:
        """Wrap an environment that has `action_masks()`."""
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        mask = spaces.Box(0, 1, (len(env.get_wrapper_attr("action_masks")()),), np.int8)
        both = {"observation": env.observation_space, "action_mask": mask}
        self.observation_space = spaces.Dict(both)  # type: ignore[assignment]

    def observation(self, observation: Observation) -> dict[str, Observation]:
        """Return the observation with the mask beside it."""
        mask = self.get_wrapper_attr("action_masks")()
        return {"observation": observation, "action_mask": mask.astype(np.int8)}
