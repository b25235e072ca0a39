"""Defaults of `Game` and contradictory facts."""

from typing import NamedTuple

import numpy as np
import pytest

from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game, Grid, symmetry
from cc_env.errors import BadGame, BadPosition, IllegalAction
from cc_env.games.factory import make_game


class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64
    height: np.uint64


class Heap(NamedTuple):
    height: np.uint64
    player: np.uint64


def row(*fields):
    return Position(*map(np.uint64, fields))


class Row(Game):
    """Four cells in a row."""

    name = "row"
    initial = row(0b0001, 0b1000, 0, 5)
    grid = Grid(1, 4)
    planes = ("own",)
    players = "red", "black"


class UnnamedRow(Row):
    """A game without any required fact of its own."""

    def __getattribute__(self, name):
        if name == "planes":
            raise AttributeError(name)
        return super().__getattribute__(name)


class HeapRow(Row):
    """A game that overrides only one of the methods that need sets of cells."""

    initial = Heap(ZERO, ZERO)

    def to_text(self, position):
        return str(position)


class StrangePieces(Row):
    def pieces(self, position):
        return {(0, 0): "x"}


@pytest.fixture
def tictactoe():
    return make_game("elsewhere.tictactoe")


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (Row.initial, "r2b r"),
        (row(0b1000, 0b0011, 1, 5), "rr1b b"),
        (row(0b1000, 0b0011, 1, 4), "rr1b b height=4"),
    ],
)
def test_position_text_has_rows_mover_and_changed_fields(position, text):
    assert Row().to_text(position) == text


@pytest.mark.parametrize("fields", [(1, 8, 0, 5), (8, 3, 1, 5), (0, 0, 1, 0), (5, 2, 0, 2**64 - 1)])
def test_positions_round_trip_as_text(fields):
    game = Row()
    assert game.from_text(game.to_text(row(*fields))) == row(*fields)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("r2b", r"side to move \(r or b\), then NAME=VALUE of height"),
        ("r2b x", r"side to move \(r or b\)"),
        ("r3b r", "1 rows of 4 cells"),
        ("R2b r", "made of r, b and numbers"),
        ("r2b r height", "'height'"),
        ("r2b r own=3", "'own=3'"),
        ("r2b r height=-1", "'height=-1'"),
        (f"r2b r height={2**64}", f"'height={2**64}'"),
        (None, "None"),
    ],
)
def test_invalid_position_text_is_rejected(text, reason):
    with pytest.raises(BadPosition, match=reason):
        Row().from_text(text)


def test_turned_board_has_two_frames():
    turned = Grid(2, 3, is_turned=True)
    assert turned.bit((0, 0), 0) == 0
    assert turned.bit((0, 0), 1) == 5
    assert turned.cell(1, 1) == (1, 1)
    assert turned.bitboard([(0, 0), (1, 2)], 1) == 0b100001
    game = Row().replace(grid=turned, row_labels=(), column_labels=())
    assert game.pieces(row(1, 2, 1, 0)) == {(1, 1): "r", (1, 2): "b"}


def test_default_actions_are_cells(tictactoe):
    assert tictactoe.num_actions == 9
    assert tictactoe.action_text(tictactoe.initial, 5) == "12"
    assert tictactoe.track(tictactoe.initial, (5,)) == (((1, 2),), ())


def test_action_cells_may_be_pairs_or_single_cells():
    pairs = Moves().replace(action_cells=[(0, 1), (2, 2)])
    assert pairs.action_cells.dtype == np.int64
    assert [pairs.action_text(Moves.initial, action) for action in (0, 1)] == ["00-01", "02"]
    single = Row().replace(action_cells=[3, 1])
    assert single.action_cells.tolist() == [[3, 3], [1, 1]]
    mirror = symmetry("mirror", single.grid, lambda cell: (0, 3 - cell[1]), [3, 0])
    assert mirror.actions.tolist() == [1, 0]


class Moves(Row):
    """Two moves and a pass, in positions with registered rules."""

    initial = make_game("elsewhere.tictactoe").initial
    action_cells = np.array([[0, 1], [1, 0], [4, 4]])


class LongMoves(Moves):
    grid = Grid(1, 11)


