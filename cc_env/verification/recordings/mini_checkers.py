"""Recorded positions, games and counts of mini checkers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.games.mini_checkers import make
from cc_env.verification.recordings import Recording
from cc_env.verification.recordings.draughts import ended, read_board


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded positions, games or counts has.

    A board is 18 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it, and more) and, where the game is over, end and
    winner; a game has first, moves and the final board, next to move, end and winner; counts are
    from board and turn.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    if line["kind"] == "perft":
        position = read_board(make(), line["board"], line["turn"])
        yield Recording(make(), position, counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        game = make({"b": "black", "w": "white"}[line["first"]])
        final = read_board(game, line["final"], line["next"])
        played = tuple(line["moves"].split())
        known = ended(game, final, line)
        yield known._replace(position=game.initial, played=played, reached=final)
    else:
        game = make()
        position = read_board(game, line["board"], line["turn"])
        then = "bw"[line["turn"] == "b"]
        turns = {text: read_board(game, board, then) for text, board, *_ in line["moves"]}
        yield ended(game, position, line)._replace(turns=turns)
