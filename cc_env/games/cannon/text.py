"""Cannon as text and on the board: positions, commands, endings, and what a turn did.

Shapes: A actions.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.bitboard128 import bitboard128
from cc_env.core.game import Cell, Grid, Track, Turn
from cc_env.errors import BadPosition
from cc_env.games.cannon.rules import (
    BOARD,
    BOMB_CLEAR,
    BY_HALLS,
    BY_SOLDIERS,
    DIRECTIONS,
    ENDS,
    HALLS,
    LAST,
    NOT_OVER,
    NUM_ACTIONS,
    NUM_MOVES,
    SHAPES,
    STARTS,
    STRIDE,
    Position,
    how_over,
    index,
    lead,
)

LETTERS = "bB", "wW"  # soldiers and halls
STAGNANT = "stagnant"
_MOVES = NUM_MOVES.tolist()  # read often, which numpy takes long for


def ending(position: Position) -> str:
    """Return how a game ended: halls, no_soldiers, no_moves, or else stagnant."""
    how = how_over(position)
    if how == NOT_OVER:
        return STAGNANT
    return "halls" if how == BY_HALLS else "no_soldiers" if how == BY_SOLDIERS else "no_moves"


def scores(position: Position, loser: int | None = None) -> tuple[float, float]:
    """Return the scores of black and white in a finished game, by repetition if by nothing else.

    The hall margin, of which there are 10 in all, and a hundredth for each soldier left. The
    opponent of a `loser` by a fault scores as if all halls that count were taken.
    """
    by = int(lead(position, how_over(position)))
    if loser is not None:
        moves = loser == int(position.player)
        halls = _words(position, "enemy_halls" if moves else "own_halls").bit_count()
        by = 10 - 4 * (HALLS[position.shape] - halls)
        by = by if moves else -by
    soldiers = _words(position, "own"), _words(position, "enemy")
    points = 5 - by / 2, 5 + by / 2  # of the player to move, and of who has just moved
    mine, other = (p + men.bit_count() / 100 for p, men in zip(points, soldiers, strict=True))
    return (mine, other) if position.player == ZERO else (other, mine)


def _words(position: Position, name: str) -> int:
    """Return a set of the position as one number."""
    return int(getattr(position, f"{name}_low")) | int(getattr(position, f"{name}_high")) << 64


@cache
def grid(shape: int) -> Grid:
    """Return the cells of the board of this shape, and their bits."""
    rows, columns = SHAPES[shape]
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return Grid(rows, columns, {cell: index(cell) for cell in cells}, is_turned=True)


def _cell(position: Position, place: int) -> Cell:
    """Return the cell of the board with this index in the mover's frame."""
    return grid(int(position.shape)).cell(place, int(position.player))


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: b and w for soldiers, B and W for halls."""
    player, letters = int(position.player), {}
    for name, side in (("own", player), ("enemy", 1 - player)):
        for suffix, letter in zip(("", "_halls"), LETTERS[side], strict=True):
            left = _words(position, name + suffix)
            while left:
                place = left.bit_length() - 1
                letters[_cell(position, place)] = letter
                left ^= 1 << place
    return letters


def to_text(position: Position) -> str:
    """Return the position in one line: rows from the top, and side to move."""
    board = grid(int(position.shape))
    return board.position_text(pieces(position), LETTERS, int(position.player))


def parse_position(text: str, like: Position) -> Position:
    """As `Notation.parse_position`, of the shape and with the options of the start `like`."""
    board = grid(int(like.shape))
    men, player, _ = board.parse_position(text, LETTERS)
    sets = dict.fromkeys("".join(LETTERS), 0)
    for cell, letter in men.items():
        sets[letter] |= 1 << board.bit(cell, player)
    most = Counter(pieces(like).values())
    for letter, count in Counter(men.values()).items():
        if count > most[letter]:
            raise BadPosition(f"{count} pieces {letter}; there are {most[letter]}")
    own, enemy = LETTERS[player], LETTERS[1 - player]
    if not sets[enemy[0]]:
        raise BadPosition(f"{enemy[0]} has just moved, so it needs a soldier")
    words = (word for letter in own + enemy for word in bitboard128(sets[letter]))
    rest = np.uint64(player), like.shape, like.options
    return Position(*words, *rest)  # type: ignore[call-arg]


def fits(position: Position, like: Position) -> NDArray[np.bool_]:
    """As `Game.fits`; of the shape and with the options of the start `like`."""
    is_known = (position.shape == like.shape) & (position.options == like.options)
    possible: NDArray[np.bool_] = is_known & (position.player <= ONE)
    for word, cells in zip(("low", "high"), BOARD[like.shape], strict=True):
        taken = np.zeros_like(position.player)
        for name in ("own", "own_halls", "enemy", "enemy_halls"):
            here = getattr(position, f"{name}_{word}")
            possible &= here & (taken | ~cells) == ZERO
            taken |= here
    return possible


def action_text(position: Position, action: int) -> str:
    """Return S x y M x y for a move, S x y B x y for a bomb by the first soldier that can."""
    if action < _MOVES[position.shape]:
        return _move_texts(int(position.shape), bool(position.player))[action]
    end, by = _ends(position, action)[1], shooters(position, action)
    return f"S {_xy(by[0])} B {_xy(end)}" if by else f"B {_xy(end)}"


def other_texts(position: Position, action: int) -> Iterator[str]:
    """Yield how else an action can be written: a bomb by each other soldier of the cannons."""
    _, end = _ends(position, action)
    for soldier in shooters(position, action)[1:]:
        yield f"S {_xy(soldier)} B {_xy(end)}"


def _ends(position: Position, action: int) -> tuple[Cell, Cell]:
    """Return the cells where an action starts and ends, a bomb's being the same."""
    return _all_ends(int(position.shape), bool(position.player))[action]


