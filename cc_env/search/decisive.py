"""Wins within the turn that is being played, which may take several decisions, in compiled code.

They are the "decisive moves" of Teytaud and Teytaud, "On the huge benefit of decisive moves in
Monte-Carlo tree search algorithms", 2010, for games whose turns take several decisions.

Shapes: D = MAX_DECISIONS, A = `num_actions`.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit

# Limits of the search within one turn.
MAX_DECISIONS, MAX_POSITIONS = 32, 4096
# Number of decisions to the win if there is none.
NO_WIN = 1 << 20


def make_buffer(num_actions: int) -> NDArray[np.int32]:
    """Return a buffer for `winning_action`, int32[D, A]."""
    return np.empty((MAX_DECISIONS, num_actions), np.int32)


@jit
def winning_action(position: Position, legal: NDArray[np.int32], count: Int) -> tuple[Int, Int]:
    """Return the action that wins within this turn in the fewest decisions, and their number.

    They are -1 and NO_WIN if there is none. `legal`, int32[D, A], begins with the row of the
    `count` legal actions; the other rows are overwritten.
    """
    player = np.int64(rules.to_move(position))
    action, decisions, _ = _search(position, player, legal, count, np.int64(MAX_POSITIONS))
    return action, decisions


@jit
def decisions_to_win(position: Position, legal: NDArray[np.int32]) -> Int:
    """Return the fewest decisions in which the player to move wins within its turn, or NO_WIN.

    `legal`, int32[D, A], is overwritten.
    """
    count = np.int64(rules.legal_actions(position, legal[0]))
    return winning_action(position, legal, count)[1]


@jit
def _search(
    position: Position, player: Int, legal: NDArray[np.int32], count: Int, budget: Int
) -> tuple[Int, Int, Int]:
    """Return the result of `winning_action`, and the rest of the budget of positions."""
    best: Int = np.int64(-1)
    fewest: Int = np.int64(NO_WIN)
    for index in range(count):
        action = np.int64(legal[0, index])
        after = rules.apply(position, action)
        if rules.outcome(after) == player:
            return action, np.int64(1), budget
        if rules.mid_turn(after) and budget > 0 and len(legal) > 1:
            inner = np.int64(rules.legal_actions(after, legal[1]))
            _, decisions, budget = _search(after, player, legal[1:], inner, budget - inner)
            if decisions + 1 < fewest:
                best, fewest = action, decisions + 1
    return best, fewest, budget
