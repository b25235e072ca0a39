"""The workspace of alpha-beta: buffers and counters that a search writes to, besides its table.

Shapes: P = MAX_PLIES; A = the number of actions, rounded up to a power of two and at least 2048;
F = the number of fields of a position.
"""

from typing import Any, NamedTuple

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Int
from cc_env.search.transposition import Table

# Decisions on the longest path.
MAX_PLIES = 128
# Turns.
MAX_DEPTH = 100

# Indices of `counts`. DEPTH is the current iteration, COMPLETED_DEPTH the last completed one; VALUE
# is that of the best line so far, LATEST_VALUE that of the current iteration; MARGINS is the game's
# `max_margin`; TRUNCATED counts the values that were not searched to the end of the game;
# SELECTIVE is 1 in a selective search.
NODES, CUTS_MAX, CUTS_MIN, STOP, MAX_NODES, DEPTH, COMPLETED_DEPTH, ROOT_PLAYER = range(8)
AGE, SALT, VALUE, LATEST_VALUE, MARGINS, TRUNCATED, SELECTIVE = range(8, 15)

# Columns of `actions`.
ACTION, RANK, ROW = range(3)


class Context(NamedTuple):
    """The state shared by all nodes of a search."""

    table: Table
    # The buffers and counters, a NumPy record.
    workspace: Any
    # Weights of the evaluations of leaves and of move ordering, NamedTuples.
    evaluation: Any
    ordering: Any
    # Exact values of positions, NoTables or LoadedTables.
    tables: Any


def make_workspace(game: Game) -> Any:
    """Return the workspace as a NumPy record, which compiled code passes on as one pointer.

    A does not depend on the size of the board, unless that has more than 2048 actions, so all sizes
    of a game share one type and the search is compiled once.
    """
    actions = max(2048, 1 << (game.num_actions - 1).bit_length())
    layout = [
        # Successors of the listed actions.
        ("positions", np.uint64, (MAX_PLIES * actions, len(game.initial))),
        # Action, rank, row of `positions`.
        ("actions", np.int64, (MAX_PLIES * actions, 3)),
        # Buffers for `legal_actions` and `tactical_actions`.
        ("legal", np.int32, (actions,)),
        ("tactical", np.int32, (MAX_PLIES * actions,)),
        # Keys from the root to the node.
        ("path", np.uint64, (MAX_PLIES,)),
        # Last two actions that caused a cutoff, by ply.
        ("killers", np.int64, (MAX_PLIES, 2)),
        # Sum of depth**2 over the cutoffs of an action, by player.
        ("history", np.int64, (2, actions)),
        # Principal variation from each ply, padded with NO_ACTION.
        ("lines", np.int32, (MAX_PLIES, MAX_PLIES)),
        # Counters and limits, see the indices above.
        ("counts", np.int64, (15,)),
    ]
    return np.zeros(1, np.dtype(layout))[0]


class Frame(NamedTuple):
    """The depth and window of a node (fail-soft: outside of the window its value is a bound)."""

    # Turns still to be searched.
    depth: Int
    # Decisions from the root.
    ply: Int
    alpha: Int
    beta: Int
