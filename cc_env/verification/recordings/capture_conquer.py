"""Recorded positions of C&C."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cc_env.core.game import Cell
from cc_env.core.rules import DRAW, ONGOING
from cc_env.errors import BadPosition
from cc_env.games.capture_conquer import make
from cc_env.verification.recordings import Recording


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recorded position of a line.

    Its fields are size, first and second (lists of cells), to_move, moves and result.

    Raises KeyError or CcEnvError for a missing or wrong field.
    """
    game = make(line["size"])
    side = {1: "b", 2: "r"}.get(line["to_move"])
    results = {None: ONGOING, "draw": DRAW, "loss": 2 - line["to_move"]}
    if side is None or line["result"] not in results:
        given = f"to_move {line['to_move']!r:.40}, result {line['result']!r:.40}"
        raise BadPosition(f"{given}; expected: to_move 1 or 2, result null, 'draw' or 'loss'")
    letters: dict[Cell, str] = {}
    for letter, cells in (("b", line["first"]), ("r", line["second"])):
        for row, column in cells:
            if (row, column) in letters or not {row, column} <= set(range(line["size"])):
                raise BadPosition(f"cell {row},{column} is off the board, or occupied twice")
            letters[row, column] = letter
    position = game.from_text(f"{game.grid.board_text(letters)} {side}")
    turns = dict.fromkeys(_turn_texts(line["moves"]))
    yield Recording(game, position, outcome=results[line["result"]], turns=turns)


def _turn_texts(moves: list[Any]) -> Iterator[str]:
    """Yield the notation of each turn: START-END, then xCELL for a capture.

    A move that could also capture, but does not, ends in x-.
    """
    choices = Counter((tuple(start), tuple(end)) for start, end, _ in moves)
    for start, end, captured in moves:
        text = f"{start[0]},{start[1]}-{end[0]},{end[1]}"
        if captured:
            text += f"x{captured[0]},{captured[1]}"
        elif choices[tuple(start), tuple(end)] > 1:
            text += "x-"
        yield text
