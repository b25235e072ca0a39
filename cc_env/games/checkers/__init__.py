"""Checkers: men step and jump forward, kings back as well; jumps are forced.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for the second player; men go towards row 0); kings: those of
          both; jumper: 0, or the piece that must continue its jump; idle: turns since a capture
          or a man's step; player: 0 or 1; options: 2 * no_progress_limit + whether crowning ends
          the move
Action    ids ascending by start, then end, of all steps and jumps of kings on an empty board; each
          jump of a chain is a decision of its own
Turn      53-42, or with each cell of the chain 64x42x20: row and column, from the upper left;
          readable: 10-14 and 8x15x22, by the numbers of PDN
Ending    no_pieces, no_moves (the player to move has none: lost), no_progress (a draw)
Symmetry  none
Key       ignores idle, so that repeated positions have equal keys

    start, as text:  b1b1b1b1/1b1b1b1b/b1b1b1b1/8/8/1r1r1r1r/r1r1r1r1/1r1r1r1r r
                     r red, first   b black, second   R, B kings

The board is the mirror image of the usual one; pdn.py has the usual numbers of the cells.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Cell, Game, Numbering
from cc_env.errors import BadPosition, check_choice, check_integer
from cc_env.games.checkers import board, pdn, pdn_text, rules, unmoves
from cc_env.games.checkers.board import GRID, LETTERS
from cc_env.games.checkers.evaluation import STANDARD, SYMMETRIC, Published
from cc_env.games.checkers.pdn_text import number
from cc_env.games.checkers.rules import Position
from cc_env.games.jumps import cell_text, move_text, read_position

CROWNING = "continue", "ends_move"
PIECES_PER_SIDE = 12
_MAX_IDLE_DIGITS = 9


class Checkers(Game):
    """Checkers with its options.

    A man that is crowned while it captures goes on as a king if `crowning` is "continue"; English
    draughts have "ends_move". After `no_progress_limit` turns without a capture or a man's step, 1
    to 1,000,000, the game is a draw; None: no limit. Raises BadOption on other values.
    """

    name = "checkers"
    grid = GRID
    action_cells = np.stack((rules.STARTS, rules.ENDINGS), 1).astype(np.int64)
    planes = rules.PLANES
    players = "red", "black"
    letters = LETTERS
    dark_parity = 0
    figures = {"R": "king", "B": "king"}
    piece_names = {"r": "man", "b": "man", "R": "king", "B": "king"}
    readable_cell_names = {cell: str(number(cell)) for cell in rules.CELLS}
    endings = {
        "no_pieces": "{loser} has no pieces left",
        "no_moves": "{loser} cannot move",
        "no_progress": "no progress for too many turns",
    }
    formats = {".pdn": pdn.FORMAT}
    evaluations = {"standard": STANDARD, "published": Published(), "symmetric": SYMMETRIC}
    # As published.
    levels = {
        "easy": {"depth": 1},
        "normal": {"depth": 2},
        "hard": {"depth": 4},
        "extreme": {"depth": 8},
        "boss": {"depth": 8},
    }

    def __init__(
        self,
        crowning: Annotated[str, CROWNING] = "continue",
        no_progress_limit: int | None = 80,
    ) -> None:
        check_choice("checkers: crowning", crowning, CROWNING)
        limit = no_progress_limit
        if limit is not None:
            check_integer("checkers: no_progress_limit", limit, 1, 10**6, ", or None")
            limit = int(limit)
        self.options = {"crowning": crowning, "no_progress_limit": limit}
        self.initial = rules.initial(crowning == "ends_move", limit or 0)
        self.numbering = _numbering(crowning)
        super().__init__()

    def ending(self, position: Position) -> str:
        """Return no_pieces, no_moves or no_progress."""
        if not position.own:
            return "no_pieces"
        can_move = any(rules.stepping(position)) or any(rules.jumping(position, position.own))
        return "no_progress" if can_move else "no_moves"

    def pieces(self, position: Position) -> dict[Cell, str]:
        """Return r and b for men, R and B for kings."""
        return board.pieces(position)

    def remark(self, position: Position) -> str:
        """Return which piece must continue its jump, or how near a draw by lack of progress is."""
        if position.jumper:
            return f"jump on from {self.cell_text(_jumper_cell(position), 'readable')}"
        idle, limit = int(position.idle), int(rules.no_progress_limit(position))
        return f"{idle} of {limit} turns without progress" if limit and 2 * idle >= limit else ""

    def to_text(self, position: Position) -> str:
        """Return the position in one line.

        Rows from the top and the side to move, then x with the cell of a piece that must continue
        its jump, or the number of turns without progress unless it is 0.
        """
        text = GRID.position_text(board.pieces(position), LETTERS, int(position.player))
        if position.jumper:
            return f"{text} x{cell_text(_jumper_cell(position))}"
        return f"{text} {position.idle}" if position.idle else text

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid.

        The text may also be that of PDN, such as W:W21,22,K3:B1,2.
        """
        if pdn_text.is_position(text):
            read: Position = pdn_text.parse_position(self, text)
            return read
        rest = "x53 or a number of turns if need be"
        men, player, words = read_position(GRID, text, LETTERS, PIECES_PER_SIDE, rest)
        own, enemy = GRID.bitboards(men, LETTERS, player)
        if not enemy:
            raise BadPosition(f"{LETTERS[1 - player][0]} has just moved, so it needs a piece")
        kings = GRID.bitboard((cell for cell, letter in men.items() if letter.isupper()), player)
        options = self.initial.options
        position = Position(own, enemy, kings, ZERO, ZERO, np.uint64(player), options)
        return _with_rest(position, " ".join(words)) if words else position

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid; the fields of `positions` are arrays of any shape."""
        own, enemy, jumper = positions.own, positions.enemy, positions.jumper
        invalid = ((own | enemy) & ~rules.USED) | (own & enemy) | (positions.kings & ~(own | enemy))
        # At most one piece jumps on, and it is the player's own.
        invalid |= (jumper & ~own) | (jumper & (jumper - ONE))
        is_writable = positions.idle < np.uint64(10**_MAX_IDLE_DIGITS)
        valid: NDArray[np.bool_] = (invalid == ZERO) & is_writable & (positions.player <= ONE)
        valid &= positions.options == self.initial.options
        return valid

    def action_text(self, position: Position, action: int) -> str:
        """Return 53-42 or 53x31; x31 for a piece that continues capturing."""
        return _action_text(position, action, cell_text)

    def readable_action_text(self, position: Position, action: int) -> str:
        """Return 10-14 or 10x19 by the numbers of PDN; x19 for a piece that continues capturing."""
        return _action_text(position, action, self.readable_cell_names.__getitem__)


make = Checkers


def _action_text(position: Position, action: int, name: Callable[[Cell], str]) -> str:
    bits = int(rules.STARTS[action]), int(rules.ENDINGS[action])
    start, end = (GRID.cell(bit, int(position.player)) for bit in bits)
    return f"x{name(end)}" if position.jumper else move_text(start, end, name)


def _jumper_cell(position: Position) -> Cell:
    return GRID.cell(int(position.jumper).bit_length() - 1, int(position.player))


def _with_rest(position: Position, rest: str) -> Position:
    """Return the position with what `rest` adds: turns without progress, or the jumping piece."""
    if rest.isascii() and rest.isdigit() and len(rest) <= _MAX_IDLE_DIGITS:
        if 0 < (limit := int(rules.no_progress_limit(position))) < int(rest):
            raise BadPosition(f"{rest} turns without progress; after {limit} the game is over")
        return position._replace(idle=np.uint64(rest))
    jumpers = {f"x{row}{column}": (row, column) for row, column in rules.CELLS}
    if rest not in jumpers:
        raise BadPosition(f"'{rest}' is neither a number of turns nor x with a cell that is used")
    jumper = GRID.bitboard([jumpers[rest]], int(position.player))
    if not any(rules.jumping(position, position.own & jumper)):
        raise BadPosition(f"no piece on {rest[1:]} can continue a jump")
    return position._replace(jumper=jumper)


def _numbering(crowning: str) -> Numbering:
    """Return the numbering of positions, which leaves out the limit of turns without progress."""
    used_cells, far_row = int(rules.USED), 0xFF
    # A man on its far row is crowned.
    own_men, enemy_men = used_cells & ~far_row, used_cells & ~(far_row << 56)
    return Numbering(
        like=rules.initial(crowning == "ends_move", 0),
        cells=(own_men, enemy_men, used_cells, used_cells),
        weights=(PIECES_PER_SIDE * 2 + 1, PIECES_PER_SIDE * 2),
        kinds=("m", "k"),
        max_pieces=PIECES_PER_SIDE,
        unmoves=unmoves.unmoves,
        options={"crowning": crowning},
        # The bit of `crowning`.
        rule_bits={"options": 1},
    )
