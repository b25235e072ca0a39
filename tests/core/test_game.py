"""What a `Game` does where its module says nothing, and what it refuses when it is made."""

from typing import NamedTuple

import numpy as np
import pytest

from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game, Grid, Look, Notation, symmetry
from cc_env.errors import BadGame, BadPosition, IllegalAction
from cc_env.games.factory import make_game

ONE_ROW = {"name": "row", "grid": Grid(1, 4), "planes": ("own",), "players": ("red", "black")}


class Position(NamedTuple):
    own: np.uint64
    enemy: np.uint64
    player: np.uint64
    left: np.uint64


class Heap(NamedTuple):
    left: np.uint64
    player: np.uint64


def row(*fields):
    return Position(*map(np.uint64, fields))


@pytest.fixture
def plain():
    return Game(initial=row(0b0001, 0b1000, 0, 5), **ONE_ROW)


@pytest.fixture
def tictactoe():
    return make_game("elsewhere.tictactoe")


def test_a_position_is_written_as_rows_mover_and_what_is_not_as_at_the_start(plain):
    assert plain.to_text(plain.initial) == "r2b r"
    assert plain.to_text(row(0b1000, 0b0011, 1, 5)) == "rr1b b"
    assert plain.to_text(row(0b1000, 0b0011, 1, 4)) == "rr1b b left=4"


@pytest.mark.parametrize("fields", [(1, 8, 0, 5), (8, 3, 1, 5), (0, 0, 1, 0), (5, 2, 0, 2**64 - 1)])
def test_what_is_written_is_read(plain, fields):
    assert plain.from_text(plain.to_text(row(*fields))) == row(*fields)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r2b", r"expected rows, side to move \(r or b\), then NAME=VALUE of left"),
        ("r2b x", r"side to move \(r or b\)"),
        ("r3b r", "1 rows of 4 cells"),
        ("R2b r", "made of r, b and numbers"),
        ("r2b r left", "'left'; wanted: then NAME=VALUE of left"),
        ("r2b r own=3", "'own=3'; wanted"),
        ("r2b r left=-1", "'left=-1'; wanted"),
        (f"r2b r left={2**64}", "a field has 64 bits"),
    ],
)
def test_a_wrong_text_is_refused(plain, text, why):
    with pytest.raises(BadPosition, match=why):
        plain.from_text(text)


def test_the_second_player_may_see_the_board_turned():
    turned = Grid(2, 3, is_turned=True)
    assert turned.bit((0, 0), 0) == 0
    assert turned.bit((0, 0), 1) == 5
    assert turned.cell(1, 1) == (1, 1)
    assert turned.bitboard([(0, 0), (1, 2)], 1) == 0b100001
    game = Game(initial=row(1, 2, 0, 0), **ONE_ROW | {"grid": turned})
    assert game.pieces(row(1, 2, 1, 0)) == {(1, 1): "r", (1, 2): "b"}


def test_by_default_there_is_an_action_for_each_cell_and_it_is_called_by_it(tictactoe):
    assert tictactoe.num_actions == 9
    assert tictactoe.action_text(tictactoe.initial, 5) == "12"
    assert tictactoe.track(tictactoe.initial, (5,)) == (((1, 2),), ())


def test_cells_of_actions_may_be_a_list_or_one_cell_each(tictactoe):
    start = tictactoe.initial
    lists = Game(initial=start, action_cells=[(0, 1), (2, 2)], **ONE_ROW)
    assert lists.action_cells.dtype == np.int64
    assert [lists.action_text(start, action) for action in (0, 1)] == ["00-01", "02"]
    single = Game(initial=start, action_cells=[3, 1], **ONE_ROW)
    assert single.action_cells.tolist() == [[3, 3], [1, 1]]
    mirror = symmetry("mirror", single.grid, lambda cell: (0, 3 - cell[1]), [3, 0])
    assert mirror.actions.tolist() == [1, 0]


