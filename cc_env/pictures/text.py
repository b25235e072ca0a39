"""Pictures as plain text."""

from cc_env.game import Cell
from cc_env.pictures import Picture


def to_text(picture: Picture) -> str:
    """Return the board with row and column numbers, and the caption below.

    Letters are pieces; + is where the last turn passed, x what it captured, * a legal target.
    """

    def sign(cell: Cell) -> str:
        if cell in picture.targets:
            return "*"
        if cell in picture.captured and cell not in picture.pieces:
            return "x"
        return picture.pieces.get(cell, "+" if cell in picture.path else ".")

    head = "   " + " ".join(str(column) for column in range(picture.columns))
    lines = [
        f"{row:2} " + " ".join(sign((row, column)) for column in range(picture.columns))
        for row in range(picture.rows)
    ]
    return "\n".join([head, *lines, picture.caption])
