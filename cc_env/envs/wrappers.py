"""Gymnasium wrappers for the environments of this package.

Shapes: N environments, A actions.
"""

import os
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces, utils
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from cc_env.accuracy.decisions import keeps_value
from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.envs.single import BoardGameEnv, Info
from cc_env.envs.spaces import LegalActionBatchSpace
from cc_env.envs.text import TextGameEnv
from cc_env.envs.vector import BoardGameVectorEnv, Step
from cc_env.errors import BadOption
from cc_env.tablebase.tablebase import ExactValue, Tablebase


class LegalSamples(VectorWrapper, utils.RecordConstructorArgs):
    """Gives `SyncVectorEnv` and `AsyncVectorEnv` an action space whose samples are legal.

    Samples of their own action space are mostly illegal. That of this wrapper samples by
    `info["action_mask"]`:

        envs = gymnasium.make_vec(name, num_envs=4, vectorization_mode="async")
        envs = LegalSamples(envs)

    `BoardGameVectorEnv`, the default of `make_vec`, does not need it.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap N environments; raise BadOption if they have no `action_masks()`."""
        utils.RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        single = env.single_action_space
        if not isinstance(single, spaces.Discrete):
            raise BadOption(f"the action space is {single}; expected: that of a game, Discrete")
        self.masks = _masks_before_reset(env)  # int8[N, A]
        self.action_space = LegalActionBatchSpace(self)

    def reset(self, **arguments: Any) -> tuple[Any, Info]:
        """Begin episodes; the arguments are those of the environment."""
        observations, infos = self.env.reset(**arguments)
        self._update_masks(infos)
        return observations, infos

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play actions, int[N], in the environments."""
        *result, infos = self.env.step(actions)
        self._update_masks(infos)
        return (*result, infos)

    def _update_masks(self, infos: Info) -> None:
        is_present = infos["_action_mask"]
        self.masks[is_present] = infos["action_mask"][is_present]


def _masks_before_reset(env: VectorEnv[Any, Any, Any]) -> NDArray[np.int8]:
    """Return `action_masks()` of environments that were not reset yet, int8[N, A].

    Raises BadOption if they have none.
    """
    boards = env.unwrapped
    try:
        if isinstance(boards, BoardGameVectorEnv):
            return boards.action_masks().astype(np.int8)
        return np.array(boards.call("action_masks"), np.int8)  # type: ignore[attr-defined]
    except AttributeError:
        raise BadOption(f"{env} has no action_masks(); expected: environments of cc_env") from None


class ExactValues(gymnasium.Wrapper[Any, Any, Any, Any], utils.RecordConstructorArgs):
    """Adds the exact value to `info`, in positions that tablebases cover.

    `info["value"]` is the value of the position for the learner: 1 won, 0 drawn, -1 lost; after the
    end it is the result. `info["keeps_value"]` is whether the learner's action, or the turn that
    its reply chose, kept the value; illegal actions and refused replies do not. They are valid if
    `info["value_known"]` and `info["keeps_value_known"]` are true: if a table covers the position,
    and the position before the action. These are false if a rule may draw the game before the win
    or loss in the tables.

        env = gymnasium.make("cc_env/CaptureConquer-v0", size=4)
        env = ExactValues(env)

    Wrappers that change actions must be outside of this one.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], tables: Tablebase | str | os.PathLike[str] | None = None
    ) -> None:
        """Wrap a `BoardGameEnv` or `TextGameEnv`.

        `tables`, or their folder, are the shipped ones by default.

        Raises BadOption for another environment, a game without exact values, or tables of another
        game; MissingTable if no table covers the game; BadTable for a damaged one.
        """
        board = env.unwrapped
        if not isinstance(board, BoardGameEnv | TextGameEnv):
            raise BadOption(f"{env} is not an environment of cc_env with one board")
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        gymnasium.Wrapper.__init__(self, env)
        self._board, self._tables = board, _load_tables(board.game, tables)
        self._position = self._board.game.initial
        self._solved: ExactValue | None = None

    def reset(self, **arguments: Any) -> tuple[Any, Info]:
        """Begin an episode; the arguments are those of the environment."""
        observation, info = self.env.reset(**arguments)
        no_action = {"keeps_value": False, "keeps_value_known": False}
        return observation, {**info, **self._probe_values(info), **no_action}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Play an action in the environment."""
        before, position = self._solved, self._position
        observation, reward, terminated, truncated, info = self.env.step(action)
        board = self._board
        turn = board.last_turn if isinstance(board, TextGameEnv) else (int(action),)
        keeps = _turn_keeps_value(self._tables, position, turn, before)
        info = {**info, **self._probe_values(info), "keeps_value_known": keeps is not None}
        info["keeps_value"] = bool(keeps)
        return observation, reward, terminated, truncated, info

    def _probe_values(self, info: Info) -> Info:
        """Probe the position and store it; return its entries of `info`."""
        position, game = self._board.position, self._board.game
        self._position, self._solved = position, self._tables.get(position)
        value = _value(self._solved, game.to_move(position), int(info["seat"]), info["outcome"])
        return {"value": value or 0, "value_known": value is not None}


class VectorExactValues(VectorWrapper, utils.RecordConstructorArgs):
    """`ExactValues` for `BoardGameVectorEnv`; without an opponent, for the player to move.

    `info["value"]`, int8[N], and `info["keeps_value"]`, bool[N], are valid on the boards for which
    `info["value_known"]` and `info["keeps_value_known"]`, bool[N], are true. With SAME_STEP,
    `info["value"]` describes the next game after an ending, and `info["final_info"]["value"]` the
    game that ended.

        envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=8, size=4)
        envs = VectorExactValues(envs)
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        tables: Tablebase | str | os.PathLike[str] | None = None,
    ) -> None:
        """Wrap a `BoardGameVectorEnv`; arguments and errors are those of `ExactValues`."""
        boards = env.unwrapped
        if not isinstance(boards, BoardGameVectorEnv):
            hint = "gymnasium.make_vec(…, wrappers=[ExactValues]) wraps each board"
            raise BadOption(f"{env} is not a vector environment of cc_env; {hint}")
        utils.RecordConstructorArgs.__init__(self, tables=tables)
        VectorWrapper.__init__(self, env)
        self._boards, self._tables = boards, _load_tables(boards.game, tables)
        self._solved: list[ExactValue | None] = [None] * boards.num_envs
        self._positions = [boards.game.initial] * boards.num_envs

    def reset(self, **arguments: Any) -> tuple[Any, Info]:
        """Begin episodes; the arguments are those of the environment."""
        observations, info = self.env.reset(**arguments)
        no_actions = self._entries("keeps_value", [None] * self.num_envs, np.bool_)
        return observations, {**info, **self._probe_values(info), **no_actions}

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play actions, int[N], in the environments."""
        before, positions, running = self._solved, self._positions, ~self._boards.done
        *result, info = self.env.step(actions)
        info = {**info, **self._probe_values(info)}
        decisions = zip(positions, np.asarray(actions).tolist(), before, strict=True)
        keeps = [
            _keeps_value(self._tables, *decision) if is_running else None
            for decision, is_running in zip(decisions, running.tolist(), strict=True)
        ]
        return (*result, info | self._entries("keeps_value", keeps, np.bool_))

    def _probe_values(self, info: Info) -> Info:
        """Probe the positions, also final ones, and store them; return their entries of `info`."""
        boards, has_ended = self._boards, info.get("_final_info", np.zeros(self.num_envs, np.bool_))
        positions = [boards.position(board) for board in range(self.num_envs)]
        self._solved = [self._tables.get(position) for position in positions]
        self._positions = positions
        outcomes = np.where(has_ended, ONGOING, info["outcome"])
        seats = info["seat"]
        current_values = list(map(self._value_for_viewer, self._solved, positions, seats, outcomes))
        entries = self._entries("value", current_values)
        if "final_info" not in info:
            return entries
        final = info["final_info"]
        values: list[int | None] = [None] * self.num_envs
        for board in np.flatnonzero(has_ended).tolist():
            position = boards.final_position(board)
            values[board] = self._value_for_viewer(
                self._tables.get(position),
                position,
                final["seat"][board],
                final["outcome"][board],
            )
        final_entries = self._entries("value", values)
        return entries | {"final_info": final | final_entries | {"_value_known": has_ended}}

    def _entries(
        self, name: str, values: Sequence[int | None], dtype: type[np.generic] = np.int8
    ) -> dict[str, NDArray[Any]]:
        """Return N values, None where unknown, as entries of an info."""
        is_known = np.array([value is not None for value in values])
        return {
            name: np.array([value or 0 for value in values], dtype),
            f"_{name}": is_known,
            f"{name}_known": is_known,
            f"_{name}_known": np.ones(self.num_envs, np.bool_),
        }

    def _value_for_viewer(
        self, solved: ExactValue | None, position: Position, seat: int, outcome: int
    ) -> int | None:
        """Return the value for the seat or, without an opponent, for the player to move.

        None if it is unknown.
        """
        to_move = self._boards.game.to_move(position)
        return _value(solved, to_move, to_move if self._boards.is_two_sided else seat, outcome)


def _load_tables(game: Game, tables: Tablebase | str | os.PathLike[str] | None) -> Tablebase:
    """Return the tables of a game, by default the shipped ones.

    Raises BadOption for tables of another game or a missing folder, MissingTable if there are none.
    """
    if not isinstance(tables, Tablebase):
        tables = Tablebase(game, *([] if tables is None else [tables]))
    tables.check_game(game)
    return tables.require_any()


def _value(solved: ExactValue | None, to_move: int, player: int, outcome: int) -> int | None:
    """Return the value of a position or outcome for a player; None if it is unknown."""
    if outcome != ONGOING:
        return 0 if outcome == DRAW else 1 if outcome == player else -1
    if solved is None:
        return None
    return solved.value if player == to_move else -solved.value


def _turn_keeps_value(
    tables: Tablebase, position: Position, turn: Turn, solved: ExactValue | None
) -> bool | None:
    """Return whether all actions keep the value, as `_keeps_value`; False without an action."""
    keeps = None if solved is None else False
    for action in turn:
        keeps = _keeps_value(tables, position, action, solved)
        if not keeps:
            return keeps
        position = tables.game.apply(position, action)
        solved = tables.get(position)
    return keeps


def _keeps_value(
    tables: Tablebase, position: Position, action: int, solved: ExactValue | None
) -> bool | None:
    """Return whether an action keeps the value of a position; None if the value is unknown.

    Illegal actions do not keep it.
    """
    if solved is None or action not in solved.actions:
        return None if solved is None else False
    return keeps_value(tables, position, action, solved)
