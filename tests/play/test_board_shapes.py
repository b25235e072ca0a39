"""Labels, goals and last turns of boards that front ends can flip."""

import pytest

from cc_env.games.factory import make_game
from cc_env.play import board_shapes
from cc_env.rendering.picture import draw
from cc_env.rendering.shapes import CELL, MARGIN, Square


def labels_by_cell(game, is_flipped):
    """Return the text of each label by the cell of the screen that contains it."""
    labels = board_shapes.labels(game, is_flipped)
    return {
        (int((y - MARGIN) // CELL), int((x - MARGIN) // CELL), text) for x, y, text, *_ in labels
    }


def test_columns_and_rows_are_named_at_the_lower_and_left_edge():
    columns = {(5, column, letter) for column, letter in enumerate("abcdef")}
    rows = {(5 - row, 0, str(row + 1)) for row in range(6)}
    game = make_game("capture_conquer")
    assert labels_by_cell(game, is_flipped=False) == columns | rows
    flipped = {(5, 5 - column, letter) for _, column, letter in columns}
    flipped |= {(5 - row, 0, name) for row, _, name in rows}
    assert labels_by_cell(game, is_flipped=True) == flipped


def test_numbered_cells_have_their_numbers():
    game = make_game("checkers")
    for is_flipped in (False, True):
        labels = labels_by_cell(game, is_flipped)
        assert len(labels) == 32
        corner = (7, 7) if is_flipped else (0, 0)
        assert (*corner, "29") in labels


def test_names_of_points_turn_with_the_board():
    game = make_game("morris")
    assert (0, 0, "A") in labels_by_cell(game, is_flipped=False)
    assert (6, 6, "A") in labels_by_cell(game, is_flipped=True)


def test_cells_without_readable_names_have_the_labels_of_rows_and_columns():
    game = make_game("elsewhere.tictactoe").replace(row_labels="321", column_labels="abc")
    labels = labels_by_cell(game, is_flipped=False)
    assert {text for _, _, text in labels} == set("321abc")
    assert {(0, 0, "3"), (2, 2, "c")} <= labels


@pytest.mark.parametrize(("name", "row"), [("capture_conquer", 5), ("cannon", 0)])
def test_first_player_is_below(name, row):
    assert board_shapes.screen_cell(make_game(name), (0, 1), is_flipped=False) == (row, 1)
    column = make_game(name).grid.columns - 2
    flipped_row = make_game(name).grid.rows - 1 - row
    flipped = board_shapes.screen_cell(make_game(name), (0, 1), is_flipped=True)
    assert flipped == (flipped_row, column)


def test_first_and_last_cell_of_the_last_turn_are_marked():
    game = make_game("capture_conquer")
    turn = game.parse_turn(game.initial, "a1-c3")
    after = game.play_turn(game.initial, turn)
    picture = draw(game, after, last=(game.initial, turn))
    squares = [shape for shape in board_shapes.last_turn(picture) if isinstance(shape, Square)]
    corners = [(square.x - MARGIN, square.y - MARGIN) for square in squares]
    assert corners == [(0, 0), (2 * CELL, 2 * CELL)]
    assert board_shapes.last_turn(draw(game, game.initial)) == []
