"""Wrappers for environments that Gymnasium makes of ours.

Shapes: N environments.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces, utils
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from cc_env.envs.single import BoardGameEnv
from cc_env.envs.spaces import LegalActionBatch
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption
from cc_env.exact.tables import Solved, Tables
from cc_env.game import Game


class LegalSamples(VectorWrapper, utils.RecordConstructorArgs):
    """`SyncVectorEnv` and `AsyncVectorEnv` of our environments, with samples that are legal.

    Gymnasium gives these an action space that knows nothing of the boards, so its samples are
    illegal for the most part. That of the wrapper goes by `info["action_mask"]`:

        envs = gymnasium.make_vec(name, num_envs=4, vectorization_mode="async")
        envs = LegalSamples(envs)

    Our own vector environment, the default of `make_vec`, needs none of this.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap N environments; raise BadOption where the actions are not Discrete(A)."""
        utils.RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        single = env.single_action_space
        if not isinstance(single, spaces.Discrete):
            raise BadOption(f"the action space is {single}; wanted: that of a game, Discrete")
        self.masks = np.zeros((env.num_envs, int(single.n)), np.int8)  # as last seen
        self.action_space = LegalActionBatch(self)

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, as the environment does."""
        observations, infos = self.env.reset(**arguments)
        self._look(infos)
        return observations, infos

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play actions, int[N]."""
        *seen, infos = self.env.step(actions)
        self._look(infos)
        return (*seen, infos)

    def _look(self, infos: dict[str, Any]) -> None:
        told = infos["_action_mask"]  # on which boards something happened
        self.masks[told] = infos["action_mask"][told]


class ExactValues(gymnasium.Wrapper[Any, Any, Any, Any], utils.RecordConstructorArgs):
    """A board whose `info` tells the exact value, where tables have it.

    `info["value"]` is that of the position to the learner, 1 won, 0 drawn, -1 lost, and
    `info["keeps_value"]` whether the action that was just played kept it. Each is absent where no
    table has the position.

        env = gymnasium.make("cc_env/CaptureConquer-v0", size=4)
        env = ExactValues(env)
    """

    def __init__(self, env: gymnasium.Env[Any, Any], tables: Tables | str | None = None) -> None:
        """Wrap an environment of ours; `tables`, or their folder, are those that ship by default.

        Raises BadOption for another environment, a game without exact values, or tables of another
        game; MissingTable if no table covers the game; BadTable for a damaged one.
        """
        board = env.unwrapped
        if not isinstance(board, BoardGameEnv):
            raise BadOption(f"{env} is not an environment of cc_env with one board")
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        gymnasium.Wrapper.__init__(self, env)
        self._board, self._tables = board, _tables_of(board.game, tables)
        self._solved: Solved | None = None

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, as the environment does."""
        observation, info = self.env.reset(**arguments)
        return observation, {**info, **self._told(info)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play an action, as the environment does."""
        before = self._solved
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, **self._told(info)}
        if before is not None:
            info["keeps_value"] = int(action) in before.keeping
        return observation, reward, terminated, truncated, info

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """Look the position up; return what `info` tells of it."""
        position, game = self._board.position, self._board.game
        self._solved = self._tables.find(position)
        if self._solved is None:
            return {}
        return {"value": _value_to(int(info["seat"]), self._solved, game.to_move(position))}


class VectorExactValues(VectorWrapper, utils.RecordConstructorArgs):
    """As `ExactValues`, for our vector environment; two-sided, values are to the player to move.

    `info["value"]`, int8[N], and, in `step`, `info["keeps_value"]`, bool[N], hold where
    `info["_value"]` and `info["_keeps_value"]`, bool[N], are true: where a table has the position,
    and where an action was played in one that a table has.

        envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=8, size=4)
        envs = VectorExactValues(envs)
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], tables: Tables | str | None = None) -> None:
        """Wrap a vector environment of ours; arguments and errors are those of `ExactValues`."""
        boards = env.unwrapped
        if not isinstance(boards, BoardGameVectorEnv):
            raise BadOption(f"{env} is not a vector environment of cc_env")
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        VectorWrapper.__init__(self, env)
        self._boards, self._tables = boards, _tables_of(boards.game, tables)
        self._solved: list[Solved | None] = [None] * boards.num_envs

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, as the environment does."""
        observations, info = self.env.reset(**arguments)
        return observations, {**info, **self._told(info)}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play actions, int[N]."""
        before, played = self._solved, self._known() & ~self._boards.done
        *seen, info = self.env.step(actions)
        info = {**info, **self._told(info)}
        kept = [
            solved is not None and action in solved.keeping
            for solved, action in zip(before, np.asarray(actions).tolist(), strict=True)
        ]
        info |= {"keeps_value": np.array(kept) & played, "_keeps_value": played}
        return (*seen, info)

    def _known(self) -> NDArray[np.bool_]:
        """Return on which boards the value is known, bool[N]."""
        return np.array([solved is not None for solved in self._solved])

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """Look the positions up; return what `info` tells of them."""
        positions = [self._boards.position(board) for board in range(self.num_envs)]
        self._solved = [self._tables.find(position) for position in positions]
        to_move = map(self._boards.game.to_move, positions)
        values = [
            0 if solved is None else _value_to(seat, solved, mover)
            for seat, solved, mover in zip(info["seat"], self._solved, to_move, strict=True)
        ]
        return {"value": np.array(values, np.int8), "_value": self._known()}


def _tables_of(game: Game, tables: Tables | str | None) -> Tables:
    """Return the tables, or those in a folder, that a game's values are read from."""
    if not isinstance(tables, Tables):
        tables = Tables(game, *([] if tables is None else [tables]))
    if not tables.fit(game):
        raise BadOption(f"{tables!r} are not of {game!r}")
    return tables.some()


def _value_to(seat: int, solved: Solved, to_move: int) -> int:
    """Return a value to the learner."""
    return solved.value if seat == to_move else -solved.value
