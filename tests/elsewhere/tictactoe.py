"""Tic-tac-toe, as somebody else would add it: three in a row on a board of three by three.

Position  own, enemy: the marks as bits 3r + c; player: 0 or 1
Action    0 to 8: the cell that is marked
"""

from typing import NamedTuple

import numpy as np

from cc_env import rules
from cc_env.bits import ONE, ZERO, popcount, summed
from cc_env.compile import jit
from cc_env.errors import BadPosition
from cc_env.game import Game, Recording, Symmetry, Track
from cc_env.games.grid import read_rows, rows_text
from cc_env.rules import DRAW, ONGOING

CELLS = [(row, column) for row in range(3) for column in range(3)]
ALL = np.uint64(0b111111111)
MEET = np.array([3, 2, 3, 2, 4, 2, 3, 2, 3] + 55 * [0])
LINES = np.array([0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124], np.uint64)


class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64


class Chances(NamedTuple):
    """An evaluation: the lines that one side alone can still fill, and how many meet in a cell."""

    weight: np.int64


@jit
def legal_actions(position, out):
    count = 0
    for cell in range(9):
        if not (position.own | position.enemy) >> np.uint64(cell) & ONE:
            out[count] = cell
            count += 1
    return count


@jit
def apply(position, action):
    marked = position.own | ONE << np.uint64(action)
    return Position(position.enemy, marked, position.player ^ ONE)


@jit
def to_move(position):
    return np.int64(position.player)


@jit
def mid_turn(position):
    return False


@jit
def outcome(position):
    for line in LINES:
        if position.enemy & line == line:
            return 1 - np.int64(position.player)
    return np.int64(DRAW) if position.own | position.enemy == ALL else np.int64(ONGOING)


@jit
def observe(position, player, planes):
    mine = player == np.int64(position.player)
    for cell in range(9):
        row, column, place = cell // 3, cell % 3, np.uint64(cell)
        planes[0 if mine else 1, row, column] = np.int8(position.own >> place & ONE)
        planes[1 if mine else 0, row, column] = np.int8(position.enemy >> place & ONE)
        planes[2, row, column] = 1 - planes[0, row, column] - planes[1, row, column]


@jit
def chances(position, player, evaluation):
    value = np.int64(0)
    for line in LINES:
        if not position.enemy & line:
            value += 1 + popcount(position.own & line)
        if not position.own & line:
            value -= 1 + popcount(position.enemy & line)
    value *= evaluation.weight
    value += summed(position.own, MEET) - summed(position.enemy, MEET)
    return value if player == np.int64(position.player) else -value


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    to_move=to_move,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
)
rules.register_evaluation(Position, Chances, chances)


def pieces(position):
    marks = (position.own, position.enemy)[:: -1 if position.player else 1]
    return {
        cell: letter
        for letter, side in zip("xo", map(int, marks), strict=True)
        for place, cell in enumerate(CELLS)
        if side >> place & 1
    }


def to_text(position):
    return f"{rows_text(pieces(position), 3, 3)} {'xo'[int(position.player)]}"


def parse_position(text):
    board, _, mover = text.partition(" ")
    if mover not in ("x", "o"):
        raise BadPosition("wanted: rows, and x or o to move")
    found = read_rows(board, 3, 3, "xo")
    marks = [
        np.uint64(sum(1 << CELLS.index(cell) for cell in found if found[cell] == letter))
        for letter in "xo"
    ]
    player = "xo".index(mover)
    return Position(marks[player], marks[1 - player], np.uint64(player))


def ending(position):
    return "full" if outcome(position) == DRAW else "three_in_a_row"


def mirrored(position):
    def turn(marks):
        cells = (place for place in range(9) if int(marks) >> place & 1)
        return np.uint64(sum(1 << MIRROR[place] for place in cells))

    return Position(turn(position.own), turn(position.enemy), position.player)


MIRROR = [3 * row + 2 - column for row, column in CELLS]


def make():
    actions, cells = np.array(MIRROR, np.int32), np.array(MIRROR, np.int64)
    return Game(
        name="elsewhere.tictactoe",
        options={},
        initial=Position(ZERO, ZERO, ZERO),
        num_actions=9,
        action_cells=np.stack((np.arange(9), np.arange(9)), 1),
        observation_shape=(3, 3, 3),
        planes=("own", "enemy", "empty"),
        players=("x", "o"),
        symmetries=(Symmetry("mirror", mirrored, actions, cells),),
        to_text=to_text,
        parse_position=parse_position,
        action_text=lambda position, action: "abc"[action % 3] + str(3 - action // 3),
        ending=ending,
        pieces=pieces,
        goals=(),
        track=lambda position, turn: Track((CELLS[turn[0]],), ()),
        evaluations={"standard": Chances(np.int64(10))},
    )


def read_recordings(line):
    game = make()
    yield Recording(game, game.from_text(line["board"]), counts=tuple(line["counts"]))
