"""The shapes of a picture, for SVG, pixels and the page: squares, discs, lines and text.

All sizes are in pixels of the unscaled picture.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from cc_env.core.game import Cell
from cc_env.rendering.labels import edge_labels, row_order, runs_upward
from cc_env.rendering.picture_data import PictureData

# Edge of a cell.
CELL = 60
# Margin around the board, for labels.
MARGIN = 28
# Height of the caption below the board.
FOOT = 30
# Font sizes of the labels of rows and columns, of the names of points, and of numbered cells.
LABEL_SIZE, NAME_SIZE, NUMBER_SIZE = 15, 14, 11
# Distance of a name from its point, to the right and upwards.
NAME_OFFSET = 22, 21
# Distance of a number from the upper and the left edge of its cell.
NUMBER_INSET = 8

BOARD = ("#f3ead7", "#e6d8bd")
INK = "#3a3226"
COLORS = {
    "blue": ("#2f74c0", "#1b4a80"),
    "red": ("#cf4a3e", "#86271f"),
    "black": ("#3c3c3c", "#141414"),
    "white": ("#fafafa", "#8a8a8a"),
    "yellow": ("#f7d038", "#8f6f00"),
}
# Color of heat 1.
HEAT = "#d9480f"
# Heat from which a cell is labeled with its percentage.
MIN_LABEL_HEAT = 0.02
LAST, CAPTURED, TARGET, SHOT = "#f2b233", "#7a1fa2", "#2e9e5b", "#d92b2b"


class Square(NamedTuple):
    """A filled square; (x, y) is its upper left corner."""

    x: float
    y: float
    edge: float
    fill: str


class Disc(NamedTuple):
    """A filled disc with a rim; (x, y) is its center."""

    x: float
    y: float
    radius: float
    fill: str
    rim: str
    rim_width: float


class Polyline(NamedTuple):
    """A polyline with round corners."""

    points: tuple[tuple[float, float], ...]
    color: str
    width: float


class Label(NamedTuple):
    """Text centered on a point."""

    x: float
    y: float
    text: str
    size: float
    color: str


Shape = Square | Disc | Polyline | Label


def size(picture: PictureData) -> tuple[int, int]:
    """Return the width and height of a picture."""
    grid = picture.game.grid
    return 2 * MARGIN + grid.columns * CELL, 2 * MARGIN + grid.rows * CELL + FOOT


def shapes(picture: PictureData) -> list[Shape]:
    """Return the shapes of a picture, from back to front."""
    return [*board(picture), *foreground(picture)]


def foreground(picture: PictureData) -> list[Shape]:
    """Return the shapes of a picture in front of the empty board, from back to front."""
    pieces = picture.pieces.items()
    parts = [
        *path(picture),
        *(shape for cell, letter in pieces for shape in figure(picture, letter, cell)),
        *_marks(picture),
    ]
    return [*_upright(picture, parts), _caption(picture), *labels(picture)]


def _upright(picture: PictureData, parts: Iterable[Shape]) -> list[Shape]:
    """Return shapes with row 0 at the bottom if the rows of the game run upward."""
    if not runs_upward(picture.game):
        return list(parts)
    height = 2 * MARGIN + picture.game.grid.rows * CELL
    return [_mirror(shape, height) for shape in parts]


def _mirror(shape: Shape, height: float) -> Shape:
    """Return a shape mirrored at the horizontal axis of a board of this height."""
    match shape:
        case Polyline(points):
            return shape._replace(points=tuple((x, height - y) for x, y in points))
        case Square(_, y, edge):
            return shape._replace(y=height - y - edge)
        case _:
            return shape._replace(y=height - shape.y)


def figure(picture: PictureData, letter: str, cell: Cell) -> list[Shape]:
    """Return the shapes of a piece: a disc, a king (a disc with a K), a ring or a square."""
    (x, y), (fill, rim) = _center(cell), colors(picture, picture.owner(letter))
    figure_name = picture.game.figures.get(letter, "disc")
    if figure_name == "square":
        return [Square(x - 19, y - 19, 38, fill), _square_outline(x, y, 19, rim, 3)]
    parts: list[Shape] = [Disc(x, y, 21, fill, rim, 3)]
    if figure_name == "ring":
        parts.append(Disc(x, y, 9, BOARD[0], rim, 3))
    elif figure_name == "king":
        parts.append(Label(x, y, "K", 20, _ink(fill)))
    return parts


def mark(name: str, cell: Cell) -> list[Shape]:
    """Return the shapes of a mark on a cell; `name` is a key of MARKS."""
    return MARKS[name](*_center(cell))


def _center(cell: Cell) -> tuple[float, float]:
    row, column = cell
    return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL


def board(picture: PictureData) -> list[Shape]:
    """Return the shapes of the empty board with its goals, colored by the picture's heat."""
    game = picture.game
    goals = zip(game.players, game.goal_cells, strict=False)
    outlines = (
        _square_outline(*_center(goal), 22, colors(picture, player)[0], 4) for player, goal in goals
    )
    return _upright(picture, [*ground(picture), *outlines])