@cache
def _all_ends(shape: int, is_turned: bool) -> tuple[tuple[Cell, Cell], ...]:
    ends = np.stack((STARTS[shape], ENDS[shape]), 1)[: NUM_ACTIONS[shape]]
    places = (int(LAST[shape]) - ends if is_turned else ends).tolist()
    return tuple((divmod(start, STRIDE), divmod(end, STRIDE)) for start, end in places)


@cache
def _move_texts(shape: int, is_turned: bool) -> tuple[str, ...]:
    moves = _all_ends(shape, is_turned)[: _MOVES[shape]]
    return tuple(f"S {_xy(start)} M {_xy(end)}" for start, end in moves)


def _xy(cell: Cell) -> str:
    row, column = cell
    return f"{column} {row}"


def shooters(position: Position, action: int) -> tuple[Cell, ...]:
    """Return the soldiers of the cannons that can hit a bomb's cell, in order; of a move none."""
    return () if action < _MOVES[position.shape] else _bombers(position, action)


@lru_cache(maxsize=256)  # a list of choices asks several times for each action
def _bombers(position: Position, action: int) -> tuple[Cell, ...]:
    own = _words(position, "own")
    enemies = _words(position, "enemy") | _words(position, "enemy_halls")
    taken = own | _words(position, "own_halls") | enemies
    bombers: set[int] = set()
    for way, cannon in _shots(int(position.shape), int(ENDS[position.shape, action])):
        free = way if position.options & BOMB_CLEAR else way[-1:]
        if not any(taken >> place & 1 for place in free):
            bombers |= set(cannon) if all(own >> place & 1 for place in cannon) else set()
    return tuple(sorted(_cell(position, place) for place in bombers))


@cache
def _shots(shape: int, place: int) -> tuple[tuple[list[int], list[int]], ...]:
    """Return the ways from a cell back to where a cannon may stand, and the cells of each."""
    (rows, columns), (row, column) = SHAPES[shape], divmod(place, STRIDE)
    shots = []
    for down, right in DIRECTIONS:
        for far in (2, 3):
            line = [(row + down * n, column + right * n) for n in range(1, far + 3)]
            if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                places = [index(cell) for cell in line]
                shots.append((places[: far - 1], places[far - 1 :]))
    return tuple(shots)


def track(position: Position, turn: Turn) -> Track:
    """Return from where to where a soldier went, or what it shot at, and what was removed."""
    (action,) = turn
    ends = _ends(position, action)
    end = ends[1]
    captured = (end,) if end in _enemies(position) else ()
    if action < _MOVES[position.shape]:
        return Track(ends, captured)
    by = shooters(position, action)
    return Track((by[0], end) if by else (), captured)


@lru_cache(maxsize=64)  # a list of choices asks for each action
def _enemies(position: Position) -> frozenset[Cell]:
    """Return the cells of the opponent's soldiers and halls."""
    letters = LETTERS[1 - int(position.player)]
    return frozenset(cell for cell, letter in pieces(position).items() if letter in letters)


def action_cells(shape: int) -> NDArray[np.int64]:
    """Return the start and the end of each action, int64[A, 2]; both are the cell of a bomb."""
    count, columns = int(NUM_ACTIONS[shape]), SHAPES[shape][1]
    ends = np.stack((STARTS[shape], ENDS[shape]), 1)[:count]
    cells: NDArray[np.int64] = ends // STRIDE * columns + ends % STRIDE
    return cells
