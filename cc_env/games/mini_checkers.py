"""Mini checkers, 6×6: men only, jumps are forced, one a turn; a side that cannot move passes.

Position  own, enemy: the two sides as bits 8r + c, in the frame of the player to move (the board
          is turned by 180 degrees for white; men go towards row 0); player: 0 or 1
Action    ids ascending by start, then end, of all steps and jumps on an empty board; last: the
          pass, which is legal where the player to move can do nothing else and the opponent can
Turn      41-30, 41x23 or pass: row and column, from the upper left; readable: 6-9, by the
          numbers of the cells, 1 to 18 from the right and from the bottom
Ending    no_pieces (a side has no men: it has lost, by 6), both_stuck (neither side can move: the
          side with more men has won, by the difference; a draw if they are equal)
Symmetry  none
Shapes    A actions; C planes, H rows and W columns of an observation; K = 2 sets of a numbering

    start, as text:  1w1w1w/w1w1w1/6/6/1b1b1b/b1b1b1 b     b black, below   w white, above
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_index, popcount, reverse_bits, table_sum
from cc_env.core.game import Cell, Game, Grid, Numbering
from cc_env.core.rules import DRAW, ONGOING, Bool, Int
from cc_env.errors import BadPosition, check_choice
from cc_env.games.jumps import (
    FORWARD,
    Word,
    cell_text,
    jumpers,
    make_jump_tables,
    movable,
    move_text,
    read_position,
    steppers,
    write,
)
from cc_env.jit.compiler import jit

SIZE = 6
CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r + c) % 2]
GRID = Grid(SIZE, SIZE, {(r, c): 8 * r + c for r, c in CELLS}, is_turned=True)
# As in draughts, cell 1 is the rightmost of the first player's back row.
NUMBERS = {cell: str(number) for number, cell in enumerate(reversed(CELLS), 1)}
PLAYERS = "black", "white"
LETTERS = "b", "w"
PLANES = "own men", "enemy men"
PIECES_PER_SIDE = 6
# Solves the game.
UNLIMITED = {"depth": 80, "seconds": 15, "table_megabytes": 256}

_18 = np.uint64(18)
_BOARD = np.uint64(sum(1 << bit for bit in GRID.bits.values()))

# The table of actions, see `jumps.JumpTables`.
_STARTS, _ENDS, JUMPED, STEP_ID, JUMP_ID = make_jump_tables(CELLS, FORWARD)
# The id of the pass, the last action; it has no cell.
PASS = len(_STARTS)
STARTS, ENDS = (np.append(cells, np.uint64(63)) for cells in (_STARTS, _ENDS))


class Position(NamedTuple):
    """A position; the module's docstring describes the fields."""

    own: np.uint64
    enemy: np.uint64
    player: np.uint64


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal actions, ascending, into `out` (int32[>= A]); return their number."""
    own, empty = position.own, _BOARD & ~(position.own | position.enemy)
    jumps = jumpers(own, ZERO, position.enemy, empty)
    if movable(jumps):
        return write(jumps, JUMP_ID, out)
    steps = steppers(own, ZERO, empty)
    if movable(steps):
        return write(steps, STEP_ID, out)
    if is_stuck(rotate(position.enemy), rotate(own)):
        return 0
    out[0] = PASS
    return 1


@jit
def is_stuck(own: Word, enemy: Word) -> Bool:
    """Return whether a side, in its own frame, can neither step nor jump."""
    empty = _BOARD & ~(own | enemy)
    can_jump = movable(jumpers(own, ZERO, enemy, empty))
    return not (can_jump | movable(steppers(own, ZERO, empty)))


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a legal action."""
    own, enemy = position.own, position.enemy
    if action != PASS:
        own ^= ONE << STARTS[action] | ONE << ENDS[action]
        enemy &= ~JUMPED[action]
    return Position(rotate(enemy), rotate(own), position.player ^ ONE)


@jit
def rotate(cells: Word) -> Word:
    """Return the cells after a rotation of the board by 180 degrees."""
    return reverse_bits(cells) >> _18


@jit
def outcome(position: Position) -> Int:
    """Return ONGOING until a side has no men or neither can move; then the side with more men."""
    own, enemy = position.own, position.enemy
    if own and enemy and not (is_stuck(own, enemy) and is_stuck(rotate(enemy), rotate(own))):
        return ONGOING
    lead = popcount(own) - popcount(enemy)
    if lead == 0:
        return DRAW
    return np.int64(position.player) if lead > 0 else 1 - np.int64(position.player)


@jit
def margin(position: Position) -> Int:
    """Return 6 if a side has no men, else the difference of the numbers of men."""
    if not (position.own and position.enemy):
        return np.int64(PIECES_PER_SIDE)
    lead = popcount(position.own) - popcount(position.enemy)
    return max(lead, -lead)


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the planes named in PLANES, in the frame of `player`, into int8[C, H, W]."""
    own, enemy = position.own, position.enemy
    if player != np.int64(position.player):
        own, enemy = rotate(enemy), rotate(own)
    for row in range(SIZE):
        for column in range(SIZE):
            cell = np.uint64(8 * row + column)
            planes[0, row, column] = own >> cell & ONE
            planes[1, row, column] = enemy >> cell & ONE


@jit
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the captures into `out` (int32[>= A]); return their number."""
    empty = _BOARD & ~(position.own | position.enemy)
    return write(jumpers(position.own, ZERO, position.enemy, empty), JUMP_ID, out)


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    outcome=outcome,
    observe=observe,
    tactical_actions=tactical_actions,
    margin=margin,
)


