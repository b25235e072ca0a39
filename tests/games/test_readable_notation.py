"""The readable notation of turns: a1-b2, and the numbers of draughts."""

from itertools import product

import numpy as np
import pytest

from cc_env.games.factory import make_game
from cc_env.games.morris import STANDARD_RULES

GAMES = [
    *(("capture_conquer", {"size": size}) for size in range(4, 9)),
    ("checkers", {}),
    ("checkers", {"crowning": "ends_move"}),
    ("mini_checkers", {}),
    ("morris", {}),
    ("morris", dict(STANDARD_RULES)),
    *(
        ("cannon", {"rows": rows, "columns": columns})
        for rows, columns in product((8, 10), (8, 10))
    ),
    ("elsewhere.tictactoe", {}),
]


@pytest.fixture(params=GAMES, ids=str)
def any_game(request):
    name, options = request.param
    return make_game(name, **options)


def random_positions(game, stride):
    """Yield each `stride`-th position of a random game, all at the beginning of a turn."""
    rng, position, count = np.random.default_rng(5), game.initial, 0
    while len(legal := game.legal_actions(position)):
        if count % stride == 0 and not game.mid_turn(position):
            yield position
        position, count = game.apply(position, int(rng.choice(legal)), legal), count + 1


def test_readable_turns_parse_back(any_game):
    for position in random_positions(any_game, 5):
        for turn in any_game.turns(position):
            text = any_game.readable_turn_text(position, turn)
            assert any_game.parse_turn(position, text) == turn
            assert any_game.parse_turn(position, f" {text.upper()} ") == turn


def test_no_text_is_another_action_in_the_other_notation(any_game):
    for position in list(random_positions(any_game, 1))[:2]:
        texts, readable = (
            {notation(position, action): action for action in range(any_game.num_actions)}
            for notation in (any_game.action_text, any_game.readable_action_text)
        )
        for text in texts.keys() & readable.keys():
            assert texts[text] == readable[text]


@pytest.mark.parametrize(
    ("name", "position", "text", "readable"),
    [
        ("capture_conquer", None, "0,0-2,2", "a1-c3"),
        ("capture_conquer", "1b4/1b4/2r3/6/5r/4rr b", "1,1-3,3x2,2", "b2-d4xc3"),
        ("capture_conquer", "6/1bb3/1brrr1/1r1r2/6/6 b", "1,2-3,2x2,3", "c2-c4xd3"),
        ("checkers", None, "51-40", "9-13"),
        ("checkers", "8/8/8/3b4/8/3b4/2r5/8 r", "62x44x22", "6x15x22"),
        ("mini_checkers", None, "41-30", "6-9"),
        ("mini_checkers", "6/2w3/6/6/6/b5 w", "12-21", "14-12"),
        ("mini_checkers", "1w3b/b5/6/6/6/2w1w1 b", "pass", "pass"),
        ("morris", "ww.b..b................. w 77", "C-D", "C-D"),
        ("cannon", None, "S 0 7 M 1 6", "a1-b2"),
        ("cannon", None, "S 0 5 B 0 3", "bomb a5"),
        ("elsewhere.tictactoe", None, "12", "12"),
    ],
)
def test_both_notations_name_the_same_turn(name, position, text, readable):
    game = make_game(name)
    start = game.from_text(position) if position else game.initial
    turn = game.parse_turn(start, readable)
    assert turn == game.parse_turn(start, text)
    assert game.readable_turn_text(start, turn) == readable


@pytest.mark.parametrize(
    ("name", "cell", "readable"),
    [
        ("capture_conquer", (0, 0), "a1"),
        ("capture_conquer", (4, 1), "b5"),
        ("checkers", (7, 1), "1"),
        ("checkers", (0, 6), "32"),
        ("mini_checkers", (5, 4), "1"),
        ("mini_checkers", (0, 1), "18"),
        ("morris", (0, 6), "C"),
        ("cannon", (7, 0), "a1"),
        ("elsewhere.tictactoe", (1, 2), "12"),
    ],
)
def test_cells_have_readable_names(name, cell, readable):
    assert make_game(name).cell_text(cell, "readable") == readable


def test_rest_of_a_chain_is_read_in_the_notation_first():
    """Of a king on 33, x11 is row 1, column 1, not cell 11, which is in row 5, column 5."""
    checkers = make_game("checkers")
    middle = checkers.from_text("8/8/2b5/3R4/4b3/8/8/1b6 r x33")
    upper, lower = checkers.turns(middle)
    assert checkers.readable_turn_text(middle, lower) == "x11"
    assert checkers.parse_turn(middle, "x11") == upper


def test_completions_have_the_notation_that_was_begun():
    game = make_game("capture_conquer")
    assert game.completions(game.initial, "1,1-") == ["1,1-1,2", "1,1-2,1", "1,1-2,2"]
    assert game.completions(game.initial, "B2-") == ["b2-c2", "b2-b3", "b2-c3"]
