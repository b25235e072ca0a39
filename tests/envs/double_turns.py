"""A game in which each player makes two turns in a row: take one to four from a heap of eight.

The player who takes the last one wins. The first player can win in its first two turns, before the
second one decides.
"""

from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Game, Grid
from cc_env.core.rules import ONGOING
from cc_env.jit.compiler import jit

HEAP = 8


class Position(NamedTuple):
    size: np.uint64
    turns: np.uint64


@jit
def to_move(position):
    return np.int64(position.turns >> ONE & ONE)


@jit
def legal_actions(position, out):
    count = min(np.int64(position.size), 4)
    for action in range(count):
        out[action] = action
    return count


@jit
def apply(position, action):
    return Position(position.size - np.uint64(action + 1), position.turns + ONE)


@jit
def outcome(position):
    return ONGOING if position.size else np.int64((position.turns - ONE) >> ONE & ONE)


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
    to_move=to_move,
)


class DoubleTurns(Game):
    name = "double_turns"
    initial = Position(np.uint64(HEAP), ZERO)
    grid = Grid(1, 4)
    planes = tuple(f"{size} left" for size in range(HEAP + 1))
    players = "one", "two"

    def to_text(self, position):
        return f"{position.size} {position.turns}"

    def parse_position(self, text):
        return Position(*map(np.uint64, text.split()))

    def action_text(self, position, action):
        return str(action + 1)

    def pieces(self, position):
        return {}
