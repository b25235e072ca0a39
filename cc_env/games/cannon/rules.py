"""The compiled rules of Cannon; the head of the package describes positions and actions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO
from cc_env.core.bitboard128 import (
    EMPTY,
    Bitboard128,
    bitboard128,
    contains,
    count,
    difference,
    from_cell,
    intersection,
    is_empty,
    lowest_cell,
    reverse,
    shift_down,
    shift_up,
    union,
    without_lowest,
)
from cc_env.core.grid import Cell
from cc_env.core.rules import DRAW, ONGOING, Bool, Int
from cc_env.jit.compiler import jit

SIZES = 8, 10
SHAPES = [(rows, columns) for rows in SIZES for columns in SIZES]
STRIDE = 11  # from row to row; the cells beside a board are not part of it
# The eight directions in the mover's frame, in the order of the cells that they lead to.
DIRECTIONS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
_FAR = 1, 1, 1, 1, 1, 2, 2, 2  # steps, sideways captures, retreats
# What a soldier can do, by how far it goes, in the same order: shifts 3, steps 1, retreats 2.
VECTORS = sorted(
    (by * down, by * right)
    for far, (down, right) in zip(_FAR, DIRECTIONS, strict=True)
    for by in (far, 3)
)
PLANES = (
    *("own soldiers", "own halls", "enemy soldiers", "enemy halls"),
    *("an own hall is lost", "an enemy hall is lost"),
)
RETREAT_8, RETREAT_CLEAR, BOMB_CLEAR, SHIFT_HALL = (np.uint64(1 << bit) for bit in range(4))

# Where in VECTORS a shift in each direction is, and a step, capture or retreat.
_SHIFT = np.array([VECTORS.index((3 * down, 3 * right)) for down, right in DIRECTIONS])
_SHORT = np.array(
    [
        VECTORS.index((far * down, far * right))
        for far, (down, right) in zip(_FAR, DIRECTIONS, strict=True)
    ]
)
_BY = np.array([abs(STRIDE * row + column) for row, column in DIRECTIONS], np.uint64)


def index(cell: Cell) -> int:
    """Return the bit of a cell in its frame."""
    return STRIDE * cell[0] + cell[1]


# Tables, first index the shape: BOARD all cells; LAST the last one; MOVE_ID[start, vector] the id
# of a soldier's move; STARTS[id], ENDS[id] the cells of a move, or twice that of a bomb; NUM_MOVES
# how many moves there are, and so the id of the first bomb; BOMB_ID[cell]; HALLS at first.
BOARD = np.zeros((4, 2), np.uint64)
LAST = np.zeros(4, np.int64)
MOVE_ID = np.zeros((4, 128, 16), np.int32)
STARTS = np.zeros((4, 1400), np.int64)
ENDS = np.zeros((4, 1400), np.int64)
NUM_MOVES = np.zeros(4, np.int64)
NUM_ACTIONS = np.zeros(4, np.int64)
BOMB_ID = np.zeros((4, 128), np.int32)
HALLS = np.array([columns // 2 for _, columns in SHAPES], np.int64)
for _shape, (_rows, _columns) in enumerate(SHAPES):
    _cells = [(_row, _column) for _row in range(_rows) for _column in range(_columns)]
    BOARD[_shape] = bitboard128(sum(1 << index(_cell) for _cell in _cells))
    LAST[_shape] = index(_cells[-1])
    _count = 0
    for _cell in _cells:
        for _number, (_down, _right) in enumerate(VECTORS):
            _end = _cell[0] + _down, _cell[1] + _right
            if 0 <= _end[0] < _rows and 0 <= _end[1] < _columns:
                MOVE_ID[_shape, index(_cell), _number] = _count
                STARTS[_shape, _count], ENDS[_shape, _count] = index(_cell), index(_end)
                _count += 1
    NUM_MOVES[_shape] = _count
    for _cell in _cells:
        BOMB_ID[_shape, index(_cell)] = _count
        STARTS[_shape, _count] = ENDS[_shape, _count] = index(_cell)
        _count += 1
    NUM_ACTIONS[_shape] = _count


class Position(NamedTuple):
    """Soldiers and halls of both sides, who moves, the shape; see the head of the package."""

    own_low: np.uint64
    own_high: np.uint64
    own_halls_low: np.uint64
    own_halls_high: np.uint64
    enemy_low: np.uint64
    enemy_high: np.uint64
    enemy_halls_low: np.uint64
    enemy_halls_high: np.uint64
    player: np.uint64
    shape: np.uint64
    options: np.uint64


class Sides(NamedTuple):
    """The pieces of a position, as the player to move sees them."""

    soldiers: Bitboard128
    halls: Bitboard128
    enemies: Bitboard128
    enemy_halls: Bitboard128


@jit
def sides(position: Position) -> Sides:
    """Return the pieces."""
    return Sides(
        Bitboard128(position.own_low, position.own_high),
        Bitboard128(position.own_halls_low, position.own_halls_high),
        Bitboard128(position.enemy_low, position.enemy_high),
        Bitboard128(position.enemy_halls_low, position.enemy_halls_high),
    )


@jit
def put(pieces: Sides, player: np.uint64, shape: np.uint64, options: np.uint64) -> Position:
    """Return the position with these pieces."""
    own, halls, enemies, enemy_halls = pieces
    return Position(
        own.low,
        own.high,
        halls.low,
        halls.high,
        enemies.low,
        enemies.high,
        enemy_halls.low,
        enemy_halls.high,
        player,
        shape,
        options,
    )


@jit
def turned(cells: Bitboard128, shape: np.uint64) -> Bitboard128:
    """Return the cells with the board turned by 180 degrees."""
    return shift_down(reverse(cells), np.uint64(127 - LAST[shape]))


@jit
def board(shape: np.uint64) -> Bitboard128:
    """Return all cells."""
    return Bitboard128(BOARD[shape, 0], BOARD[shape, 1])


@jit
def gone(cells: Bitboard128, way: Int, inside: Bitboard128) -> Bitboard128:
    """Return the cells of the board one step away from these in a direction."""
    return intersection(
        shift_down(cells, _BY[way]) if way < 4 else shift_up(cells, _BY[way]), inside
    )


@jit
def come(cells: Bitboard128, way: Int, inside: Bitboard128) -> Bitboard128:
    """Return the cells of the board from which a step in a direction leads to these."""
    return gone(cells, 7 - way, inside)


class Ground(NamedTuple):
    """What moves depend on."""

    soldiers: Bitboard128
    empty: Bitboard128
    enemies: Bitboard128  # soldiers
    targets: Bitboard128  # soldiers and halls of the enemy
    board: Bitboard128


@jit
def ground(position: Position) -> Ground:
    """Return what the moves of the player to move depend on."""
    pieces, inside = sides(position), board(position.shape)
    targets = union(pieces.enemies, pieces.enemy_halls)
    taken = union(targets, union(pieces.soldiers, pieces.halls))
    return Ground(pieces.soldiers, difference(inside, taken), pieces.enemies, targets, inside)


@jit
def stepping(at: Ground, way: Int) -> Bitboard128:
    """Return the soldiers that can step that way."""
    return intersection(at.soldiers, come(union(at.empty, at.targets), way, at.board))


@jit
def capturing_sideways(at: Ground, way: Int) -> Bitboard128:
    """Return the soldiers that can capture on that side."""
    return intersection(at.soldiers, come(at.targets, way, at.board))


@jit
def near_enemies(at: Ground, options: np.uint64) -> Bitboard128:
    """Return the soldiers that may retreat."""
    near = intersection(at.soldiers, come(at.enemies, np.int64(0), at.board))
    last = 8 if options & RETREAT_8 else 5
    for way in range(1, last):
        near = union(near, intersection(at.soldiers, come(at.enemies, way, at.board)))
    return near


@jit
def retreating(at: Ground, near: Bitboard128, way: Int, options: np.uint64) -> Bitboard128:
    """Return those of the soldiers `near` that can retreat that way."""
    passed = come(union(at.empty, at.targets), way, at.board)
    if options & RETREAT_CLEAR:
        passed = intersection(passed, at.empty)
    return intersection(near, come(passed, way, at.board))


@jit
def rears(at: Ground, way: Int) -> Bitboard128:
    """Return the rearmost soldiers of cannons that point that way."""
    second = intersection(at.soldiers, come(at.soldiers, way, at.board))
    return intersection(second, come(second, way, at.board))


@jit
def shifting(at: Ground, way: Int, options: np.uint64) -> Bitboard128:
    """Return the rearmost soldiers that can go before the front one."""
    rear = rears(at, way)
    rearmost = intersection(rear, _thrice_come(at.empty, way, at.board))
    if options & SHIFT_HALL:
        halls = difference(at.targets, at.enemies)
        behind = intersection(rear, gone(at.empty, way, at.board))
        rearmost = union(rearmost, intersection(behind, _thrice_come(halls, way, at.board)))
    return rearmost


@jit
def _thrice_come(cells: Bitboard128, way: Int, inside: Bitboard128) -> Bitboard128:
    return come(come(come(cells, way, inside), way, inside), way, inside)


@jit
def loaded(at: Ground, way: Int) -> Bitboard128:
    """Return the empty cells directly before cannons that point that way."""
    ahead = gone(gone(gone(rears(at, way), way, at.board), way, at.board), way, at.board)
    return intersection(ahead, at.empty)


@jit
def bombed(at: Ground, options: np.uint64) -> Bitboard128:
    """Return the cells that the cannons of the player to move can hit."""
    hits, free = union(at.empty, at.targets), at.empty if options & BOMB_CLEAR else at.board
    cells = EMPTY
    for way in range(8):
        second = gone(loaded(at, way), way, at.board)
        third = gone(intersection(second, free), way, at.board)
        cells = union(cells, intersection(union(second, third), hits))
    return cells


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.legal_actions`."""
    at, options, shape = ground(position), position.options, position.shape
    ways = np.empty((16, 2), np.uint64)  # the soldiers that can go by each vector
    for way in range(8):
        _note(ways[_SHIFT[way]], shifting(at, way, options))
    for way in range(3):
        _note(ways[_SHORT[way]], stepping(at, way))
    for way in range(3, 5):
        _note(ways[_SHORT[way]], capturing_sideways(at, way))
    near = near_enemies(at, options)
    for way in range(5, 8):
        _note(ways[_SHORT[way]], retreating(at, near, way, options))
    count = 0
    left = at.soldiers
    while not is_empty(left):
        start = lowest_cell(left)
        left = without_lowest(left)
        for vector in range(16):
            if contains(Bitboard128(ways[vector, 0], ways[vector, 1]), start):
                out[count] = MOVE_ID[shape, start, vector]
                count += 1
    hit = bombed(at, options)
    while not is_empty(hit):
        out[count] = BOMB_ID[shape, lowest_cell(hit)]
        hit = without_lowest(hit)
        count += 1
    return count


