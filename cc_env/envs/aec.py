"""The PettingZoo environment (AEC): both players in turn.

Shapes: C planes, H rows and W columns of an observation.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cc_env.envs.arguments import as_seed, make_environment_game
from cc_env.envs.boards import NO_EPISODE, Boards
from cc_env.envs.rendering import (
    FRAMES_PER_SECOND,
    RENDER_MODES,
    RenderableEnv,
    Renderer,
    RenderFrame,
    available_modes,
)
from cc_env.envs.spaces import CopyableEnv, LegalActionSpace, MaskLayout, make_observation_space
from cc_env.errors import MissingExtra, ResetNeeded

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper
except ImportError as missing:
    raise MissingExtra("the AEC environment", "pettingzoo", "pettingzoo") from missing

Observation = NDArray[np.int8]

# PettingZoo's api_test resets every environment with these options.
API_TEST_OPTIONS = {"options": 1}


class OrderEnforcing(OrderEnforcingWrapper):
    """PettingZoo's wrapper, with a `last` that looks up its attributes in the environment."""

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        last = self.env.last if self._has_reset else super().last
        state: tuple[Any, float, bool, bool, dict[str, Any]] = last(observe)
        return state


def env(game: str = "capture_conquer", **arguments: Any) -> OrderEnforcingWrapper:
    """Return `BoardGameAEC` in PettingZoo's wrapper that requires `reset` before anything else."""
    return OrderEnforcing(BoardGameAEC(game, **arguments))


class BoardGameAEC(CopyableEnv, RenderableEnv, AECEnv):
    """A two-player game; "player_0" is its first player.

    Observations, actions, masks and `illegal` are those of `BoardGameEnv`. The mask of the agent to
    move is `infos[agent]["action_mask"]`; that of the other agent is all 0. Once the rules have
    ended the game, both are all 1. A turn may take an agent several steps. When the game is over,
    the rewards of the agents are +1 and -1, or 0 and 0. The infos of the last step also have
    outcome, ending and score, as in `BoardGameEnv`; earlier infos do not, because TorchRL converts
    every entry of the first infos to a tensor. Unless `illegal` is "raise", all infos have
    illegal_action. `MaskInObservation` puts the mask into the observation.

    Examples:

        >>> from cc_env.envs import BoardGameAEC
        >>> env = BoardGameAEC("capture_conquer")
        >>> env.reset(seed=0)
        >>> for agent in env.agent_iter(max_iter=2):
        ...     observation, reward, terminated, truncated, info = env.last()
        ...     env.step(int(info["action_mask"].argmax()))
        ...     print(agent, observation.shape, reward)
        player_0 (4, 6, 6) 0.0
        player_1 (4, 6, 6) 0.0
    """

    def __init__(
        self,
        game: str,
        *,
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

        The arguments are those of `BoardGameEnv`.
        """
        super().__init__()
        self.game = make_environment_game(BoardGameAEC, game, options)
        self.metadata = {
            "name": f"{game}_v0",
            "render_modes": available_modes(RENDER_MODES),
            "render_fps": FRAMES_PER_SECOND,
            "is_parallelizable": False,
        }
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self.game.name)
        self._boards = Boards(
            self.game,
            seat=0,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            illegal=illegal,
            max_opening_turns=max_opening_turns,
            counters=counters,
        )
        self.possible_agents = ["player_0", "player_1"]
        self.observation_spaces = dict.fromkeys(
            self.possible_agents, make_observation_space(self._boards)
        )
        self._actions = LegalActionSpace(self._boards)

    def observation_space(self, agent: str) -> spaces.Box:
        """Return the space of the planes: int8[C, H, W], zeros and ones except for counters."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> LegalActionSpace:
        """Return Discrete(num_actions), which samples legal actions of the agent to move."""
        return self._actions

    @property
    def action_spaces(self) -> dict[str, LegalActionSpace]:
        """The action space, shared by both agents."""
        return dict.fromkeys(self.possible_agents, self._actions)

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """Begin a game, in `options["position"]` if given.

        `seed` determines the random opening, and the actions that replace illegal ones if `illegal`
        is "random".

        Raises UnknownOption for other options, BadOption for an invalid seed, and BadPosition for a
        text that is not an unfinished position; then nothing has changed.
        """
        seed = as_seed(seed)
        start = self._boards.parse_options(None if options == API_TEST_OPTIONS else options)
        streams = None if seed is None else self._boards.streams(seed)
        self._boards.reset(starts=start, streams=streams)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._update_infos()
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Play a legal action of the agent to move, or None for an agent whose game is over.

        Raises IllegalAction for an illegal action, then nothing has changed, and ResetNeeded before
        the first reset.
        """
        if not self._boards.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() before step()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        boards = self._boards
        boards.step_one(action)
        self._cumulative_rewards[agent] = 0.0
        reward = boards.rewards.item()
        self.rewards = {
            player: reward if player == agent else 0.0 - reward for player in self.agents
        }
        self.terminations = dict.fromkeys(self.agents, boards.terminated.item())
        self.truncations = dict.fromkeys(self.agents, boards.truncated.item())
        self._update_infos()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """Return the observation of `agent`, int8[C, H, W], whether or not it is to move."""
        boards, player = self._boards, self.possible_agents.index(agent)
        if boards.has_begun and player == boards.to_move.item():
            return np.array(boards.observations[0])
        if not boards.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() first")
        (planes,) = boards.observe_players(np.array([0]), np.array([player]))
        return np.array(planes)

    def render(self) -> RenderFrame:
        """Return or display a frame; raise ResetNeeded before the first reset."""
        return None if self.render_mode is None else self._renderer.frame(self.picture())

    def _update_infos(self) -> None:
        """Set `agent_selection` and `infos`."""
        boards = self._boards
        self.agent_selection = self.possible_agents[boards.to_move.item()]
        shared: dict[str, Any] = {}
        if boards.terminated.item() or boards.truncated.item():
            shared |= boards.result()
        if not boards.raises:
            shared["illegal_action"] = boards.was_illegal.item()
        # Once the rules have ended the game, the masks of both agents are all 1.
        mask, has_mask = boards.masks[0], boards.terminated.item()
        self.infos: dict[str, dict[str, Any]] = {
            agent: {
                "action_mask": mask.copy()
                if has_mask or agent == self.agent_selection
                else np.zeros_like(mask),
                **shared,
            }
            for agent in self.agents
        }


class MaskInObservation(BaseWrapper):
    """Puts the mask into the observation: {"observation": planes, "action_mask": mask}.

    The planes are under `key`: int8[C, H, W] or, if `flat`, float32[C * H * W].
    """

    def __init__(self, env: AECEnv, key: str = "observation", flat: bool = False) -> None:
        self._layout = MaskLayout(key, flat)
        super().__init__(env)
        self._spaces = {
            agent: self._layout.space(env.observation_space(agent), int(env.action_space(agent).n))
            for agent in env.possible_agents
        }

    @property
    def observation_spaces(self) -> dict[str, spaces.Dict]:
        """The observation spaces by agent."""
        return self._spaces

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of planes and mask."""
        return self._spaces[agent]

    def observe(self, agent: str) -> dict[str, NDArray[np.generic]]:
        """Return the observation and the action mask, int8[num_actions], of `agent`.

        The observation is int8[C, H, W] or, if it is flat, float32[C * H * W].
        """
        return self._layout.combine(self.env.observe(agent), self.env.infos[agent]["action_mask"])
