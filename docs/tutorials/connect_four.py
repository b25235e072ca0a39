"""Connect Four on 6 rows of 7: whoever has four discs in a line wins; a full board is a draw.

Position  own, enemy: the discs as bits 7r + c, row 0 at the top; player: 0 or 1
Action    0 to 6: the column into which a disc falls
"""

# part: tables
from typing import NamedTuple

import numpy as np

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, table_sum
from cc_env.core.game import Game, Grid, symmetry
from cc_env.core.rules import DRAW, ONGOING
from cc_env.jit.compiler import jit

ROWS, COLUMNS = 6, 7
LETTERS = "abcdefg"
CELLS = [(row, column) for row in range(ROWS) for column in range(COLUMNS)]
ALL = np.uint64(2 ** len(CELLS) - 1)
# Distance to the cell below.
DOWN = np.uint64(COLUMNS)
# Rows and columns to the next cell of a line.
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def line(row, column, down, right):
    """Return the cells of the line of four that begins here, if it is on the board."""
    cells = [(row + n * down, column + n * right) for n in range(4)]
    return cells if set(cells) <= set(CELLS) else []


STEPS = np.array([COLUMNS * down + right for down, right in DIRECTIONS], np.uint64)
# For each direction the set of cells where a line of four begins.
STARTS = np.array(  # [4]
    [sum(1 << bit for bit, cell in enumerate(CELLS) if line(*cell, *step)) for step in DIRECTIONS],
    np.uint64,
)
# Number of lines of four through each cell.
LINES = np.zeros(64, np.int64)
for start in CELLS:
    for step in DIRECTIONS:
        for row, column in line(*start, *step):
            LINES[COLUMNS * row + column] += 1


# part: position
class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64


# part: moves
@jit
def legal_actions(position, out):
    count = 0
    for column in range(COLUMNS):
        if not (position.own | position.enemy) >> np.uint64(column) & ONE:
            out[count] = column
            count += 1
    return count


@jit
def apply(position, action):
    occupied = position.own | position.enemy
    disc = ONE << np.uint64(action)
    while disc << DOWN & ALL & ~occupied:
        disc <<= DOWN
    return Position(position.enemy, position.own | disc, position.player ^ ONE)


# part: outcome
@jit
def has_four(discs):
    for direction in range(len(STEPS)):
        step = STEPS[direction]
        pairs = discs & discs >> step
        if pairs & pairs >> (step + step) & STARTS[direction]:
            return True
    return False


@jit
def outcome(position):
    if has_four(position.enemy):
        return 1 - np.int64(position.player)
    is_full = position.own | position.enemy == ALL
    return np.int64(DRAW) if is_full else np.int64(ONGOING)


# part: observe
@jit
def observe(position, player, planes):
    own, enemy = position.own, position.enemy
    if player != np.int64(position.player):
        own, enemy = enemy, own
    for plane, cells in enumerate((own, enemy, ALL & ~(own | enemy))):
        for cell in range(ROWS * COLUMNS):
            planes[plane, cell // COLUMNS, cell % COLUMNS] = cells >> np.uint64(cell) & ONE


rules.register(Position, legal_actions=legal_actions, apply=apply, outcome=outcome, observe=observe)


# part: evaluation
class Chances(NamedTuple):
    """An evaluation: a disc counts the number of lines of four through its cell."""

    weight: np.int64 = np.int64(10)


@jit
def chances(position, player, evaluation):
    value = evaluation.weight * (table_sum(position.own, LINES) - table_sum(position.enemy, LINES))
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Chances, chances)


# part: game
class ConnectFour(Game):
    name = "connect_four"
    initial = Position(ZERO, ZERO, ZERO)
    grid = Grid(ROWS, COLUMNS)
    planes = "own discs", "enemy discs", "empty cells"
    players = "yellow", "red"
    # A disc is dropped into the top cell of its column.
    action_cells = np.arange(COLUMNS)
    symmetries = (symmetry("mirror", grid, lambda cell: (cell[0], 6 - cell[1]), action_cells),)
    column_labels = LETTERS
    endings = {"won": "four in a line", "draw": "the board is full"}
    evaluations = {"standard": Chances()}

    def action_text(self, position, action):
        return LETTERS[action]


make = ConnectFour
