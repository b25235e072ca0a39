"""Boards as text, for the games on square cells: rows from the top joined by /, digits for gaps."""

import re
from collections.abc import Mapping

from cc_env.errors import BadPosition
from cc_env.game import Cell


def rows_text(pieces: Mapping[Cell, str], rows: int, columns: int) -> str:
    """Return the rows, such as 2b3/6, with a letter for each piece."""
    letters = list("/".join(["." * columns] * rows))
    for (row, column), letter in pieces.items():
        letters[row * (columns + 1) + column] = letter
    text = "".join(letters)
    for gap in range(columns, 0, -1):
        text = text.replace("." * gap, str(gap))
    return text


def read_rows(text: str, rows: int, columns: int, letters: str) -> dict[Cell, str]:
    """Return the pieces that `rows_text` wrote; raise BadPosition where it is none, saying why."""
    lines = [re.sub("[0-9]{1,2}", lambda gap: "." * int(gap[0]), row) for row in text.split("/")]
    if [len(line) for line in lines] != [columns] * rows or set("".join(lines)) - {*letters, "."}:
        shape = f"{rows} rows of {columns} cells"
        raise BadPosition(f"wanted: {shape}, made of {', '.join(letters)} and digits, joined by /")
    cells = {(r, c): letter for r, line in enumerate(lines) for c, letter in enumerate(line)}
    return {cell: letter for cell, letter in cells.items() if letter != "."}
