"""The teacher: alpha-beta's value of each action.

Shapes: N positions, F fields of a position, M maximum number of legal actions of a position.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.alphabeta import deepen
from cc_env.search.scores import MARGIN, PROVEN, WIN, expected_result
from cc_env.search.transposition import NO_ACTION
from cc_env.search.workspace import MAX_PLIES, Context
from cc_env.tablebase.tablebase import Tablebase
from training.selfplay.search_games import MAX_NODES, search_context

# Values are expected results, -1 to 1. A proven win loses _DELAY per decision until the win, a
# proven loss gains it, both at most _MAX_DELAY. Unproven values above _LINEAR_LIMIT are compressed,
# so that they stay below proven wins (and likewise for losses).
_DELAY, _MAX_DELAY = 0.001, 0.1
_LINEAR_LIMIT = 1 - 2 * _MAX_DELAY


class Teacher:
    """Searches each legal action of positions to the same depth.

    The search has no game history: only repetitions within a search count as draws. The search of
    an action stops after MAX_NODES nodes.
    """

    def __init__(
        self, game: Game, evaluation: Any, depth: int, tables: Tablebase | None = None
    ) -> None:
        """Search `depth` turns, 2 or more, with an evaluation of the game and exact values.

        `evaluation` is a name, an evaluation returned by `Game.evaluation`, or None for the default
        one. Raises UnknownOption if the game has none by this name, BadTable for a damaged table.
        """
        self._game, self._depth = game, depth
        self._context = search_context(game, evaluation, tables)

    def __call__(
        self, positions: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the legal actions of positions, uint64[N, F], and their values.

        Actions are int32[N, M], padded with -1. Values are float32[N, M], padded with 0: expected
        results, 0 to 1, for the player to move. Faster proven wins and slower proven losses have
        higher values. Proven wins exceed all unproven values. Margins of victory do not count.
        """
        actions = np.full((len(positions), self._game.num_actions), -1, np.int32)
        values = np.zeros(actions.shape, np.float32)
        start, depth = self._game.initial, self._depth
        width = _evaluate_actions(start, positions, depth, self._context, actions, values)
        return actions[:, :width], values[:, :width]


@jit(nogil=True)
def _evaluate_actions(
    start: Position,
    positions: NDArray[np.uint64],
    depth: Int,
    context: Context,
    actions: NDArray[np.int32],
    values: NDArray[np.float32],
) -> Int:
    """Write actions and their values; return the maximum number of actions of a position."""
    positions, context = as_raw(positions), as_raw(context)
    actions, values = as_raw(actions), as_raw(values)
    line = np.full(MAX_PLIES, NO_ACTION, np.int32)
    legal = np.empty(actions.shape[1], np.int32)
    width: Int = np.int64(0)
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        player = rules.to_move(position)
        count = rules.legal_actions(position, legal)
        width = max(width, count)
        for index in range(count):
            after = rules.apply(position, np.int64(legal[index]))
            actions[row, index] = legal[index]
            result = rules.outcome(after)
            if result == ONGOING:
                turns = depth if rules.mid_turn(after) else depth - 1
                deepen(after, player, turns, MAX_NODES, context, line)
                value = _value(context.workspace.value)
                value = value if rules.to_move(after) == player else -value
            else:
                value = rules.reward(result, player)
            values[row, index] = (1 + value) / 2
    return width


@jit
def _value(score: Int) -> float:
    """Return the expected result for a search score, -1 to 1."""
    size = score if score > 0 else -score
    if size < PROVEN:
        value = expected_result(score)
        excess = max(abs(value) - _LINEAR_LIMIT, 0.0) / 2
        return value - excess if value > 0 else value + excess
    delay = min(_DELAY * ((WIN - size) % MARGIN), _MAX_DELAY)
    return 1.0 - delay if score > 0 else delay - 1.0
