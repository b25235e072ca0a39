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
LETTERS = "abcdefg"  # of the columns
CELLS = [(row, column) for row in range(ROWS) for column in range(COLUMNS)]
ALL = np.uint64(2 ** len(CELLS) - 1)
DOWN = np.uint64(COLUMNS)  # how far it is to the cell below
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows and columns to the next cell of a line


def line(row, column, down, right):
    """Return the cells of the line of four that begins here, if it is on the board."""
    cells = [(row + n * down, column + n * right) for n in range(4)]
    return cells if set(cells) <= set(CELLS) else []


STEPS = np.array([COLUMNS * down + right for down, right in WAYS], np.uint64)
STARTS = np.array(  # [4] for each way the set of cells where a line of four begins
    [sum(1 << bit for bit, cell in enumerate(CELLS) if line(*cell, *way)) for way in WAYS],
    np.uint64,
)
MEET = np.zeros(64, np.int64)  # how many lines of four go through each cell
for row, column in [cell for start in CELLS for way in WAYS for cell in line(*start, *way)]:
    MEET[COLUMNS * row + column] += 1


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
    taken = position.own | position.enemy
    disc = ONE << np.uint64(action)
    while disc << DOWN & ALL & ~taken:
        disc <<= DOWN
    return Position(position.enemy, position.own | disc, position.player ^ ONE)


# part: outcome
@jit
def has_four(discs):
    for way in range(len(STEPS)):
        step = STEPS[way]
        pairs = discs & discs >> step
        if pairs & pairs >> (step + step) & STARTS[way]:
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
    """An evaluation: a disc counts as much as lines of four go through its cell."""

    weight: np.int64 = np.int64(10)


@jit
def chances(position, player, evaluation):
    value = evaluation.weight * (table_sum(position.own, MEET) - table_sum(position.enemy, MEET))
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