@jit
def to_sets(position: Position) -> tuple[Word, Word]:
    """Return the own and the enemy men."""
    return position.own, position.enemy


@jit
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets (uint64[K]), the first player to move."""
    return Position(sets[0], sets[1], ZERO)


rules.register_numbering(Position, to_sets=to_sets, from_sets=from_sets)
rules.register_inputs(Position, to_sets)


class Published(NamedTuple):
    """The published evaluation, in its own units: men and their progress.

    `man` for each own man, plus the rows between each enemy man and its far row; minus the same
    with both sides swapped. The published values are these divided by 10, from -6 to 6.
    """

    man: np.int64 = np.int64(5)


class Standard(NamedTuple):
    """The default evaluation: a weighted sum of men by cell and of the tempo.

    `weights` (int64[65]) has a weight for each cell, then that of the tempo.
    """

    weights: NDArray[np.int64]


@jit
def evaluate_published(position: Position, player: Int, evaluation: Published) -> Int:
    """Return the published evaluation of a position for `player`, in its own units."""
    own, enemy = position.own, rotate(position.enemy)
    value = evaluation.man * (popcount(own) - popcount(enemy))
    value += _rows_to_go(enemy) - _rows_to_go(own)
    return value if player == np.int64(position.player) else -value


@jit
def _rows_to_go(men: Word) -> Int:
    """Return the sum of the men's distances from the far row."""
    total: Int = np.int64(0)
    while men:
        total += np.int64(lowest_index(men) >> np.uint64(3))
        men &= men - ONE
    return total


@jit
def evaluate_standard(position: Position, player: Int, evaluation: Standard) -> Int:
    """Return the evaluation of a position for `player`, in hundredths of a piece."""
    weights = evaluation.weights
    value: Int = table_sum(position.own, weights) - table_sum(rotate(position.enemy), weights)
    value += weights[64]
    return value if player == np.int64(position.player) else -value


rules.register_evaluation(Position, Published, evaluate_published)
rules.register_evaluation(Position, Standard, evaluate_standard)

_WEIGHTS = [100 + (5, 4, 3, 2, 1, 6, 0, 0)[cell // 8] for cell in range(64)]
STANDARD = Standard(np.array([*_WEIGHTS, 0], np.int64))
NUMBERING = Numbering(
    like=Position(ZERO, ZERO, ZERO),
    cells=(int(_BOARD),) * 2,
    weights=(1,),
    max_pieces=PIECES_PER_SIDE,
    is_acyclic=True,
)


def _action_cells() -> NDArray[np.int64]:
    ends = np.stack((STARTS, ENDS), 1).astype(np.int64)
    cells = ends // 8 * SIZE + ends % 8
    cells[PASS] = SIZE * SIZE
    return cells


class MiniCheckers(Game):
    """Mini checkers; `first` is the player who begins, black (below) or white (above).

    Raises BadOption on other values.
    """

    name = "mini_checkers"
    grid = GRID
    action_cells = _action_cells()
    planes = PLANES
    players = PLAYERS
    letters = LETTERS
    max_margin = PIECES_PER_SIDE
    endings = {"no_pieces": "{loser} has no men left", "both_stuck": "neither side can move"}
    evaluations = {"standard": STANDARD, "published": Published()}
    levels = {
        "easy": {"depth": 5, "seconds": 15},
        "normal": {"depth": 15, "seconds": 15},
        "hard": UNLIMITED,
        "extreme": UNLIMITED,
    }
    numbering = NUMBERING
    readable_cell_names = NUMBERS

    def __init__(self, first: Annotated[str, PLAYERS] = "black") -> None:
        check_choice("mini_checkers: first", first, PLAYERS)
        self.options = {"first": first}
        self.initial = self.parse_position(f"1w1w1w/w1w1w1/6/6/1b1b1b/b1b1b1 {first[0]}")
        super().__init__()

    def ending(self, position: Position) -> str:
        """Return no_pieces or both_stuck."""
        return "both_stuck" if position.own and position.enemy else "no_pieces"

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid; the fields of `positions` are arrays of any shape."""
        own, enemy = positions.own, positions.enemy
        invalid = ((own | enemy) & ~_BOARD) | (own & enemy)
        valid: NDArray[np.bool_] = (invalid == ZERO) & (positions.player <= ONE)
        return valid

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid."""
        pieces, player, _ = read_position(GRID, text, LETTERS, PIECES_PER_SIDE)
        if not pieces:
            raise BadPosition("there are no men on the board")
        return Position(*GRID.bitboards(pieces, LETTERS, player), np.uint64(player))

    def action_text(self, position: Position, action: int) -> str:
        """Return the notation of an action, such as 41-30, 41x23 or pass."""
        return _action_text(position, action, cell_text)

    def readable_action_text(self, position: Position, action: int) -> str:
        """Return the notation of an action by the numbers of cells, such as 6-9, 6x11 or pass."""
        return _action_text(position, action, NUMBERS.__getitem__)


def _action_text(position: Position, action: int, name: Callable[[Cell], str]) -> str:
    if action == PASS:
        return "pass"
    start, end = (GRID.cell(int(cells[action]), int(position.player)) for cells in (STARTS, ENDS))
    return move_text(start, end, name)


make = MiniCheckers
