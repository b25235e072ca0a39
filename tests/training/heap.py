"""A game for learning tests: take one to three from a heap; the player who takes the last one wins.

Leaving a multiple of four wins, so the best action of every position is known.
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
    size: np.uint64
    player: np.uint64


@jit
def legal_actions(position, out):
    count = min(np.int64(position.size), 3)
    for action in range(count):
        out[action] = action
    return count


@jit
def apply(position, action):
    return Position(position.size - np.uint64(action + 1), position.player ^ ONE)


@jit
def outcome(position):
    return ONGOING if position.size else 1 - np.int64(position.player)


@jit
def observe(position, player, planes):
    planes[:] = 0
    planes[np.int64(position.size)] = 1


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
    planes = tuple(f"{size} left" for size in range(HEAP + 1))
    players = "one", "two"

    def to_text(self, position):
        return f"{position.size} {position.player}"

    def parse_position(self, text):
        return Position(*map(np.uint64, text.split()))

    def action_text(self, position, action):
        return str(action + 1)

    def pieces(self, position):
        return {}


make = Heap


def share_of_best(choose):
    """Return the fraction of winning positions in which `choose` returns the best action."""
    sizes = [size for size in range(1, HEAP + 1) if size % 4]
    is_best = [choose(Position(np.uint64(size), ZERO)) == size % 4 - 1 for size in sizes]
    return sum(is_best) / len(is_best)