def test_moves_are_called_by_both_cells_and_passes_by_none(tictactoe):
    start = tictactoe.initial
    cells = np.array([[0, 1], [1, 0], [4, 4]])
    game = Game(initial=start, action_cells=cells, **ONE_ROW)
    texts = [game.action_text(start, action) for action in range(3)]
    assert texts == ["00-01", "01-00", "pass"]
    large = Game(initial=start, action_cells=cells, **ONE_ROW | {"grid": Grid(1, 11)})
    assert large.action_text(start, 0) == "0,0-0,1"
    named = Game(
        initial=start,
        action_cells=cells,
        look=Look(names={(0, 0): "A", (0, 1): "B"}),
        **ONE_ROW,
    )
    assert named.action_text(start, 0) == "A-B"


@pytest.mark.parametrize(
    ("position", "turn", "path", "captured"),
    [
        ("8/8/8/8/8/3b4/2r5/8 r", "62x44", [(6, 2), (4, 4)], [(5, 3)]),
        ("8/8/8/3b4/8/3b4/2r5/8 r", "62x44x22", [(6, 2), (4, 4), (2, 2)], [(5, 3), (3, 3)]),
    ],
)
def test_a_track_follows_the_cells_of_the_actions_and_what_vanishes(position, turn, path, captured):
    game = make_game("checkers")
    start = game.from_text(position)
    track = game.track(start, game.parse_turn(start, turn))
    assert track == (tuple(path), tuple(captured))


def test_a_removal_goes_nowhere():
    game = make_game("morris")
    start = game.from_text("ww.b..b................. w 77")
    turn = game.parse_turn(start, "C-D")
    assert game.track(start, turn) == (((0, 6),), ((1, 1),))
    assert game.track(game.play_turn(start, turn[:1]), turn[1:]) == ((), ((1, 1),))


def test_how_a_game_ended_is_draw_or_won(tictactoe):
    assert tictactoe.ending(tictactoe.from_text("xxx/oo1/3 o")) == "won"
    assert tictactoe.ending(tictactoe.from_text("xox/xoo/oxx o")) == "draw"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            {"players": ("black", "blue")},
            r"row: letters=\('b', 'b'\); wanted: letters for each player",
        ),
        ({"players": ("", "blue")}, "none in common"),
        ({"letters": ("rR", "bR")}, "none in common"),
        ({"letters": ("r1", "b")}, "none in common"),
        ({"look": Look(figures={"K": "king"})}, "the piece 'K' is nobody's"),
        ({"look": Look(pieces=lambda position: {(0, 0): "x"})}, "the piece 'x' is nobody's"),
        (
            {"action_cells": np.array([[0, 5]])},
            r"row: action_cells are int64\[1, 2\], such as 0 and 5; expected .* from 0 to 4",
        ),
        (
            {"action_cells": [0, -1]},
            r"such as 0 and -1; expected int64\[actions, 2\] or int64\[actions\]",
        ),
        ({"action_cells": [[0], [1]]}, r"action_cells are int64\[2, 1\]"),
        ({"action_cells": [(0, 1), (1,)]}, "action_cells are not an array: setting an array"),
        ({"action_cells": ["a", "b"]}, r"action_cells are <U1\[2\]"),
        ({"initial": Heap(ZERO, ZERO)}, "wanted: fields own, enemy, player, or functions pieces"),
        ({"initial": Heap(ZERO, ZERO), "notation": Notation(to_text=str)}, "or functions pieces"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong, says):
    with pytest.raises(BadGame, match=says):
        Game(**{"initial": row(0, 0, 0, 5)} | ONE_ROW | wrong)


def test_pieces_belong_to_the_player_whose_letters_they_have():
    game = make_game("checkers")
    assert [game.owner(letter) for letter in "rRbB"] == [0, 0, 1, 1]
    with pytest.raises(BadGame, match="the piece 'x' is nobody's"):
        game.owner("x")


@pytest.mark.parametrize("turn", ["A1", "", 4])
def test_what_is_not_a_turn_is_told_what_makes_one(tictactoe, turn):
    with pytest.raises(
        IllegalAction, match=r"is not a turn; .* game\.parse_turn\(position, TEXT\)"
    ):
        tictactoe.play_turn(tictactoe.initial, turn)
