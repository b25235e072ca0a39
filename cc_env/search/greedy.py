"""Greedy search: the score of every legal action, by the evaluation at the end of the turn.

A = `num_actions`; lists of actions for nested decisions take at most int32[4 * A].
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.search.scores import INFINITE, terminal_score


def score_actions(game: Game, position: Position, evaluation: Any) -> tuple[list[int], list[int]]:
    """Return the legal actions and their scores to the player to move.

    Raises IllegalAction if the game is over.
    """
    game.choices(position)
    buffer, values = np.empty(4 * game.num_actions, np.int32), np.empty(game.num_actions, np.int64)
    player = np.int64(game.to_move(position))
    count = write_scores(position, player, evaluation, buffer, values)
    return buffer[:count].tolist(), values[:count].tolist()


@jit(nogil=True)
def write_scores(
    position: Position,
    player: Int,
    evaluation: Any,
    buffer: NDArray[np.int32],
    values: NDArray[np.int64],
) -> int:
    """Write the legal actions to `buffer`, int32[4 * A], and their scores to `values`, int64[A].

    Return their number.
    """
    count = rules.legal_actions(position, buffer)
    for index in range(count):
        after = rules.apply(position, np.int64(buffer[index]))
        values[index] = _turn_score(after, player, evaluation, buffer[count:])
    return count


@jit
def _turn_score(position: Position, player: Int, evaluation: Any, buffer: NDArray[np.int32]) -> Int:
    """Return the score to `player` after the best completion of the turn.

    `buffer` is a buffer for nested lists of actions.
    """
    result = rules.outcome(position)
    if result != ONGOING:
        return terminal_score(position, result, player, np.int64(1))
    if not rules.mid_turn(position):
        return np.int64(rules.evaluate(position, player, evaluation))
    best: Int = np.int64(-INFINITE)
    count = rules.legal_actions(position, buffer)
    for index in range(count):
        after = rules.apply(position, np.int64(buffer[index]))
        best = max(best, _turn_score(after, player, evaluation, buffer[count:]))
    return best
