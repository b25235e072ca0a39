"""The board of Cannon and its pieces, and the cells and texts of actions.

Shapes: A actions.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Cell, Grid
from cc_env.games.cannon import rules
from cc_env.games.cannon.rules import Position

# Soldiers and halls of black and of white.
LETTERS = "bB", "wW"
# As Python integers, which are faster to index than an array.
_NUM_MOVES: list[int] = rules.NUM_MOVES.tolist()


@cache
def grid(shape: int) -> Grid:
    """Return the cells of the board of this shape, and their bits."""
    rows, columns = rules.SHAPES[shape]
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return Grid(rows, columns, {cell: rules.index(cell) for cell in cells}, is_turned=True)


@cache
def algebraic_names(shape: int) -> Mapping[Cell, str]:
    """Return the readable names of the cells; a1 is the left one of the lowest row."""
    rows, _ = rules.SHAPES[shape]
    return {(r, c): f"{ascii_lowercase[c]}{rows - r}" for r, c in grid(shape).bits}


@cache
def action_cells(shape: int) -> NDArray[np.int64]:
    """Return the start and the end of each action, int64[A, 2]; both are the cell of a bomb."""
    num_actions, columns = int(rules.NUM_ACTIONS[shape]), rules.SHAPES[shape][1]
    ends = np.stack((rules.STARTS[shape], rules.ENDS[shape]), 1)[:num_actions]
    cells: NDArray[np.int64] = ends // rules.STRIDE * columns + ends % rules.STRIDE
    return cells


def cell_set(position: Position, field: str) -> int:
    """Return a set of cells of the position, such as own_halls, as one integer."""
    low, high = getattr(position, f"{field}_low"), getattr(position, f"{field}_high")
    return int(low) | int(high) << 64


def _board_cell(position: Position, bit: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return grid(int(position.shape)).cell(bit, int(position.player))


# Cached for lists of actions, each of which needs the pieces.
@lru_cache(maxsize=64)
def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: b and w for soldiers, B and W for halls."""
    letters = {}
    player = int(position.player)
    for side, owner in (("own", player), ("enemy", 1 - player)):
        for suffix, letter in zip(("", "_halls"), LETTERS[owner], strict=True):
            cells = cell_set(position, side + suffix)
            while cells:
                bit = cells.bit_length() - 1
                letters[_board_cell(position, bit)] = letter
                cells ^= 1 << bit
    return letters


def cell_text(cell: Cell) -> str:
    """Return the notation of a cell, column and row, such as "3 4"."""
    return f"{cell[1]} {cell[0]}"


def ends(position: Position, action: int) -> tuple[Cell, Cell]:
    """Return the cells where an action starts and ends, both the target of a bomb."""
    return _all_ends(int(position.shape), bool(position.player))[action]


@cache
def _all_ends(shape: int, is_turned: bool) -> tuple[tuple[Cell, Cell], ...]:
    bits = np.stack((rules.STARTS[shape], rules.ENDS[shape]), 1)[: rules.NUM_ACTIONS[shape]]
    pairs = (int(rules.LAST[shape]) - bits if is_turned else bits).tolist()
    return tuple((divmod(start, rules.STRIDE), divmod(end, rules.STRIDE)) for start, end in pairs)


def move_text(position: Position, action: int) -> str:
    """Return the notation of a move, S x y M x y."""
    start, end = ends(position, action)
    return f"S {cell_text(start)} M {cell_text(end)}"


def is_bomb(position: Position, action: int) -> bool:
    """Return whether an action is a bomb."""
    return action >= _NUM_MOVES[position.shape]


# Cached for lists of actions, which need the result several times for each of them.
@lru_cache(maxsize=256)
def shooters(position: Position, action: int) -> tuple[Cell, ...]:
    """Return the soldiers of the cannons that can hit the cell of a bomb, in order."""
    own = cell_set(position, "own")
    enemies = cell_set(position, "enemy") | cell_set(position, "enemy_halls")
    occupied = own | cell_set(position, "own_halls") | enemies
    soldiers: set[int] = set()
    for gap, cannon in _shots(int(position.shape), int(rules.ENDS[position.shape, action])):
        empty = gap if position.options & rules.BOMB_CLEAR else gap[-1:]
        is_clear = not any(occupied >> bit & 1 for bit in empty)
        if is_clear and all(own >> bit & 1 for bit in cannon):
            soldiers.update(cannon)
    return tuple(sorted(_board_cell(position, bit) for bit in soldiers))


@cache
def _shots(shape: int, target: int) -> tuple[tuple[list[int], list[int]], ...]:
    """Return for each possible shot at a cell the cells in between, and those of the cannon."""
    (rows, columns), (row, column) = rules.SHAPES[shape], divmod(target, rules.STRIDE)
    shots = []
    for down, right in rules.DIRECTIONS:
        for distance in (2, 3):
            line = [(row + down * n, column + right * n) for n in range(1, distance + 3)]
            if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                bits = [rules.index(cell) for cell in line]
                shots.append((bits[: distance - 1], bits[distance - 1 :]))
    return tuple(shots)
