"""The labels of a board, in the readable notation of its game."""

import re
from typing import NamedTuple

from cc_env.core.game import Game


class EdgeLabels(NamedTuple):
    """The labels of all rows and of all columns."""

    rows: list[str]
    columns: list[str]


def edge_labels(game: Game) -> EdgeLabels | None:
    """Return the labels of rows and columns; None if points or numbered cells have names instead.

    They are those of cells such as a1 or, if cells have no names, `row_labels` and `column_labels`.
    """
    names = game.readable_cell_names
    if game.cell_names:
        return None
    if not names:
        return EdgeLabels(list(game.row_labels), list(game.column_labels))
    if not all(re.fullmatch("[a-z][0-9]+", name) for name in names.values()):
        return None
    return EdgeLabels(
        [names[row, 0][1:] for row in range(game.grid.rows)],
        [names[0, column][0] for column in range(game.grid.columns)],
    )


def runs_upward(game: Game) -> bool:
    """Return whether row 0 is the lowest one, since it contains a1."""
    return game.readable_cell_names.get((0, 0)) == "a1"


def row_order(game: Game) -> list[int]:
    """Return the rows from the top."""
    rows = list(range(game.grid.rows))
    return rows[::-1] if runs_upward(game) else rows
