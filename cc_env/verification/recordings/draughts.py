"""Functions for recordings of checkers and mini checkers: boards and endings."""

from collections.abc import Mapping
from typing import Any

from cc_env.core.game import Game
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.errors import BadPosition
from cc_env.verification.recordings import Recording


def read_board(game: Game, board: str, turn: str) -> Position:
    """Return the position of a board, a letter per cell in use; `turn` is the player to move."""
    cells = game.grid.bits
    if len(board) != len(cells):
        raise BadPosition(f"board {board!r} has {len(board)} cells; expected {len(cells)}")
    pieces = {cell: letter for cell, letter in zip(cells, board, strict=True) if letter != "."}
    return game.from_text(f"{game.grid.board_text(pieces)} {turn}")


def read_ending(game: Game, position: Position, line: Mapping[str, Any]) -> Recording:
    """Return a recording of the outcome in a position, by `end` and `winner` of a line."""
    if (end := line.get("end")) is None:
        return Recording(game, position, outcome=ONGOING)
    outcomes = {game.letters[0][0]: 0, game.letters[1][0]: 1, "draw": DRAW}
    return Recording(game, position, outcome=outcomes[line["winner"]], ending=end)
