"""Wrappers for environments that Gymnasium makes of ours.

Shapes: N environments, A actions.
"""

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces, utils
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from cc_env.accuracy.decisions import keeps_value
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.spaces import LegalActionBatchSpace
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption
from cc_env.tablebase.tablebase import ExactValue, Tablebase


class LegalSamples(VectorWrapper, utils.RecordConstructorArgs):
    """`SyncVectorEnv` and `AsyncVectorEnv` of our environments, with samples that are legal.

    Gymnasium gives these an action space that knows nothing of the boards, so its samples are
    illegal for the most part. That of the wrapper goes by `info["action_mask"]`:

        envs = gymnasium.make_vec(name, num_envs=4, vectorization_mode="async")
        envs = LegalSamples(envs)

    Our own vector environment, the default of `make_vec`, needs none of this.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap N environments; raise BadOption where they have no `action_masks()`."""
        utils.RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        single = env.single_action_space
        if not isinstance(single, spaces.Discrete):
            raise BadOption(f"the action space is {single}; wanted: that of a game, Discrete")
        self.masks = _masks_before_reset(env)  # int8[N, A], as last seen
        self.action_space = LegalActionBatchSpace(self)

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
        changed = infos["_action_mask"]
        self.masks[changed] = infos["action_mask"][changed]


def _masks_before_reset(env: VectorEnv[Any, Any, Any]) -> NDArray[np.int8]:
    """Return int8[N, A], the actions that are legal in an opening; raise BadOption."""
    boards = env.unwrapped
    try:
        if isinstance(boards, BoardGameVectorEnv):
            return boards.action_masks().astype(np.int8)
        return np.array(boards.call("action_masks"), np.int8)  # type: ignore[attr-defined]
    except AttributeError:
        raise BadOption(f"{env} has no action_masks(); wanted: environments of cc_env") from None


