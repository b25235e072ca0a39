"""Nine men's morris with free moves: three in a row take a bead and earn a move to anywhere.

Position  own, enemy: the beads of both sides as bits of the points A to X; own_hand, enemy_hand:
          beads not yet placed; own_free, enemy_free: 1 where the next move may go anywhere;
          pending: removals still due, 0 at a turn's beginning; player: 0 or 1; options: see RULES
Action    0 to 23: place a bead on a point, or remove the one there; then 24 + 24 * from + to
Turn      C, or AB for a move; with what is removed C-X, AB-X-Y
Ending    two_left (a player whose hand is empty has two beads or fewer: lost), no_moves (the player
          to move has none: lost)
Symmetry  the 16 of the board: turned, mirrored, inside out

    A - - B - - C
    - D - E - F -
    - - G H I - -         start, as text:  ........................ w 99
    J K L - M N O         w white, first   b black; in hand white 9, black 9
    - - P Q R - -
    - S - T - U -
    V - - W - - X
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import numpy as np

from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game, Look, Notation, Numbering, Search
from cc_env.errors import BadOption, check_bool
from cc_env.games.morris.evaluation import STANDARD
from cc_env.games.morris.rules import (
    ALL,
    BEADS,
    CELLS,
    COUNT_HAND,
    FEW,
    FLYING,
    FREE_WHEN_MOVING,
    LINES,
    NEVER_FREE,
    ONE_REMOVAL,
    PLANES,
    POINTS,
    PROTECT,
    Position,
)
from cc_env.games.morris.text import (
    ACTION_CELLS,
    GRID,
    PLAYERS,
    action_text,
    ending,
    fits,
    parse_position,
    remark,
    symmetries,
    to_text,
)

FREE_MOVE = {"always": ZERO, "moving_phase_only": FREE_WHEN_MOVING, "never": NEVER_FREE}
REMOVALS = {"per_mill": ZERO, "one": ONE_REMOVAL}
STANDARD_RULES: Mapping[str, Any] = {
    "protect_mills": True,
    "removals": "one",
    "free_move": "never",
    "flying": True,
    "count_hand": True,
}
_LINES = tuple((CELLS[POINTS.index(line[0])], CELLS[POINTS.index(line[2])]) for line in LINES)
ENDED_BY = {  # in a sentence
    "two_left": "{loser} has fewer than three beads",
    "no_moves": "{loser} cannot move",
}


def make(
    protect_mills: bool = False,
    removals: Annotated[str, REMOVALS] = "per_mill",
    free_move: Annotated[str, FREE_MOVE] = "always",
    flying: bool = False,
    count_hand: bool = False,
) -> Game:
    """Return the game; STANDARD_RULES are the options of the usual one.

    With `protect_mills` beads in mills are removed only where all are in mills. `removals` is
    "per_mill", or "one" for two mills at once, too. After a turn with a removal the next move is
    free "always", in "moving_phase_only", where it was a move, or "never". With `flying` a player
    with three beads moves anywhere. With `count_hand` a player with fewer than three beads, those
    in hand included, has lost. Raises BadOption on other values.
    """
    switches = {
        "protect_mills": (protect_mills, PROTECT),
        "flying": (flying, FLYING),
        "count_hand": (count_hand, COUNT_HAND),
    }
    options = ZERO
    for name, (chosen, bit) in switches.items():
        check_bool(f"morris: {name}", chosen)
        options |= bit if chosen else ZERO
    for name, value, known in (
        ("removals", removals, REMOVALS),
        ("free_move", free_move, FREE_MOVE),
    ):
        if value not in tuple(known):
            raise BadOption(f"morris: {name}={value!r}; it is {' or '.join(known)}")
        options |= known[value]
    nine = np.uint64(BEADS)
    initial = Position(ZERO, ZERO, nine, nine, ZERO, ZERO, ZERO, ZERO, options)
    return Game(
        name="morris",
        options={
            "protect_mills": bool(protect_mills),
            "removals": removals,
            "free_move": free_move,
            "flying": bool(flying),
            "count_hand": bool(count_hand),
        },
        initial=initial,
        grid=GRID,
        action_cells=ACTION_CELLS,
        planes=PLANES,
        players=PLAYERS,
        symmetries=symmetries(),
        fits=partial(fits, options=options),
        notation=Notation(
            to_text=to_text,
            parse_position=partial(parse_position, options=options),
            action_text=action_text,
            ending=ending,
            endings=ENDED_BY,
        ),
        look=Look(lines=_LINES, names=dict(zip(CELLS, POINTS, strict=True)), remark=remark),
        search=Search(evaluations={"standard": STANDARD}),
        numbering=_numbering(initial, free_move, removals),
    )


def _numbering(initial: Position, free_move: str, removals: str) -> Numbering:
    """Return how the positions of the moving phase are numbered."""
    options = int(initial.options)
    return Numbering(
        like=initial,
        cells=(int(ALL),) * 2,
        weights=(1,),
        max_pieces=BEADS,
        min_pieces=FEW,
        num_states=1 if free_move == "never" else 4,
        symmetries=symmetries(),
        options={
            "protect_mills": bool(options & int(PROTECT)),
            "removals": removals,
            "free_move": free_move if free_move == "never" else "moving_phase_only",
            "flying": bool(options & int(FLYING)),
        },
        rules={"options": int(PROTECT | ONE_REMOVAL | NEVER_FREE | FLYING)},
    )
