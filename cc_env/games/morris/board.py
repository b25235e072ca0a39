"""The board of morris, the cells of its actions and its symmetries."""

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Cell, Grid, Symmetry, symmetry
from cc_env.games.morris.rules import CELLS, SIZE

GRID = Grid(SIZE, SIZE, {cell: point for point, cell in enumerate(CELLS)})


def _action_cells() -> NDArray[np.int64]:
    cells = [SIZE * row + column for row, column in CELLS]
    moves = [(start, end) for start in cells for end in cells]
    return np.array([*((cell, cell) for cell in cells), *moves], np.int64)


ACTION_CELLS = _action_cells()


@cache
def all_symmetries() -> tuple[Symmetry, ...]:
    """Return the symmetries of the board without the identity."""
    turns: dict[str, Callable[[int, int], Cell]] = {
        "": lambda row, column: (row, column),
        "turned": lambda row, column: (column, SIZE - 1 - row),
        "turned twice": lambda row, column: (SIZE - 1 - row, SIZE - 1 - column),
        "turned back": lambda row, column: (SIZE - 1 - column, row),
    }
    symmetries = []
    for turned, mirrored, swapped in product(turns, ("", "mirrored"), ("", "inside out")):
        image = {}
        for cell in CELLS:
            row, column = cell[::-1] if mirrored else cell
            row, column = _inside_out(row, column) if swapped else (row, column)
            image[cell] = turns[turned](row, column)
        name = ", ".join(filter(None, (turned, mirrored, swapped)))
        symmetries.append(symmetry(name, GRID, image.__getitem__, ACTION_CELLS))
    return tuple(symmetries[1:])


def _inside_out(row: int, column: int) -> Cell:
    """Return the point of the other ring in the same direction from the middle."""
    middle = SIZE // 2
    down, right = row - middle, column - middle
    ring = max(abs(down), abs(right))
    return middle + down * (4 - ring) // ring, middle + right * (4 - ring) // ring
