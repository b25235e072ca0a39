"""Nine men's morris with free moves: three in a row take a bead and earn a move to anywhere.

Position  own, enemy: the beads of both sides as bits of the points A to X; own_hand, enemy_hand:
          beads not yet placed; own_free, enemy_free: 1 where the next move may go anywhere;
          pending: removals still due, 0 at a turn's beginning; player: 0 or 1; options: bits of the
          rules (PROTECT to COUNT_HAND)
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
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Game, Numbering
from cc_env.errors import BadPosition, check_bool, check_choice, format_count
from cc_env.games.morris import rules, unmoves
from cc_env.games.morris.board import ACTION_CELLS, GRID, all_symmetries
from cc_env.games.morris.evaluation import STANDARD
from cc_env.games.morris.rules import CELLS, POINTS, Position

# The bits of `Position.options`, by option and value.
FREE_MOVE = {"always": ZERO, "moving_phase_only": rules.FREE_WHEN_MOVING, "never": rules.NEVER_FREE}
REMOVALS = {"per_mill": ZERO, "one": rules.ONE_REMOVAL}
SWITCHES = {
    "protect_mills": rules.PROTECT,
    "flying": rules.FLYING,
    "count_hand": rules.COUNT_HAND,
}
STANDARD_RULES: Mapping[str, Any] = {
    "protect_mills": True,
    "removals": "one",
    "free_move": "never",
    "flying": True,
    "count_hand": True,
}
PLAYERS = "white", "black"
LETTERS = "w", "b"


class Morris(Game):
    """Morris with its options; STANDARD_RULES are those of the usual game.

    With `protect_mills` a bead in a mill is removed only if all are in mills. A turn removes as
    many beads as it closes mills, or with `removals` "one" a single bead. After a turn with a
    removal the next move is free "always", in "moving_phase_only" (after a move, not a placement)
    or "never", by `free_move`. With `flying` a player with three beads moves anywhere. With
    `count_hand` a player with fewer than three beads, including those in hand, has lost. Raises
    BadOption on other values.
    """

    name = "morris"
    grid = GRID
    action_cells = ACTION_CELLS
    planes = rules.PLANES
    players = PLAYERS
    letters = LETTERS
    symmetries = all_symmetries()
    endings = {"two_left": "{loser} has fewer than three beads", "no_moves": "{loser} cannot move"}
    piece_names = {"w": "bead", "b": "bead"}
    evaluations = {"standard": STANDARD}
    board_lines = tuple(
        (CELLS[POINTS.index(row[0])], CELLS[POINTS.index(row[2])]) for row in rules.LINES
    )
    cell_names = dict(zip(CELLS, POINTS, strict=True))

    def __init__(
        self,
        protect_mills: bool = False,
        removals: Annotated[str, REMOVALS] = "per_mill",
        free_move: Annotated[str, FREE_MOVE] = "always",
        flying: bool = False,
        count_hand: bool = False,
    ) -> None:
        self.options = {
            "protect_mills": protect_mills,
            "removals": removals,
            "free_move": free_move,
            "flying": flying,
            "count_hand": count_hand,
        }
        check_choice("morris: removals", removals, REMOVALS)
        check_choice("morris: free_move", free_move, FREE_MOVE)
        options = REMOVALS[removals] | FREE_MOVE[free_move]
        for name, bit in SWITCHES.items():
            check_bool(f"morris: {name}", self.options[name])
            self.options[name] = bool(self.options[name])
            options |= bit * np.uint64(self.options[name])
        hand = np.uint64(rules.BEADS)
        self.initial = Position(ZERO, ZERO, hand, hand, ZERO, ZERO, ZERO, ZERO, options)
        self.numbering = self._numbering()
        super().__init__()

    def _numbering(self) -> Numbering:
        """Return the numbering of the positions of the moving phase."""
        has_free_moves = self.options["free_move"] != "never"
        options = dict(self.options)
        # In the moving phase these two free moves are the same, and no bead is in hand.
        options["free_move"] = "moving_phase_only" if has_free_moves else "never"
        del options["count_hand"]
        return Numbering(
            like=self.initial,
            cells=(int(rules.ALL),) * 2,
            weights=(1,),
            max_pieces=rules.BEADS,
            max_captures=2,
            unmoves=unmoves.unmoves,
            min_pieces=rules.MIN_BEADS,
            num_states=4 if has_free_moves else 1,
            symmetries=self.symmetries,
            options=options,
            rule_bits={
                "options": int(rules.PROTECT | rules.ONE_REMOVAL | rules.NEVER_FREE | rules.FLYING)
            },
        )

    def ending(self, position: Position) -> str:
        """Return two_left or no_moves."""
        sides = (position.own, position.own_hand), (position.enemy, position.enemy_hand)
        few = any(rules.has_too_few_beads(*side, position.options) for side in sides)
        return "two_left" if few else "no_moves"

    def remark(self, position: Position) -> str:
        """Return the removals that are due, free moves, and the beads in hand.

        A free move of a player with beads in hand is left out: placing a bead forfeits it.
        """
        remarks = []
        player = int(position.player)
        opponent = 1 - player
        has_free_move = position.own_free and not position.own_hand
        if position.pending:
            color, count = PLAYERS[opponent], position.pending
            beads = f"{count} {color} beads" if count > 1 else f"a {color} bead"
            remarks.append(f"a mill: remove {beads}")
        elif has_free_move:
            remarks.append("free move: to any empty point")
        hands = position.own_hand, position.enemy_hand
        if any(hands):
            counts = (f"{PLAYERS[side]} {hands[side ^ player]}" for side in (0, 1))
            remarks.append(f"in hand: {', '.join(counts)}")
        if position.pending and has_free_move:
            remarks.append(f"{PLAYERS[player]}'s next move free")
        if position.enemy_free and not position.enemy_hand:
            remarks.append(f"{PLAYERS[opponent]}'s next move free")
        return "; ".join(remarks)

    def to_text(self, position: Position) -> str:
        """Return the position in one line.

        The points from A to X, the side to move, the beads in hand of white and black, then
        optionally f with the sides whose next move is free, and x with the number of removals due.
        """
        pieces, player = GRID.pieces(position, LETTERS), int(position.player)
        hands = position.own_hand, position.enemy_hand
        free = position.own_free, position.enemy_free
        words = ["".join(pieces.get(cell, ".") for cell in CELLS), LETTERS[player]]
        words.append(f"{hands[player]}{hands[1 - player]}")
        if any(free):
            words.append("f" + "".join(LETTERS[side] for side in (0, 1) if free[side ^ player]))
        if position.pending:
            words.append(f"x{position.pending}")
        return " ".join(words)

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid."""
        words = text.split()
        points, side, hands, *rest = [*words, "", "", ""][: max(3, len(words))]
        if len(points) != rules.NUM_POINTS or set(points) - set("wb.") or side not in ("w", "b"):
            raise BadPosition("expected: 24 points made of w, b and ., and side to move, w or b")
        if len(hands) != 2 or not (hands.isascii() and hands.isdigit()):
            raise BadPosition("expected: the beads in hand after the side to move, such as 99")
        free = rest.pop(0)[1:] if rest and rest[0] in ("fw", "fb", "fwb") else ""
        pending = int(rest.pop(0)[1:]) if rest and rest[0] in ("x1", "x2") else 0
        if rest:
            raise BadPosition(
                f"'{rest[0]}'; expected: fw, fb, fwb (free moves), x1 or x2 (removals)"
            )
        sets = [sum(1 << i for i, point in enumerate(points) if point == own) for own in LETTERS]
        for beads, hand, name in zip(sets, map(int, hands), PLAYERS, strict=True):
            if beads.bit_count() + hand > rules.BEADS:
                raise BadPosition(
                    f"{name} has {beads.bit_count() + hand} beads; expected: at most {rules.BEADS}"
                )
        player = LETTERS.index(side)
        opponent = 1 - player
        if pending > (count := sets[opponent].bit_count()):
            raise BadPosition(
                f"x{pending}, beads to remove; expected: at most {count}, as "
                f"{PLAYERS[opponent]} has {format_count(count, 'bead')}"
            )
        self._check_options(free, hands, pending)
        return Position(
            np.uint64(sets[player]),
            np.uint64(sets[opponent]),
            np.uint64(hands[player]),
            np.uint64(hands[opponent]),
            np.uint64(LETTERS[player] in free),
            np.uint64(LETTERS[opponent] in free),
            np.uint64(pending),
            np.uint64(player),
            self.initial.options,
        )

    def _check_options(self, free: str, hands: str, pending: int) -> None:
        """Raise BadPosition if the options never lead to such free moves or removals."""
        free_move = self.options["free_move"]
        if free and free_move == "never":
            raise BadPosition(f"f{free}: with free_move=never no move is free")
        placing = [side for side in free if int(hands[LETTERS.index(side)])]
        if placing and free_move == "moving_phase_only":
            raise BadPosition(
                f"f{free}: with free_move=moving_phase_only a player with beads in hand has no "
                "free move"
            )
        if pending > 1 and self.options["removals"] == "one":
            raise BadPosition(f"x{pending}: with removals=one a turn removes one bead")

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid; the fields of `positions` are arrays of any shape."""
        own, enemy = positions.own, positions.enemy
        valid: NDArray[np.bool_] = (((own | enemy) & ~rules.ALL) | (own & enemy)) == ZERO
        for hand in positions.own_hand, positions.enemy_hand:
            valid &= hand <= np.uint64(rules.BEADS)
        for flag in positions.own_free, positions.enemy_free, positions.player:
            valid &= flag <= ONE
        valid &= positions.pending <= np.uint64(2)
        valid &= positions.options == self.initial.options
        return valid

    def action_text(self, position: Position, action: int) -> str:
        """Return C for a bead placed, AB for one moved, -X for one removed."""
        if action >= rules.NUM_POINTS:
            return POINTS[action // rules.NUM_POINTS - 1] + POINTS[action % rules.NUM_POINTS]
        return ("-" if position.pending else "") + POINTS[action]


make = Morris
