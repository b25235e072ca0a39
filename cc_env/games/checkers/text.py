"""Checkers as text and on the board: positions, actions, endings, and what a turn did."""

import numpy as np
from numpy.typing import NDArray

from cc_env.bits import ONE, ZERO
from cc_env.errors import BadPosition
from cc_env.game import Cell, Track, Turn
from cc_env.games.checkers.rules import (
    CELLS,
    ENDINGS,
    SIZE,
    STARTS,
    Position,
    is_used,
    jumped,
    jumping,
    no_progress_limit,
    stepping,
)
from cc_env.games.grid import read_rows, rows_text

SIDES = "rb"
PIECES = 12  # of each side, at the start
_USED = np.uint64(sum(1 << (8 * row + column) for row, column in CELLS))


def ending(position: Position) -> str:
    """Return how a finished game ended: no_pieces, no_moves or no_progress."""
    if not position.own:
        return "no_pieces"
    can_move = any(stepping(position)) or any(jumping(position, position.own))
    return "no_progress" if can_move else "no_moves"


def _cell(position: Position, index: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return divmod(index if position.player == ZERO else 63 - index, SIZE)


def _bit(player: int, cell: Cell) -> int:
    """Return the bit, in a player's frame, of a cell of the board."""
    index = SIZE * cell[0] + cell[1]
    return 1 << (63 - index if player else index)


_BITS = tuple([(cell, _bit(player, cell)) for cell in CELLS] for player in (0, 1))


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: r and b for men, R and B for kings."""
    player, found = int(position.player), {}
    own, enemy, kings = int(position.own), int(position.enemy), int(position.kings)
    for cell, here in _BITS[player]:
        if (own | enemy) & here:
            letter = SIDES[player if own & here else 1 - player]
            found[cell] = letter.upper() if kings & here else letter
    return found


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
    text = f"{rows_text(pieces(position), SIZE, SIZE)} {SIDES[int(position.player)]}"
    if position.jumper:
        return f"{text} x{_jumper(position)}"
    return f"{text} {position.idle}" if position.idle else text


def parse_position(text: str, options: np.uint64) -> Position:
    """As `Game.from_text`; raise BadPosition where there is none, saying why."""
    fields = text.split()
    if len(fields) not in (2, 3) or fields[1] not in ("r", "b"):
        wanted = "rows, side to move (r or b), x53 or a number of turns if need be"
        raise BadPosition(f"wanted: {wanted}")
    letters = read_rows(fields[0], SIZE, SIZE, "rbRB")
    player = SIDES.index(fields[1])
    sides, kings = [0, 0], 0
    for (row, column), letter in letters.items():
        if not is_used((row, column)):
            raise BadPosition(f"{letter} on {row}{column}, a cell that is not used")
        sides[SIDES.index(letter.lower())] |= _bit(player, (row, column))
        kings |= _bit(player, (row, column)) if letter.isupper() else 0
    for side, name in zip(sides, SIDES, strict=True):
        if side.bit_count() > PIECES:
            raise BadPosition(f"{side.bit_count()} pieces of {name}; there are {PIECES}")
    if not sides[1 - player]:
        raise BadPosition(f"{SIDES[1 - player]} has just moved, so it needs a piece")
    own, enemy = np.uint64(sides[player]), np.uint64(sides[1 - player])
    position = Position(own, enemy, np.uint64(kings), ZERO, ZERO, np.uint64(player), options)
    return position if len(fields) == 2 else _with_rest(position, fields[2])


def fits(position: Position, options: np.uint64) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    own, enemy, kings, jumper = position.own, position.enemy, position.kings, position.jumper
    wrong = (own | enemy) & ~_USED | own & enemy | kings & ~(own | enemy) | jumper & ~own
    wrong |= jumper & (jumper - ONE)  # more than one
    is_count = position.idle < np.uint64(10**9)  # as a text can say it
    found: NDArray[np.bool_] = (wrong == ZERO) & is_count & (position.player <= ONE)
    found &= position.options == options
    return found


def _with_rest(position: Position, rest: str) -> Position:
    if rest.isascii() and rest.isdigit() and len(rest) < 10:
        if 0 < (limit := int(no_progress_limit(position))) < int(rest):
            raise BadPosition(f"{rest} turns without progress; after {limit} the game is over")
        return position._replace(idle=np.uint64(rest))
    jumpers = {f"x{row}{column}": (row, column) for row, column in CELLS}
    if rest not in jumpers:
        raise BadPosition(f"'{rest}' is no number of turns, and no x with a cell that is used")
    jumper = np.uint64(_bit(int(position.player), jumpers[rest]))
    if not any(jumping(position, position.own & jumper)):
        raise BadPosition(f"nothing on {rest[1:]} can jump on")
    return position._replace(jumper=jumper)


def _square(position: Position, index: int) -> str:
    row, column = _cell(position, index)
    return f"{row}{column}"


def action_text(position: Position, action: int) -> str:
    """Return 53-42 or 53x31; of a piece that jumps on x31."""
    end = _square(position, int(ENDINGS[action]))
    if position.jumper:
        return f"x{end}"
    return _square(position, int(STARTS[action])) + ("x" if jumped(action) else "-") + end


def track(position: Position, turn: Turn) -> Track:
    """Return the cells that the piece of a turn went through, and those it jumped over."""
    cells = [int(STARTS[turn[0]]), *(int(ENDINGS[action]) for action in turn)]
    path = [_cell(position, index) for index in cells]
    over = (int(jumped(action)).bit_length() - 1 for action in turn)
    captured = tuple(_cell(position, index) for index in over if index >= 0)
    return Track(tuple(path), captured)
