"""Symmetries of boards that preserve the rules, for data augmentation.

Shapes: A actions, H rows and W columns of the board, C planes of an observation.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cc_env.core.grid import Cell, Grid
from cc_env.core.rules import Position


class Symmetry(NamedTuple):
    """A rotation or reflection of the board that preserves the rules.

    It maps a position `p` to `position(p)`, an action `a` to `actions[a]`, and an observation `o`
    to `o.reshape(C, -1)[:, cells].reshape(C, H, W)`.
    """

    name: str
    position: Callable[[Position], Position]
    actions: NDArray[np.int32]  # [A]
    cells: NDArray[np.int64]  # [H * W]


def symmetry(
    name: str,
    grid: Grid,
    image: Callable[[Cell], Cell],
    action_cells: ArrayLike | None = None,
) -> Symmetry:
    """Return the symmetry that maps each cell in use to its `image`, in the mover's frame.

    The game's positions must have all their sets of cells in the fields `own` and `enemy`. An
    action is mapped to the action on the images of its cells (`action_cells`, int64[A, 2] or
    int64[A], as in `Game`). Actions that share their cells are mapped in ascending order.
    """
    ends = grid.ends(() if action_cells is None else action_cells)
    bits = {bit: grid.bits[image(cell)] for cell, bit in grid.bits.items()}

    def map_set(cells: np.uint64) -> np.uint64:
        return np.uint64(sum(1 << target for bit, target in bits.items() if int(cells) >> bit & 1))

    def map_position(position: Position) -> Position:
        return position._replace(own=map_set(position.own), enemy=map_set(position.enemy))

    size = grid.rows * grid.columns
    # The last element stands for actions without a cell.
    images = np.arange(size + 1)
    for row, column in grid.bits:
        images[row * grid.columns + column] = np.dot(image((row, column)), (grid.columns, 1))
    actions_on: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for action, cells in enumerate(ends.tolist()):
        actions_on[tuple(cells)].append(action)
    action_map = np.empty(len(ends), np.int32)
    for cells, actions in actions_on.items():
        action_map[actions] = actions_on[tuple(images[list(cells)].tolist())]
    return Symmetry(name, map_position, action_map, np.argsort(images[:size]))
