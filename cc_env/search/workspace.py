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
        # Counters: visited positions, cutoffs at nodes of the root player and of the opponent, and
        # values that were not searched to the end of the game.
        *((name, np.int64) for name in ("nodes", "cuts_max", "cuts_min", "truncated")),
        # The current iteration and the last completed one, in turns; the value of the current
        # iteration and that of the best line so far.
        *((name, np.int64) for name in ("depth", "completed_depth", "latest_value", "value")),
        # Limits: the number of positions, and 1 to stop the search.
        *((name, np.int64) for name in ("max_nodes", "stop")),
        # The player at the root, the game's `max_margin`, and 1 for a selective search.
        *((name, np.int64) for name in ("root_player", "max_margin", "is_selective")),
        # The number of the search, and its age in the transposition table.
        *((name, np.int64) for name in ("salt", "age")),
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
