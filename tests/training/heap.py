"""A toy game to learn: take one, two or three from a heap; who takes the last one wins.

Whoever leaves a multiple of four wins, so the best action is known everywhere.
"""

from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Game, Grid
from cc_env.core.rules import ONGOING
from cc_env.jit.compiler import jit

HEAP = 20


class Position(NamedTuple):
    left: np.uint64
    player: np.uint64


@jit
def legal_actions(position, out):
    count = min(np.int64(position.left), 3)
    for action in range(count):
        out[action] = action
    return count


@jit
def apply(position, action):
    return Position(position.left - np.uint64(action + 1), position.player ^ ONE)


@jit
def outcome(position):
    return ONGOING if position.left else 1 - np.int64(position.player)


@jit
def observe(position, player, planes):
    planes[:] = 0
    planes[np.int64(position.left)] = 1


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    outcome=outcome,
    observe=observe,
)


class Heap(Game):
    name = "heap"
    initial = Position(np.uint64(HEAP), ZERO)
    # One action for each cell.
    grid = Grid(1, 3)
    planes = tuple(f"{left} left" for left in range(HEAP + 1))
    players = "one", "two"

    def to_text(self, position):
        return f"{position.left} {position.player}"

    def parse_position(self, text):
        return Position(*map(np.uint64, text.split()))

    def action_text(self, position, action):
        return str(action + 1)

    def pieces(self, position):
        return {}


make = Heap


def share_of_best(choose):
    """Return how often `choose(position)` leaves a multiple of four where that is possible."""
    lefts = [left for left in range(1, HEAP + 1) if left % 4]
    best = [choose(Position(np.uint64(left), ZERO)) == left % 4 - 1 for left in lefts]
    return sum(best) / len(best)
