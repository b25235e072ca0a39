"""Boards as text, with the names of cells in the readable notation, and who is to move."""

import re
from functools import lru_cache

from cc_env.core.game import Cell, Game
from cc_env.core.rules import DRAW, ONGOING, Position

EMPTY_CELL = "."


def board_text(game: Game, position: Position, seat: int = 0) -> str:
    """Return the lines of the board, as the player in `seat`, 0 or 1, sees it.

    Letters are pieces. Columns and rows have labels if these are the names of the cells, as in a1;
    otherwise each cell is its name, followed by its piece or a dot. The board is turned for the
    second player if the game has a frame for each player.

    Examples:

        >>> import cc_env
        >>> from cc_env.text.board import board_text
        >>> game = cc_env.make_game("capture_conquer", size=4)
        >>> print(board_text(game, game.initial))
           a b c d
        4  . . r r
        3  . . . r
        2  b . . .
        1  b b . .
    """
    template, cells = _layout(game, seat)
    pieces = game.pieces(position)
    return template % tuple([pieces.get(cell, EMPTY_CELL) for cell in cells])


def describe_standing(game: Game, position: Position, end: tuple[int, str] | None = None) -> str:
    """Return in words who is to move, or how the game ended.

    `end` is (outcome, reason) of a game that was not ended by its position.
    """
    if end is None and game.outcome(position) == ONGOING:
        remark = f", {text}" if (text := game.remark(position)) else ""
        return f"{game.players[game.to_move(position)]} to move{remark}"
    outcome, reason = end or (game.outcome(position), game.ending(position))
    result = {DRAW: "draw", ONGOING: "stopped"}.get(outcome) or f"{game.players[outcome]} wins"
    return f"{result} ({reason})"


# Games are few, and their boards do not change.
@lru_cache(maxsize=32)
def _layout(game: Game, seat: int) -> tuple[str, tuple[Cell, ...]]:
    """Return the lines of the board with %s for each piece, and the cells of the pieces."""
    names = {cell: game.cell_text(cell, "readable") for cell in game.grid.bits}
    is_full = len(names) == game.grid.rows * game.grid.columns
    has_labels = is_full and all(re.fullmatch("[a-z][0-9]+", name) for name in names.values())
    rows = _labeled_rows(names) if has_labels else _rows(game)
    if seat and game.grid.is_turned:
        rows = [row[::-1] for row in rows[::-1]]
    lines = _labeled_lines(names, rows) if has_labels else _named_lines(names, rows)
    return "\n".join(lines), tuple(cell for row in rows for cell in row if cell in names)


def _rows(game: Game) -> list[list[Cell]]:
    """Return the cells of the board by row, from the top."""
    return [[(row, column) for column in range(game.grid.columns)] for row in range(game.grid.rows)]


def _labeled_rows(names: dict[Cell, str]) -> list[list[Cell]]:
    """Return the cells by row, from the highest number, and by the letter of their column."""
    rows: dict[int, list[Cell]] = {}
    for cell, name in sorted(names.items(), key=lambda item: item[1][0]):
        rows.setdefault(int(name[1:]), []).append(cell)
    return [rows[number] for number in sorted(rows, reverse=True)]


def _labeled_lines(names: dict[Cell, str], rows: list[list[Cell]]) -> list[str]:
    """Return the letters of the columns, then each row after its number."""
    letters = "   " + " ".join(names[cell][0] for cell in rows[0])
    return [letters, *(f"{names[row[0]][1:]:<2} " + " ".join(["%s"] * len(row)) for row in rows)]


def _named_lines(names: dict[Cell, str], rows: list[list[Cell]]) -> list[str]:
    """Return each row, with the name of each cell before its piece."""
    width = max(map(len, names.values()))
    unused = " " * (width + 1)
    return [
        " ".join(f"{names[cell]:>{width}}%s" if cell in names else unused for cell in row).rstrip()
        for row in rows
    ]