def ground(picture: PictureData) -> list[Shape]:
    """Return the shapes of the empty board without goals, colored by the picture's heat.

    Row 0 is at the top.
    """
    parts: list[Shape] = []
    game = picture.game
    for row, column in product(range(game.grid.rows), range(game.grid.columns)):
        corner = MARGIN + column * CELL, MARGIN + row * CELL
        heat = 0.0 if game.cell_names else picture.heat.get((row, column), 0.0)
        color = BOARD[not game.cell_names and (row + column) % 2 == game.dark_parity]
        parts.append(Square(*corner, CELL, _blend_with_heat(color, heat)))
    for line in game.board_lines:
        parts.append(Polyline(tuple(map(_center, line)), INK, 3))
    for point in game.cell_names:
        parts.append(Disc(*_center(point), 6, INK, INK, 0))
        if heat := picture.heat.get(point, 0.0):
            color = _blend_with_heat(BOARD[0], heat)
            parts.append(Disc(*_center(point), 27, color, color, 0))
    return parts


def _square_outline(x: float, y: float, half_size: float, color: str, width: float) -> Polyline:
    """Return the outline of a square around a point."""
    corners = [
        (x + dx * half_size, y + dy * half_size) for dx, dy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    return Polyline((*corners, corners[0]), color, width)


@lru_cache(maxsize=1024)
def _blend_with_heat(color: str, heat: float) -> str:
    """Return a color, "#rrggbb", blended with the heat color; heat is 0 to 1."""
    ratio = 0.9 * min(1.0, max(0.0, heat)) ** 0.6
    parts = ((int(color[i : i + 2], 16), int(HEAT[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(cold + ratio * (hot - cold)):02x}" for cold, hot in parts)


def path(picture: PictureData) -> list[Shape]:
    """Return the shapes of the last turn's path, which are drawn below the pieces."""
    if not picture.path:
        return []
    start, end = picture.path[0], picture.path[-1]
    return [
        Disc(*_center(end), 27, LAST, LAST, 0),
        Disc(*_center(start), 9, LAST, LAST, 0),
        Polyline(tuple(map(_center, picture.path)), LAST, 7),
    ]


def colors(picture: PictureData, player: str) -> tuple[str, str]:
    """Return the fill and the rim color of a player's pieces.

    A player whose name is not in COLORS gets blue (first) or red (second).
    """
    default = "blue" if player == picture.game.players[0] else "red"
    return COLORS.get(player, COLORS[default])


def _ink(fill: str) -> str:
    """Return a contrasting color for text on a piece."""
    return INK if fill in (COLORS["white"][0], COLORS["yellow"][0]) else "#ffffff"


def _marks(picture: PictureData) -> list[Shape]:
    """Return the marks of selected piece, captures, heat, numbers, shots and targets."""
    marks: list[Shape] = []
    if picture.selected is not None and picture.selected in picture.pieces:
        marks += mark("selected", picture.selected)
    marks += [shape for cell in picture.captured for shape in mark("captured", cell)]
    for cell, heat in picture.heat.items():
        if heat >= MIN_LABEL_HEAT:
            letter = picture.pieces.get(cell)
            color = _ink(colors(picture, picture.owner(letter))[0]) if letter else INK
            marks.append(Label(*_center(cell), f"{heat:.0%}", 15, color))
    for cell, number in picture.numbers.items():
        marks += _number(picture, cell, number)
    marks += [shape for cell in picture.shots for shape in mark("shot", cell)]
    return marks + [shape for cell in picture.targets for shape in mark("target", cell)]


def _number(picture: PictureData, cell: Cell, number: int) -> list[Shape]:
    """Return the shapes of a number on a cell; on a point, a disc behind it hides the lines."""
    disc = Disc(*_center(cell), 20, BOARD[0], BOARD[0], 0)
    label = Label(*_center(cell), str(number), 17, INK)
    return [disc, label] if picture.game.cell_names else [label]


def _cross(x: float, y: float) -> list[Shape]:
    rising, falling = ((x - 13, y + 13), (x + 13, y - 13)), ((x - 13, y - 13), (x + 13, y + 13))
    return [Polyline(falling, CAPTURED, 6), Polyline(rising, CAPTURED, 6)]


MARKS: Mapping[str, Callable[[float, float], list[Shape]]] = {
    "selected": lambda x, y: [_square_outline(x, y, 26, TARGET, 4)],
    "captured": _cross,
    "shot": lambda x, y: [Disc(x, y, 14, SHOT, "#ffffff", 2)],
    "target": lambda x, y: [Disc(x, y, 9, TARGET, "#ffffff", 2)],
    "pointer": lambda x, y: [_square_outline(x, y, 28, INK, 3)],
}


def _caption(picture: PictureData) -> Shape:
    """Return the caption, in a font that fits the width."""
    width, height = size(picture)
    font_size = min(17, 1.9 * (width - 16) / max(1, len(picture.caption)))
    return Label(width / 2, height - FOOT / 2 - 4, picture.caption, font_size, INK)


def labels(picture: PictureData) -> list[Shape]:
    """Return the names of points or numbered cells, or else the labels of rows and columns."""
    game, edges = picture.game, edge_labels(picture.game)
    if game.cell_names:
        named = ((_center(point), name) for point, name in game.cell_names.items())
        right, up = NAME_OFFSET
        return [Label(x + right, y - up, name, NAME_SIZE, INK) for (x, y), name in named]
    if edges is None:
        inset = CELL / 2 - NUMBER_INSET
        numbered = ((_center(cell), name) for cell, name in game.readable_cell_names.items())
        return [Label(x - inset, y - inset, name, NUMBER_SIZE, INK) for (x, y), name in numbered]
    places = [
        *(
            (MARGIN / 2, _center((place, 0))[1], edges.rows[row])
            for place, row in enumerate(row_order(game))
        ),
        *((_center((0, col))[0], MARGIN / 2, label) for col, label in enumerate(edges.columns)),
    ]
    return [Label(x, y, label, LABEL_SIZE, INK) for x, y, label in places]
