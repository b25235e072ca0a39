"""Capturing & Conquering (C&C): step towards the far corner, or jump in chains over anything.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for the second player); pending: 0, or 1 + the (start, end)
          action of a turn that still has to say what it captures; player: 0 or 1; size: 4..8
Action    ids ascending by start, then end, of all geometrically possible (start, end); then one
          id a cell: capture there; last: capture nothing. The latter are legal only where a
          (start, end) can be reached with different captures, as a second decision of the turn
Turn      1,2-3,4 or, with a capture, 1,2-3,4x2,3, or 1,2-3,4x- where "nothing" was the choice
Ending    conquest (a piece on the far corner), capture (the opponent has one piece left, the
          mover more), blocked (the player to move cannot, or has no piece left: a draw)
Symmetry  transposition

    6x6 start, as text:  bbb3/bb4/b5/5r/4rr/3rrr b     b blue, first   r red, second
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from cc_env.errors import BadPosition, UnknownOption, is_whole
from cc_env.game import Cell, Game, Recording
from cc_env.games.capture_conquer.evaluation import STANDARD, Published
from cc_env.games.capture_conquer.rules import NUM_JUMPS, PLANES, SIZES, initial
from cc_env.games.capture_conquer.text import (
    action_cells,
    action_text,
    ending,
    fits,
    parse_position,
    pieces,
    remark,
    to_text,
    track,
    transposition,
)
from cc_env.rules import DRAW, ONGOING

CORNERS = {4: 2, 5: 3, 6: 3, 7: 3, 8: 4}  # edge of the start triangle, by size
PLAYERS = "blue", "red"


ENDED_BY = {  # in a sentence
    "conquest": "the far corner is reached",
    "capture": "{loser} has one piece left",
    "blocked": "no move is left",
}


def make(size: Annotated[int, SIZES] = 6, corner: int | None = None) -> Game:
    """Return the game on `size` by `size` cells, 4 to 8, each side in a triangle of edge `corner`.

    `corner` is 2 to size - 1; None is the published one. Raises UnknownOption on other values.
    """
    if not is_whole(size, min(SIZES)) or size > max(SIZES):
        raise UnknownOption(f"capture_conquer: size={size!r}; sizes are 4 to 8")
    size = int(size)
    corner = CORNERS[size] if corner is None else corner
    if not is_whole(corner, 2) or corner >= size:
        raise UnknownOption(
            f"capture_conquer: corner={corner!r}; with size={size}, 2 to {size - 1}"
        )
    return Game(
        name="capture_conquer",
        options={"size": size, "corner": int(corner)},
        initial=initial(size, corner),
        num_actions=int(NUM_JUMPS[size]) + size * size + 1,
        action_cells=action_cells(size),
        observation_shape=(len(PLANES), size, size),
        planes=PLANES,
        players=PLAYERS,
        symmetries=(transposition(size),),
        to_text=to_text,
        parse_position=partial(parse_position, size=size),
        action_text=action_text,
        ending=ending,
        endings=ENDED_BY,
        pieces=pieces,
        goals=((size - 1, size - 1), (0, 0)),
        track=track,
        remark=remark,
        evaluations={"standard": STANDARD[size], "published": Published()},
        fits=partial(fits, size=size),
    )


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield the recorded position of a line.

    Its fields are size, first and second (lists of cells), to_move, moves and result.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    game = make(line["size"])
    side = {1: "b", 2: "r"}.get(line["to_move"])
    results = {None: ONGOING, "draw": DRAW, "loss": 2 - line["to_move"]}
    if side is None or line["result"] not in results:
        raise BadPosition("wanted: to_move 1 or 2, result null, 'draw' or 'loss'")
    letters: dict[Cell, str] = {}
    for letter, cells in (("b", line["first"]), ("r", line["second"])):
        for row, column in cells:
            if (row, column) in letters or not {row, column} <= set(range(line["size"])):
                raise BadPosition(f"cell {row},{column} is off the board, or occupied twice")
            letters[row, column] = letter
    span = range(line["size"])
    rows = ("".join(letters.get((r, c), ".") for c in span) for r in span)
    position = game.from_text(f"{'/'.join(rows)} {side}")
    turns = dict.fromkeys(_turn_texts(line["moves"]))
    yield Recording(game, position, outcome=results[line["result"]], turns=turns)


def _turn_texts(moves: list[Any]) -> Iterator[str]:
    """Yield start-end, with x and the captured cell, or x- where that is one of several ways."""
    choices = Counter((tuple(start), tuple(end)) for start, end, _ in moves)
    for start, end, captured in moves:
        text = f"{start[0]},{start[1]}-{end[0]},{end[1]}"
        if captured:
            text += f"x{captured[0]},{captured[1]}"
        elif choices[tuple(start), tuple(end)] > 1:
            text += "x-"
        yield text
