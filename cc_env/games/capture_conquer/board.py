"""The board of C&C, and the cells, texts and captures of its actions.

A cell of a position is a bit index 8r + c in the mover's frame.

Shapes: A actions.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE
from cc_env.core.game import Cell, Grid, Symmetry, symmetry
from cc_env.games.capture_conquer import rules
from cc_env.games.capture_conquer.chains import paths
from cc_env.games.capture_conquer.rules import Position


@cache
def grid(size: int) -> Grid:
    """Return the cells of the board of this size, and their bits."""
    return Grid(size, size, {(r, c): 8 * r + c for r, c in rules.all_cells(size)}, is_turned=True)


@cache
def algebraic_names(size: int) -> Mapping[Cell, str]:
    """Return the readable names of the cells; a1 is the first player's corner."""
    return {(r, c): f"{ascii_lowercase[c]}{r + 1}" for r, c in rules.all_cells(size)}


@cache
def action_cells(size: int) -> NDArray[np.int64]:
    """Return the `Game.action_cells`, int64[A, 2]; for capture decisions the captured cell."""
    jumps = np.array(_all_ends(size)[: rules.NUM_JUMPS[size]])
    captures = np.arange(size * size + 1)[:, np.newaxis].repeat(2, 1)
    return np.concatenate((jumps // 8 * size + jumps % 8, captures))


@cache
def transpose_symmetry(size: int) -> Symmetry:
    """Return the symmetry that swaps rows and columns."""
    plain = symmetry("transpose", grid(size), lambda cell: cell[::-1], action_cells(size))
    return plain._replace(position=partial(_transpose, plain))


def _transpose(plain: Symmetry, position: Position) -> Position:
    image: Position = plain.position(position)
    if not position.pending:
        return image
    return image._replace(pending=np.uint64(plain.actions[int(position.pending) - 1] + 1))


def cell(position: Position, bit: int) -> Cell:
    """Return the cell of the board with this bit index in the mover's frame."""
    return grid(int(position.size)).cell(bit, int(position.player))


def ends(position: Position, action: int) -> tuple[int, int]:
    """Return the start and the end of a (start, end) action."""
    return _all_ends(int(position.size))[action]


@cache
def _all_ends(size: int) -> tuple[tuple[int, int], ...]:
    return tuple(zip(rules.STARTS[size].tolist(), rules.ENDINGS[size].tolist(), strict=True))


def cell_text(cell: Cell) -> str:
    """Return the notation of a cell: 1,2."""
    return f"{cell[0]},{cell[1]}"


def ends_text(position: Position, action: int, name: Callable[[Cell], str] = cell_text) -> str:
    """Return a (start, end) action by the names of its cells: 1,2-3,4."""
    start, end = ends(position, action)
    return f"{name(cell(position, start))}-{name(cell(position, end))}"


def pending_text(position: Position, name: Callable[[Cell], str] = cell_text) -> str:
    """Return the jump whose capture is to be decided, "" if there is none."""
    return ends_text(position, int(position.pending) - 1, name) if position.pending else ""


def is_step(start: int, end: int) -> bool:
    """Return whether the end is next to the start."""
    return end - start in (1, 8, 9)


def decided_capture(position: Position, action: int) -> int | None:
    """Return the cell on which a capture decision captures, None for nothing."""
    row, column = divmod(action - int(rules.NUM_JUMPS[position.size]), int(position.size))
    return None if row == int(position.size) else 8 * row + column


# The caches below serve lists of actions, which need the same results for each of them.
@lru_cache(maxsize=64)
def legal(position: Position) -> tuple[int, ...]:
    """Return the legal action ids, ascending."""
    out = np.empty(rules.STARTS.shape[1], np.int32)
    return tuple(out[: rules.legal_actions(position, out)].tolist())


@lru_cache(maxsize=1024)
def leaves_choice(position: Position, action: int) -> bool:
    """Return whether a capture decision follows a legal (start, end) action."""
    return not is_step(*ends(position, action)) and bool(rules.apply(position, action).pending)


@lru_cache(maxsize=1024)
def victims(position: Position, action: int) -> tuple[int, ...]:
    """Return the cells on which a legal (start, end) action can capture."""
    if is_step(*ends(position, action)):
        return ()
    start, end = (ONE << np.uint64(bit) for bit in ends(position, action))
    cells = int(rules.choices(position, start, end)[0])
    return tuple(bit for bit in range(64) if cells >> bit & 1) if cells else ()


def shortest_path(position: Position, start: int, end: int, victim: int | None) -> tuple[int, ...]:
    """Return the cells of a shortest chain of hops that captures on `victim`, None for nothing."""
    own, enemy = int(position.own) ^ 1 << start, int(position.enemy)
    empty = int(rules.BOARD[position.size]) & ~int(position.own | position.enemy)
    chains = paths(start, end, own, enemy, empty)
    return next(tuple(chain.cells) for chain in chains if chain.victim == victim)