class NamedMoves(Moves):
    cell_names = {(0, 0): "A", (0, 1): "B"}


@pytest.mark.parametrize(
    ("game", "texts"),
    [
        (Moves(), ["00-01", "01-00", "pass"]),
        (LongMoves(), ["0,0-0,1", "0,1-0,0", "0,4"]),
        (NamedMoves(), ["A-B", "B-A", "pass"]),
    ],
)
def test_action_text_has_both_cells_or_pass(game, texts):
    assert [game.action_text(game.initial, action) for action in range(3)] == texts


@pytest.mark.parametrize(
    ("position", "turn", "path", "captured"),
    [
        ("8/8/8/8/8/3b4/2r5/8 r", "62x44", [(6, 2), (4, 4)], [(5, 3)]),
        ("8/8/8/3b4/8/3b4/2r5/8 r", "62x44x22", [(6, 2), (4, 4), (2, 2)], [(5, 3), (3, 3)]),
    ],
)
def test_track_has_the_cells_of_actions_and_captures(position, turn, path, captured):
    game = make_game("checkers")
    start = game.from_text(position)
    track = game.track(start, game.parse_turn(start, turn))
    assert track == (tuple(path), tuple(captured))


def test_removal_has_no_path():
    game = make_game("morris")
    start = game.from_text("ww.b..b................. w 77")
    turn = game.parse_turn(start, "C-D")
    assert game.track(start, turn) == (((0, 6),), ((1, 1),))
    assert game.track(game.play_turn(start, turn[:1]), turn[1:]) == ((), ((1, 1),))


def test_default_endings_are_draw_and_won(tictactoe):
    assert tictactoe.ending(tictactoe.from_text("xxx/oo1/3 o")) == "won"
    assert tictactoe.ending(tictactoe.from_text("xox/xoo/oxx o")) == "draw"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"players": ("black", "blue"), "letters": ("", "")}, r"letters=\('b', 'b'\)"),
        ({"players": ("", "blue"), "letters": ("", "")}, r"letters=\('', 'b'\)"),
        ({"letters": ("rR", "bR")}, r"letters=\('rR', 'bR'\)"),
        ({"letters": ("r1", "b")}, r"letters=\('r1', 'b'\)"),
        ({"figures": {"K": "king"}}, "piece 'K'"),
        ({"piece_names": {"K": "king"}}, "piece 'K'"),
        ({"row_labels": "ab"}, r"row_labels=\['a', 'b'\]; expected: 1"),
        ({"action_cells": np.array([[0, 5]])}, r"row: action_cells are int64\[1, 2\], .* 0 and 5"),
        ({"action_cells": [0, -1]}, r"action_cells are int64\[2\], .* 0 and -1"),
        ({"action_cells": [[0], [1]]}, r"action_cells are int64\[2, 1\]"),
        ({"action_cells": [(0, 1), (1,)]}, "action_cells are not an array"),
        ({"action_cells": ["a", "b"]}, r"action_cells are <U1\[2\]"),
        ({"initial": Heap(ZERO, ZERO)}, "fields height, player"),
    ],
)
def test_invalid_facts_are_rejected(facts, message):
    with pytest.raises(BadGame, match=message):
        Row().replace(**facts)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (HeapRow, "fields height, player"),
        (StrangePieces, "piece 'x'"),
        (UnnamedRow, "UnnamedRow lacks planes"),
        (Game, "Game lacks name, initial, grid, planes, players"),
    ],
)
def test_invalid_classes_are_rejected(game, message):
    with pytest.raises(BadGame, match=message):
        game()


def test_replace_leaves_the_game_unchanged():
    game = Row()
    assert game.replace(max_margin=3).max_margin == 3
    assert game.max_margin == 1


def test_owner_is_the_player_with_the_letter():
    game = make_game("checkers")
    assert [game.owner(letter) for letter in "rRbB"] == [0, 0, 1, 1]
    with pytest.raises(BadGame, match="'x'"):
        game.owner("x")


@pytest.mark.parametrize("turn", ["A1", "", 4])
def test_play_turn_requires_a_sequence_of_ids(tictactoe, turn):
    with pytest.raises(IllegalAction, match=r"game\.parse_turn\(position, TEXT\)"):
        tictactoe.play_turn(tictactoe.initial, turn)
