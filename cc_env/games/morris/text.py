"""Morris as text and on the board: positions, actions, endings, remarks; the symmetries."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Cell, Grid, Symmetry, symmetry
from cc_env.errors import BadPosition
from cc_env.games.morris.rules import (
    ALL,
    BEADS,
    CELLS,
    FREE_WHEN_MOVING,
    NEVER_FREE,
    NUM_POINTS,
    ONE_REMOVAL,
    POINTS,
    SIZE,
    Position,
    has_too_few,
)

PLAYERS = "white", "black"
LETTERS = "w", "b"
GRID = Grid(SIZE, SIZE, {cell: point for point, cell in enumerate(CELLS)})


def _action_cells() -> NDArray[np.int64]:
    cells = [SIZE * row + column for row, column in CELLS]
    moves = [(start, end) for start in cells for end in cells]
    return np.array([*((cell, cell) for cell in cells), *moves], np.int64)


ACTION_CELLS = _action_cells()


@cache
def symmetries() -> tuple[Symmetry, ...]:
    """Return all but the identity."""
    turns: dict[str, Callable[[int, int], Cell]] = {
        "": lambda row, column: (row, column),
        "turned": lambda row, column: (column, SIZE - 1 - row),
        "turned twice": lambda row, column: (SIZE - 1 - row, SIZE - 1 - column),
        "turned back": lambda row, column: (SIZE - 1 - column, row),
    }
    symmetric = []
    for turned, turn in turns.items():
        for mirrored in ("", "mirrored"):
            for swapped in ("", "inside out"):
                image = {}
                for cell in CELLS:
                    row, column = cell[::-1] if mirrored else cell
                    row, column = _inside_out(row, column) if swapped else (row, column)
                    image[cell] = turn(row, column)
                if name := ", ".join(filter(None, (turned, mirrored, swapped))):
                    symmetric.append(symmetry(name, GRID, image.__getitem__, ACTION_CELLS))
    return tuple(symmetric)


def _inside_out(row: int, column: int) -> Cell:
    """Return the point of the other ring in the same direction from the middle."""
    middle = SIZE // 2
    down, right = row - middle, column - middle
    ring = max(abs(down), abs(right))
    return middle + down * (4 - ring) // ring, middle + right * (4 - ring) // ring


def ending(position: Position) -> str:
    """Return how a finished game ended: two_left or no_moves."""
    sides = (position.own, position.own_hand), (position.enemy, position.enemy_hand)
    few = any(has_too_few(*side, position.options) for side in sides)
    return "two_left" if few else "no_moves"


def remark(position: Position) -> str:
    """Return what the player to move may do, what both have in hand, whose next move is free.

    A free move of a player who has beads in hand is not told: it lapses when a bead is placed.
    """
    player, remarks = int(position.player), []
    if position.pending:
        beads = f"{PLAYERS[1 - player]} bead{'s' if position.pending > 1 else ''}"
        remarks.append(f"a mill: removes {position.pending} {beads}")
    elif position.own_free and not position.own_hand:
        remarks.append("free move: to any empty point")
    hands = position.own_hand, position.enemy_hand
    if any(hands):
        counts = (f"{PLAYERS[side]} {hands[side ^ player]}" for side in (0, 1))
        remarks.append(f"in hand: {', '.join(counts)}")
    if position.pending and position.own_free and not position.own_hand:
        remarks.append(f"{PLAYERS[player]}'s next move free")
    if position.enemy_free and not position.enemy_hand:
        remarks.append(f"{PLAYERS[1 - player]}'s next move free")
    return "; ".join(remarks)


def to_text(position: Position) -> str:
    """Return the position in one line.

    The points from A to X, side to move, what white and black have in hand, and where need be f
    with the sides whose next move is free and x with the number of removals that are due.
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


def parse_position(text: str, options: np.uint64) -> Position:
    """As `Notation.parse_position`, with these options."""
    board, side, hands, *rest = [*text.split(), "", "", ""][: max(3, len(text.split()))]
    if len(board) != NUM_POINTS or set(board) - set("wb.") or side not in ("w", "b"):
        raise BadPosition("wanted: 24 points made of w, b and ., and side to move, w or b")
    if len(hands) != 2 or not (hands.isascii() and hands.isdigit()):
        raise BadPosition("wanted: after the side to move what both have in hand, such as 99")
    free = rest.pop(0)[1:] if rest and rest[0] in ("fw", "fb", "fwb") else ""
    pending = int(rest.pop(0)[1:]) if rest and rest[0] in ("x1", "x2") else 0
    if rest:
        raise BadPosition(f"'{rest[0]}'; wanted: fw, fb, fwb (free moves), x1 or x2 (removals)")
    sides = [sum(1 << at for at, letter in enumerate(board) if letter == own) for own in LETTERS]
    for beads, hand, name in zip(sides, map(int, hands), PLAYERS, strict=True):
        if beads.bit_count() + hand > BEADS:
            raise BadPosition(f"{name} has more than {BEADS} beads")
    player = LETTERS.index(side)
    if pending > sides[1 - player].bit_count():
        raise BadPosition("more removals are due than there are beads to remove")
    _check_options(free, hands, pending, options)
    return Position(
        np.uint64(sides[player]),
        np.uint64(sides[1 - player]),
        np.uint64(hands[player]),
        np.uint64(hands[1 - player]),
        np.uint64(LETTERS[player] in free),
        np.uint64(LETTERS[1 - player] in free),
        np.uint64(pending),
        np.uint64(player),
        options,
    )


def _check_options(free: str, hands: str, pending: int, options: np.uint64) -> None:
    """Raise BadPosition where these rules never bring such free moves or removals."""
    if free and options & NEVER_FREE:
        raise BadPosition(f"f{free}: with free_move=never no move is free")
    placing = [side for side in free if int(hands[LETTERS.index(side)])]
    if placing and options & FREE_WHEN_MOVING:
        why = "with free_move=moving_phase_only who has beads in hand has no free move"
        raise BadPosition(f"f{free}: {why}")
    if pending > 1 and options & ONE_REMOVAL:
        raise BadPosition(f"x{pending}: with removals=one a turn removes one bead")


def fits(position: Position, options: np.uint64) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    own, enemy = position.own, position.enemy
    possible: NDArray[np.bool_] = ((own | enemy) & ~ALL | own & enemy) == ZERO
    most = {"hand": BEADS, "free": 1}
    for name, value in most.items():
        for side in ("own", "enemy"):
            possible &= getattr(position, f"{side}_{name}") <= np.uint64(value)
    possible &= (position.pending <= np.uint64(2)) & (position.player <= ONE)
    possible &= position.options == options
    return possible


def action_text(position: Position, action: int) -> str:
    """Return C for a bead placed, AB for one moved, -X for one removed."""
    if action >= NUM_POINTS:
        return POINTS[action // NUM_POINTS - 1] + POINTS[action % NUM_POINTS]
    return ("-" if position.pending else "") + POINTS[action]
