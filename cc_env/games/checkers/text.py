"""Checkers as text and on the board: positions, actions and endings."""

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Cell, Grid
from cc_env.errors import BadPosition
from cc_env.games.checkers.rules import (
    CELLS,
    ENDINGS,
    SIZE,
    STARTS,
    USED,
    Position,
    jumping,
    no_progress_limit,
    stepping,
)
from cc_env.games.jumps import move_text, read_position

LETTERS = "rR", "bB"  # men and kings
GRID = Grid(SIZE, SIZE, {(r, c): 8 * r + c for r, c in CELLS}, is_turned=True)
PIECES = 12  # of each side, at the start


def ending(position: Position) -> str:
    """Return how a finished game ended: no_pieces, no_moves or no_progress."""
    if not position.own:
        return "no_pieces"
    can_move = any(stepping(position)) or any(jumping(position, position.own))
    return "no_progress" if can_move else "no_moves"


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: r and b for men, R and B for kings."""
    player, kings = int(position.player), int(position.kings)
    letters = GRID.pieces(position, LETTERS)
    for cell, letter in letters.items() if kings else ():
        if kings >> GRID.bit(cell, player) & 1:
            letters[cell] = letter.upper()
    return letters


def remark(position: Position) -> str:
    """Return which piece has to jump on, or that a draw for want of progress is half way there."""
    if position.jumper:
        return f"jumps on from {_jumper(position)}"
    idle, limit = int(position.idle), int(no_progress_limit(position))
    return f"{idle} of {limit} turns without progress" if limit and 2 * idle >= limit else ""


def _jumper(position: Position) -> str:
    return _square(position, int(position.jumper).bit_length() - 1)


def to_text(position: Position) -> str:
    """Return the position in one line.

    Rows from the top and side to move, then x with the cell of a piece that has to jump on, or for
    how many turns there was no progress.
    """
    text = GRID.position_text(pieces(position), LETTERS, int(position.player))
    if position.jumper:
        return f"{text} x{_jumper(position)}"
    return f"{text} {position.idle}" if position.idle else text


def parse_position(text: str, options: np.uint64) -> Position:
    """As `Notation.parse_position`."""
    rest = "x53 or a number of turns if need be"
    men, player, words = read_position(GRID, text, LETTERS, PIECES, rest)
    own, enemy = GRID.bitboards(men, LETTERS, player)
    if not enemy:
        raise BadPosition(f"{LETTERS[1 - player][0]} has just moved, so it needs a piece")
    kings = GRID.bitboard((cell for cell, letter in men.items() if letter.isupper()), player)
    position = Position(own, enemy, kings, ZERO, ZERO, np.uint64(player), options)
    return _with_rest(position, " ".join(words)) if words else position


def fits(position: Position, options: np.uint64) -> NDArray[np.bool_]:
    """As `Game.fits`, with these options."""
    own, enemy, kings, jumper = position.own, position.enemy, position.kings, position.jumper
    wrong = (own | enemy) & ~USED | own & enemy | kings & ~(own | enemy) | jumper & ~own
    wrong |= jumper & (jumper - ONE)  # more than one
    is_count = position.idle < np.uint64(10**9)  # as a text can say it
    possible: NDArray[np.bool_] = (wrong == ZERO) & is_count & (position.player <= ONE)
    possible &= position.options == options
    return possible


def _with_rest(position: Position, rest: str) -> Position:
    if rest.isascii() and rest.isdigit() and len(rest) < 10:
        if 0 < (limit := int(no_progress_limit(position))) < int(rest):
            raise BadPosition(f"{rest} turns without progress; after {limit} the game is over")
        return position._replace(idle=np.uint64(rest))
    jumpers = {f"x{row}{column}": (row, column) for row, column in CELLS}
    if rest not in jumpers:
        raise BadPosition(f"'{rest}' is neither a number of turns nor x with a cell that is used")
    jumper = GRID.bitboard([jumpers[rest]], int(position.player))
    if not any(jumping(position, position.own & jumper)):
        raise BadPosition(f"nothing on {rest[1:]} can jump on")
    return position._replace(jumper=jumper)


def _square(position: Position, bit: int) -> str:
    row, column = GRID.cell(bit, int(position.player))
    return f"{row}{column}"


def action_text(position: Position, action: int) -> str:
    """Return 53-42 or 53x31; of a piece that jumps on x31."""
    if position.jumper:
        return f"x{_square(position, int(ENDINGS[action]))}"
    player = int(position.player)
    start, end = (GRID.cell(int(bits[action]), player) for bits in (STARTS, ENDINGS))
    return move_text(start, end)
