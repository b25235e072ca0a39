"""The compiled rules of Cannon; the package's docstring describes positions and actions.

Shapes: A actions; C planes, H rows and W columns of an observation.
"""

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
# The distance between rows, in bits; a board uses the first cells of each row.
STRIDE = 11
# The eight directions in the mover's frame, in the order of their end cells.
DIRECTIONS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
# The distance of a step, sideways capture or retreat in each direction.
_DISTANCES = 1, 1, 1, 1, 1, 2, 2, 2
# The displacements of all moves of a soldier, ascending; those of length 3 are shifts.
VECTORS = sorted(
    (by * down, by * right)
    for distance, (down, right) in zip(_DISTANCES, DIRECTIONS, strict=True)
    for by in (distance, 3)
)
PLANES = (
    *("own soldiers", "own halls", "enemy soldiers", "enemy halls"),
    *("an own hall is lost", "an enemy hall is lost"),
)
RETREAT_8, RETREAT_CLEAR, BOMB_CLEAR, SHIFT_HALL = (np.uint64(1 << bit) for bit in range(4))

# By direction, the index in VECTORS of the shift, and of the step, capture or retreat.
_SHIFT = np.array([VECTORS.index((3 * down, 3 * right)) for down, right in DIRECTIONS])
_SHORT = np.array(
    [
        VECTORS.index((distance * down, distance * right))
        for distance, (down, right) in zip(_DISTANCES, DIRECTIONS, strict=True)
    ]
)
_BY = np.array([abs(STRIDE * row + column) for row, column in DIRECTIONS], np.uint64)


def index(cell: Cell) -> int:
    """Return the bit of a cell in its frame."""
    return STRIDE * cell[0] + cell[1]


# Tables by shape: BOARD, all cells; LAST, the last cell; MOVE_ID[start, vector], the id of a
# soldier's move; STARTS[id] and ENDS[id], the cells of a move, for a bomb both its target;
# NUM_MOVES, the number of moves and the id of the first bomb; BOMB_ID[cell]; HALLS, the number of
# halls of a side at the start.
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
    """A position; the package's docstring describes the fields."""

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
    """The pieces of a position, in the frame of the player to move."""

    soldiers: Bitboard128
    halls: Bitboard128
    enemies: Bitboard128
    enemy_halls: Bitboard128


@jit
def sides(position: Position) -> Sides:
    """Return the pieces of a position."""
    return Sides(
        Bitboard128(position.own_low, position.own_high),
        Bitboard128(position.own_halls_low, position.own_halls_high),
        Bitboard128(position.enemy_low, position.enemy_high),
        Bitboard128(position.enemy_halls_low, position.enemy_halls_high),
    )


