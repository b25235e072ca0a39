"""Cannon: soldiers advance, three in a row shoot; a player who has lost two town halls has lost.

Position  soldiers and halls of both sides as bits 11r + c, each in two words, in the frame of the
          player to move (the board is turned by 180 degrees for white; soldiers go towards row 0);
          player: 0 or 1; shape: index into SHAPES; options: bits, see OPTIONS
Action    ids ascending by start, then end, of all steps, sideways captures, retreats and shifts
          that stay on the board; then one id a cell: bomb it
Turn      S x y M x y selects a soldier and moves it, S x y B x y bombs; x is the column, y the row,
          from the upper left. Any soldier of the cannon may be named; we name the first from above
Ending    halls (two are lost), no_soldiers, no_moves (of the player to move), stagnant (turns led
          to the same position three times); the hall margin decides who has won
Symmetry  none: the start is not a mirror image of itself, nor are the halls opposite each other

    8×8 start, as text:  WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/bBbBbBbB b
                         b soldiers, B halls of black, first   w, W of white
"""

from functools import partial
from typing import Annotated

from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game, Look, Notation, Search
from cc_env.errors import BadOption, check_bool
from cc_env.games.cannon import log
from cc_env.games.cannon.bots import BOTS
from cc_env.games.cannon.evaluation import STANDARD
from cc_env.games.cannon.rules import (
    BOMB_CLEAR,
    PLANES,
    RETREAT_8,
    RETREAT_CLEAR,
    SHIFT_HALL,
    SIZES,
    initial,
)
from cc_env.games.cannon.text import (
    LETTERS,
    action_cells,
    action_text,
    ending,
    fits,
    grid,
    other_texts,
    parse_position,
    pieces,
    scores,
    shooters,
    to_text,
    track,
)

NEIGHBOURS = {5: ZERO, 8: RETREAT_8}
ENDED_BY = {  # in a sentence
    "halls": "two town halls are taken",
    "no_soldiers": "no soldiers are left on one side",
    "no_moves": "no move is left",
    "stagnant": "the same position for the third time",
}


def make(
    rows: Annotated[int, SIZES] = 8,
    columns: Annotated[int, SIZES] = 8,
    retreat_neighbours: Annotated[int, NEIGHBOURS] = 5,
    retreat_clear_path: bool = False,
    bomb_clear_path: bool = False,
    shift_captures_hall: bool = False,
) -> Game:
    """Return the game on `rows` by `columns` cells, 8 or 10 each.

    A soldier retreats beside an enemy soldier on one of the 5 cells beside and before it, or of all
    8; with `retreat_clear_path` over an empty cell only. With `bomb_clear_path` a bomb flies three
    cells far over an empty second one only. With `shift_captures_hall` a shift may end on a hall
    where the cell behind the cannon is empty. Raises BadOption on other values.
    """
    for name, value in (("rows", rows), ("columns", columns)):
        if value not in SIZES or isinstance(value, bool):
            raise BadOption(f"cannon: {name}={value!r}; it is 8 or 10")
    if retreat_neighbours not in tuple(NEIGHBOURS) or isinstance(retreat_neighbours, bool):
        raise BadOption(f"cannon: retreat_neighbours={retreat_neighbours!r}; it is 5 or 8")
    switches = {
        "retreat_clear_path": (retreat_clear_path, RETREAT_CLEAR),
        "bomb_clear_path": (bomb_clear_path, BOMB_CLEAR),
        "shift_captures_hall": (shift_captures_hall, SHIFT_HALL),
    }
    options = NEIGHBOURS[retreat_neighbours]
    for name, (chosen, bit) in switches.items():
        check_bool(f"cannon: {name}", chosen)
        options |= bit if chosen else ZERO
    start = initial(int(rows), int(columns), options)
    return Game(
        name="cannon",
        options={
            "rows": int(rows),
            "columns": int(columns),
            "retreat_neighbours": int(retreat_neighbours),
            **{name: bool(chosen) for name, (chosen, _) in switches.items()},
        },
        initial=start,
        grid=grid(int(start.shape)),
        action_cells=action_cells(int(start.shape)),
        planes=PLANES,
        players=("black", "white"),
        letters=LETTERS,
        repetition_limit=3,
        max_margin=10,
        scores=scores,
        fits=partial(fits, like=start),
        notation=Notation(
            to_text=to_text,
            parse_position=partial(parse_position, like=start),
            action_text=action_text,
            other_texts=other_texts,
            ending=ending,
            endings=ENDED_BY,
            formats={".log": log.FORMAT},
        ),
        look=Look(
            pieces=pieces,
            track=track,
            figures={"b": "ring", "w": "ring", "B": "square", "W": "square"},
            kinds={"b": "soldier", "w": "soldier", "B": "town hall", "W": "town hall"},
            shooters=shooters,
        ),
        search=Search(evaluations={"standard": STANDARD[int(rows)]}, bots=BOTS),
    )
