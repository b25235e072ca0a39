"""C&C as text and on the board: positions, actions, endings, and what a turn did.

Shapes: A actions.
"""

from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.game import Cell, Grid, Symmetry, Track, Turn, symmetry
from cc_env.core.rules import ONGOING
from cc_env.errors import BadPosition
from cc_env.games.capture_conquer.chains import paths
from cc_env.games.capture_conquer.rules import (
    BOARD,
    ENDINGS,
    NUM_JUMPS,
    STARTS,
    Position,
    all_cells,
    apply,
    choices,
    is_last,
    legal_actions,
    outcome,
)

LETTERS = "b", "r"


def ending(position: Position) -> str:
    """Return how a finished game ended: conquest, capture or blocked."""
    if position.enemy & ONE:
        return "conquest"
    return "capture" if is_last(position) else "blocked"


@cache
def grid(size: int) -> Grid:
    """Return the cells of the board of this size, and their bits."""
    return Grid(size, size, {(r, c): 8 * r + c for r, c in all_cells(size)}, is_turned=True)


def _cell(position: Position, index: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return grid(int(position.size)).cell(index, int(position.player))


@cache
def action_cells(size: int) -> NDArray[np.int64]:
    """Return the start and the end of each action, int64[A, 2]; for captures the captured cell."""
    jumps = np.stack((STARTS[size], ENDINGS[size]), 1)[: NUM_JUMPS[size]].astype(np.int64)
    captures = np.arange(size * size + 1)[:, np.newaxis].repeat(2, 1)
    return np.concatenate((jumps // 8 * size + jumps % 8, captures))


@cache
def transposition(size: int) -> Symmetry:
    """Return the symmetry that swaps rows and columns."""
    plain = symmetry("transposition", grid(size), lambda cell: cell[::-1], action_cells(size))
    return plain._replace(position=partial(_transposed, plain))


def _transposed(plain: Symmetry, position: Position) -> Position:
    image: Position = plain.position(position)
    if not position.pending:
        return image
    return image._replace(pending=np.uint64(plain.actions[int(position.pending) - 1] + 1))


def remark(position: Position) -> str:
    """Return which pending jump still has to choose its capture; empty if none is pending."""
    if not position.pending:
        return ""
    return f"chooses what {_jump_text(position, int(position.pending) - 1)} captures"


def to_text(position: Position) -> str:
    """Return the position in one line: rows from the top, side to move, pending jump if any."""
    board = grid(int(position.size))
    text = board.position_text(board.pieces(position, LETTERS), LETTERS, int(position.player))
    return f"{text} {_jump_text(position, int(position.pending) - 1)}" if position.pending else text


def parse_position(text: str, size: int) -> Position:
    """As `Notation.parse_position`.

    A side may have any number of pieces, for problems, tests and measurements; in a game it never
    has more than it began with.
    """
    board = grid(size)
    pieces, player, jump = board.parse_position(text, LETTERS, "for a pending jump its start-end")
    own, enemy = board.bitboards(pieces, LETTERS, player)
    if not enemy:
        raise BadPosition(f"{LETTERS[1 - player]} has just moved, so it needs a piece")
    position = Position(own, enemy, ZERO, np.uint64(player), np.uint64(size))
    return _with_pending(position, " ".join(jump)) if jump else position


def fits(position: Position, size: int) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    wrong = (position.own | position.enemy) & ~BOARD[size] | position.own & position.enemy
    is_jump = position.pending <= np.uint64(NUM_JUMPS[size])
    possible: NDArray[np.bool_] = (wrong == ZERO) & is_jump & (position.player <= ONE)
    possible &= position.size == np.uint64(size)
    return possible


def _with_pending(position: Position, jump: str) -> Position:
    if outcome(position) != ONGOING:
        raise BadPosition(f"nothing can be pending, the game is over ({ending(position)})")
    for action in _legal(position):
        after = Position(*map(np.uint64, apply(position, action)))
        if after.pending and _jump_text(position, action) == jump:
            return after
    raise BadPosition(f"'{jump}' is not a jump here that leaves a choice of captures")


@lru_cache(maxsize=64)  # a list of choices asks for each action
def _legal(position: Position) -> tuple[int, ...]:
    out = np.empty(STARTS.shape[1], np.int32)
    return tuple(out[: legal_actions(position, out)].tolist())


def _cell_text(position: Position, index: int) -> str:
    row, column = _cell(position, index)
    return f"{row},{column}"


def _jump_text(position: Position, action: int) -> str:
    """Return the start and end, as 1,2-3,4."""
    return _jump_texts(int(position.size), bool(position.player))[action]


@cache
def _jump_texts(size: int, is_turned: bool) -> tuple[str, ...]:
    board, ends = grid(size), _all_ends(size)[: NUM_JUMPS[size]]
    pairs = ([board.cell(bit, is_turned) for bit in pair] for pair in ends)
    return tuple(f"{start[0]},{start[1]}-{end[0]},{end[1]}" for start, end in pairs)


def _ends(position: Position, action: int) -> tuple[int, int]:
    return _all_ends(int(position.size))[action]


@cache
def _all_ends(size: int) -> tuple[tuple[int, int], ...]:
    return tuple(zip(STARTS[size].tolist(), ENDINGS[size].tolist(), strict=True))


def _decision(position: Position, action: int) -> int | None:
    """Return the bit index of the cell on which a capture decision captures, None for nothing."""
    row, column = divmod(action - int(NUM_JUMPS[position.size]), int(position.size))
    return None if row == int(position.size) else 8 * row + column


@lru_cache(maxsize=1024)
def _leaves_choice(position: Position, action: int) -> bool:
    """Return whether it is still to be chosen, after a legal action, what it captures."""
    return not _is_step(*_ends(position, action)) and bool(apply(position, action)[2])


@lru_cache(maxsize=1024)
def _victims(position: Position, action: int) -> tuple[int, ...]:
    """Return the bit indices of the cells that a legal (start, end) action can capture on."""
    if _is_step(*_ends(position, action)):
        return ()
    start, end = (ONE << np.uint64(index) for index in _ends(position, action))
    victims = int(choices(position, start, end)[0])
    return tuple(index for index in range(64) if victims >> index & 1) if victims else ()


def _is_step(start: int, end: int) -> bool:
    return end - start in (1, 8, 9)


def action_text(position: Position, action: int) -> str:
    """Return 1,2-3,4 or, if the capture is certain, 1,2-3,4x2,3; for a decision x2,3 or x-."""
    if action >= NUM_JUMPS[position.size]:
        index = _decision(position, action)
        return "x-" if index is None else f"x{_cell_text(position, index)}"
    text = _jump_text(position, action)
    if position.pending or action not in _legal(position) or _leaves_choice(position, action):
        return text
    return text + "".join(f"x{_cell_text(position, index)}" for index in _victims(position, action))


@cache
def _middle(start: int, end: int) -> int | None:
    """Return the bit index of the cell that one hop goes over; None where it takes several."""
    by = {abs(start // 8 - end // 8), abs(start % 8 - end % 8)}
    return (start + end) // 2 if max(by) == 2 and by <= {0, 2} else None


def _is_one_hop(position: Position, start: int, end: int, victim: int | None) -> bool:
    """Return whether one hop leads from a cell to another and captures this, None for nothing."""
    middle = _middle(start, end)
    if middle is None or not int(position.own | position.enemy) >> middle & 1:
        return False
    return victim == (middle if int(position.enemy) >> middle & 1 else None)


def track(position: Position, turn: Turn) -> Track:
    """Return the shortest path of a turn and its capture; of a lone decision only the latter."""
    decided = [_decision(position, a) for a in turn if a >= NUM_JUMPS[position.size]]
    if position.pending:
        return Track((), tuple(_cell(position, index) for index in decided if index is not None))
    start, end = _ends(position, turn[0])
    unfinished = not decided and _leaves_choice(position, turn[0])
    if unfinished or _is_step(start, end):
        return Track((_cell(position, start), _cell(position, end)), ())
    victim = decided[0] if decided else next(iter(_victims(position, turn[0])), None)
    captured = () if victim is None else (_cell(position, victim),)
    if _is_one_hop(position, start, end, victim):
        return Track((_cell(position, start), _cell(position, end)), captured)
    own, enemy = int(position.own) ^ 1 << start, int(position.enemy)
    empty = int(BOARD[position.size]) & ~int(position.own | position.enemy)
    chains = paths(start, end, own, enemy, empty)
    path = next(chain.cells for chain in chains if chain.victim == victim)
    return Track(tuple(_cell(position, index) for index in path), captured)