@jit
def _note(row: NDArray[np.uint64], cells: Bitboard128) -> None:
    row[0], row[1] = cells


@jit
def apply(position: Position, action: Int) -> Position:
    """As `rules.apply`."""
    shape = position.shape
    soldiers, halls, enemies, enemy_halls = sides(position)
    end = from_cell(ENDS[shape, action])
    if action < NUM_MOVES[shape]:
        soldiers = union(difference(soldiers, from_cell(STARTS[shape, action])), end)
    after = Sides(
        turned(difference(enemies, end), shape),
        turned(difference(enemy_halls, end), shape),
        turned(soldiers, shape),
        turned(halls, shape),
    )
    return put(after, position.player ^ ONE, shape, position.options)


NOT_OVER, BY_HALLS, BY_SOLDIERS, BY_MOVES = range(4)


@jit
def how_over(position: Position) -> Int:
    """Return how the game ended: NOT_OVER, or what was looked for first."""
    pieces, halls = sides(position), HALLS[position.shape]
    if halls - min(count(pieces.halls), count(pieces.enemy_halls)) >= 2:
        return np.int64(BY_HALLS)
    if is_empty(pieces.soldiers):
        return np.int64(BY_SOLDIERS)
    return np.int64(NOT_OVER if can_act(position) else BY_MOVES)


