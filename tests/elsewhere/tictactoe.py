"""Tic-tac-toe, as a package outside of cc_env would add it: three in a row on 3 by 3 cells.

Position  own, enemy: the marks as bits 3r + c; player: 0 or 1
Action    0 to 8: the cell that is marked
"""

from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, popcount, table_sum
from cc_env.core.game import Game, Grid, symmetry
from cc_env.core.rules import DRAW, ONGOING
from cc_env.jit.compiler import jit
from cc_env.verification.recordings import Recording

ALL = np.uint64(0b111111111)
LINES = np.array([0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124], np.uint64)
LINES_THROUGH = np.array([3, 2, 3, 2, 4, 2, 3, 2, 3] + 55 * [0])


class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64


@jit
def legal_actions(position, out):
    count = 0
    for cell in range(9):
        if not (position.own | position.enemy) >> np.uint64(cell) & ONE:
            out[count] = cell
            count += 1
    return count


@jit
def apply(position, action):
    marked = position.own | ONE << np.uint64(action)
    return Position(position.enemy, marked, position.player ^ ONE)


@jit
def outcome(position):
    for line in LINES:
        if position.enemy & line == line:
            return 1 - np.int64(position.player)
    return np.int64(DRAW) if position.own | position.enemy == ALL else np.int64(ONGOING)


@jit
def observe(position, player, planes):
    own, enemy = position.own, position.enemy
    if player != np.int64(position.player):
        own, enemy = enemy, own
    for plane, cells in enumerate((own, enemy, ALL & ~(own | enemy))):
        for cell in range(9):
            planes[plane, cell // 3, cell % 3] = cells >> np.uint64(cell) & ONE


rules.register(Position, legal_actions=legal_actions, apply=apply, outcome=outcome, observe=observe)


class Chances(NamedTuple):
    """An evaluation: lines that only one side can fill, and marks by the lines through them."""

    weight: np.int64 = np.int64(10)


@jit
def chances(position, player, evaluation):
    value = np.int64(0)
    for line in LINES:
        if not position.enemy & line:
            value += 1 + popcount(position.own & line)
        if not position.own & line:
            value -= 1 + popcount(position.enemy & line)
    value *= evaluation.weight
    value += table_sum(position.own, LINES_THROUGH) - table_sum(position.enemy, LINES_THROUGH)
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Chances, chances)


class TicTacToe(Game):
    name = "elsewhere.tictactoe"
    initial = Position(ZERO, ZERO, ZERO)
    grid = Grid(3, 3)
    planes = "own", "enemy", "empty"
    players = "x", "o"
    symmetries = (symmetry("mirror", grid, lambda cell: (cell[0], 2 - cell[1])),)
    endings = {"won": "three in a row", "draw": "the board is full"}
    evaluations = {"standard": Chances()}


make = TicTacToe


def read_recordings(line):
    game = make()
    yield Recording(game, game.from_text(line["board"]), counts=tuple(line["counts"]))
