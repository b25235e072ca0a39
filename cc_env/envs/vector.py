"""The vector environment: a batch of boards, stepped by one compiled call.

Shapes: N boards; C planes, H rows and W columns of an observation.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from cc_env.core.rules import ONGOING, Position
from cc_env.envs import arguments
from cc_env.envs.arguments import as_seed, check_actions
from cc_env.envs.boards import NO_SCORE, Boards
from cc_env.envs.kernels import Autoreset
from cc_env.envs.opponents import AnyOpponent, make_opponent, opponent_names, sampling_pool
from cc_env.envs.rendering import (
    FRAMES_PER_SECOND,
    Renderer,
    RenderFrame,
    available_modes,
    check_render_mode,
)
from cc_env.envs.spaces import CopyableEnv, LegalActionBatchSpace, make_observation_space
from cc_env.errors import BadOption, UnknownOption, as_int, check_bool, format_list

Observations = NDArray[np.int8]
Info = dict[str, Any]
Scalar = TypeVar("Scalar", bound=np.generic)
Step = tuple[Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]

RESET_OPTIONS = "position", "reset_mask"
# Suffix of the render modes that collect frames.
LIST = "_list"
VECTOR_MODES = "ansi", "rgb_array", f"ansi{LIST}", f"rgb_array{LIST}"


class BoardGameVectorEnv(
    CopyableEnv, VectorEnv[Observations, NDArray[np.int64], NDArray[np.generic]]
):
    """Many boards of one game; against an opponent, or two-sided for self-play.

    With an opponent each board is as in `BoardGameEnv`. The players random, greedy, minimax, mcts
    and perfect, unless they have a limit in seconds (or mcts has tables, or perfect delays), decide
    in compiled code on all boards in one call, and batch policies in one call of theirs; other
    players and functions are called for each board. With
    `opponent=None` the caller plays both sides: observation and mask are those of the player to
    move, `info["to_move"]`, and the reward is that of the player who acted.

    Observations int8[N, C, H, W]; actions int[N]; rewards float64[N]; terminated and truncated
    bool[N].

    Info, in `reset` and `step`, for all boards: action_mask int8[N, num_actions], the legal actions
    of the player to move, all 1 on a board that is `terminated`, where NEXT_STEP ignores the
    action; to_move, seat, outcome int8[N] (of the game that the step ended or continued: 0, 1,
    2 draw, -1 none); opponent int64[N], the index in `opponent_names`, -1 without an opponent;
    illegal_action bool[N], whether the last action was illegal; and for each key
    Gymnasium's `_key`, bool[N]. With SAME_STEP, `step` also returns final_obs int8[N, C, H, W] and
    final_info, with the infos of `BoardGameEnv`. Their rows in `_final_obs` describe the games that
    ended; other rows have neutral values.

    `result(i)` returns outcome, ending and score of the game on board i, until the step after the
    one that ended it, or until the next game begins.

    Board i has a random stream of its own, so its games do not depend on N, except against a batch
    policy, which decides on all boards with one generator.

    Examples:

        >>> import gymnasium
        >>> envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=2, opponent=None)
        >>> observations, infos = envs.reset(seed=0)
        >>> observations.shape, infos["to_move"]
        ((2, 4, 6, 6), array([0, 0], dtype=int8))
        >>> actions = envs.action_space.sample()
        >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
        >>> rewards, infos["to_move"]
        (array([0., 0.]), array([1, 1], dtype=int8))
    """

    metadata = {
        "render_modes": available_modes(VECTOR_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        opponent: AnyOpponent | None = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        illegal: str = "raise",
        max_opening_turns: int = 0,
        counters: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        threads: int = 1,
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        """Create `num_envs` boards of `game`; raise BadOption on bad values.

        With `copy=False` the next step overwrites the arrays that `step` returns. Observations and
        rewards may be changed until then; the other arrays are read-only. The boards are divided
        among `threads`; the games do not depend on their number. Several threads are faster with
        thousands of boards. The other arguments are those of `BoardGameEnv`.
        """
        check_render_mode(render_mode, VECTOR_MODES)
        check_bool("copy", copy)
        self.autoreset_mode = _parse_autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.game = arguments.make_environment_game(BoardGameVectorEnv, game, options)
        self.render_mode, self.is_two_sided = render_mode, opponent is None
        self._renderer = Renderer(render_mode and render_mode.removesuffix(LIST), self.game.name)
        self._copy = bool(copy)
        self._opponent = make_opponent(opponent, self.game)
        self._pool = sampling_pool(self._opponent)
        self._boards = Boards(
            self.game,
            num_envs,
            opponent=self._opponent,
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            autoreset=Autoreset[self.autoreset_mode.name],
            illegal=illegal,
            max_opening_turns=max_opening_turns,
            counters=counters,
            threads=threads,
        )
        self.num_envs = num_envs = self._boards.count
        self._collects = bool(render_mode and render_mode.endswith(LIST))
        self._frames: list[list[RenderFrame]] = [
            [] for _ in range(num_envs if self._collects else 0)
        ]
        self.single_observation_space = make_observation_space(self._boards)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.action_space = LegalActionBatchSpace(self._boards)
        self._all_boards = np.ones(num_envs, np.bool_)
        self._all_boards.flags.writeable = False
        self._numbers = np.arange(num_envs)
        # Without a pool, no opponents are sampled.
        self._fixed_opponents = np.full(num_envs, -1 if self.is_two_sided else 0)
        self._fixed_opponents.flags.writeable = False

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, object] | None = None,
    ) -> tuple[Observations, Info]:
        """Begin an episode on all boards, or on those in `options["reset_mask"]`, bool[N].

        `seed` is one seed or a list of N; without it the random streams continue.
        `options["position"]` is the text of a position, or a list of N, in which games begin
        without a random opening; later games are not affected. Raises BadOption or BadPosition on
        bad arguments, before any change. BadPosition is also raised if every first reply of the
        opponent ends a game; then all boards need a reset.
        """
        valid = arguments.check_reset_options(options, RESET_OPTIONS)
        positions = self._parse_starts(valid.get("position", []))
        selected = self._parse_reset_mask(valid.get("reset_mask"))
        seeds = _parse_seeds(seed)
        if isinstance(seeds, list) and len(seeds) != self.num_envs:
            raise BadOption(f"{len(seeds)} seeds for {self.num_envs} boards")
        episodes = self._boards.episodes if self._collects else None
        streams = None if seeds is None else self._boards.streams(seeds)
        self._boards.reset(selected, positions, streams)
        if not self._copy:
            self._boards.observe()
        super().reset(seed=seeds if isinstance(seeds, int) else None)
        self._collect_frames(episodes)
        return self._copy_or_view(self._boards.observations, is_writable=True), self._info()

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play actions[i] (int[N]) on board i.

        Raises IllegalAction or ResetNeeded, naming the first board that refuses its action; then no
        board has changed. Errors of an opponent are passed on; then all boards need a reset.
        """
        boards, actions = self._boards, check_actions(actions, self.num_envs)
        episodes = boards.episodes if self._collects else None
        boards.step(actions)
        self._collect_frames(episodes)
        info = self._info()
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            info |= self._final_infos()
        # Wrappers may change the arrays that no step reads.
        return (
            self._copy_or_view(boards.observations, is_writable=True),
            self._copy_or_view(boards.rewards, is_writable=True),
            self._copy_or_view(boards.terminated),
            self._copy_or_view(boards.truncated),
            info,
        )

    def close_extras(self, **kwargs: object) -> None:
        """Stop the threads."""
        self._boards.close()

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the game on a board is over, bool[N]; a copy.

        With NEXT_STEP the next step begins a new game on such a board and ignores its action.
        """
        return self._boards.done

    @property
    def opponent_names(self) -> tuple[str, ...]:
        """The names of the opponents, by `info["opponent"]`: player specs, functions or classes."""
        return opponent_names(self._opponent)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[N, num_actions], true for actions that may be chosen."""
        return self._boards.masks.astype(np.bool_)

    def position(self, board: int) -> Position:
        """Return the position on a board.

        Raises BadOption for an invalid board, ResetNeeded if a reset is needed.
        """
        self._check_board(board)
        return self._boards.position(board)

    def result(self, board: int) -> Info:
        """Return outcome, ending and score of the game on a board, as in an info of `BoardGameEnv`.

        Raises BadOption if the game is not over and did not end in the last step.
        """
        self._check_ended(board)
        return {**self._boards.result(board)}

    def final_position(self, board: int) -> Position:
        """Return the last position of the game that `result` describes.

        Raises BadOption if the game is not over and did not end in the last step.
        """
        self._check_ended(board)
        return self._boards.final_position(board)

    def render(self) -> tuple[Any, ...] | None:
        """Return N frames, texts or uint8[height, width, 3] by `render_mode`; None without one.

        With a mode that ends in `_list`, return N lists of the frames since the last call or, if
        later, since the game began.
        """
        if self.render_mode is None:
            return None
        if self._collects:
            frames, self._frames = self._frames, [[] for _ in range(self.num_envs)]
            return tuple(frames)
        return tuple(map(self._render_board, range(self.num_envs)))

    def _collect_frames(self, episodes: NDArray[np.int64] | None) -> None:
        """Append a frame of each board to its list; do nothing if `episodes` is None.

        `episodes` are the numbers of the episodes before the step, int64[N]. If another episode
        has begun on a board, its list is cleared first.
        """
        if episodes is None:
            return
        has_begun = self._boards.episodes != episodes
        for board, frames in enumerate(self._frames):
            if has_begun[board]:
                frames.clear()
            frames.append(self._render_board(board))

    def _render_board(self, board: int) -> RenderFrame:
        return self._renderer.frame(self._boards.picture(board))

    def _check_board(self, board: int) -> None:
        if as_int(board) not in range(self.num_envs):
            raise BadOption(f"board {board!r}; expected: 0 to {self.num_envs - 1}")

    def _check_ended(self, board: int) -> None:
        self._check_board(board)
        if not self._boards.has_begun or not self._boards.has_ended(board):
            raise BadOption(f"board {board}: its game is not over, or the next one is running")

    def _parse_starts(self, texts: object) -> list[Position]:
        """Parse the starting positions in a string or a list of strings."""
        texts = list(texts) if isinstance(texts, list | tuple) else [texts]
        if len(texts) not in (0, 1, self.num_envs):
            raise BadOption(f"{len(texts)} positions for {self.num_envs} boards")
        return list(map(self._boards.parse_start, texts))

    def _parse_reset_mask(self, value: object) -> NDArray[np.bool_] | None:
        """Return the boards to reset, bool[N], or None for all; raise BadOption."""
        if value is None:
            return None
        try:
            mask = np.asarray(value)
        except ValueError as error:
            raise BadOption(f"reset_mask: {error}") from None
        if mask.shape != (self.num_envs,):
            raise BadOption(f"reset_mask has shape {mask.shape}; expected: ({self.num_envs},)")
        if mask.dtype.kind not in "bui":
            raise BadOption(f"reset_mask={value!r}; expected: True or False for each board")
        if not (self._boards.has_begun or mask.all()):
            raise BadOption("reset_mask before the first reset; expected: True for each board")
        return mask.astype(np.bool_)

    def _copy_or_view(self, array: NDArray[Scalar], is_writable: bool = False) -> NDArray[Scalar]:
        """Return a copy or, with `copy=False`, a view."""
        if self._copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = is_writable
        return view

    def _info(self) -> Info:
        boards = self._boards
        info: Info = {
            "action_mask": self._copy_or_view(boards.masks),
            "to_move": self._copy_or_view(boards.to_move),
            "seat": boards.seats,
            "opponent": self._opponent_indices(),
            "outcome": self._copy_or_view(boards.outcomes),
            "illegal_action": self._copy_or_view(boards.was_illegal),
        }
        return info | {f"_{key}": self._all_boards for key in info}

    def _opponent_indices(self) -> NDArray[np.int64]:
        """Return the index of the opponent of each game, int64[N]; draw it if a game has none."""
        if self._pool is None:
            return self._fixed_opponents
        return self._pool.opponent_indices(self._boards, self._numbers)

    def _final_infos(self) -> Info:
        """Return final_obs and final_info."""
        boards = self._boards
        has_ended = boards.terminated | boards.truncated
        final: Info = {
            "action_mask": np.zeros(boards.masks.shape, np.int8),
            "to_move": np.zeros(self.num_envs, np.int8),
            "seat": np.zeros(self.num_envs, np.int8),
            "opponent": np.zeros(self.num_envs, np.int64),
            "illegal_action": boards.was_illegal & has_ended,
            "outcome": np.full(self.num_envs, ONGOING, np.int8),
            "ending": np.full(self.num_envs, "", object),
            "score": np.full((self.num_envs, 2), NO_SCORE),
        }
        if len(numbers := np.flatnonzero(has_ended)):
            for key, values in boards.results(numbers).items():
                final[key][numbers] = values
        if self._pool is None:
            final["opponent"] = self._fixed_opponents
        final |= {f"_{key}": has_ended for key in final}
        finals = {"final_obs": self._copy_or_view(boards.final_observations), "final_info": final}
        return finals | {f"_{key}": has_ended for key in finals}


def _parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        valid = format_list(repr(mode.value) for mode in AutoresetMode)
        raise UnknownOption(f"unknown autoreset_mode {mode!r}; valid: {valid}") from None


def _parse_seeds(seed: object) -> int | list[int | None] | None:
    """Return a seed, a list of seeds, or None; raise BadOption if one is invalid."""
    if isinstance(seed, np.ndarray):
        seed = seed.tolist()
    if isinstance(seed, Sequence) and not isinstance(seed, str | bytes):
        return [as_seed(entry) for entry in seed]
    return as_seed(seed)