@jit
def can_act(position: Position) -> Bool:
    """Return whether the player to move has anything to do."""
    at, options = ground(position), position.options
    active = bombed(at, options)
    for way in range(3):
        active = union(active, stepping(at, way))
    for way in range(3, 5):
        active = union(active, capturing_sideways(at, way))
    near = near_enemies(at, options)
    for way in range(5, 8):
        active = union(active, retreating(at, near, way, options))
    for way in range(8):
        active = union(active, shifting(at, way, options))
    return not is_empty(active)


@jit
def lead(position: Position, how: Int) -> Int:
    """Return the hall margin of the player who has just moved, minus the opponent's; 0: a draw.

    The two add up to 10. `how` is NOT_OVER for a game that ended by repetition.
    """
    pieces = sides(position)
    halls: Int = HALLS[position.shape]
    killed, lost = halls - count(pieces.halls), halls - count(pieces.enemy_halls)
    if how == BY_HALLS:
        return 10 - 4 * lost if killed >= 2 else 4 * killed - 10
    more: Int = 4 * (killed - lost)
    if how == BY_SOLDIERS:
        return more + 6
    return more + 2 if how == BY_MOVES else more


@jit
def outcome(position: Position) -> Int:
    """As `rules.outcome`."""
    how = how_over(position)
    return ONGOING if how == NOT_OVER else _winner(position, lead(position, how))


