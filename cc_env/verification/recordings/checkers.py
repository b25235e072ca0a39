"""Recorded positions, games and counts of checkers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.games.checkers import make
from cc_env.verification.recordings import Recording
from cc_env.verification.recordings.draughts import (
    read_board,
    read_ending,
    read_game,
    read_position,
)


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recordings of a line: a position, a game or perft counts.

    A board is 32 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it and, if a man was crowned, the index of the cell
    among those of the move) and, if the game is over, end and winner. A game has moves, the final
    board, next to move, end and winner. Counts are from board and turn.

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    game = make()
    if line["kind"] == "perft":
        for field, crowning in _COUNTS.items():
            game = make(crowning)
            position = read_board(game, line["board"], line["turn"])
            yield Recording(game, position, counts=tuple(line[field]))
    elif line["kind"] == "game":
        yield read_game(game, line)
    else:
        yield read_position(game, line)
        shorter = {_truncate(text, *index): None for text, _, *index in line["moves"]}
        if shorter.keys() != {text for text, *_ in line["moves"]}:
            english = make("ends_move")
            position = read_board(english, line["board"], line["turn"])
            yield read_ending(english, position, line)._replace(turns=shorter)


_COUNTS = {"continue_after_crowning": "continue", "stop_at_crowning": "ends_move"}


def _truncate(text: str, crowning_index: int | None = None) -> str:
    """Return a capture up to the cell with this index, on which a man was crowned.

    Steps, and captures without crowning (None), are returned unchanged.
    """
    if crowning_index is None or "x" not in text:
        return text
    return "x".join(text.split("x")[: crowning_index + 1])