@jit
def make_position(
    pieces: Sides, player: np.uint64, shape: np.uint64, options: np.uint64
) -> Position:
    """Return the position with these pieces."""
    soldiers, halls, enemies, enemy_halls = pieces
    return Position(
        soldiers.low,
        soldiers.high,
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
def rotate(cells: Bitboard128, shape: np.uint64) -> Bitboard128:
    """Return the cells after a rotation of the board by 180 degrees."""
    return shift_down(reverse(cells), np.uint64(127 - LAST[shape]))


@jit
def all_cells(shape: np.uint64) -> Bitboard128:
    """Return all cells of the board."""
    return Bitboard128(BOARD[shape, 0], BOARD[shape, 1])


@jit
def ahead(cells: Bitboard128, direction: Int, board_cells: Bitboard128) -> Bitboard128:
    """Return the cells of the board one step from `cells` in a direction."""
    bits = _BY[direction]
    shifted = shift_down(cells, bits) if direction < 4 else shift_up(cells, bits)
    return intersection(shifted, board_cells)


@jit
def behind(cells: Bitboard128, direction: Int, board_cells: Bitboard128) -> Bitboard128:
    """Return the cells of the board from which a step in a direction leads to `cells`."""
    return ahead(cells, 7 - direction, board_cells)


class Board(NamedTuple):
    """The sets of cells that moves depend on: `targets` are enemy soldiers and halls."""

    soldiers: Bitboard128
    empty: Bitboard128
    enemies: Bitboard128
    targets: Bitboard128
    cells: Bitboard128


@jit
def make_board(position: Position) -> Board:
    """Return the board in the frame of the player to move."""
    pieces, board_cells = sides(position), all_cells(position.shape)
    targets = union(pieces.enemies, pieces.enemy_halls)
    occupied = union(targets, union(pieces.soldiers, pieces.halls))
    return Board(
        pieces.soldiers, difference(board_cells, occupied), pieces.enemies, targets, board_cells
    )


@jit
def step_starts(board: Board, direction: Int) -> Bitboard128:
    """Return the soldiers that can step in a direction."""
    return intersection(
        board.soldiers, behind(union(board.empty, board.targets), direction, board.cells)
    )


@jit
def side_capture_starts(board: Board, direction: Int) -> Bitboard128:
    """Return the soldiers that can capture sideways in a direction."""
    return intersection(board.soldiers, behind(board.targets, direction, board.cells))


@jit
def soldiers_near_enemies(board: Board, options: np.uint64) -> Bitboard128:
    """Return the soldiers next to an enemy soldier, which may retreat."""
    near = intersection(board.soldiers, behind(board.enemies, np.int64(0), board.cells))
    last = 8 if options & RETREAT_8 else 5
    for direction in range(1, last):
        near = union(
            near, intersection(board.soldiers, behind(board.enemies, direction, board.cells))
        )
    return near


@jit
def retreat_starts(
    board: Board, near: Bitboard128, direction: Int, options: np.uint64
) -> Bitboard128:
    """Return the soldiers of `near` that can retreat in a direction."""
    middles = behind(union(board.empty, board.targets), direction, board.cells)
    if options & RETREAT_CLEAR:
        middles = intersection(middles, board.empty)
    return intersection(near, behind(middles, direction, board.cells))


@jit
def cannon_rears(board: Board, direction: Int) -> Bitboard128:
    """Return the rear soldiers of the cannons that point in a direction."""
    second = intersection(board.soldiers, behind(board.soldiers, direction, board.cells))
    return intersection(second, behind(second, direction, board.cells))


@jit
def shift_starts(board: Board, direction: Int, options: np.uint64) -> Bitboard128:
    """Return the rear soldiers that can shift to the front of their cannon."""
    rear = cannon_rears(board, direction)
    starts = intersection(rear, _three_behind(board.empty, direction, board.cells))
    # A shift captures a hall only if the cell behind the cannon is empty.
    if options & SHIFT_HALL:
        halls = difference(board.targets, board.enemies)
        with_room = intersection(rear, ahead(board.empty, direction, board.cells))
        captures = intersection(with_room, _three_behind(halls, direction, board.cells))
        starts = union(starts, captures)
    return starts


@jit
def _three_behind(cells: Bitboard128, direction: Int, board_cells: Bitboard128) -> Bitboard128:
    for _ in range(3):
        cells = behind(cells, direction, board_cells)
    return cells


@jit
def loaded_muzzles(board: Board, direction: Int) -> Bitboard128:
    """Return the empty cells directly in front of cannons that point in a direction."""
    cells = cannon_rears(board, direction)
    for _ in range(3):
        cells = ahead(cells, direction, board.cells)
    return intersection(cells, board.empty)


@jit
def bomb_targets(board: Board, options: np.uint64) -> Bitboard128:
    """Return the cells that cannons of the player to move can bomb."""
    hits = union(board.empty, board.targets)
    free = board.empty if options & BOMB_CLEAR else board.cells
    cells = EMPTY
    for direction in range(8):
        second = ahead(loaded_muzzles(board, direction), direction, board.cells)
        third = ahead(intersection(second, free), direction, board.cells)
        cells = union(cells, intersection(union(second, third), hits))
    return cells


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal actions, ascending, into `out` (int32[>= A]); return their number."""
    board, options, shape = make_board(position), position.options, position.shape
    # The soldiers that can move by each of the VECTORS.
    movers = np.empty((16, 2), np.uint64)
    for direction in range(8):
        _write_set(movers[_SHIFT[direction]], shift_starts(board, direction, options))
    for direction in range(3):
        _write_set(movers[_SHORT[direction]], step_starts(board, direction))
    for direction in range(3, 5):
        _write_set(movers[_SHORT[direction]], side_capture_starts(board, direction))
    near = soldiers_near_enemies(board, options)
    for direction in range(5, 8):
        _write_set(movers[_SHORT[direction]], retreat_starts(board, near, direction, options))
    count = 0
    remaining = board.soldiers
    while not is_empty(remaining):
        start = lowest_cell(remaining)
        remaining = without_lowest(remaining)
        for vector in range(16):
            if contains(Bitboard128(movers[vector, 0], movers[vector, 1]), start):
                out[count] = MOVE_ID[shape, start, vector]
                count += 1
    hit = bomb_targets(board, options)
    while not is_empty(hit):
        out[count] = BOMB_ID[shape, lowest_cell(hit)]
        hit = without_lowest(hit)
        count += 1
    return count


@jit
def _write_set(row: NDArray[np.uint64], cells: Bitboard128) -> None:
    row[0], row[1] = cells


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a legal action."""
    shape = position.shape
    soldiers, halls, enemies, enemy_halls = sides(position)
    end = from_cell(ENDS[shape, action])
    if action < NUM_MOVES[shape]:
        soldiers = union(difference(soldiers, from_cell(STARTS[shape, action])), end)
    after = Sides(
        rotate(difference(enemies, end), shape),
        rotate(difference(enemy_halls, end), shape),
        rotate(soldiers, shape),
        rotate(halls, shape),
    )
    return make_position(after, position.player ^ ONE, shape, position.options)


# The rules that end a game; `Cannon.ending` has a word for each.
NO_END, HALLS_END, SOLDIERS_END, MOVES_END = range(4)


@jit
def end_rule(position: Position) -> Int:
    """Return the rule that ended the game, NO_END if the game is in progress."""
    pieces, num_halls = sides(position), HALLS[position.shape]
    if num_halls - min(count(pieces.halls), count(pieces.enemy_halls)) >= 2:
        return np.int64(HALLS_END)
    if is_empty(pieces.soldiers):
        return np.int64(SOLDIERS_END)
    return np.int64(NO_END if has_legal_action(position) else MOVES_END)


@jit
def has_legal_action(position: Position) -> Bool:
    """Return whether the player to move has a legal action."""
    board, options = make_board(position), position.options
    active = bomb_targets(board, options)
    for direction in range(3):
        active = union(active, step_starts(board, direction))
    for direction in range(3, 5):
        active = union(active, side_capture_starts(board, direction))
    near = soldiers_near_enemies(board, options)
    for direction in range(5, 8):
        active = union(active, retreat_starts(board, near, direction, options))
    for direction in range(8):
        active = union(active, shift_starts(board, direction, options))
    return not is_empty(active)


@jit
def lead(position: Position, end: Int) -> Int:
    """Return the hall points of the player of the last turn minus the opponent's; 0 is a draw.

    The points of both add up to 10. `end` is the rule that ended the game, NO_END for a repetition.
    """
    pieces = sides(position)
    num_halls: Int = HALLS[position.shape]
    killed, lost = num_halls - count(pieces.halls), num_halls - count(pieces.enemy_halls)
    if end == HALLS_END:
        return 10 - 4 * lost if killed >= 2 else 4 * killed - 10
    more: Int = 4 * (killed - lost)
    if end == SOLDIERS_END:
        return more + 6
    return more + 2 if end == MOVES_END else more


@jit
def outcome(position: Position) -> Int:
    """Return the player with more hall points, DRAW for equal ones, or ONGOING."""
    end = end_rule(position)
    return ONGOING if end == NO_END else _winner(position, lead(position, end))


@jit
def repetition_outcome(position: Position) -> Int:
    """Return the player with more hall points at a repetition, or DRAW."""
    return _winner(position, lead(position, np.int64(NO_END)))


@jit
def _winner(position: Position, lead: Int) -> Int:
    if lead == 0:
        return np.int64(DRAW)
    return np.int64(position.player) if lead < 0 else 1 - np.int64(position.player)


@jit
def margin(position: Position) -> Int:
    """Return the hall points of the winner minus those of the loser."""
    difference = lead(position, end_rule(position))
    return max(difference, -difference)


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the planes named in PLANES, in the frame of `player`, into int8[C, H, W]."""
    shape, num_halls = position.shape, HALLS[position.shape]
    soldiers, halls, enemies, enemy_halls = sides(position)
    if player != np.int64(position.player):
        soldiers, enemies = rotate(enemies, shape), rotate(soldiers, shape)
        halls, enemy_halls = rotate(enemy_halls, shape), rotate(halls, shape)
    for plane, cells in enumerate((soldiers, halls, enemies, enemy_halls)):
        for row in range(planes.shape[1]):
            for column in range(planes.shape[2]):
                planes[plane, row, column] = np.int8(contains(cells, STRIDE * row + column))
    planes[4] = np.int8(count(halls) < num_halls)
    planes[5] = np.int8(count(enemy_halls) < num_halls)


@jit
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the actions that remove a piece into `out` (int32[>= A]); return their number."""
    targets = make_board(position).targets
    count = 0
    for index in range(legal_actions(position, out)):
        if contains(targets, ENDS[position.shape, np.int64(out[index])]):
            out[count] = out[index]
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
    """Return the two words each of own soldiers, enemy soldiers, own halls and enemy halls."""
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
    bitboards = [bitboard128(sum(1 << index(cell) for cell in cells)) for cells in sets]
    words = [word for bitboard in bitboards for word in bitboard]
    return Position(*words, ZERO, np.uint64(shape), options)  # type: ignore[call-arg]
