"""Recorded positions, games and counts of checkers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.games.checkers import make
from cc_env.verification.recordings import Recording
from cc_env.verification.recordings.draughts import ended, read_board


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded positions, games or counts has.

    A board is 32 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it and, where a man was crowned, in which of its
    cells, counted from 0) and, where the game is over, end and winner; a game has moves and the
    final board, next to move, end and winner; counts are from board and turn.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    game = make()
    if line["kind"] == "perft":
        for field, crowning in _COUNTS.items():
            counted = make(crowning)
            position = read_board(counted, line["board"], line["turn"])
            yield Recording(counted, position, counts=tuple(line[field]))
    elif line["kind"] == "game":
        final = read_board(game, line["final"], line["next"])
        played = tuple(line["moves"].split())
        known = ended(game, final, line)
        yield known._replace(position=game.initial, played=played, reached=final)
    else:
        position = read_board(game, line["board"], line["turn"])
        then = "rb"[line["turn"] == "r"]
        turns = {text: read_board(game, board, then) for text, board, *_ in line["moves"]}
        yield ended(game, position, line)._replace(turns=turns)
        shorter = {_cut(text, *crowned): None for text, _, *crowned in line["moves"]}
        if shorter.keys() != turns.keys():
            english = make("ends_move")
            position = read_board(english, line["board"], line["turn"])
            yield ended(english, position, line)._replace(turns=shorter)


_COUNTS = {"continue_after_crowning": "continue", "stop_at_crowning": "ends_move"}


def _cut(text: str, crowned: int | None = None) -> str:
    """Return a capture as far as the cell of this number, the first being 0."""
    return text if crowned is None or "x" not in text else "x".join(text.split("x")[: crowned + 1])
