"""Breakthrough on 6×6: whoever reaches the far row, or takes all enemy pieces, wins.

Position  own, enemy: the pieces as bits 6r + c, in the frame of the player to move, who goes
          toward row 0; player: 0 or 1
Action    ids ascending by start, then by end: one row up, straight or diagonal
"""

# part: tables
from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, popcount, reverse_bits
from cc_env.core.game import Game, Grid
from cc_env.core.rules import ONGOING
from cc_env.jit.compiler import jit

SIZE = 6
# Start and end of each action.
MOVES = np.array(  # [A, 2]
    [
        (SIZE * row + column, SIZE * (row - 1) + column + side)
        for row in range(1, SIZE)
        for column in range(SIZE)
        for side in (-1, 0, 1)
        if 0 <= column + side < SIZE
    ]
)
# The opponent's goal.
LAST_ROW = np.uint64(0b111111 << 30)
UNUSED = np.uint64(64 - SIZE * SIZE)


# part: position
class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64


# part: rules
@jit
def legal_actions(position, out):
    count = 0
    for action in range(len(MOVES)):
        start, end = MOVES[action]
        if not position.own >> np.uint64(start) & ONE or position.own >> np.uint64(end) & ONE:
            continue
        is_straight = start - end == SIZE
        if is_straight and position.enemy >> np.uint64(end) & ONE:
            continue
        out[count] = action
        count += 1
    return count


@jit
def apply(position, action):
    start, end = ONE << np.uint64(MOVES[action, 0]), ONE << np.uint64(MOVES[action, 1])
    own, enemy = position.own ^ start ^ end, position.enemy & ~end
    return Position(
        reverse_bits(enemy) >> UNUSED, reverse_bits(own) >> UNUSED, position.player ^ ONE
    )


@jit
def outcome(position):
    has_lost = position.enemy & LAST_ROW or not position.own
    return 1 - np.int64(position.player) if has_lost else np.int64(ONGOING)


@jit
def observe(position, player, planes):
    own, enemy = position.own, position.enemy
    if player != np.int64(position.player):
        own, enemy = reverse_bits(enemy) >> UNUSED, reverse_bits(own) >> UNUSED
    for plane, cells in enumerate((own, enemy)):
        for cell in range(SIZE * SIZE):
            planes[plane, cell // SIZE, cell % SIZE] = cells >> np.uint64(cell) & ONE


rules.register(Position, legal_actions=legal_actions, apply=apply, outcome=outcome, observe=observe)


# part: evaluation
class Material(NamedTuple):
    """An evaluation: each piece counts."""

    weight: np.int64 = np.int64(10)


@jit
def material(position, player, evaluation):
    value = evaluation.weight * (popcount(position.own) - popcount(position.enemy))
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Material, material)


# part: game
class Breakthrough(Game):
    name = "breakthrough"
    # Two rows of pieces each.
    initial = Position(own=np.uint64((2**12 - 1) << 24), enemy=np.uint64(2**12 - 1), player=ZERO)
    grid = Grid(SIZE, SIZE, is_turned=True)
    planes = "own pieces", "enemy pieces"
    players = "white", "black"
    action_cells = MOVES
    endings = {"won": "the far row is reached, or {loser} has no pieces"}
    evaluations = {"material": Material()}


make = Breakthrough
