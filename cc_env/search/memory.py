"""What alpha-beta remembers while it searches, besides its table: for each ply, and in all."""

from typing import Any, NamedTuple

import numpy as np

from cc_env.game import Game
from cc_env.rules import Int
from cc_env.search.table import Table

PLIES = 128  # decisions on the longest path
MOST_DEPTH = 100  # turns

# What `counts` holds.
NODES, CUTS_MAX, CUTS_MIN, STOP, MAX_DEPTH, MAX_NODES, DEPTH, DONE = range(8)
ROOT_PLAYER, AGE, SALT, VALUE, FOUND, MARGINS, CUT_SHORT = range(8, 15)

ACTION, RANK, ROW = range(3)  # columns of `actions`


class Tools(NamedTuple):
    """What alpha-beta works with: all that it writes to is in the first two, made once."""

    table: Table
    memory: Any  # a record, see `make`
    evaluation: Any


def make(game: Game) -> Any:
    """Return a record of arrays; compiled code passes it on as one pointer.

    Its type is the same for all sizes of a game, so that the search is compiled once for all.
    """
    actions = max(2048, 1 << (game.num_actions - 1).bit_length())
    layout = [
        ("positions", np.uint64, (PLIES * actions, len(game.initial))),  # after each action
        ("actions", np.int64, (PLIES * actions, 3)),  # action, rank, row of `positions`
        ("legal", np.int32, (actions,)),
        ("tactical", np.int32, (PLIES * actions,)),
        ("path", np.uint64, (PLIES,)),  # keys, from the root
        ("killers", np.int64, (PLIES, 2)),  # the last two actions that caused a cut-off
        ("history", np.int64, (2, actions)),  # how often and how high each did, by player
        ("lines", np.int32, (PLIES, PLIES)),  # principal variations from each ply, then NONE
        ("counts", np.int64, (15,)),
    ]
    return np.zeros(1, np.dtype(layout))[0]


class Frame(NamedTuple):
    """What is asked of a node: its value if between `alpha` and `beta`, else a bound of it."""

    depth: Int  # turns to look ahead
    ply: Int  # decisions from the root
    alpha: Int
    beta: Int
