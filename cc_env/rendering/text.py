"""Pictures as plain text."""

from collections.abc import Callable

from cc_env.core.game import Cell
from cc_env.rendering.picture_data import PictureData

HIGH, WIDE = 2, 4  # distance of neighbouring points, in lines and characters

# SGR codes of a terminal: for pieces by the owner's name, then for marks.
COLOURS = {
    "blue": "1;34",
    "red": "1;31",
    "black": "1;37;40",
    "white": "1;30;47",
    "yellow": "1;33",
}
OTHER, TARGET, SHOT, LAST = "1", "1;32", "1;35", "33"

Paint = Callable[[str, Cell], str]  # (text of a cell, cell) -> text to print


def to_text(picture: PictureData, paint: Paint = lambda sign, cell: sign) -> str:
    """Return the board with the caption below; `paint` styles the text of each cell.

    Letters are pieces. Marks follow the letter: + for a cell on the last turn's path, x for a
    captured piece, < for the selected piece, * for a legal target, ! for a shot, & for both. A
    board of squares has the labels of rows and columns; a board of points has its lines, pieces in
    brackets, and the names of free points.
    """
    rows = _points(picture, paint) if picture.names else _cells(picture, paint)
    return "\n".join([*rows, picture.caption])


def to_ansi(picture: PictureData) -> str:
    """Return the text with the colour codes of a terminal."""

    def paint(sign: str, cell: Cell) -> str:
        style = _style(picture, cell)
        return f"\x1b[{style}m{sign}\x1b[0m" if style else sign

    return to_text(picture, paint)


def _style(picture: PictureData, cell: Cell) -> str:
    if cell in picture.shots:
        return SHOT
    if cell in picture.targets:
        return TARGET
    if piece := picture.pieces.get(cell):
        return COLOURS.get(picture.owner(piece), OTHER)
    return LAST if cell in picture.path or cell in picture.captured else ""


def _mark(picture: PictureData, cell: Cell) -> str:
    """Return the mark of a cell, "" if it has none."""
    if cell in picture.shots:
        return "&" if cell in picture.targets else "!"
    if cell in picture.targets:
        return "*"
    if cell in picture.pieces:
        return "<" if cell == picture.selected else ""
    return "x" if cell in picture.captured else "+" if cell in picture.path else ""


def _cells(picture: PictureData, paint: Paint) -> list[str]:
    rows = []
    for row, label in enumerate(picture.labels[0]):
        line = f"{label:>2} "
        for cell in ((row, column) for column in range(picture.columns)):
            sign = picture.pieces.get(cell, "") + _mark(picture, cell) or "."
            line += paint(sign, cell) + " " * (2 - len(sign))
        rows.append(line.rstrip())
    return ["   " + " ".join(picture.labels[1]), *rows]


def _points(picture: PictureData, paint: Paint) -> list[str]:
    height, width = HIGH * (picture.rows - 1) + 1, WIDE * (picture.columns - 1) + 3
    page = [[" "] * width for _ in range(height)]
    for line in picture.lines:
        start, end = sorted(line)
        _rule(page, (HIGH * start[0], WIDE * start[1] + 1), (HIGH * end[0], WIDE * end[1] + 1))
    for (row, column), name in picture.names.items():
        mark, piece = _mark(picture, (row, column)), picture.pieces.get((row, column))
        is_free = piece is None
        text = f"{name if is_free else f'({piece})'}{mark}"
        at = WIDE * column + is_free
        sign = paint(text, (row, column))
        page[HIGH * row][at : at + len(text)] = [sign] + [""] * (len(text) - 1)
    return ["".join(row).rstrip() for row in page]


def _rule(page: list[list[str]], start: Cell, end: Cell) -> None:
    """Draw a line downwards or, within a row, to the right."""
    down, right = end[0] - start[0], end[1] - start[1]
    stroke = "-" if not down else "|" if not right else "\\" if right > 0 else "/"
    steps = down or right
    for step in range(steps):
        page[start[0] + down * step // steps][start[1] + right * step // steps] = stroke
