"""What every legal action is worth by the evaluation at the end of the turn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.compile import jit
from cc_env.game import Game
from cc_env.rules import ONGOING, Int, Position
from cc_env.search.scores import INFINITE, final


def scores(game: Game, position: Position, evaluation: Any) -> tuple[list[int], list[int]]:
    """Return the legal actions and the score of each to the player to move.

    Raises IllegalAction where the game is over.
    """
    game.choices(position)
    free, found = np.empty(4 * game.num_actions, np.int32), np.empty(game.num_actions, np.int64)
    player = np.int64(game.to_move(position))
    count = _score(position, player, evaluation, free, found)
    return free[:count].tolist(), found[:count].tolist()


@jit(nogil=True)
def _score(
    position: Position,
    player: Int,
    evaluation: Any,
    free: NDArray[np.int32],
    found: NDArray[np.int64],
) -> int:
    """List the legal actions in `free` and their scores in `found`; return how many."""
    count = rules.legal_actions(position, free)
    for index in range(count):
        after = rules.apply(position, np.int64(free[index]))
        found[index] = _turn_score(after, player, evaluation, free[count:])
    return count


@jit
def _turn_score(position: Position, player: Int, evaluation: Any, free: NDArray[np.int32]) -> Int:
    """Return the score to `player` if he ends his turn, where it is not yet over, as he can best.

    `free` is room for lists of actions.
    """
    result = rules.outcome(position)
    if result != ONGOING:
        return final(position, result, player, np.int64(1))
    if not rules.mid_turn(position):
        return np.int64(rules.evaluate(position, player, evaluation))
    best: Int = np.int64(-INFINITE)
    count = rules.legal_actions(position, free)
    for index in range(count):
        after = rules.apply(position, np.int64(free[index]))
        best = max(best, _turn_score(after, player, evaluation, free[count:]))
    return best
