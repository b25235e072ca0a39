"""A toy game for quiescence, in which every capture can be answered by a recapture.

The player to move waits (action 0) or, while captures are left, captures (action 1) and gains
GAINS[captures_left] points. The game is drawn after eight turns; only the evaluation, the
difference of points, distinguishes positions.
"""

from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Game, Grid
from cc_env.core.rules import DRAW, ONGOING
from cc_env.jit.compiler import jit

GAINS = np.array([0, 2, 9, 3], np.uint64)


class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    captures_left: np.uint64
    player: np.uint64
    turns: np.uint64


class Points(NamedTuple):
    value: np.int64 = np.int64(100)


@jit
def legal_actions(position, out):
    out[0] = 0
    out[1] = 1
    return 2 if position.captures_left else 1


@jit
def tactical_actions(position, out):
    out[0] = 1
    return 1 if position.captures_left else 0


@jit
def apply(position, action):
    own, captures_left = position.own, position.captures_left
    if action == 1:
        own, captures_left = own + GAINS[captures_left], captures_left - ONE
    return Position(position.enemy, own, captures_left, position.player ^ ONE, position.turns + ONE)


@jit
def outcome(position):
    return DRAW if position.turns >= np.uint64(8) else ONGOING


@jit
def observe(position, player, planes):
    planes[:] = 0


@jit
def evaluate(position, player, evaluation):
    lead = evaluation.value * (np.int64(position.own) - np.int64(position.enemy))
    return lead if player == np.int64(position.player) else -lead


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    outcome=outcome,
    observe=observe,
    tactical_actions=tactical_actions,
)
rules.register_evaluation(Position, Points, evaluate)


class Exchange(Game):
    name = "exchange"
    initial = Position(ZERO, ZERO, np.uint64(3), ZERO, ZERO)
    grid = Grid(1, 2)
    planes = ("nothing",)
    players = "one", "two"
    evaluations = {"points": Points()}

    def to_text(self, position):
        return repr(position)

    def parse_position(self, text):
        return None

    def pieces(self, position):
        return {}


make = Exchange