@jit
def repetition_outcome(position: Position) -> Int:
    """As `rules.repetition_outcome`."""
    return _winner(position, lead(position, np.int64(NOT_OVER)))


@jit
def _winner(position: Position, lead: Int) -> Int:
    if lead == 0:
        return np.int64(DRAW)
    return np.int64(position.player) if lead < 0 else 1 - np.int64(position.player)


@jit
def margin(position: Position) -> Int:
    """As `rules.margin`: the hall margin of the winner minus that of the loser."""
    by = lead(position, how_over(position))
    return max(by, -by)


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """As `rules.observe`; the planes are named in PLANES."""
    shape, halls = position.shape, HALLS[position.shape]
    soldiers, own_halls, enemies, enemy_halls = sides(position)
    if player != np.int64(position.player):
        soldiers, enemies = turned(enemies, shape), turned(soldiers, shape)
        own_halls, enemy_halls = turned(enemy_halls, shape), turned(own_halls, shape)
    for plane, cells in enumerate((soldiers, own_halls, enemies, enemy_halls)):
        for row in range(planes.shape[1]):
            for column in range(planes.shape[2]):
                planes[plane, row, column] = np.int8(contains(cells, STRIDE * row + column))
    planes[4] = np.int8(count(own_halls) < halls)
    planes[5] = np.int8(count(enemy_halls) < halls)


@jit
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """As `rules.tactical_actions`: what removes a piece."""
    targets, shape, count = ground(position).targets, position.shape, 0
    for place in range(legal_actions(position, out)):
        if contains(targets, ENDS[shape, np.int64(out[place])]):
            out[count] = out[place]
            count += 1
    return count


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    outcome=outcome,
    observe=observe,
    tactical_actions=tactical_actions,
    margin=margin,
    repetition_outcome=repetition_outcome,
)


@jit
def network_inputs(position: Position) -> tuple[np.uint64, ...]:
    """As `rules.network_inputs`: the two words of own and enemy soldiers, own and enemy halls."""
    soldiers, halls, enemies, enemy_halls = sides(position)
    return (
        *(soldiers.low, soldiers.high, enemies.low, enemies.high),
        *(halls.low, halls.high, enemy_halls.low, enemy_halls.high),
    )


rules.register_inputs(Position, network_inputs)


def initial(rows: int, columns: int, options: np.uint64) -> Position:
    """Return the start position."""
    shape = SHAPES.index((rows, columns))
    soldiers = [(row, column) for row in range(rows - 3, rows) for column in range(0, columns, 2)]
    halls = [(rows - 1, column) for column in range(1, columns, 2)]
    enemies = [(row, column) for row in range(3) for column in range(1, columns, 2)]
    enemy_halls = [(0, column) for column in range(0, columns, 2)]
    sets = soldiers, halls, enemies, enemy_halls
    words = [
        word for cells in sets for word in bitboard128(sum(1 << index(cell) for cell in cells))
    ]
    return Position(*words, ZERO, np.uint64(shape), options)  # type: ignore[call-arg]
