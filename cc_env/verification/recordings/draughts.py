"""Functions for recordings of checkers and mini checkers: boards, positions and games."""

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
        raise BadPosition(f"board {board!r} has {len(board)} cells; expected: {len(cells)}")
    pieces = {cell: letter for cell, letter in zip(cells, board, strict=True) if letter != "."}
    return game.from_text(f"{game.grid.board_text(pieces)} {turn}")


def read_position(game: Game, line: Mapping[str, Any]) -> Recording:
    """Return the recording of a position with its legal turns and outcome."""
    position = read_board(game, line["board"], line["turn"])
    first, second = (letters[0] for letters in game.letters)
    opponent = second if line["turn"] == first else first
    turns = {text: read_board(game, board, opponent) for text, board, *_ in line["moves"]}
    return read_ending(game, position, line)._replace(turns=turns)


def read_game(game: Game, line: Mapping[str, Any]) -> Recording:
    """Return the recording of a game from the start."""
    final = read_board(game, line["final"], line["next"])
    recording = read_ending(game, final, line)
    return recording._replace(position=game.initial, path=tuple(line["moves"].split()), final=final)


def read_ending(game: Game, position: Position, line: Mapping[str, Any]) -> Recording:
    """Return a recording of the outcome in a position, by `end` and `winner` of a line."""
    if (end := line.get("end")) is None:
        return Recording(game, position, outcome=ONGOING)
    outcomes = {game.letters[0][0]: 0, game.letters[1][0]: 1, "draw": DRAW}
    return Recording(game, position, outcome=outcomes[line["winner"]], ending=end)
