"""Shapes of boards that front ends can flip: labels in the readable notation, goals, last turn."""

from collections.abc import Iterator

from cc_env.core.game import Cell, Game
from cc_env.rendering import shapes
from cc_env.rendering.labels import EdgeLabels, edge_labels, runs_upward
from cc_env.rendering.picture_data import PictureData
from cc_env.rendering.shapes import (
    CELL,
    INK,
    LAST,
    MARGIN,
    TARGET,
    Disc,
    Label,
    Polyline,
    Shape,
    Square,
)

# Dark squares, which contrast more with the light ones than those of other pictures.
DARK_SQUARE = "#cfb585"
# Distance of a label's center from the edges of its cell.
LABEL_OFFSET = 8
# Width of the last turn's path.
PATH_WIDTH = 4


def _ring(width: float) -> list[Shape]:
    """Return the shape of a ring around a piece in the upper left cell."""
    center = MARGIN + CELL / 2
    return [Disc(center, center, 26, "none", TARGET, width)]


def marks() -> dict[str, list[Shape]]:
    """Return the shapes of all marks in the upper left cell, by name.

    "movable" and "forced" are those of pieces that can move, and that must capture.
    """
    common = {name: shapes.mark(name, (0, 0)) for name in shapes.MARKS}
    return {**common, "movable": _ring(1.5), "forced": _ring(5)}


def ground(picture: PictureData) -> list[Shape]:
    """Return the shapes of the empty board without goals."""
    dark = shapes.BOARD[1]
    return [
        shape._replace(fill=DARK_SQUARE)
        if isinstance(shape, Square) and shape.fill == dark
        else shape
        for shape in shapes.ground(picture)
    ]


def screen_cell(game: Game, cell: Cell, is_flipped: bool) -> Cell:
    """Return the row and column of a cell on the screen; flipping turns the board around."""
    row, column = cell
    if is_flipped:
        column = game.grid.columns - 1 - column
    if is_flipped != runs_upward(game):
        row = game.grid.rows - 1 - row
    return row, column


def labels(game: Game, is_flipped: bool) -> list[Label]:
    """Return the names of points or numbered cells, or else of columns and rows in edge cells."""
    if game.cell_names:
        right, up = shapes.NAME_OFFSET
        offset = CELL / 2 + right, CELL / 2 - up
        named = game.cell_names.items()
        return [
            _label(screen_cell(game, cell, is_flipped), offset, name, shapes.NAME_SIZE)
            for cell, name in named
        ]
    edges = edge_labels(game)
    if edges is None:
        return [
            _label(screen_cell(game, cell, is_flipped), (LABEL_OFFSET, LABEL_OFFSET), name)
            for cell, name in game.readable_cell_names.items()
        ]
    return list(_edge_labels(game, edges, is_flipped))


def _edge_labels(game: Game, edges: EdgeLabels, is_flipped: bool) -> Iterator[Label]:
    """Yield the columns' names in the lowest row, and the rows' names in the leftmost column."""
    rows, columns = game.grid.rows, game.grid.columns
    for column in range(columns):
        place = rows - 1, column
        _, cell_column = screen_cell(game, place, is_flipped)
        yield _label(place, (CELL - LABEL_OFFSET, CELL - LABEL_OFFSET), edges.columns[cell_column])
    for row in range(rows):
        place = row, 0
        cell_row, _ = screen_cell(game, place, is_flipped)
        yield _label(place, (LABEL_OFFSET, LABEL_OFFSET), edges.rows[cell_row])


def _label(
    place: Cell, offset: tuple[float, float], text: str, font_size: float = shapes.NUMBER_SIZE
) -> Label:
    """Return a label; `offset` leads right and down from the corner of the cell at `place`."""
    x, y = _corner(place)
    return Label(x + offset[0], y + offset[1], text, font_size, INK)


def goal(color: str) -> list[Shape]:
    """Return the shapes of a player's goal in the upper left cell: a colored edge and a flag."""
    x, y = _corner((0, 0))
    inset, width = 2.5, 5
    low, high = inset, CELL - inset
    edge = ((low, low), (high, low), (high, high), (low, high), (low, low))
    flag = ((44, 20), (44, 8), (53, 11.5), (44, 15))
    return [
        Polyline(tuple((x + dx, y + dy) for dx, dy in edge), color, width),
        Polyline(tuple((x + dx, y + dy) for dx, dy in flag), color, 3),
    ]


def last_turn(picture: PictureData) -> list[Shape]:
    """Return the shapes of the last turn, drawn below the pieces: its first and last cell, a path.

    On a board of points they are those of other pictures.
    """
    if not picture.path or picture.game.cell_names:
        return shapes.path(picture)
    ends = dict.fromkeys((picture.path[0], picture.path[-1]))
    centers = tuple((x + CELL / 2, y + CELL / 2) for x, y in map(_corner, picture.path))
    return [
        *(Square(*_corner(cell), CELL, LAST) for cell in ends),
        Polyline(centers, LAST, PATH_WIDTH),
    ]


def _corner(cell: Cell) -> tuple[float, float]:
    """Return the upper left corner of a cell of an unflipped board with row 0 at the top."""
    row, column = cell
    return MARGIN + column * CELL, MARGIN + row * CELL
