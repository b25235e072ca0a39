"""The vector environment: any number of boards, stepped by one compiled call.

Shapes: N boards; C planes, H rows and W columns of an observation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from cc_env.core.rules import ONGOING, Position
from cc_env.envs.arguments import as_int, as_seed, check_actions
from cc_env.envs.boards import (
    NO_SCORE,
    Boards,
    check_reset_options,
    make_environment_game,
)
from cc_env.envs.kernels import Autoreset
from cc_env.envs.opponents import make_opponent
from cc_env.envs.rendering import FRAMES_PER_SECOND, Renderer, check_render_mode
from cc_env.envs.spaces import CopyableEnv, LegalActionBatchSpace, make_observation_space
from cc_env.errors import (
    BadOption,
    UnknownOption,
    check_bool,
    format_list,
)
from cc_env.match.referee import Player
from cc_env.players.builtin import PolicyFunction
from cc_env.rendering.picture import Picture, draw

Batch = NDArray[np.int8]
Info = dict[str, Any]
Step = tuple[Batch, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]

RESET_OPTIONS = "position", "reset_mask"
LIST = "_list"  # what the names of render modes that collect frames end in
AUTORESETS = {
    AutoresetMode.DISABLED: Autoreset.DISABLED,
    AutoresetMode.NEXT_STEP: Autoreset.NEXT_STEP,
    AutoresetMode.SAME_STEP: Autoreset.SAME_STEP,
}


class BoardGameVectorEnv(CopyableEnv, VectorEnv[Batch, NDArray[np.int64], NDArray[Any]]):
    """Many boards of one game; against an opponent, or two-sided for self-play.

    With an opponent each board is as in `BoardGameEnv`: "random" replies within the compiled step,
    other players, given by spoken name or as objects, and functions choose for one board after the
    other. With `opponent=None` the player to move acts: `info["to_move"]` says which that is,
    observation and mask are its own, and the reward after a step is that of the player who acted.

    Observations int8[N, C, H, W]; actions int[N]; rewards float64[N]; terminated and truncated
    bool[N].

    Info, in `reset` and `step`, for all boards: action_mask int8[N, num_actions], the legal actions
    of the player to move, all 1 on a board that is `terminated`: with NEXT_STEP any action will do
    there, as it is ignored; to_move, seat, outcome int8[N] (of the game that the step ended or went
    on with: 0, 1, 2 draw, -1 none); illegal_action bool[N], whether the last action was illegal;
    for each key a `_key`, bool[N], as Gymnasium has it. With SAME_STEP, `step` also has final_obs
    int8[N, C, H, W] and final_info, all of the info of `BoardGameEnv`: the rows that `_final_obs`
    names are of the games that ended; the others are neutral.

    `end(i)` returns how the game on a board ended, and with what score, as long as the last step
    was the one that ended it, or the next game has not begun.

    Board i has a random stream of its own: it plays the same game whatever N is.
    """

    metadata = {
        "render_modes": ["ansi", "rgb_array", f"ansi{LIST}", f"rgb_array{LIST}"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        opponent: str | Player | PolicyFunction | None = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        illegal: str = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        threads: int = 1,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make `num_envs` boards of `game`; raise BadOption on bad values.

        With `copy=False` the next step overwrites what `step` returns: observations and rewards,
        which may be changed until then, and all other arrays, which are read-only.
        The boards are shared out among `threads`, which play the very same games whatever their
        number; more than one pays from some thousand boards on.
        The other arguments are those of `BoardGameEnv`.
        """
        check_render_mode(render_mode, self.metadata["render_modes"])
        check_bool("copy", copy)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.game = make_environment_game(BoardGameVectorEnv, game, options)
        self.render_mode, self.is_two_sided = render_mode, opponent is None
        self._renderer = Renderer(render_mode and render_mode.removesuffix(LIST), self.game.name)
        self._copy = bool(copy)
        self._boards = Boards(
            self.game,
            num_envs,
            opponent=make_opponent(opponent, self.game),
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            autoreset=AUTORESETS[self.autoreset_mode],
            illegal=illegal,
            threads=threads,
        )
        self.num_envs = num_envs = self._boards.count
        self._collects = bool(render_mode and render_mode.endswith(LIST))
        self._frames: list[list[Any]] = [[] for _ in range(num_envs if self._collects else 0)]
        self.single_observation_space = make_observation_space(self.game)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.action_space = LegalActionBatchSpace(self._boards)
        self._actions = np.zeros(num_envs, np.int64)
        self._all_boards = np.ones(num_envs, np.bool_)
        self._all_boards.flags.writeable = False

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Batch, Info]:
        """Begin an episode on all boards, or where `options["reset_mask"]` (bool[N]) is true.

        `seed` is one for all boards or one for each; without one the streams go on.
        `options["position"]` is a position text for all boards, or a list of one for each; boards
        that begin again by themselves begin at the game's own start. Raises
        BadOption or BadPosition, and changes nothing, on bad options.
        """
        which, positions = self._start(check_reset_options(options, RESET_OPTIONS))
        seeds = _seeds(seed)
        if isinstance(seeds, list) and len(seeds) != self.num_envs:
            raise BadOption(f"{len(seeds)} seeds for {self.num_envs} boards")
        episodes = self._boards.episodes if self._collects else None
        self._boards.reset(which, positions, None if seeds is None else self._boards.streams(seeds))
        if not self._copy:
            self._boards.observe()
        super().reset(seed=seeds if isinstance(seeds, int) else None)
        self._collect_frames(episodes)
        return self._own(self._boards.observations), self._info()

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play actions[i] (int[N]) on board i.

        Raises IllegalAction or ResetNeeded naming the first board that refuses; then no board has
        changed.
        """
        chosen = check_actions(actions, self.num_envs)
        self._actions[:] = chosen
        boards, seats = self._boards, self._boards.seats
        episodes = boards.episodes if self._collects else None
        boards.step(self._actions)
        self._collect_frames(episodes)
        info = self._info()
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            info |= self._finals(seats)
        return (
            self._own(boards.observations),
            self._own(boards.rewards),
            self._out(boards.terminated),
            self._out(boards.truncated),
            info,
        )

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._boards.close()

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the game on a board is over, bool[N]; a copy.

        With NEXT_STEP the next step begins another one there, and ignores the action.
        """
        return self._boards.done

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[N, num_actions], true where an action may be chosen."""
        return self._boards.masks.astype(np.bool_)

    def position(self, board: int) -> Position:
        """Return the position on a board, for `self.game`.

        Raises BadOption where there is no such board, ResetNeeded before the first reset.
        """
        self._check(board)
        return self._boards.position(board)

    def result(self, board: int) -> Info:
        """Return outcome, ending and score of a board whose game is over, as `BoardGameEnv` has.

        Where it ended in the last step, too. Raises BadOption where it goes on.
        """
        self._check_ended(board)
        return {**self._boards.result(board)}

    def final_position(self, board: int) -> Position:
        """Return the last position of the game that `end` describes; raise BadOption."""
        self._check_ended(board)
        return self._boards.final_position(board)

    def render(self) -> tuple[Any, ...] | None:
        """Return N frames, texts or uint8[height, width, 3] by `render_mode`; None without one.

        By a mode that ends in `_list`, N lists of the frames since the last call, or since the game
        began.
        """
        if self.render_mode is None:
            return None
        if self._collects:
            frames, self._frames = self._frames, [[] for _ in range(self.num_envs)]
            return tuple(frames)
        return tuple(map(self._frame, range(self.num_envs)))

    def _collect_frames(self, episodes: NDArray[np.uint64] | None) -> None:
        """Append a frame of each board, in the modes that collect them.

        `episodes` are those of before, uint64[N]; a board on which another one has begun starts
        afresh.
        """
        if episodes is None:
            return
        for board, frames in enumerate(self._frames):
            if self._boards.episode(board) != episodes[board]:
                frames.clear()
            frames.append(self._frame(board))

    def _frame(self, board: int) -> Any:
        return self._renderer.frame(self._picture(board))

    def _picture(self, board: int) -> Picture:
        boards = self._boards
        last, end = boards.last_turn(board), boards.shown_result(board)
        return draw(self.game, self.position(board), last=last, end=end)

    def _check(self, board: int) -> None:
        if as_int(board) not in range(self.num_envs):
            raise BadOption(f"board {board!r}; it is 0 to {self.num_envs - 1}")

    def _check_ended(self, board: int) -> None:
        self._check(board)
        if not self._boards.has_begun or not self._boards.has_ended(board):
            raise BadOption(f"board {board}: its game is not over, or the next one goes on")

    def _start(self, options: Mapping[str, Any]) -> tuple[NDArray[np.bool_] | None, list[Position]]:
        texts = options.get("position", [])
        texts = list(texts) if isinstance(texts, list | tuple) else [texts]
        if len(texts) not in (0, 1, self.num_envs):
            raise BadOption(f"{len(texts)} positions for {self.num_envs} boards")
        return self._mask(options.get("reset_mask")), list(map(self._boards.parse_start, texts))

    def _mask(self, wanted: object) -> NDArray[np.bool_] | None:
        """Return which boards are to begin, None for all; raise BadOption."""
        if wanted is None:
            return None
        if not self._boards.has_begun:
            raise BadOption("reset_mask: the first reset is of all boards")
        try:
            mask = np.asarray(wanted)
        except ValueError as error:
            raise BadOption(f"reset_mask: {error}") from None
        if mask.shape != (self.num_envs,):
            raise BadOption(f"reset_mask has shape {mask.shape}; wanted: ({self.num_envs},)")
        if mask.dtype.kind not in "bui":
            raise BadOption(f"reset_mask={wanted!r}; it is True or False for each board")
        return mask.astype(np.bool_)

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of the boards that wrappers may write: no step reads it."""
        return array.copy() if self._copy else array.view()

    def _out(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of the boards that a later step reads: a copy, or read-only."""
        if self._copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def _info(self) -> Info:
        boards = self._boards
        info: Info = {
            "action_mask": self._out(boards.masks),
            "to_move": self._out(boards.to_move),
            "seat": boards.seats,
            "outcome": self._out(boards.outcomes),
            "illegal_action": self._out(boards.was_illegal),
        }
        return info | {f"_{key}": self._all_boards for key in info}

    def _finals(self, seats: Batch) -> Info:
        """Return what was seen of the games that the last step ended, in these seats, int8[N]."""
        boards = self._boards
        over = boards.terminated | boards.truncated
        final: Info = {
            "action_mask": np.zeros(boards.masks.shape, np.int8),
            "to_move": np.zeros(self.num_envs, np.int8),
            "seat": np.where(over, seats, np.int8(0)),
            "illegal_action": boards.was_illegal & over,
            "outcome": np.full(self.num_envs, ONGOING, np.int8),
            "ending": np.full(self.num_envs, "", object),
            "score": np.full((self.num_envs, 2), NO_SCORE),
        }
        if len(which := np.flatnonzero(over)):
            for key, values in boards.results(which).items():
                final[key][which] = values
        final |= {f"_{key}": over for key in final}
        both = {"final_obs": self._out(boards.final_observations), "final_info": final}
        return both | {f"_{key}": over for key in both}


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        there_are = format_list(repr(mode.value) for mode in AutoresetMode)
        raise UnknownOption(f"unknown autoreset_mode {mode!r}; there are: {there_are}") from None


def _seeds(seed: Any) -> int | list[int | None] | None:
    """Return one seed, or a list of one for each board; raise BadOption for what is not a seed."""
    is_list = isinstance(seed, Sequence) and not isinstance(seed, str | bytes)
    if is_list or (isinstance(seed, np.ndarray) and seed.ndim):
        return [as_seed(own) for own in seed]
    return as_seed(seed)
