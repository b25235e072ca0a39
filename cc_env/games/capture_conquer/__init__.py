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

from functools import partial
from typing import Annotated

from cc_env.core.game import Game, Look, Notation, Numbering, Search, Symmetry
from cc_env.errors import BadOption, is_integer
from cc_env.games.capture_conquer.evaluation import STANDARD, Published
from cc_env.games.capture_conquer.rules import BOARD, PLANES, SIZES, initial
from cc_env.games.capture_conquer.text import (
    action_cells,
    action_text,
    ending,
    fits,
    grid,
    parse_position,
    remark,
    to_text,
    track,
    transposition,
)

CORNERS = {4: 2, 5: 3, 6: 3, 7: 3, 8: 4}  # edge of the start triangle, by size
ENDED_BY = {  # in a sentence
    "conquest": "the far corner is reached",
    "capture": "{loser} has one piece left",
    "blocked": "no move is left",
}


def make(size: Annotated[int, SIZES] = 6, corner: int | None = None) -> Game:
    """Return the game on `size` by `size` cells, 4 to 8, each side in a triangle of edge `corner`.

    `corner` is 2 to size - 1; None is the published one. Raises BadOption on other values.
    """
    if not is_integer(size, min(SIZES)) or size > max(SIZES):
        raise BadOption(f"capture_conquer: size={size!r}; sizes are 4 to 8")
    size = int(size)
    corner = CORNERS[size] if corner is None else corner
    if not is_integer(corner, 2) or corner >= size:
        raise BadOption(f"capture_conquer: corner={corner!r}; with size={size}, 2 to {size - 1}")
    symmetries = (transposition(size),)
    return Game(
        name="capture_conquer",
        options={"size": size, "corner": int(corner)},
        initial=initial(size, corner),
        grid=grid(size),
        action_cells=action_cells(size),
        planes=PLANES,
        players=("blue", "red"),
        symmetries=symmetries,
        fits=partial(fits, size=size),
        notation=Notation(
            to_text=to_text,
            parse_position=partial(parse_position, size=size),
            action_text=action_text,
            ending=ending,
            endings=ENDED_BY,
        ),
        look=Look(goals=((size - 1, size - 1), (0, 0)), track=track, remark=remark),
        search=Search(evaluations={"standard": STANDARD[size], "published": Published()}),
        numbering=numbering(size, symmetries),
    )


def numbering(size: int, symmetries: tuple[Symmetry, ...]) -> Numbering:
    """Return how positions are numbered on a board of this size, whatever the corner."""
    return Numbering(
        like=initial(size, 2),
        cells=(int(BOARD[size]),) * 2,
        weights=(1,),
        symmetries=symmetries,
        options={"size": size},
        rules={"size": -1},
    )
