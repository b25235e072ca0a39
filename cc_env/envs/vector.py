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

from cc_env.envs import opponents
from cc_env.envs.boards import NOT_BEGUN, Boards, make_game, reset_options
from cc_env.envs.kernels import Autoreset
from cc_env.envs.rendering import FRAMES_PER_SECOND, MODES, Renderer
from cc_env.envs.spaces import CopiedWhole, LegalActionBatch, planes_space
from cc_env.errors import BadOption, EpisodeOver, IllegalAction, UnknownOption, is_whole, listed
from cc_env.pictures import Picture, draw
from cc_env.players import Function
from cc_env.referee import Player
from cc_env.rules import Position

Batch = NDArray[np.int8]
Info = dict[str, Any]
Step = tuple[Batch, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]

RESET_OPTIONS = "position", "reset_mask"
AUTORESETS = {
    AutoresetMode.DISABLED: Autoreset.DISABLED,
    AutoresetMode.NEXT_STEP: Autoreset.NEXT_STEP,
    AutoresetMode.SAME_STEP: Autoreset.SAME_STEP,
}


class BoardGameVectorEnv(CopiedWhole, VectorEnv[Batch, NDArray[np.int64], NDArray[Any]]):
    """Many boards of one game; against an opponent, or two-sided for self-play.

    With an opponent each board is as in `BoardGameEnv`: "random" replies within the compiled step,
    other players, given by spoken name or as objects, and functions choose for one board after the
    other. With `opponent=None` the player to move acts: `info["to_move"]` says which that is,
    observation and mask are its own, and the reward after a step is that of the player who acted.

    Observations int8[N, C, H, W]; actions int[N]; rewards float64[N]; terminated and truncated
    bool[N].

    Info, in `reset` and `step`, for all boards: action_mask int8[N, num_actions]; to_move, seat,
    outcome int8[N] (of the game that the step ended or went on with: 0, 1, 2 draw, -1 none); for
    each key a `_key`, bool[N], as Gymnasium has it. With `illegal` other than "raise" `step` also
    has illegal_action bool[N]. With SAME_STEP, `step` also has final_obs
    int8[N, C, H, W] and final_info (seat, outcome): the rows that `_final_obs` names are what was
    seen when the game ended.

    `end(i)` says how the game on a board ended, and with what score, as long as the last step was
    the one that ended it, or the next game has not begun.

    Board i has a random stream of its own: it plays the same game whatever N is.
    """

    metadata = {
        "render_modes": [mode for mode in MODES if mode != "human"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        opponent: str | Player | Function | None = "random",
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

        With `copy=False` what `step` returns are read-only views that the next step overwrites.
        The boards are shared out among `threads`, which play the very same games whatever their
        number; more than one pays from some thousand boards on.
        The other arguments are those of `BoardGameEnv`.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            there_are = listed(self.metadata["render_modes"])
            raise UnknownOption(f"unknown render_mode {render_mode!r}; there are: {there_are}")
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.game = make_game(BoardGameVectorEnv, game, options)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.is_two_sided = opponent is None
        self._renderer = Renderer(render_mode, self.game.name)
        self._copy = copy
        self._boards = Boards(
            self.game,
            num_envs,
            opponent=opponents.of(opponent, self.game),
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            autoreset=AUTORESETS[self.autoreset_mode],
            illegal=illegal,
            threads=threads,
        )
        self.single_observation_space = planes_space(self.game)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.action_space = LegalActionBatch(self._boards)
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
        which, positions = self._start(reset_options(options, RESET_OPTIONS))
        seeds = _seeds(seed)
        if isinstance(seeds, list) and len(seeds) != self.num_envs:
            raise BadOption(f"{len(seeds)} seeds for {self.num_envs} boards")
        begins = seeds is not None or not self._boards.begun
        streams = self._boards.streams(seeds) if begins else None
        self._boards.reset(which, positions, streams)
        super().reset(seed=seeds if isinstance(seeds, int) else None)
        return self._out(self._boards.observations), self._info()

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play actions[i] (int[N]) on board i.

        Raises IllegalAction or EpisodeOver naming the first board that refuses; then no board has
        changed.
        """
        try:
            chosen = np.asarray(actions).astype(np.int64, casting="same_kind", copy=False)
        except (TypeError, ValueError) as error:
            raise IllegalAction(f"actions must be integers: {error}") from None
        if chosen.shape != (self.num_envs,):
            raise IllegalAction(f"actions have shape {chosen.shape}; wanted: ({self.num_envs},)")
        if not self._boards.begun:
            raise EpisodeOver(f"{NOT_BEGUN}; call reset() before step()")
        self._actions[:] = chosen
        boards, seats = self._boards, self._boards.seats
        boards.step(self._actions)
        return (
            self._out(boards.observations),
            self._out(boards.rewards),
            self._out(boards.terminated),
            self._out(boards.truncated),
            self._info(seats),
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

    def position(self, board: int) -> Position:
        """Return the position on a board, for `self.game`.

        Raises BadOption where there is no such board, EpisodeOver before the first reset.
        """
        self._check(board)
        return self._boards.position(board)

    def end(self, board: int) -> Info:
        """Return outcome, ending and score of a board whose game is over, as `BoardGameEnv` has.

        Where it ended in the last step, too. Raises BadOption where it goes on.
        """
        self._check_ended(board)
        return self._boards.end(board)

    def final_position(self, board: int) -> Position:
        """Return the position in which the game ended that `end` tells of; raise BadOption."""
        self._check_ended(board)
        return self._boards.final_position(board)

    def render(self) -> tuple[Any, ...] | None:
        """Return N frames, texts or uint8[height, width, 3] by `render_mode`; None without one."""
        if self.render_mode is None:
            return None
        return tuple(self._renderer.frame(self._picture(board)) for board in range(self.num_envs))

    def _picture(self, board: int) -> Picture:
        boards = self._boards
        last, end = boards.last_turn(board), boards.over(board)
        return draw(self.game, self.position(board), last=last, end=end)

    def _check(self, board: int) -> None:
        if not is_whole(board, 0, self.num_envs - 1):
            raise BadOption(f"board {board!r}; it is 0 to {self.num_envs - 1}")

    def _check_ended(self, board: int) -> None:
        self._check(board)
        if not self._boards.begun or not self._boards.ended(board):
            raise BadOption(f"board {board}: its game is not over, or the next one goes on")

    def _start(self, options: Mapping[str, Any]) -> tuple[NDArray[np.bool_] | None, list[Position]]:
        texts = options.get("position", [])
        texts = list(texts) if isinstance(texts, list | tuple) else [texts]
        if len(texts) not in (0, 1, self.num_envs):
            raise BadOption(f"{len(texts)} positions for {self.num_envs} boards")
        return self._mask(options.get("reset_mask")), list(map(self.game.from_text, texts))

    def _mask(self, wanted: object) -> NDArray[np.bool_] | None:
        """Return which boards are to begin, None for all; raise BadOption."""
        if wanted is None:
            return None
        if not self._boards.begun:
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

    def _out(self, array: NDArray[Any]) -> NDArray[Any]:
        if self._copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def _info(self, final_seats: Batch | None = None) -> Info:
        boards = self._boards
        info: Info = {
            "action_mask": self._out(boards.masks),
            "to_move": self._out(boards.to_move),
            "seat": boards.seats,
            "outcome": self._out(boards.outcomes),
        }
        if not boards.raises and final_seats is not None:
            info["illegal_action"] = self._out(boards.was_illegal)
        info |= {f"_{key}": self._all_boards for key in info}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and final_seats is not None:
            over = boards.terminated | boards.truncated
            final = {
                "seat": final_seats,
                "outcome": info["outcome"],
                "_seat": over,
                "_outcome": over,
            }
            info |= {"final_obs": self._out(boards.final_observations), "final_info": final}
            info |= {"_final_obs": over, "_final_info": over}
        return info


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        there_are = listed(repr(mode.value) for mode in AutoresetMode)
        raise UnknownOption(f"unknown autoreset_mode {mode!r}; there are: {there_are}") from None


def _seeds(seed: Any) -> int | list[int] | None:
    """Return one seed, or a list of one for each board."""
    if isinstance(seed, np.ndarray):
        return seed.tolist()  # type: ignore[no-any-return]
    is_list = isinstance(seed, Sequence) and not isinstance(seed, str | bytes)
    return list(seed) if is_list else seed
