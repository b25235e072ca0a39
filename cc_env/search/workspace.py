"""The workspace of alpha-beta: buffers and counters that a search writes to, besides its table.

Shapes: P = PLIES; A = the number of actions, rounded up to a power of two and at least 2048;
F = the number of fields of a position.
"""

from typing import Any, NamedTuple

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Int
from cc_env.search.transposition import Table

MAX_PLIES = 128  # decisions on the longest path
MAX_DEPTH = 100  # turns

# Indices of `counts`. DEPTH is the current iteration, DONE the last completed one; VALUE is that of
# the best line so far, LATEST_VALUE that of the current iteration; MARGINS is the game's
# `max_margin`; CUT_SHORT counts the values that were not searched to the end of the game;
# SELECTIVE is 1 if late actions are searched less deeply at first.
NODES, CUTS_MAX, CUTS_MIN, STOP, MAX_NODES, DEPTH, COMPLETED_DEPTH, ROOT_PLAYER = range(8)
AGE, SALT, VALUE, LATEST_VALUE, MARGINS, TRUNCATED, SELECTIVE = range(8, 15)

ACTION, RANK, ROW = range(3)  # columns of `actions`


class Context(NamedTuple):
    """What every node of a search shares."""

    table: Table
    workspace: Any  # a record, see `make_workspace`
    evaluation: Any  # weights, a NamedTuple
    ordering: Any  # those of the evaluation that orders actions
    tables: Any  # exact values, see `cc_env.tablebase.lookup`


def make_workspace(game: Game) -> Any:
    """Return the workspace as a NumPy record, which compiled code passes on as one pointer.

    A does not depend on the size of the board, unless that has more than 2048 actions, so all sizes
    of a game share one type and the search is compiled once.
    """
    actions = max(2048, 1 << (game.num_actions - 1).bit_length())
    layout = [
        ("positions", np.uint64, (MAX_PLIES * actions, len(game.initial))),  # [P*A, F]: successors
        (
            "actions",
            np.int64,
            (MAX_PLIES * actions, 3),
        ),  # [P*A, 3]: action, rank, row of `positions`
        ("legal", np.int32, (actions,)),  # [A]: buffer for `legal_actions`
        ("tactical", np.int32, (MAX_PLIES * actions,)),  # [P*A]: buffer for `tactical_actions`
        ("path", np.uint64, (MAX_PLIES,)),  # [P]: keys from the root to the node
        ("killers", np.int64, (MAX_PLIES, 2)),  # [P, 2]: last two actions that caused a cutoff
        ("history", np.int64, (2, actions)),  # [2, A]: sum of depth**2 over cutoffs, by player
        (
            "lines",
            np.int32,
            (MAX_PLIES, MAX_PLIES),
        ),  # [P, P]: principal variation from each ply, then NONE
        ("counts", np.int64, (15,)),  # counters and limits, see the indices above
    ]
    return np.zeros(1, np.dtype(layout))[0]


class Frame(NamedTuple):
    """The depth and window of a node (fail-soft: outside of the window its value is a bound)."""

    depth: Int  # turns left to search
    ply: Int  # decisions from the root
    alpha: Int
    beta: Int
