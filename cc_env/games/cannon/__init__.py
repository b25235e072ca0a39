"""Cannon: soldiers advance, three in a row shoot; who has lost two town halls has lost.

Position  soldiers and halls of both sides as bits 11r + c, each in two words, in the frame of the
          player to move (the board is turned by 180 degrees for white; soldiers go towards row 0);
          player: 0 or 1; shape: index into SHAPES; options: bits, see OPTIONS
Action    ids ascending by start, then end, of all steps, sideways captures, retreats and shifts
          that stay on the board; then one id a cell: bomb it
Turn      S x y M x y selects a soldier and moves it, S x y B x y bombs; x is the column, y the row,
          from the upper left. Any soldier of the cannon may be named; we name the first from above
Ending    halls (two are lost), no_soldiers, no_moves (of the player to move), stagnant (a position
          that a player's moves led to three times); the hall margin decides who has won
Symmetry  none: the start is no mirror image of itself, and halls stand where the others' do not

    8×8 start, as text:  WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/bBbBbBbB b
                         b soldiers, B halls of black, first   w, W of white
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

import numpy as np

from cc_env.bits import ZERO
from cc_env.errors import UnknownOption
from cc_env.game import Game, Recording
from cc_env.games.cannon import log
from cc_env.games.cannon.bots import BOTS
from cc_env.games.cannon.evaluation import STANDARD
from cc_env.games.cannon.rules import (
    BOMB_CLEAR,
    NUM_ACTIONS,
    PLANES,
    RETREAT_8,
    RETREAT_CLEAR,
    SHIFT_HALL,
    SIZES,
    initial,
)
from cc_env.games.cannon.text import (
    action_cells,
    action_text,
    ending,
    fits,
    other_texts,
    parse_position,
    pieces,
    scores,
    shooters,
    to_text,
    track,
)
from cc_env.rules import ONGOING, Position

REPETITIONS = 3  # of a position that make the game stagnant
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
    where the cell behind the cannon is empty. Raises UnknownOption on other values.
    """
    for name, value in (("rows", rows), ("columns", columns)):
        if value not in SIZES or isinstance(value, bool):
            raise UnknownOption(f"cannon: {name}={value!r}; it is 8 or 10")
    if retreat_neighbours not in tuple(NEIGHBOURS) or isinstance(retreat_neighbours, bool):
        raise UnknownOption(f"cannon: retreat_neighbours={retreat_neighbours!r}; it is 5 or 8")
    switches = {
        "retreat_clear_path": (retreat_clear_path, RETREAT_CLEAR),
        "bomb_clear_path": (bomb_clear_path, BOMB_CLEAR),
        "shift_captures_hall": (shift_captures_hall, SHIFT_HALL),
    }
    options = NEIGHBOURS[retreat_neighbours]
    for name, (chosen, bit) in switches.items():
        if not isinstance(chosen, bool | np.bool_):
            raise UnknownOption(f"cannon: {name}={chosen!r}; it is True or False")
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
        num_actions=int(NUM_ACTIONS[start.shape]),
        action_cells=action_cells(int(start.shape)),
        observation_shape=(len(PLANES), int(rows), int(columns)),
        planes=PLANES,
        players=("black", "white"),
        symmetries=(),
        to_text=to_text,
        parse_position=partial(parse_position, like=start),
        action_text=action_text,
        other_texts=other_texts,
        ending=ending,
        endings=ENDED_BY,
        pieces=pieces,
        goals=(),
        track=track,
        shooters=shooters,
        fits=partial(fits, like=start),
        formats={".log": log.FORMAT},
        evaluations={"standard": STANDARD[int(rows)]},
        bots=BOTS,
        margins=10,
        scores=scores,
        figures={"b": "ring", "w": "ring", "B": "square", "W": "square"},
        kinds={"b": "soldier", "w": "soldier", "B": "town hall", "W": "town hall"},
        stagnation=REPETITIONS,
    )


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded positions, games or counts has.

    A position has rows, cols, board, turn, moves (`25b22`: from, kind, to) and, after some of them,
    what the board is and how the game ended; a game has cmds, the final board, next and end; counts
    are of effects (of commands they are left out).

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    if line["kind"] not in ("position", "game", "perft"):
        return
    game = make(line["rows"], line["cols"])
    if line["kind"] == "perft":
        if line["count"] == "effects":
            yield Recording(game, game.initial, counts=tuple(line["nodes"]))
    elif line["kind"] == "game":
        reached = _read(game, line["final"], line["next"])
        known = Recording(game, game.initial, played=tuple(line["cmds"]), reached=reached)
        if line["end"] == "stagnant":
            known = known._replace(outcome=ONGOING)  # as far as a position can know
        elif line["end"]:
            known = known._replace(ending=line["end"])
        yield known
    else:
        position = _read(game, line["board"], line["turn"])
        if line.get("end"):
            yield Recording(game, position, ending=line["end"])
            return
        commands = {_command(move) for move in line["moves"].split()}
        yield Recording(game, position, outcome=ONGOING, actions=frozenset(commands))
        for move, board, *reason in line["succ"]:
            reached = _read(game, board, "bw"[line["turn"] == "b"])
            after = Recording(game, position, played=(_command(move),), reached=reached)
            yield after._replace(ending=reason[0]) if reason else after._replace(outcome=ONGOING)


def _read(game: Game, board: str, turn: str) -> Position:
    return game.from_text(f"{board} {turn}")


def _command(move: str) -> str:
    """Return S x y M x y, or B for a bomb, of a recorded move such as 25b22."""
    kind = "B" if move[2] == "b" else "M"
    return f"S {move[0]} {move[1]} {kind} {move[3]} {move[4]}"
