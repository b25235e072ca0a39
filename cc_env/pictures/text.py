"""Pictures as plain text."""

from cc_env.game import Cell
from cc_env.pictures import Picture

HIGH, WIDE = 2, 4  # from point to point, in lines and letters


def to_text(picture: Picture) -> str:
    """Return the board and the caption below.

    Letters are pieces; + is where the last turn passed, x what it captured, < the selected piece,
    * a legal target, ! a shot, & both, behind the piece that is there. A board of cells has row and
    column numbers. One of points has its lines, pieces in brackets, and on a free point its name.
    """
    rows = _points(picture) if picture.names else _cells(picture)
    return "\n".join([*rows, picture.caption])


def _mark(picture: Picture, cell: Cell) -> str:
    """Return the mark of a cell, nothing where there is nothing to say."""
    if cell in picture.shots:
        return "&" if cell in picture.targets else "!"
    if cell in picture.targets:
        return "*"
    if cell in picture.pieces:
        return "<" if cell == picture.selected else ""
    return "x" if cell in picture.captured else "+" if cell in picture.path else ""


def _cells(picture: Picture) -> list[str]:
    columns = range(picture.columns)
    rows = []
    for row in range(picture.rows):
        cells = [(row, column) for column in columns]
        signs = (picture.pieces.get(cell, "") + _mark(picture, cell) or "." for cell in cells)
        rows.append(f"{row:2} " + "".join(f"{sign:2}" for sign in signs).rstrip())
    return ["   " + " ".join(map(str, columns)), *rows]


def _points(picture: Picture) -> list[str]:
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
        page[HIGH * row][at : at + len(text)] = text
    return ["".join(row).rstrip() for row in page]


def _rule(page: list[list[str]], start: Cell, end: Cell) -> None:
    """Draw a line down or, in a row, to the right."""
    down, right = end[0] - start[0], end[1] - start[1]
    stroke = "-" if not down else "|" if not right else "\\" if right > 0 else "/"
    steps = down or right
    for step in range(steps):
        page[start[0] + down * step // steps][start[1] + right * step // steps] = stroke
