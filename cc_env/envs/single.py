"""The Gymnasium environment: one learner against an opponent.

Shapes: A actions; C planes, H rows and W columns of an observation.
"""

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from cc_env.core.rules import ONGOING
from cc_env.envs.arguments import as_seed, make_environment_game
from cc_env.envs.boards import NO_SCORE, Boards
from cc_env.envs.opponents import AnyOpponent, make_opponent, opponent_names, sampling_pool
from cc_env.envs.rendering import (
    FRAMES_PER_SECOND,
    RENDER_MODES,
    RenderableEnv,
    Renderer,
    RenderFrame,
    available_modes,
)
from cc_env.envs.spaces import CopyableEnv, LegalActionSpace, MaskLayout, make_observation_space
from cc_env.errors import BadPlayer

Observation = NDArray[np.int8]
Info = dict[str, Any]


class BoardGameEnv(CopyableEnv, RenderableEnv, gymnasium.Env[Observation, np.int64]):
    """A two-player game for one learner; the opponent replies within `step`.

    Observation
        Box(0, 1, [C, H, W], int8): planes in the learner's own frame, named in `planes`. With
        `counters=True` the last planes are constant: "turns until a draw without progress", in
        games with such a rule, "turns until the limit" of `max_turns`, and "occurrences of the
        position", if `repetitions` or the rules limit them; at most the limit, and at most 127.
    Action
        Discrete(num_actions): one decision; an id means the same in every position. The legal ones
        are in `info["action_mask"]` (int8[num_actions]) and `action_masks()` (bool);
        `action_space.sample()` samples from them.
    Reward
        A float: +1 for a win, -1 for a loss, 0 for a draw and before the end.
    Ending
        `terminated` by the rules of the game; `truncated` after `max_turns` turns, counting both
        players, or when a position occurs for the `repetitions`-th time. With `draw_at_limits`
        these limits end the game as a draw, which is `terminated`. Games with a repetition rule of
        their own do not accept `repetitions`.
    Info
        The same keys after every `reset` and `step`, with values of the same types:
        action_mask, the legal actions of the player to move, all 1 once `terminated`; to_move, that
        player, which after a truncation may be the opponent; seat, the learner's, 0 (the first
        player) or 1; opponent, the index of the episode's opponent in `opponent_names`, 0 for a
        single one; illegal_action, whether the last action was illegal; outcome, the winner, 2 for
        a draw, -1 before the end and if truncated; ending, one word for how the episode ended, ""
        before the end; score, the scores of the first and the second player: plus and minus the
        margin, or the game's own scores (Cannon), (0.0, 0.0) before the end, if a limit ended the
        game, and after an illegal action that loses a game without scores of its own.
    Reset
        `options={"position": TEXT}` begins in that position, without a random opening.

    Versions
        v0: first version.

    Examples:

        >>> import gymnasium
        >>> env = gymnasium.make("cc_env/CaptureConquer-v0", opponent="random")
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, int(info["action_mask"].sum())
        ((4, 6, 6), 16)
        >>> action = env.action_space.sample()
        >>> observation, reward, terminated, truncated, info = env.step(action)
        >>> reward, terminated, truncated
        (0.0, False, False)
    """

    metadata = {"render_modes": available_modes(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        game: str,
        *,
        opponent: AnyOpponent = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        illegal: str = "raise",
        max_opening_turns: int = 0,
        counters: bool = False,
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        """Create the environment of `game` with its `options`; raise BadOption on bad values.

        `opponent` is a player spec such as "minimax:depth=3", a player, an `Opponent`, or a policy
        function `(observation, info) -> action`; the info has `action_mask` and `seat`. One of
        several is sampled for each episode: of a list, or of a mapping from player specs to
        probabilities.
        `seat` None is sampled at every reset. `max_turns` and `repetitions` None: no limit; games
        that they end are truncated or, with `draw_at_limits`, drawn.
        `illegal` is how an illegal action is handled: "raise" an error, "lose" the game, or play a
        "random" legal action instead. Episodes begin after 0 to `max_opening_turns` random turns.
        `counters` adds planes for the numbers that these limits and the rules count.
        """
        self.game = make_environment_game(BoardGameEnv, game, options)
        if opponent is None:
            expected = "a player spec, a player, or a function"
            self_play = "for self-play use gymnasium.make_vec or PettingZoo"
            raise BadPlayer(f"None is not a player; expected: {expected}; {self_play}")
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self.game.name)
        self._opponent = make_opponent(opponent, self.game)
        self._pool = sampling_pool(self._opponent)
        self._boards = Boards(
            self.game,
            opponent=self._opponent,
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            illegal=illegal,
            max_opening_turns=max_opening_turns,
            counters=counters,
        )
        # Created here, so that copies of an unseeded environment continue with the same numbers.
        self._np_random, self._np_random_seed = seeding.np_random()
        self.observation_space = make_observation_space(self._boards)  # type: ignore[assignment]
        self.action_space = LegalActionSpace(self._boards)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode; raise BadOption or BadPosition on bad arguments, before any change.

        BadPosition is also raised if every first reply of the opponent ends the game; then the
        environment needs another reset.
        """
        starts = self._boards.parse_options(options)
        super().reset(seed=as_seed(seed))
        self._boards.reset(starts=starts, streams=self.np_random.bit_generator.random_raw(1))
        self._seat = self._boards.seat()
        if self.render_mode == "human":
            self.render()
        return self._boards.observations[0].copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Play a legal action and the opponent's reply.

        Raises IllegalAction for an action outside of the action space and, if `illegal` is "raise",
        for an illegal one; then nothing has changed. Raises ResetNeeded after the end of an
        episode. Errors of the opponent are passed on, and IllegalAction is raised if its action is
        illegal; then the environment needs a reset.
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

    @property
    def opponent_names(self) -> tuple[str, ...]:
        """The names of the opponents, by `info["opponent"]`: player specs, functions or classes."""
        return opponent_names(self._opponent)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[num_actions], true for legal actions; sb3-contrib calls this."""
        return np.array(self._boards.masks[0], np.bool_)

    def render(self) -> RenderFrame:
        """Return or display a frame; raise ResetNeeded before the first reset."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() has no effect; create the environment with a render_mode"
            )
            return None
        return self._renderer.frame(self.picture())

    def _info(self) -> Info:
        """Return the info of a running episode."""
        boards = self._boards
        return {
            "action_mask": boards.masks[0].copy(),
            "to_move": boards.to_move.item(),
            "seat": self._seat,
            "opponent": 0 if self._pool is None else self._pool.opponent_index(boards),
            "illegal_action": boards.was_illegal.item(),
            "outcome": ONGOING,
            "ending": "",
            "score": NO_SCORE,
        }


class MaskInObservation(
    gymnasium.ObservationWrapper[dict[str, Any], np.int64, Observation],
    gymnasium.utils.RecordConstructorArgs,
):
    """Puts the mask, int8[A], into the observation: {"observation": planes, "action_mask": mask}.

    RLlib's masking module needs `key="observations", flat=True`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, np.int64],
        key: str = "observation",
        flat: bool = False,
    ) -> None:
        """Wrap an environment that has `action_masks()`; raise BadOption on bad values.

        The planes are under `key`: int8[C, H, W] or, if `flat`, float32[C * H * W].
        """
        self._layout = MaskLayout(key, flat)
        gymnasium.utils.RecordConstructorArgs.__init__(self, key=key, flat=flat)
        gymnasium.ObservationWrapper.__init__(self, env)
        num_actions = len(env.get_wrapper_attr("action_masks")())
        self.observation_space = self._layout.space(
            cast(spaces.Box, env.observation_space), num_actions
        )

    def observation(self, observation: Observation) -> dict[str, Any]:
        """Return the observation and the mask in a dict."""
        mask = self.get_wrapper_attr("action_masks")().astype(np.int8)
        return self._layout.combine(observation, mask)
