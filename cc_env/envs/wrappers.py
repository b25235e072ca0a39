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
from cc_env.errors import BadOption
from cc_env.exact.tables import Solved, Tables


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
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        gymnasium.Wrapper.__init__(self, env)
        board = env.unwrapped
        if not isinstance(board, BoardGameEnv):
            raise BadOption(f"{env} is not an environment of cc_env with one board")
        self._board = board
        if not isinstance(tables, Tables):
            tables = Tables(board.game, *([] if tables is None else [tables]))
        if not tables.fit(board.game):
            raise BadOption(f"{tables!r} are not of {board.game!r}")
        self._tables = tables.some()
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
        is_mine = game.to_move(position) == int(info["seat"])
        return {"value": self._solved.value if is_mine else -self._solved.value}
