"""Ways to turn or mirror a board that keep the rules, for data augmentation.

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
    """A way to turn or mirror the board that keeps the rules.

    It takes a position `p` to `position(p)`, an action `a` to `actions[a]`, and the planes `o` of
    an observation to `o.reshape(C, -1)[:, cells].reshape(C, H, W)`.
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
    """Return the symmetry that takes each cell in use to its `image`, in the mover's frame.

    For games whose positions have their sets of cells in the fields `own` and `enemy`. An action
    goes to the one with the images of its cells (`action_cells`, int64[A, 2] or int64[A], as in
    `Game`); where several share those, to the one in the same place among them.
    """
    ends = grid.ends(() if action_cells is None else action_cells)
    bits = {bit: grid.bits[image(cell)] for cell, bit in grid.bits.items()}

    def moved(cells: np.uint64) -> np.uint64:
        return np.uint64(sum(1 << to for bit, to in bits.items() if int(cells) >> bit & 1))

    def position(position: Position) -> Position:
        return position._replace(own=moved(position.own), enemy=moved(position.enemy))

    size = grid.rows * grid.columns
    to = np.arange(size + 1)  # the last is for actions without a cell
    for row, column in grid.bits:
        to[row * grid.columns + column] = np.dot(image((row, column)), (grid.columns, 1))
    sharing: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for action, cells in enumerate(ends.tolist()):
        sharing[tuple(cells)].append(action)
    actions = np.empty(len(ends), np.int32)
    for shared, there in sharing.items():
        actions[there] = sharing[tuple(to[list(shared)].tolist())]
    return Symmetry(name, position, actions, np.argsort(to[:size]))
