"""A wrapper that adds the values before and after each turn of the learner, exact or estimated."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import utils

from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.envs.single import BoardGameEnv, Info
from cc_env.envs.text import TextGameEnv
from cc_env.errors import BadOption
from cc_env.match.referee import Clock, player_for_new_game
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import Tablebase

DEFAULT_EVALUATOR = "minimax:depth=4"


class TurnValues(gymnasium.Wrapper[Any, Any, Any, Any], utils.RecordConstructorArgs):
    """Adds the values before and after each action or reply of the learner to `info`.

    `info["value_before"]` and `info["value_after"]` are expected results for the learner under
    perfect play: 1 won, 0 drawn, -1 lost. After its action, the opponent has not replied yet. They
    are exact in positions that tables cover and in finished games; otherwise the evaluator
    estimates them. `info["value_is_exact"]` is whether both are exact. After a reset and after
    refused replies, both are the value of the position; a reply that loses the game has -1 after
    it.

        env = gymnasium.make("cc_env/TextGame-v0", game="checkers")
        env = TurnValues(env, evaluator="minimax:depth=6")

    Wrappers that change actions must be outside of this one.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], evaluator: str = DEFAULT_EVALUATOR) -> None:
        """Wrap a `BoardGameEnv` or `TextGameEnv`; `evaluator` is a player spec.

        Raises BadOption for another environment, or a player that cannot be created.
        """
        board = env.unwrapped
        if not isinstance(board, BoardGameEnv | TextGameEnv):
            raise BadOption(f"{env} is not an environment of cc_env with one board")
        utils.RecordConstructorArgs.__init__(self, evaluator=evaluator)
        gymnasium.Wrapper.__init__(self, env)
        self.evaluator, self._board, self._game = evaluator, board, board.game
        self._player = make_player(evaluator, board.game)
        self._tables = None if board.game.numbering is None else Tablebase(board.game)

    def reset(self, **arguments: Any) -> tuple[Any, Info]:
        """Begin an episode; the arguments are those of the environment."""
        observation, info = self.env.reset(**arguments)
        self._player = player_for_new_game(self._player)
        self._value = self._evaluate(self._board.position, info["seat"])
        return observation, info | _entries(self._value, self._value)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Play an action or a reply; raise BadOption if the evaluator reports no values."""
        before, position = self._value, self._board.position
        observation, reward, terminated, truncated, info = self.env.step(action)
        if info["illegal_action"]:
            after = (-1.0, True) if terminated else before
        else:
            board = self._board
            turn = board.last_turn if isinstance(board, TextGameEnv) else (int(action),)
            after = self._evaluate(self._game.play_turn(position, turn), info["seat"])
        if not (terminated or truncated):
            self._value = self._evaluate(self._board.position, info["seat"])
        return observation, reward, terminated, truncated, info | _entries(before, after)

    def _evaluate(self, position: Position, seat: int) -> tuple[float, bool]:
        """Return the value of a position for a seat, and whether it is exact."""
        outcome = self._game.outcome(position)
        if outcome != ONGOING:
            return 0.0 if outcome == DRAW else 1.0 if outcome == seat else -1.0, True
        sign = 1 if self._game.to_move(position) == seat else -1
        exact = None if self._tables is None else self._tables.get(position)
        if exact is not None:
            return float(sign * exact.value), True
        decision = self._player.choose(position, np.random.default_rng(0), Clock())
        if decision.value is not None:
            return sign * decision.value, False
        # Players may not search a single legal action.
        if len(legal := self._game.legal_actions(position)) > 1:
            expected = "a player that searches, such as minimax:depth=4"
            raise BadOption(f"evaluator={self.evaluator!r} reports no values; expected: {expected}")
        return self._evaluate(self._game.apply(position, int(legal[0])), seat)[0], False


def _entries(before: tuple[float, bool], after: tuple[float, bool]) -> Info:
    """Return the entries of an info: values, each with whether it is exact."""
    return {
        "value_before": before[0],
        "value_after": after[0],
        "value_is_exact": before[1] and after[1],
    }
