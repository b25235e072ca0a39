"""Capturing & Conquering (C&C): step towards the far corner, or jump in chains over anything.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for the second player); pending: 0, or 1 + the (start, end)
          action of a turn whose capture is not yet chosen; player: 0 or 1; size: 4..8
Action    ids ascending by start, then end, of all geometrically possible (start, end); then for
          each cell a capture there; last: no capture. Captures are legal only as the second
          decision of a turn, if its (start, end) can be reached with different captures
Turn      1,2-3,4 or, with a capture, 1,2-3,4x2,3, or 1,2-3,4x- for the choice of no capture;
          readable: c2-e4, c2-e4xd3, c2-e4x-; a1 is 0,0, the first player's corner
Ending    conquest (a piece on the far corner), capture (the opponent has one piece left, the
          mover more), blocked (the player to move cannot, or has no piece left: a draw)
Symmetry  transpose

    6x6 start, as text:  bbb3/bb4/b5/5r/4rr/3rrr b     b blue, first   r red, second
"""

from collections.abc import Callable, Iterable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Cell, Game, Numbering, Track, Turn
from cc_env.core.rules import ONGOING
from cc_env.errors import BadPosition, check_integer
from cc_env.games.capture_conquer import board, rules, unmoves
from cc_env.games.capture_conquer.evaluation import STANDARD, Published
from cc_env.games.capture_conquer.rules import Position

# Edge of the published start triangle, by size.
CORNERS = {4: 2, 5: 3, 6: 3, 7: 3, 8: 4}


