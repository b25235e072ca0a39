"""The Gymnasium environment: one learner against an opponent.

Shapes: A actions; C planes, H rows and W columns of an observation.
"""

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from cc_env.core.game import Cell
from cc_env.core.rules import ONGOING, Position
from cc_env.envs.arguments import as_seed
from cc_env.envs.boards import NO_SCORE, Boards, check_reset_options, make_environment_game
from cc_env.envs.opponents import make_opponent
from cc_env.envs.rendering import FRAMES_PER_SECOND, RENDER_MODES, Renderer
from cc_env.envs.spaces import (
    CopyableEnv,
    LegalActionSpace,
    check_mask_layout,
    flatten_planes,
    make_masked_space,
    make_observation_space,
)
from cc_env.errors import BadPlayer
from cc_env.match.referee import Player
from cc_env.players.builtin import PolicyFunction
from cc_env.rendering.picture import Picture, draw

Observation = NDArray[np.int8]
Info = dict[str, Any]


class BoardGameEnv(CopyableEnv, gymnasium.Env[Observation, np.int64]):
    """A two-player game seen by one player; the opponent answers within `step`.

    Observation
        Box(0, 1, [C, H, W], int8): planes in the learner's own frame, named in `game.planes`.
    Action
        Discrete(num_actions): one decision; an id means the same in every position. Legal are those
        of `info["action_mask"]` (int8[num_actions]), also `action_masks()` (bool); by default
        `action_space.sample()` samples among them.
    Reward
        +1 for a win, -1 for a loss, 0 for a draw and before the end.
    Ending
        `terminated` by the rules of the game; `truncated` after `max_turns` turns of both players
        together, or when one position occurs for the `repetitions`-th time, a limit that is refused
        for a game with a repetition rule of its own.
    Info
        The same keys after every `reset` and `step`, with values of the same types:
        action_mask, the legal actions of the player to move, all 1 once `terminated`; to_move, that
        player, which after a truncation may be the opponent; seat, the learner's, 0 (moves first)
        or 1; illegal_action, whether the last action was illegal; outcome, the player who won, 2
        for a draw, -1 before the end and if truncated; ending, in one word how the episode ended,
        "" before the end; score, what the first and the second player have by the rules of the
        game, 1 and -1 where the rules count nothing, (0.0, 0.0) before the end and if truncated.
    Reset
        `options={"position": TEXT}` begins in that position instead of the start.

    Versions
        v0: as first published.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        game: str,
        *,
        opponent: str | Player | PolicyFunction = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        illegal: str = "raise",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the environment of `game` with its `options`; raise BadOption on bad values.

        `opponent` is a player's spoken name (see `cc_env.players.specs`), a player, or a function
        `(observation, info) -> action` that is given what a learner in its seat would be given.
        `seat` None is drawn at every reset. `max_turns` and `repetitions` None: no limit.
        `illegal` says what an illegal action of the action space does: "raise" an error, "lose" the
        game, or have a "random" legal action played in its place.
        """
        self.game = make_environment_game(BoardGameEnv, game, options)
        if opponent is None:
            would_do = "a player's name, a player, or a function"
            self_play = "for self-play gymnasium.make_vec or PettingZoo"
            raise BadPlayer(f"None is not a player; wanted: {would_do}; {self_play}")
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self.game.name)
        self._boards = Boards(
            self.game,
            opponent=make_opponent(opponent, self.game),
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            illegal=illegal,
        )
        # Generated here, so that copies of an environment without a seed go on as it does.
        self._np_random, self._np_random_seed = seeding.np_random()
        self.observation_space = make_observation_space(self.game)  # type: ignore[assignment]
        self.action_space = LegalActionSpace(self._boards)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode; raise BadOption or BadPosition, and change nothing, on bad ones."""
        valid = check_reset_options(options, ["position"])
        starts = [self._boards.parse_start(valid["position"])] if "position" in valid else []
        super().reset(seed=as_seed(seed))
        self._boards.reset(starts=starts, streams=self.np_random.bit_generator.random_raw(1))
        if self.render_mode == "human":
            self.render()
        return self._boards.observations[0].copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Play a legal action and the opponent's answer.

        Raises IllegalAction for an action that is not legal here, see `illegal`, or that is not in
        the action space; ResetNeeded after the end. What the opponent raises comes through, as does
        IllegalAction for what it chose. Then nothing has changed.
        """
        boards = self._boards
        boards.step_one(action)
        terminated, truncated = boards.terminated.item(), boards.truncated.item()
        info = self._info()
        if terminated or truncated:
            info.update(boards.result())
        if self.render_mode == "human":
            self.render()
        return boards.observations[0].copy(), boards.rewards.item(), terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[num_actions], true where the action is legal; sb3-contrib looks for this."""
        return np.array(self._boards.masks[0], np.bool_)

    @property
    def position(self) -> Position:
        """The position on the board, for `self.game`; raises ResetNeeded before the first reset."""
        return self._boards.position()

    def picture(self, select: Cell | None = None) -> Picture:
        """Return the board with the last turn and, where `select` names a cell, the legal targets
        of its piece; raise ResetNeeded before the first reset.
        """
        last, end = self._boards.last_turn(), self._boards.shown_result()
        return draw(self.game, self.position, last=last, select=select, end=end)

    def _repr_svg_(self) -> str | None:
        return self.picture()._repr_svg_() if self._boards.has_begun else None

    def render(self) -> Any:
        """Return the frame that `render_mode` asks for, or show it; raise as `picture`."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() has nothing to do: make the environment with a render_mode"
            )
            return None
        return self._renderer.frame(self.picture())

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _info(self) -> Info:
        """Return the info of an episode that goes on."""
        boards = self._boards
        return {
            "action_mask": boards.masks[0].copy(),
            "to_move": boards.to_move.item(),
            "seat": boards.seat(),
            "illegal_action": boards.was_illegal.item(),
            "outcome": ONGOING,
            "ending": "",
            "score": NO_SCORE,
        }


class MaskInObservation(
    gymnasium.ObservationWrapper[dict[str, Any], np.int64, Observation],
    gymnasium.utils.RecordConstructorArgs,
):
    """Observations {"observation": planes, "action_mask": mask}, as many libraries want them.

    The mask is int8[A]. RLlib's masking module wants them as `key="observations", flat=True`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, np.int64],
        key: str = "observation",
        flat: bool = False,
    ) -> None:
        """Wrap an environment that has `action_masks()`.

        The planes are under `key`, int8[C, H, W], or float32[C * H * W] where `flat`. Raises
        BadOption on bad values.
        """
        check_mask_layout(key, flat)
        gymnasium.utils.RecordConstructorArgs.__init__(self, key=key, flat=flat)
        gymnasium.ObservationWrapper.__init__(self, env)
        self._key, self._flat = key, flat
        planes = cast(spaces.Box, env.observation_space)
        actions = len(env.get_wrapper_attr("action_masks")())
        both = make_masked_space(planes, actions, key, flat)
        self.observation_space = both

    def observation(self, observation: Observation) -> dict[str, Any]:
        """Return the observation with the mask beside it."""
        mask = self.get_wrapper_attr("action_masks")().astype(np.int8)
        planes = flatten_planes(observation) if self._flat else observation
        return {self._key: planes, "action_mask": mask}
