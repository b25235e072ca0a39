"""Recorded positions, games and counts of mini checkers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.games.mini_checkers import make
from cc_env.verification.recordings import Recording
from cc_env.verification.recordings.draughts import read_board, read_ending


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recordings of a line: a position, a game or perft counts.

    A board is 18 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it, and more) and, if the game is over, end and
    winner. A game has first, moves, the final board, next to move, end and winner. Counts are from
    board and turn.

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    if line["kind"] == "perft":
        position = read_board(make(), line["board"], line["turn"])
        yield Recording(make(), position, counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        game = make({"b": "black", "w": "white"}[line["first"]])
        final = read_board(game, line["final"], line["next"])
        path = tuple(line["moves"].split())
        yield read_ending(game, final, line)._replace(position=game.initial, path=path, final=final)
    else:
        game = make()
        position = read_board(game, line["board"], line["turn"])
        opponent = "w" if line["turn"] == "b" else "b"
        turns = {text: read_board(game, board, opponent) for text, board, *_ in line["moves"]}
        yield read_ending(game, position, line)._replace(turns=turns)
