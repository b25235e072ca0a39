"""Checkers, or English draughts: men step and jump forward, kings back as well; jumps are forced.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for the second player; men go towards row 0); kings: those of
          both; jumper: 0, or the piece that has to jump on; idle: turns since a capture or a man's
          step; player: 0 or 1; options: 2 * no_progress_limit + whether crowning ends the move
Action    ids ascending by start, then end, of all steps and jumps of kings on an empty board; each
          jump of a chain is a decision of its own
Turn      53-42, or with each cell of the chain 64x42x20: row and column, from the upper left
Ending    no_pieces, no_moves (the player to move has none: lost), no_progress (a draw)
Symmetry  none
Key       leaves out idle, so that a position that comes back has the same key

    start, as text:  b1b1b1b1/1b1b1b1b/b1b1b1b1/8/8/1r1r1r1r/r1r1r1r1/1r1r1r1r r
                     r red, first   b black, second   R, B kings

The board is the mirror image of the usual one; pdn.py has the usual numbers of the cells.
"""

from functools import partial
from typing import Annotated

import numpy as np

from cc_env.core.game import Game, Look, Notation, Numbering, Search
from cc_env.errors import BadOption, is_integer
from cc_env.games.checkers import pdn
from cc_env.games.checkers.evaluation import STANDARD, SYMMETRIC, Published
from cc_env.games.checkers.rules import (
    ENDINGS,
    PLANES,
    STARTS,
    USED,
    initial,
)
from cc_env.games.checkers.text import (
    GRID,
    LETTERS,
    PIECES,
    action_text,
    ending,
    fits,
    parse_position,
    pieces,
    remark,
    to_text,
)

CROWNING = "continue", "ends_move"
LEVELS = {  # as published
    "easy": {"depth": 1},
    "normal": {"depth": 2},
    "hard": {"depth": 4},
    "extreme": {"depth": 8},
    "boss": {"depth": 8},
}
EVALUATIONS = {"standard": STANDARD, "published": Published(), "symmetric": SYMMETRIC}
ENDED_BY = {  # in a sentence
    "no_pieces": "{loser} has no pieces left",
    "no_moves": "{loser} cannot move",
    "no_progress": "no progress for too many turns",
}


def make(
    crowning: Annotated[str, CROWNING] = "continue", no_progress_limit: int | None = 80
) -> Game:
    """Return the game.

    A man that is crowned while it captures goes on as a king if `crowning` is "continue"; English
    draughts have "ends_move". After `no_progress_limit` turns without a capture or a man's step the
    game is a draw; None: no limit. Raises BadOption on other values.
    """
    if crowning not in CROWNING:
        raise BadOption(f"checkers: crowning={crowning!r}; it is {' or '.join(CROWNING)}")
    limit = no_progress_limit
    if limit is not None and not is_integer(limit, 1, 10**6):
        raise BadOption(f"checkers: no_progress_limit={limit!r}; it is 1 or more, or None")
    start = initial(crowning == "ends_move", int(limit or 0))
    return Game(
        name="checkers",
        options={"crowning": crowning, "no_progress_limit": None if limit is None else int(limit)},
        initial=start,
        grid=GRID,
        action_cells=np.stack((STARTS, ENDINGS), 1).astype(np.int64),
        planes=PLANES,
        players=("red", "black"),
        letters=LETTERS,
        fits=partial(fits, options=start.options),
        notation=Notation(
            to_text=to_text,
            parse_position=partial(parse_position, options=start.options),
            action_text=action_text,
            ending=ending,
            endings=ENDED_BY,
            formats={".pdn": pdn.FORMAT},
        ),
        look=Look(
            pieces=pieces,
            figures={"R": "king", "B": "king"},
            kinds={"r": "man", "b": "man", "R": "king", "B": "king"},
            dark=0,
            remark=remark,
        ),
        search=Search(evaluations=EVALUATIONS, levels=LEVELS),
        numbering=_numbering(crowning),
    )


def _numbering(crowning: str) -> Numbering:
    """Return how positions are numbered; values leave the limit of turns without progress out."""
    used, far = int(USED), 0xFF
    return Numbering(
        like=initial(crowning == "ends_move", 0),
        cells=(used & ~far, used & ~(far << 56), used, used),  # a man on its far row is crowned
        weights=(PIECES * 2 + 1, PIECES * 2),
        kinds=("m", "k"),
        max_pieces=PIECES,
        options={"crowning": crowning},
        rules={"options": 1},  # not the limit
    )
