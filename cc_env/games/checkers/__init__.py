"""Checkers, or English draughts: men step and jump forward, kings back as well; who can must jump.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for the second player; men go towards row 0); kings: those of
          both; jumper: 0, or the piece that has to jump on; idle: turns since a capture or a man's
          step; player: 0 or 1; options: 2 * no_progress_limit + whether crowning ends the move
Action    ids ascending by start, then end, of all steps and jumps of kings on an empty board; each
          jump of a chain is a decision of its own
Turn      53-42, or with each cell of the chain 64x42x20: row and column, from the upper left
Ending    no_pieces, no_moves (the player to move has none: lost), no_progress (a draw)
Symmetry  none
Key       idle is no part of it: a position that comes back is the same

    start, as text:  b1b1b1b1/1b1b1b1b/b1b1b1b1/8/8/1r1r1r1r/r1r1r1r1/1r1r1r1r r
                     r red, first   b black, second   R, B kings

The board is the mirror image of the usual one; pdn.py has the usual numbers of the cells.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

import numpy as np

from cc_env.errors import BadPosition, UnknownOption, is_whole
from cc_env.game import Game, Recording
from cc_env.games.checkers import pdn
from cc_env.games.checkers.evaluation import STANDARD, SYMMETRIC, Published
from cc_env.games.checkers.rules import (
    CELLS,
    ENDINGS,
    NUM_ACTIONS,
    PLANES,
    SIZE,
    STARTS,
    initial,
)
from cc_env.games.checkers.text import (
    action_text,
    ending,
    fits,
    parse_position,
    pieces,
    remark,
    to_text,
    track,
)
from cc_env.games.grid import rows_text
from cc_env.rules import ONGOING, Position

CROWNING = "continue", "ends_move"
LEVELS = {  # as published
    "easy": {"depth": 1},
    "normal": {"depth": 2},
    "hard": {"depth": 4},
    "extreme": {"depth": 8},
    "boss": {"depth": 8},
}


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
    game is a draw; None is no limit. Raises UnknownOption on other values.
    """
    if crowning not in CROWNING:
        raise UnknownOption(f"checkers: crowning={crowning!r}; it is {' or '.join(CROWNING)}")
    limit = no_progress_limit
    if limit is not None and not is_whole(limit, 1, 10**6):
        raise UnknownOption(f"checkers: no_progress_limit={limit!r}; it is 1 or more, or None")
    start = initial(crowning == "ends_move", int(limit or 0))
    return Game(
        name="checkers",
        options={"crowning": crowning, "no_progress_limit": None if limit is None else int(limit)},
        initial=start,
        num_actions=NUM_ACTIONS,
        action_cells=np.stack((STARTS, ENDINGS), 1).astype(np.int64),
        observation_shape=(len(PLANES), SIZE, SIZE),
        planes=PLANES,
        players=("red", "black"),
        symmetries=(),
        to_text=to_text,
        parse_position=partial(parse_position, options=start.options),
        action_text=action_text,
        ending=ending,
        endings=ENDED_BY,
        pieces=pieces,
        goals=(),
        track=track,
        formats={".pdn": pdn.FORMAT},
        dark=0,
        evaluations={"standard": STANDARD, "published": Published(), "symmetric": SYMMETRIC},
        levels=LEVELS,
        figures={"R": "king", "B": "king"},
        kinds={"r": "man", "b": "man", "R": "king", "B": "king"},
        fits=partial(fits, options=start.options),
        remark=remark,
    )


def read_recordings(line: Mapping[str, Any]) -> Iterator[Recording]:
    """Yield what a line of recorded positions, games or counts has.

    A board is 32 letters, the cells in use from the upper left. A position has board, turn, moves
    (each a list of its text, the board after it and, where a man was crowned, in which of its
    cells, counted from 0) and, where the game is over, end and winner; a game has moves and the
    final board, next to move, end and winner; counts are from board and turn.

    Raises KeyError or CcEnvError where a field is missing or cannot be.
    """
    game = make()
    if line["kind"] == "perft":
        for field, crowning in _COUNTS.items():
            counted = make(crowning)
            position = _position(counted, line["board"], line["turn"])
            yield Recording(counted, position, counts=tuple(line[field]))
    elif line["kind"] == "game":
        final = _position(game, line["final"], line["next"])
        played = tuple(line["moves"].split())
        ended = _ended(game, final, line)
        yield ended._replace(position=game.initial, played=played, reached=final)
    else:
        position = _position(game, line["board"], line["turn"])
        then = "rb"[line["turn"] == "r"]
        turns = {text: _position(game, board, then) for text, board, *_ in line["moves"]}
        yield _ended(game, position, line)._replace(turns=turns)
        shorter = {_cut(text, *crowned): None for text, _, *crowned in line["moves"]}
        if shorter.keys() != turns.keys():
            english = make("ends_move")
            position = _position(english, line["board"], line["turn"])
            yield _ended(english, position, line)._replace(turns=shorter)


_COUNTS = {"continue_after_crowning": "continue", "stop_at_crowning": "ends_move"}


def _cut(text: str, crowned: int | None = None) -> str:
    """Return a capture as far as the cell of this number, the first being 0."""
    return text if crowned is None or "x" not in text else "x".join(text.split("x")[: crowned + 1])


def _position(game: Game, board: str, turn: str) -> Position:
    if len(board) != len(CELLS):
        raise BadPosition(f"board {board!r} has {len(board)} cells; wanted: {len(CELLS)}")
    letters = {cell: letter for cell, letter in zip(CELLS, board, strict=True) if letter != "."}
    return game.from_text(f"{rows_text(letters, SIZE, SIZE)} {turn}")


def _ended(game: Game, position: Position, line: Mapping[str, Any]) -> Recording:
    if (end := line.get("end")) is None:
        return Recording(game, position, outcome=ONGOING)
    return Recording(game, position, outcome="rb".index(line["winner"]), ending=end)
