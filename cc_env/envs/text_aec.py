"""Games in words as a PettingZoo environment (AEC): both players in turn."""

from typing import Any

from gymnasium import spaces

from cc_env.core.rules import Position
from cc_env.envs.aec import API_TEST_OPTIONS, OrderEnforcing
from cc_env.envs.arguments import as_seed, make_environment_game
from cc_env.envs.boards import NO_EPISODE, Boards
from cc_env.envs.rendering import FRAMES_PER_SECOND, check_render_mode
from cc_env.envs.text import (
    MAX_OBSERVATION_LENGTH,
    MAX_REPLY_LENGTH,
    RENDER_MODES,
    TextBoard,
    TextOptions,
    text_space,
)
from cc_env.errors import MissingExtra, ResetNeeded
from cc_env.text.prompts import instructions

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import OrderEnforcingWrapper
except ImportError as missing:
    raise MissingExtra("the AEC environment", "pettingzoo", "pettingzoo") from missing


def env(game: str = "capture_conquer", **arguments: Any) -> OrderEnforcingWrapper:
    """Return `TextGameAEC` in PettingZoo's wrapper that requires `reset` before anything else."""
    return OrderEnforcing(TextGameAEC(game, **arguments))


class TextGameAEC(AECEnv):
    """A two-player game in words; "player_0" is its first player.

    Observations, actions and the handling of replies without a legal turn are those of
    `TextGameEnv`. An agent whose reply was refused replies again. When the game is over, the
    rewards of the agents are +1 and -1, or 0 and 0; a refused reply costs its agent `penalty`. All
    infos have error and tries_left, those of the last step also outcome, ending and score, as in
    `TextGameEnv`.

    Examples:

        >>> from cc_env.envs.text_aec import TextGameAEC
        >>> env = TextGameAEC("checkers", show_legal=False)
        >>> env.reset(seed=0)
        >>> for reply in ("My move is 9-13.", "<turn>22-18</turn>"):
        ...     env.step(reply)
        >>> env.last()[0].splitlines()[-1]
        'You are red (r, R). Red to move.'
    """

    def __init__(
        self,
        game: str = "capture_conquer",
        *,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        max_opening_turns: int = 0,
        show_legal: bool = True,
        show_history: bool = False,
        tries: int = 1,
        penalty: float = 0.0,
        illegal: str = "lose",
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        """Create the environment of `game` with its `options`; raise BadOption on bad values.

        The arguments are those of `TextGameEnv`.
        """
        super().__init__()
        self.game = make_environment_game(TextGameAEC, game, options)
        check_render_mode(render_mode, RENDER_MODES)
        self.metadata = {
            "name": f"{game}_text_v0",
            "render_modes": RENDER_MODES,
            "render_fps": FRAMES_PER_SECOND,
            "is_parallelizable": False,
        }
        self.render_mode = render_mode
        boards = Boards(
            self.game,
            seat=0,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            max_opening_turns=max_opening_turns,
        )
        text_options = TextOptions(show_legal, show_history, tries, penalty, illegal)
        self._board = TextBoard(boards, text_options)
        self.possible_agents = ["player_0", "player_1"]
        self.observation_spaces = dict.fromkeys(
            self.possible_agents, text_space(MAX_OBSERVATION_LENGTH)
        )
        self.action_spaces = dict.fromkeys(self.possible_agents, text_space(MAX_REPLY_LENGTH))

    @property
    def rules(self) -> str:
        """The rules of the game and how to reply, for the beginning of a prompt."""
        return instructions(self.game)

    @property
    def position(self) -> Position:
        """The position on the board; raises ResetNeeded before the first reset."""
        return self._board.boards.position()

    def observation_space(self, agent: str) -> spaces.Text:
        """Return the space of the observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Text:
        """Return the space of the replies."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """Begin a game; raise as `BoardGameAEC.reset`."""
        seed, boards = as_seed(seed), self._board.boards
        starts = boards.parse_options(None if options == API_TEST_OPTIONS else options)
        boards.reset(starts=starts, streams=None if seed is None else boards.streams(seed))
        self._board.begin()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._skip_agent_selection = None
        self._update()

    def step(self, action: str | None) -> None:
        """Play the turn that a reply of the agent to move chooses, or None after its game.

        Raises as `TextBoard.play`, and ResetNeeded before the first reset.
        """
        board = self._board
        if not board.boards.has_begun:
            raise ResetNeeded(f"{NO_EPISODE}; call reset() before step()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        board.play(action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0 - board.reward)
        self.rewards[agent] = board.reward - board.penalty
        self._update()
        self._accumulate_rewards()

    def observe(self, agent: str) -> str:
        """Return the observation of `agent`; raise ResetNeeded before the first reset."""
        return self._board.observation(self.possible_agents.index(agent))

    def render(self) -> str | None:
        """Return the observation of the agent to move; raise ResetNeeded before the first reset.

        None without a `render_mode`.
        """
        mover = self._board.boards.to_move.item()
        return None if self.render_mode is None else self._board.observation(mover)

    def _update(self) -> None:
        """Set `agent_selection`, the ends of the agents, and `infos`."""
        board = self._board
        self.agent_selection = self.possible_agents[board.boards.to_move.item()]
        self.terminations = dict.fromkeys(self.agents, board.terminated)
        self.truncations = dict.fromkeys(self.agents, board.truncated)
        info = {"error": board.error, "tries_left": board.tries_left, **(board.result or {})}
        self.infos: dict[str, dict[str, Any]] = {agent: dict(info) for agent in self.agents}
