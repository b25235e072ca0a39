"""The board of Cannon and its pieces, and the cells and texts of actions.

Shapes: A actions.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Cell, Grid
from cc_env.games.cannon.rules import (
    BOMB_CLEAR,
    DIRECTIONS,
    ENDS,
    LAST,
    NUM_ACTIONS,
    NUM_MOVES,
    SHAPES,
    STARTS,
    STRIDE,
    Position,
    index,
)

# Soldiers and halls of black and of white.
LETTERS = "bB", "wW"
# As Python integers, which are faster to index than an array.
_NUM_MOVES: list[int] = NUM_MOVES.tolist()


@cache
def grid(shape: int) -> Grid:
    """Return the cells of the board of this shape, and their bits."""
    rows, columns = SHAPES[shape]
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return Grid(rows, columns, {cell: index(cell) for cell in cells}, is_turned=True)


@cache
def action_cells(shape: int) -> NDArray[np.int64]:
    """Return the start and the end of each action, int64[A, 2]; both are the cell of a bomb."""
    num_actions, columns = int(NUM_ACTIONS[shape]), SHAPES[shape][1]
    ends = np.stack((STARTS[shape], ENDS[shape]), 1)[:num_actions]
    cells: NDArray[np.int64] = ends // STRIDE * columns + ends % STRIDE
    return cells


def cell_set(position: Position, field: str) -> int:
    """Return a set of cells of the position, such as own_halls, as one integer."""
    low, high = getattr(position, f"{field}_low"), getattr(position, f"{field}_high")
    return int(low) | int(high) << 64


def _board_cell(position: Position, bit: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return grid(int(position.shape)).cell(bit, int(position.player))


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: b and w for soldiers, B and W for halls."""
    player, letters = int(position.player), {}
    for side, owner in (("own", player), ("enemy", 1 - player)):
        for suffix, letter in zip(("", "_halls"), LETTERS[owner], strict=True):
            cells = cell_set(position, side + suffix)
            while cells:
                bit = cells.bit_length() - 1
                letters[_board_cell(position, bit)] = letter
                cells ^= 1 << bit
    return letters


# Cached for lists of actions, which need the same result for each of them.
@lru_cache(maxsize=64)
def enemy_cells(position: Position) -> frozenset[Cell]:
    """Return the cells of the opponent's soldiers and halls."""
    letters = LETTERS[1 - int(position.player)]
    return frozenset(cell for cell, letter in pieces(position).items() if letter in letters)


def action_text(position: Position, action: int) -> str:
    """Return S x y M x y for a move, S x y B x y for a bomb by the first soldier that can."""
    if not is_bomb(position, action):
        return _move_texts(int(position.shape), bool(position.player))[action]
    end, soldiers = ends(position, action)[1], shooters(position, action)
    return _bomb_text(soldiers[0], end) if soldiers else f"B {_xy(end)}"


def alternative_texts(position: Position, action: int) -> Iterator[str]:
    """Yield the texts of a bomb by each other soldier of the cannons."""
    end = ends(position, action)[1]
    for soldier in shooters(position, action)[1:]:
        yield _bomb_text(soldier, end)


def _bomb_text(soldier: Cell, target: Cell) -> str:
    return f"S {_xy(soldier)} B {_xy(target)}"


def _xy(cell: Cell) -> str:
    row, column = cell
    return f"{column} {row}"


def ends(position: Position, action: int) -> tuple[Cell, Cell]:
    """Return the cells where an action starts and ends, both the target of a bomb."""
    return _all_ends(int(position.shape), bool(position.player))[action]


@cache
def _all_ends(shape: int, is_turned: bool) -> tuple[tuple[Cell, Cell], ...]:
    bits = np.stack((STARTS[shape], ENDS[shape]), 1)[: NUM_ACTIONS[shape]]
    pairs = (int(LAST[shape]) - bits if is_turned else bits).tolist()
    return tuple((divmod(start, STRIDE), divmod(end, STRIDE)) for start, end in pairs)


@cache
def _move_texts(shape: int, is_turned: bool) -> tuple[str, ...]:
    moves = _all_ends(shape, is_turned)[: _NUM_MOVES[shape]]
    return tuple(f"S {_xy(start)} M {_xy(end)}" for start, end in moves)


def is_bomb(position: Position, action: int) -> bool:
    """Return whether an action is a bomb."""
    return action >= _NUM_MOVES[position.shape]


def shooters(position: Position, action: int) -> tuple[Cell, ...]:
    """Return the soldiers of the cannons that can hit a bomb's cell, in order; none for a move."""
    return _shooters(position, action) if is_bomb(position, action) else ()


# Cached for lists of actions, which need the result several times for each of them.
@lru_cache(maxsize=256)
def _shooters(position: Position, action: int) -> tuple[Cell, ...]:
    own = cell_set(position, "own")
    enemies = cell_set(position, "enemy") | cell_set(position, "enemy_halls")
    occupied = own | cell_set(position, "own_halls") | enemies
    soldiers: set[int] = set()
    for gap, cannon in _shots(int(position.shape), int(ENDS[position.shape, action])):
        empty = gap if position.options & BOMB_CLEAR else gap[-1:]
        is_clear = not any(occupied >> bit & 1 for bit in empty)
        if is_clear and all(own >> bit & 1 for bit in cannon):
            soldiers.update(cannon)
    return tuple(sorted(_board_cell(position, bit) for bit in soldiers))


@cache
def _shots(shape: int, target: int) -> tuple[tuple[list[int], list[int]], ...]:
    """Return for each possible shot at a cell the cells in between, and those of the cannon."""
    (rows, columns), (row, column) = SHAPES[shape], divmod(target, STRIDE)
    shots = []
    for down, right in DIRECTIONS:
        for distance in (2, 3):
            line = [(row + down * n, column + right * n) for n in range(1, distance + 3)]
            if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                bits = [index(cell) for cell in line]
                shots.append((bits[: distance - 1], bits[distance - 1 :]))
    return tuple(shots)