class ExactValues(gymnasium.Wrapper[Any, Any, Any, Any], utils.RecordConstructorArgs):
    """A board whose `info` tells the exact value, where tables have it.

    `info["value"]` is that of the position to the learner, 1 won, 0 drawn, -1 lost; of a finished
    game its result. `info["keeps_value"]` is whether the learner's action kept the value, False
    for an illegal one, whatever was played instead. They hold where `info["value_known"]` and
    `info["keeps_value_known"]` are true: where a table has the position, and where an action was
    played in one that a table has. They are false where the rules may draw the game before the win
    or the loss in the tables, which makes the value uncertain.

        env = gymnasium.make("cc_env/CaptureConquer-v0", size=4)
        env = ExactValues(env)

    It sees the actions that it is given: wrappers that change them belong outside of it.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], tables: Tablebase | str | os.PathLike[str] | None = None
    ) -> None:
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
        self._position = self._board.game.initial
        self._solved: ExactValue | None = None

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, as the environment does."""
        observation, info = self.env.reset(**arguments)
        kept = {"keeps_value": False, "keeps_value_known": False}
        return observation, {**info, **self._values(info), **kept}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play an action, as the environment does."""
        before, position = self._solved, self._position
        observation, reward, terminated, truncated, info = self.env.step(action)
        kept = _keeps_value(self._tables, position, int(action), before)
        info = {**info, **self._values(info), "keeps_value_known": kept is not None}
        info["keeps_value"] = bool(kept)
        return observation, reward, terminated, truncated, info

    def _values(self, info: dict[str, Any]) -> dict[str, Any]:
        """Look the position up; return its entries of `info`."""
        position, game = self._board.position, self._board.game
        self._position, self._solved = position, self._tables.get(position)
        value = _value(self._solved, game.to_move(position), int(info["seat"]), info["outcome"])
        return {"value": value or 0, "value_known": value is not None}


class VectorExactValues(VectorWrapper, utils.RecordConstructorArgs):
    """As `ExactValues`, for our vector environment; two-sided, values are to the player to move.

    `info["value"]`, int8[N], and `info["keeps_value"]`, bool[N], hold where `info["_value"]` and
    `info["_keeps_value"]`, bool[N], are true: where a table has the position, and where an action
    was played in one that a table has. With SAME_STEP `info["value"]` is of the next game where one
    has begun, and `info["final_info"]["value"]` of the end of the last one.

        envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=8, size=4)
        envs = VectorExactValues(envs)
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        tables: Tablebase | str | os.PathLike[str] | None = None,
    ) -> None:
        """Wrap a vector environment of ours; arguments and errors are those of `ExactValues`."""
        boards = env.unwrapped
        if not isinstance(boards, BoardGameVectorEnv):
            near = "gymnasium.make_vec(…, wrappers=[ExactValues]) wraps each board"
            raise BadOption(f"{env} is not a vector environment of cc_env; {near}")
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        VectorWrapper.__init__(self, env)
        self._boards, self._tables = boards, _tables_of(boards.game, tables)
        self._solved: list[ExactValue | None] = [None] * boards.num_envs
        self._positions = [boards.game.initial] * boards.num_envs

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, as the environment does."""
        observations, info = self.env.reset(**arguments)
        none = np.zeros(self.num_envs, np.bool_)
        kept = {"keeps_value": none, "_keeps_value": none}
        return observations, {**info, **self._told(info), **kept}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play actions, int[N]."""
        before, positions, running = self._solved, self._positions, ~self._boards.done
        *seen, info = self.env.step(actions)
        info = {**info, **self._told(info)}
        decisions = zip(positions, np.asarray(actions).tolist(), before, strict=True)
        kept = [_keeps_value(self._tables, *decision) for decision in decisions]
        known = running & [value is not None for value in kept]
        info |= {"keeps_value": known & [bool(value) for value in kept], "_keeps_value": known}
        return (*seen, info)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """Look the positions up; return what `info` tells of them, and of games that have ended."""
        boards, over = self._boards, info.get("_final_info", np.zeros(self.num_envs, np.bool_))
        positions = [boards.position(board) for board in range(self.num_envs)]
        self._solved = [self._tables.get(position) for position in positions]
        self._positions = positions
        outcomes = np.where(over, ONGOING, info["outcome"])
        told = _masked(list(map(self._value_to, self._solved, positions, info["seat"], outcomes)))
        if "final_info" not in info:
            return told
        final = info["final_info"]
        values: list[int | None] = [None] * self.num_envs
        for board in np.flatnonzero(over).tolist():
            position = boards.final_position(board)
            values[board] = self._value_to(
                self._tables.get(position),
                position,
                final["seat"][board],
                final["outcome"][board],
            )
        return told | {"final_info": {**final, **_masked(values)}}

    def _value_to(
        self, solved: ExactValue | None, position: Position, seat: int, outcome: int
    ) -> int | None:
        to_move = self._boards.game.to_move(position)
        return _value(solved, to_move, to_move if self._boards.is_two_sided else seat, outcome)


def _tables_of(game: Game, tables: Tablebase | str | os.PathLike[str] | None) -> Tablebase:
    """Return the tables, or those in a folder, that a game's values are read from."""
    if not isinstance(tables, Tablebase):
        tables = Tablebase(game, *([] if tables is None else [tables]))
    if not tables.matches(game):
        raise BadOption(f"{tables!r} are not of {game!r}")
    return tables.require_any()


def _value(solved: ExactValue | None, to_move: int, player: int, outcome: int) -> int | None:
    """Return the value to a player: of the outcome, if the game is over, else of the position."""
    if outcome != ONGOING:
        return 0 if outcome == DRAW else 1 if outcome == player else -1
    if solved is None:
        return None
    return solved.value if player == to_move else -solved.value


def _keeps_value(
    tables: Tablebase, position: Position, action: int, solved: ExactValue | None
) -> bool | None:
    """Return whether an action keeps the value of a position, False for an illegal one.

    None where that is not known.
    """
    if solved is None or action not in solved.actions:
        return None if solved is None else False
    return keeps_value(tables, position, action, solved)


def _masked(values: list[int | None]) -> dict[str, NDArray[Any]]:
    """Return values as `info` has them, with those that are there marked."""
    known = [value is not None for value in values]
    return {"value": np.array([value or 0 for value in values], np.int8), "_value": np.array(known)}