class CaptureConquer(Game):
    """C&C on `size` by `size` cells, 4 to 8, each side in a triangle of edge `corner`.

    `corner` is 2 to size - 1; None is the published one. Raises BadOption on other values.
    """

    name = "capture_conquer"
    planes = rules.PLANES
    players = "blue", "red"
    endings = {
        "conquest": "the far corner is reached",
        "capture": "{loser} has one piece left",
        "blocked": "no move is left",
    }
    button_labels = {"x-": "Capture nothing"}

    def __init__(self, size: Annotated[int, rules.SIZES] = 6, corner: int | None = None) -> None:
        check_integer("capture_conquer: size", size, min(rules.SIZES), max(rules.SIZES))
        size = int(size)
        corner = CORNERS[size] if corner is None else corner
        check_integer("capture_conquer: corner", corner, 2, size - 1, f", with size={size}")
        corner = int(corner)
        self.options = {"size": size, "corner": corner}
        self.initial = rules.initial(size, corner)
        self.grid = board.grid(size)
        self.readable_cell_names = board.algebraic_names(size)
        self.action_cells = board.action_cells(size)
        self.symmetries = (board.transpose_symmetry(size),)
        self.goal_cells = (size - 1, size - 1), (0, 0)
        self.evaluations = {"standard": STANDARD[size], "published": Published()}
        # The tables of a size hold for every `corner`, which only the start depends on. The word
        # `size` alone holds the rules: -1 selects all of its bits.
        self.numbering = Numbering(
            like=rules.initial(size, min(CORNERS.values())),
            cells=(int(rules.BOARD[size]),) * 2,
            weights=(1,),
            symmetries=self.symmetries,
            options={"size": size},
            rule_bits={"size": -1},
            unmoves=unmoves.unmoves,
            max_captures=1,
        )
        super().__init__()

    def ending(self, position: Position) -> str:
        """Return conquest, capture or blocked."""
        if position.enemy & ONE:
            return "conquest"
        return "capture" if rules.is_last(position) else "blocked"

    def remark(self, position: Position) -> str:
        """Return the pending jump, after which the player chooses a capture."""
        jump = board.pending_text(position, self.readable_cell_names.__getitem__)
        return f"after {jump}: choose the piece to capture, or none" if jump else ""

    def to_text(self, position: Position) -> str:
        """Return the position in one line: rows from row 0, side to move, pending jump if any."""
        pieces = self.pieces(position)
        text = self.grid.position_text(pieces, self.letters, int(position.player))
        return f"{text} {board.pending_text(position)}".rstrip()

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid.

        A side may have any number of pieces, for problems, tests and measurements; in a game it
        never has more than at the start.
        """
        pieces, player, jump = self.grid.parse_position(
            text, self.letters, "for a pending jump its start-end"
        )
        own, enemy = self.grid.bitboards(pieces, self.letters, player)
        if not enemy:
            raise BadPosition(f"{self.letters[1 - player]} has just moved, so it needs a piece")
        position = Position(own, enemy, ZERO, np.uint64(player), self.initial.size)
        return self._with_pending(position, " ".join(jump)) if jump else position

    def _with_pending(self, position: Position, jump: str) -> Position:
        """Return the position after a jump; raise BadPosition unless it leaves a choice."""
        if self.outcome(position) != ONGOING:
            ending = self.ending(position)
            raise BadPosition(f"nothing can be pending, the game is over ({ending})")
        for action in board.legal(position):
            after: Position = self.apply(position, action)
            if after.pending and board.ends_text(position, action) == jump:
                return after
        raise BadPosition(f"'{jump}' is not a legal jump that leaves a choice of captures")

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid; the fields of `positions` are arrays of any shape."""
        size, own, enemy = self.initial.size, positions.own, positions.enemy
        invalid = ((own | enemy) & ~rules.BOARD[size]) | (own & enemy)
        is_jump = positions.pending <= np.uint64(rules.NUM_JUMPS[size])
        valid: NDArray[np.bool_] = (invalid == ZERO) & is_jump & (positions.player <= ONE)
        valid &= positions.size == size
        return valid

    def action_text(self, position: Position, action: int) -> str:
        """Return 1,2-3,4 or, if the capture is certain, 1,2-3,4x2,3; to choose it, x2,3 or x-."""
        return _action_text(position, action, board.cell_text)

    def readable_action_text(self, position: Position, action: int) -> str:
        """Return c2-e4 or, if the capture is certain, c2-e4xd3; to choose it, xd3 or x-."""
        return _action_text(position, action, self.readable_cell_names.__getitem__)

    def track(self, position: Position, turn: Turn) -> Track:
        """Return a shortest path of a turn and its capture; of a lone decision only the capture."""
        action, *decisions = turn
        has_path = not position.pending and not board.is_step(*board.ends(position, action))
        if not has_path or (not decisions and board.leaves_choice(position, action)):
            return self.track_ends(position, action)
        start, end = board.ends(position, action)
        captures = [
            board.decided_capture(position, decision) for decision in decisions
        ] or board.victims(position, action)[:1]
        victim = captures[0] if captures else None
        return _board_track(position, board.shortest_path(position, start, end, victim), captures)

    def track_ends(self, position: Position, action: int) -> Track:
        """Return the ends of the track of an action and its capture."""
        if position.pending:
            return _board_track(position, (), [board.decided_capture(position, action)])
        is_unfinished = board.leaves_choice(position, action)
        captures = () if is_unfinished else board.victims(position, action)[:1]
        return _board_track(position, board.ends(position, action), captures)


make = CaptureConquer


def _action_text(position: Position, action: int, name: Callable[[Cell], str]) -> str:
    """Return the text of an action by the names of its cells."""
    if action >= rules.NUM_JUMPS[position.size]:
        captured = board.decided_capture(position, action)
        return "x-" if captured is None else f"x{name(board.cell(position, captured))}"
    text = board.ends_text(position, action, name)
    if board.is_step(*board.ends(position, action)):
        return text
    is_legal = not position.pending and action in board.legal(position)
    if is_legal and not board.leaves_choice(position, action):
        cells = (board.cell(position, bit) for bit in board.victims(position, action))
        text += "".join(f"x{name(cell)}" for cell in cells)
    return text


def _board_track(position: Position, path: Iterable[int], captures: Iterable[int | None]) -> Track:
    """Return the track on the board of `path` and `captures`, bits in the mover's frame.

    None in `captures` is the choice of no capture.
    """
    return Track(
        tuple(board.cell(position, bit) for bit in path),
        tuple(board.cell(position, bit) for bit in captures if bit is not None),
    )
