"""The vector environment for Stable-Baselines3, with one opponent or several.

Shapes: N boards, A actions; C planes, H rows and W columns of an observation.
"""

import io
import time
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cc_env.core.rules import ONGOING, Position
from cc_env.envs.arguments import as_seed, check_actions, make_environment_game
from cc_env.envs.boards import Boards
from cc_env.envs.opponents import AnyOpponent, BatchPolicy, DecisionBatch, Opponent, OpponentPool
from cc_env.envs.rendering import FRAMES_PER_SECOND, Renderer, check_render_mode
from cc_env.envs.spaces import make_observation_space
from cc_env.errors import BadOption, BadPlayer, MissingExtra

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn
except ImportError as missing:
    raise MissingExtra("OpponentVecEnv", "stable-baselines3", "sb3") from missing


class OpponentVecEnv(VecEnv):
    """N boards of a game as a `VecEnv` of Stable-Baselines3.

    The learner observes only positions in which it is to move; between them its opponents decide.
    Finished boards are reset automatically. MaskablePPO uses `action_masks()`; algorithms without
    masks need `illegal="lose"` or `"random"`.

    Observations int8[N, C, H, W]; actions int[N], each in Discrete(A); rewards float32[N]: 1 for a
    win, -1 for a loss, else 0. The info of every board has outcome (of the game that the step ended
    or continued: the winner 0 or 1, 2 draw, -1 none), seat and opponent (the index in `opponents`)
    of that game, illegal_action (whether the last action was illegal), and `TimeLimit.truncated`,
    true if a limit truncated the game. The info of a board whose game ended also has
    terminal_observation int8[C, H, W], and episode, as SB3's Monitor: the return r, the length l in
    decisions, and the seconds t since the environment was created.

    One of the `opponents` is sampled for each game, by the shares. More may be appended to
    `env.opponents` at any time; they play games that begin later. For self-play, use the learning
    policy as an opponent, or a copy of it by `copy_policy`:

        model = MaskablePPO("MlpPolicy", env)
        env.opponents.append(Opponent("itself", wrap_policy(model.policy)))

    Examples:

        >>> from cc_env.envs import OpponentVecEnv
        >>> env = OpponentVecEnv("capture_conquer", num_envs=2, opponents=["random", "greedy"])
        >>> env.reset().shape
        (2, 4, 6, 6)
        >>> observations, rewards, dones, infos = env.step(env.action_masks().argmax(axis=1))
        >>> rewards.shape, dones
        ((2,), array([False, False]))
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        opponents: AnyOpponent = "random",
        seat: int | None = None,
        max_turns: int | None = 200,
        repetitions: int | None = None,
        draw_at_limits: bool = False,
        illegal: str = "raise",
        max_opening_turns: int = 0,
        counters: bool = False,
        render_mode: str | None = None,
        threads: int = 1,
        **options: object,
    ) -> None:
        """Create `num_envs` boards of `game`; raise BadOption on bad values.

        `threads` is the number of threads that step the boards and compute the
        decisions of compiled opponents; the games do not depend on it. The other arguments are
        those of `BoardGameEnv`.
        """
        self.game = make_environment_game(OpponentVecEnv, game, options)
        if opponents is None:
            expected = "player specs, players, functions or `Opponent`s"
            self_play = "for self-play, use the learning policy as an `Opponent`"
            raise BadPlayer(f"None is not a player; expected: {expected}; {self_play}")
        check_render_mode(render_mode, ["ansi", "rgb_array"])
        self._renderer = Renderer(render_mode, self.game.name)
        self.render_mode = render_mode
        self._pool = OpponentPool(opponents, self.game)
        self.boards = Boards(
            self.game,
            num_envs,
            opponent=self._pool,
            seat=seat,
            max_turns=max_turns,
            repetitions=repetitions,
            draw_at_limits=draw_at_limits,
            illegal=illegal,
            max_opening_turns=max_opening_turns,
            counters=counters,
            threads=threads,
        )
        num_envs = self.boards.count
        self._actions, self._numbers = np.zeros(num_envs, np.int64), np.arange(num_envs)
        # Numbers of the learner's decisions in the current games.
        self.lengths = np.zeros(num_envs, np.int64)
        self._created, self._seconds = time.perf_counter(), 0.0
        self._next_seed: int | None = None
        super().__init__(
            num_envs, make_observation_space(self.boards), spaces.Discrete(self.game.num_actions)
        )
        self.metadata: dict[str, Any] = {**self.metadata, "render_fps": FRAMES_PER_SECOND}

    @property
    def planes(self) -> tuple[str, ...]:
        """The names of the planes of an observation."""
        return self.boards.planes

    @property
    def opponents(self) -> list[Opponent]:
        """The opponents from which each game's is sampled; more may be appended."""
        return self._pool.opponents

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds spent so far in `boards` and in `opponents`."""
        return {"boards": self._seconds - self._pool.seconds, "opponents": self._pool.seconds}

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the random streams of all boards, from the next reset on; None for a random seed.

        The stream of board i does not depend on N. Raises BadOption if `seed` is not a seed.
        """
        seeds = super().seed(as_seed(seed))
        self._next_seed = seeds[0]
        return seeds

    def reset(self) -> NDArray[np.int8]:
        """Begin a game on every board; return int8[N, C, H, W].

        If `set_options` was called with positions for some boards, games begin in the option
        `position` of their board or in the initial position, without random openings.
        Raises BadOption or BadPosition on bad options; then nothing has changed.
        """
        began = time.perf_counter()
        starts = [self.boards.parse_options(options) for options in self._options]
        positions = [(*start, self.game.initial)[0] for start in starts] if any(starts) else []
        streams = None if self._next_seed is None else self.boards.streams(self._next_seed)
        self._reset_boards(np.ones(self.num_envs, np.bool_), positions, streams)
        self._next_seed = None
        self._reset_seeds()
        self._reset_options()
        self._seconds += time.perf_counter() - began
        return self.boards.observations.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the learner's actions, int[N]; raise IllegalAction for another shape or dtype."""
        self._actions[:] = check_actions(actions, self.num_envs)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the stored actions and the opponents' replies.

        Raises IllegalAction for an illegal action, unless `illegal` is "lose" or "random"; then
        nothing has changed.
        Raises ResetNeeded before the first reset, and after an opponent raised an error.
        """
        began, boards = time.perf_counter(), self.boards
        boards.step(self._actions)
        self.lengths += 1
        rewards, has_ended = boards.rewards.astype(np.float32), boards.done.copy()
        self._pool.record_results(boards, has_ended)
        infos = self._infos(np.flatnonzero(has_ended).tolist())
        if has_ended.any():
            self._reset_boards(has_ended)
        self._seconds += time.perf_counter() - began
        return boards.observations.copy(), rewards, has_ended, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Return bool[N, A], true for legal actions."""
        return self.boards.masks.astype(np.bool_)

    def _infos(self, ended_boards: list[int]) -> list[dict[str, Any]]:
        """Return the infos of all boards; games have ended on the boards `ended_boards`."""
        boards, seconds = self.boards, round(time.perf_counter() - self._created, 6)
        running = {"outcome": ONGOING, "illegal_action": False, "TimeLimit.truncated": False}
        opponents = self._pool.opponent_indices(boards, self._numbers).tolist()
        infos: list[dict[str, Any]] = [
            {"seat": seat, "opponent": opponent, **running}
            for seat, opponent in zip(boards.seats.tolist(), opponents, strict=True)
        ]
        for board in ended_boards:
            reward, length = float(boards.rewards[board]), int(self.lengths[board])
            infos[board] |= {
                "terminal_observation": boards.observations[board].copy(),
                "TimeLimit.truncated": bool(boards.truncated[board]),
                "episode": {"r": reward, "l": length, "t": seconds},
                "outcome": int(boards.outcomes[board]),
            }
        for board in np.flatnonzero(boards.was_illegal).tolist():
            infos[board]["illegal_action"] = True
        return infos

    def _reset_boards(
        self,
        selected: NDArray[np.bool_],
        positions: Sequence[Position] = (),
        streams: NDArray[np.uint64] | None = None,
    ) -> None:
        """Begin games on the boards `selected`, in N positions or after random openings."""
        self.boards.reset(selected, positions, streams)
        self.lengths[selected] = 0

    def env_method(
        self, method_name: str, *args: object, indices: VecEnvIndices = None, **kwargs: object
    ) -> list[Any]:
        """Call a method and return its results for the boards `indices`."""
        results = getattr(self, method_name)(*args, **kwargs)
        return [results[board] for board in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute, which all boards share, once for each board of `indices`."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all boards; raise BadOption if `indices` are not all."""
        if len(list(self._get_indices(indices))) < self.num_envs:
            raise BadOption(f"set_attr({attr_name!r}) for some boards; all share it")
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return for each board whether `wrapper_class` is SB3's Monitor, whose infos it has."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a frame uint8[height, width, 3] of each board; None in other render modes."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        pictures = map(self.boards.picture, range(self.num_envs))
        return [cast(NDArray[np.uint8], self._renderer.frame(picture)) for picture in pictures]

    def close(self) -> None:
        """Close the renderer; stop the threads."""
        self._renderer.close()
        self.boards.close()


def wrap_policy(policy: Any, deterministic: bool = False) -> BatchPolicy:
    """Return a batch policy that plays by a policy with masks, such as `model.policy`.

    Later changes of the policy change the result; wrap a copy (`copy_policy`) to prevent that.
    Unless `deterministic`, actions are sampled with torch's generator.
    """

    def choose(batch: DecisionBatch, rng: np.random.Generator) -> NDArray[np.int64]:
        actions, _ = policy.predict(
            batch.observations, action_masks=batch.masks, deterministic=deterministic
        )
        return np.asarray(actions, np.int64)

    return choose


def copy_policy(policy: Any) -> Any:
    """Return a copy of a policy of SB3 or sb3-contrib, for `wrap_policy`.

    `copy.deepcopy` fails for policies that were trained.
    """
    file = io.BytesIO()
    policy.save(file)
    file.seek(0)
    return type(policy).load(file, policy.device)
