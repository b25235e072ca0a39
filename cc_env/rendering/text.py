"""Pictures as plain text."""

from collections.abc import Callable

from cc_env.core.game import Cell
from cc_env.rendering.labels import edge_labels, row_order
from cc_env.rendering.picture_data import PictureData

# Distance of neighboring points, in lines and in characters.
LINE_STEP, COLUMN_STEP = 2, 4

# SGR codes of a terminal: for pieces by the owner's name, then for marks.
COLORS = {
    "blue": "1;34",
    "red": "1;31",
    "black": "1;37;40",
    "white": "1;30;47",
    "yellow": "1;33",
}
# Pieces of a player whose name is not in COLORS.
OTHER = "1"
TARGET, SHOT, LAST = "1;32", "1;35", "33"

# (text of a cell, cell) -> styled text
Paint = Callable[[str, Cell], str]


def to_text(picture: PictureData, paint: Paint = lambda sign, cell: sign) -> str:
    """Return the board with the caption below; `paint` styles the text of each cell.

    Letters are pieces. Marks follow the letter: + for a cell on the last turn's path, x for a
    captured piece, < for the selected piece, * for a legal target, ! for a shot, & for both. A
    board of squares has the labels of rows and columns, or the numbers of cells; a board of points
    has its lines, pieces in brackets, and the names of free points.
    """
    rows = _point_lines(picture, paint) if picture.game.cell_names else _cell_lines(picture, paint)
    return "\n".join([*rows, picture.caption])


def to_ansi(picture: PictureData) -> str:
    """Return the text with the color codes of a terminal."""

    def paint(sign: str, cell: Cell) -> str:
        style = _style(picture, cell)
        return f"\x1b[{style}m{sign}\x1b[0m" if style else sign

    return to_text(picture, paint)


def _style(picture: PictureData, cell: Cell) -> str:
    """Return the SGR code of a cell, "" for the default style."""
    if cell in picture.shots:
        return SHOT
    if cell in picture.targets:
        return TARGET
    if piece := picture.pieces.get(cell):
        return COLORS.get(picture.owner(piece), OTHER)
    return LAST if cell in picture.path or cell in picture.captured else ""


def _mark(picture: PictureData, cell: Cell) -> str:
    """Return the mark of a cell, "" if it has none."""
    marks = (
        (cell in picture.shots, "&" if cell in picture.targets else "!"),
        (cell in picture.targets, "*"),
        (cell in picture.pieces, "<" if cell == picture.selected else ""),
        (cell in picture.captured, "x"),
        (cell in picture.path, "+"),
    )
    return next((mark for is_marked, mark in marks if is_marked), "")


def _cell_lines(picture: PictureData, paint: Paint) -> list[str]:
    """Return the lines of a board of squares: the labels of columns, then rows with their labels.

    Numbered cells have their numbers instead.
    """
    game, labels = picture.game, edge_labels(picture.game)
    lines = [] if labels is None else ["   " + " ".join(labels.columns)]
    for row in row_order(game):
        line = "" if labels is None else f"{labels.rows[row]:>2} "
        for cell in ((row, column) for column in range(game.grid.columns)):
            if labels is None and cell not in game.readable_cell_names:
                line += "    "
                continue
            sign = picture.pieces.get(cell, "") + _mark(picture, cell) or "."
            number = "" if labels else f"{game.readable_cell_names[cell]:>2}"
            line += number + paint(sign, cell) + " " * (2 - len(sign))
        lines.append(line.rstrip())
    return lines


def _point_lines(picture: PictureData, paint: Paint) -> list[str]:
    """Return the lines of a board of points, which are joined by the board's lines."""
    game = picture.game
    height, width = LINE_STEP * (game.grid.rows - 1) + 1, COLUMN_STEP * (game.grid.columns - 1) + 3
    page = [[" "] * width for _ in range(height)]
    for line in game.board_lines:
        start, end = sorted(line)
        _draw_line(
            page,
            (LINE_STEP * start[0], COLUMN_STEP * start[1] + 1),
            (LINE_STEP * end[0], COLUMN_STEP * end[1] + 1),
        )
    for (row, column), name in game.cell_names.items():
        mark, piece = _mark(picture, (row, column)), picture.pieces.get((row, column))
        offset = COLUMN_STEP * column
        text = f"({piece}){mark}"
        if piece is None:
            offset, text = offset + 1, f"{name}{mark}"
        # The styled text is one item; the items that it covers become empty.
        styled = [paint(text, (row, column))] + [""] * (len(text) - 1)
        page[LINE_STEP * row][offset : offset + len(text)] = styled
    return ["".join(row).rstrip() for row in page]


def _stroke(down: int, right: int) -> str:
    """Return the character of a line in this direction."""
    if not down:
        return "-"
    if not right:
        return "|"
    return "\\" if right > 0 else "/"


def _draw_line(page: list[list[str]], start: Cell, end: Cell) -> None:
    """Draw a line downwards or, within a row, to the right."""
    down, right = end[0] - start[0], end[1] - start[1]
    stroke = _stroke(down, right)
    steps = down or right
    for step in range(steps):
        page[start[0] + down * step // steps][start[1] + right * step // steps] = stroke
