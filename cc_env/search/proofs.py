"""Proven wins and losses in the graphs of PUCT, compiled.

As in MCTS-Solver (Winands et al., "Monte-Carlo Tree Search Solver", 2008), a node is won if an
action leads to a loss of the opponent, and lost if all lead to a win. A win within the turn and an
exact value of tables are proofs, too, so such leaves need no evaluation by the network.
"""

from typing import Any

import numpy as np

from cc_env.core import rules
from cc_env.core.rules import ONGOING, Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.search import decisive
from cc_env.search.decisive import NO_WIN
from cc_env.search.forest import TERMINAL, Forest
from cc_env.tablebase.lookup import exact_value
from cc_env.tablebase.values import UNKNOWN, result_of, turns_of

# `proven` of a finished, won game; minus one for each decision before it.
PROVEN_WIN = 10_000


@jit
def set_terminal(position: Position, forest: Forest, tree: Int, index: Int) -> Bool:
    """Set the value of the new node `index` if it needs no network; return whether it was set.

    That is the case if the game is over, the turn can be won, or tables have the exact value. The
    root is evaluated unless the game is over, since its edges are the possible decisions.
    """
    node = forest.nodes[tree, index]
    outcome = rules.outcome(position)
    exact = exact_value(position, forest.tables) if outcome == ONGOING and index else UNKNOWN
    result: Int = np.int64(1)
    turns: Int = np.int64(0)
    if outcome != ONGOING:
        result = np.int64(rules.reward(outcome, np.int64(node["player"])))
    elif exact != UNKNOWN:
        result, turns = result_of(exact), turns_of(exact)
    else:
        turns = decisive.decisions_to_win(position, forest.legal) if index else NO_WIN
        if turns == NO_WIN:
            return False
    node["state"], node["value"] = TERMINAL, result
    node["proven"] = result * (PROVEN_WIN - turns)
    return True


@jit
def is_known_after_action(position: Position, forest: Forest) -> Bool:
    """Return whether the value of the position after an action of the root needs no network."""
    return bool(
        rules.outcome(position) != ONGOING
        or exact_value(position, forest.tables) != UNKNOWN
        or (rules.mid_turn(position) and decisive.decisions_to_win(position, forest.legal) < NO_WIN)
    )


@jit
def proven_to(player: Int, node: Any) -> Int:
    """Return the `proven` score of a node to a player: above 0 for a win."""
    proven = np.int64(node["proven"])
    return proven if node["player"] == player else -proven


@jit
def proven_at_root(forest: Forest, tree: Int, edge: Any) -> Int:
    """Return the `proven` score of a root's edge, to the root's player."""
    if edge["target"] < 0:
        return np.int64(0)
    player = np.int64(forest.nodes[tree, 0]["player"])
    return proven_to(player, forest.nodes[tree, edge["target"]])
