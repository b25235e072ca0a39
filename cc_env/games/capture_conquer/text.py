"""C&C as text and on the board: positions, actions, endings, and what a turn did."""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from cc_env.bits import ONE, ZERO
from cc_env.errors import BadPosition
from cc_env.game import Cell, Symmetry, Track, Turn
from cc_env.games.capture_conquer.chains import paths
from cc_env.games.capture_conquer.rules import (
    BOARD,
    ENDINGS,
    NUM_JUMPS,
    STARTS,
    Position,
    all_cells,
    apply,
    bit,
    choices,
    is_last,
    legal_actions,
    outcome,
)
from cc_env.games.grid import read_rows, rows_text
from cc_env.rules import ONGOING


def ending(position: Position) -> str:
    """Return how a finished game ended: conquest, capture or blocked."""
    if position.enemy & ONE:
        return "conquest"
    return "capture" if is_last(position) else "blocked"


def _cell(position: Position, index: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return _cells(int(position.size), bool(position.player))[index]


@cache
def _cells(size: int, is_turned: bool) -> tuple[Cell, ...]:
    """Return the cell of the board with each bit index of the mover's frame."""
    cells, last = (divmod(index, 8) for index in range(64)), size - 1
    return tuple((last - row, last - col) if is_turned else (row, col) for row, col in cells)


@cache
def action_cells(size: int) -> NDArray[np.int64]:
    """Return the start and the end of each action; those that capture have the captured cell."""
    jumps = np.stack((STARTS[size], ENDINGS[size]), 1)[: NUM_JUMPS[size]].astype(np.int64)
    captures = np.arange(size * size + 1)[:, np.newaxis].repeat(2, 1)
    return np.concatenate((jumps // 8 * size + jumps % 8, captures))


@cache
def transposition(size: int) -> Symmetry:
    """Return the symmetry that swaps rows and columns."""
    jumps = int(NUM_JUMPS[size])
    ids = {(int(STARTS[size, a]), int(ENDINGS[size, a])): a for a in range(jumps)}
    swapped = [ids[start % 8 * 8 + start // 8, end % 8 * 8 + end // 8] for start, end in ids]
    cells = np.arange(size * size).reshape(size, size).T.ravel()
    actions = np.concatenate((swapped, jumps + cells, [jumps + size * size]))
    return Symmetry("transposition", _transposed, actions.astype(np.int32), cells)


def _transposed(position: Position) -> Position:
    def swap(cells: np.uint64) -> np.uint64:
        bits = (bit(i % 8, i // 8) for i in range(64) if int(cells) >> i & 1)
        return np.uint64(sum(bits))

    image = position._replace(own=swap(position.own), enemy=swap(position.enemy))
    if not position.pending:
        return image
    actions = transposition(int(position.size)).actions
    return image._replace(pending=np.uint64(actions[int(position.pending) - 1] + 1))


def _frame_bit(position: Position, cell: Cell) -> int:
    """Return the bit, in the mover's frame, of a cell of the board."""
    row, column = _cell(position, 8 * cell[0] + cell[1])
    return bit(row, column)


@cache
def _bits(size: int, is_turned: bool) -> tuple[tuple[Cell, int], ...]:
    """Return the cells of the board, each with its bit in the mover's frame."""
    frame = _cells(size, is_turned)  # to turn the board twice changes nothing
    bits = ((cell, frame[8 * cell[0] + cell[1]]) for cell in all_cells(size))
    return tuple((cell, bit(*there)) for cell, there in bits)


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter, b or r, of each occupied cell."""
    own, enemy = ("b", "r") if position.player == ZERO else ("r", "b")
    mine, yours = int(position.own), int(position.enemy)
    found = {}
    for cell, here in _bits(int(position.size), bool(position.player)):
        if mine & here:
            found[cell] = own
        elif yours & here:
            found[cell] = enemy
    return found


def remark(position: Position) -> str:
    """Return of which jump it is still to be said what it captures, if of one."""
    if not position.pending:
        return ""
    return f"chooses what {_jump_text(position, int(position.pending) - 1)} captures"


def to_text(position: Position) -> str:
    """Return the position in one line: rows from the top, side to move, pending jump if any."""
    board = rows_text(pieces(position), int(position.size), int(position.size))
    pending = ""
    if position.pending:
        pending = " " + _jump_text(position, int(position.pending) - 1)
    return f"{board} {'br'[int(position.player)]}{pending}"


def parse_position(text: str, size: int) -> Position:
    """As `Game.from_text`; raise BadPosition where there is none, saying why.

    A side may have any number of pieces, for problems, tests and measurements; in a game it never
    has more than it began with.
    """
    fields = text.split()
    if len(fields) not in (2, 3) or fields[1] not in ("b", "r"):
        wanted = "rows, side to move (b or r), for a pending jump its start and end"
        raise BadPosition(f"wanted: {wanted}")
    letters = read_rows(fields[0], size, size, "br")
    empty = Position(ZERO, ZERO, ZERO, np.uint64("br".index(fields[1])), np.uint64(size))
    sides = {"b": 0, "r": 0}
    for cell, letter in letters.items():
        sides[letter] |= _frame_bit(empty, cell)
    enemy = "r" if fields[1] == "b" else "b"
    if not sides[enemy]:
        raise BadPosition(f"{enemy} has just moved, so it needs a piece")
    position = empty._replace(own=np.uint64(sides[fields[1]]), enemy=np.uint64(sides[enemy]))
    return position if len(fields) == 2 else _with_pending(position, fields[2])


def fits(position: Position, size: int) -> NDArray[np.bool_]:
    """As `Game.fits`."""
    wrong = (position.own | position.enemy) & ~BOARD[size] | position.own & position.enemy
    is_jump = position.pending <= np.uint64(NUM_JUMPS[size])
    found: NDArray[np.bool_] = (wrong == ZERO) & is_jump & (position.player <= ONE)
    found &= position.size == np.uint64(size)
    return found


def _with_pending(position: Position, jump: str) -> Position:
    if outcome(position) != ONGOING:
        raise BadPosition(f"nothing can be pending, the game is over ({ending(position)})")
    for action in _legal(position):
        after = Position(*map(np.uint64, apply(position, action)))
        if after.pending and _jump_text(position, action) == jump:
            return after
    raise BadPosition(f"'{jump}' is not a jump here that leaves a choice of captures")


@lru_cache(maxsize=64)  # whoever lists choices asks for each of them
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
    cells = _cells(size, is_turned)
    pairs = ((cells[start], cells[end]) for start, end in _all_ends(size)[: NUM_JUMPS[size]])
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
