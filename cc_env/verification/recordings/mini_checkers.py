"""Recorded positions, games and counts of mini checkers."""

from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.games.mini_checkers import make
from cc_env.verification.recordings import Recording
from cc_env.verification.recordings.draughts import read_board, read_game, read_position


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recordings of a line: a position, a game or perft counts.

    A board is 18 letters, the cells in use from the upper left. Fields by the `kind` of the line:
    position: `board`, `turn`, `moves` (each a list of its text, the board after it, and more) and,
        if the game is over, `end` and `winner`
    game: `first` (player), `moves`, `final` (board), `next` (player to move), `end`, `winner`
    perft: `board`, `turn`, `nodes` (counts by depth)

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    if line["kind"] == "perft":
        position = read_board(make(), line["board"], line["turn"])
        yield Recording(make(), position, counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        game = make({"b": "black", "w": "white"}[line["first"]])
        yield read_game(game, line)
    else:
        yield read_position(make(), line)
