"""A sitting as data: whatever a front end needs, in JSON's values, for every game."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cc_env.core.game import Look
from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.referee import Decision
from cc_env.play import move_input, view
from cc_env.play.choices import choices
from cc_env.play.session import HUMAN, Sitting
from cc_env.registry.catalogue import GAMES
from cc_env.rendering import shapes
from cc_env.rendering.picture import draw

PEOPLE = HUMAN, HUMAN


def drawn(setting, state):
    """Return the pieces of a state as front ends draw them: moved from the origin by cells."""
    step, primitives = setting["cell"], []
    for row, column, letter in state["pieces"]:
        for kind, *shape in setting["figures"][letter]:
            if kind == "line":
                points = tuple((x + column * step, y + row * step) for x, y in shape[0])
                primitives.append((points, *shape[1:]))
            else:
                primitives.append((shape[0] + column * step, shape[1] + row * step, *shape[2:]))
    return primitives


@pytest.mark.parametrize("name", GAMES)
def test_a_face_draws_what_the_picture_shows(name):
    """checkers8: two boards kept in step (internal and shown), after each move."""
    game, rng = make_game(name), np.random.default_rng(4)
    sitting, setting = Sitting(game, PEOPLE), json.loads(json.dumps(view.setting(game)))
    for _ in range(60):
        state = json.loads(json.dumps(view.state(sitting)))
        picture = draw(game, sitting.position)
        painted = [tuple(shape) for shape in shapes.shapes(picture)]
        assert set(drawn(setting, state)) <= set(painted)
        assert len(state["pieces"]) == len(picture.pieces)
        assert [choice[0] for choice in state["choices"]] == game.legal_actions(
            sitting.position
        ).tolist()
        if sitting.result:
            break
        sitting.play(int(rng.choice(game.legal_actions(sitting.position))))
        assert view.state(sitting)["decisions"] == len(sitting.decisions)
    assert state["turns"][0][:2] == [0, sitting.match.turns[0]]


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("capture_conquer", {"b": "blue", "r": "red"}),
        ("checkers", {"b": "black man", "R": "red king"}),
        ("cannon", {"w": "white soldier", "B": "black town hall"}),
    ],
)
def test_pieces_are_called_by_colour_and_kind(name, called):
    assert called.items() <= view.setting(make_game(name))["called"].items()


@pytest.mark.parametrize("name", GAMES)
def test_every_choice_can_be_pointed_at(name):
    game, rng = make_game(name), np.random.default_rng(1)
    sitting = Sitting(game, PEOPLE)
    cells = {(row, column) for row, column, _ in view.setting(game)["cells"]}
    while sitting.result is None:
        for choice in choices(game, sitting.position):
            assert set(choice.pieces) <= cells
            assert choice.cell is None or choice.cell in cells
        sitting.play(int(rng.choice(game.legal_actions(sitting.position))))


def test_a_chain_is_shown_hop_by_hop(game):
    sitting = Sitting(game, PEOPLE, start=game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b"))
    turn = max(game.turns(sitting.position), key=len)
    assert len(turn) > 1
    for count, action in enumerate(turn[:-1], 1):
        sitting.play(action)
        state = view.state(sitting)
        assert state["mid_turn"]
        assert len(state["turns"]) == 1
        assert state["turns"][0][1].endswith("…")
        assert state["moved"]["path"] == list(
            game.track(game.play_turn(sitting.match.start, turn[: count - 1]), (action,)).path
        )
    sitting.play(turn[-1])
    state = view.state(sitting)
    assert not state["mid_turn"]
    assert [entry[1] for entry in state["turns"]] == sitting.match.turns


def test_clocks_values_and_the_end_are_told():
    game = make_game("mini_checkers")
    sitting = Sitting(game, (HUMAN, "minimax:depth=1"), limits=Limits(seconds_per_game=60))
    sitting.play(int(game.legal_actions(sitting.position)[0]))
    sitting.think()
    state = view.state(sitting)
    assert [0 < seconds <= 60 for seconds in state["clocks"]] == [True, True]
    assert state["turns"][0][2] is None
    assert state["turns"][1][2] == -round(sitting.decisions[-1].value, 3)
    assert state["said"].startswith("depth 1 ")
    assert state["result"] is None
    sitting.resign(0)
    state = view.state(sitting)
    assert state["result"]["text"] == "white wins: black resigned"
    assert state["choices"] == []
    assert view.state(Sitting(game, PEOPLE))["clocks"] is None


def test_scores_are_told_where_the_game_has_them():
    sitting = Sitting(make_game("cannon"), PEOPLE)
    sitting.resign(1)
    assert view.state(sitting)["result"]["scores"] == list(sitting.match.score)


def test_a_game_is_restored_decision_by_decision(game):
    start = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    turn = max(game.turns(start), key=len)
    sitting = Sitting(game, PEOPLE, start=start)
    for action in turn[:1]:
        sitting.restore(Decision(action), 1.5)
    assert sitting.seconds == (1.5,)
    assert sitting.last == (start, turn[:1])
    with pytest.raises(ValueError, match="not legal"):
        sitting.restore(Decision(0), 1.0)
    assert sitting.seconds == (1.5,)


def test_the_first_player_begins_where_its_pieces_stand():
    tops = {name: view.setting(make_game(name))["top"] for name in GAMES}
    assert tops == {
        "capture_conquer": 0,
        "checkers": 1,
        "mini_checkers": 1,
        "morris": 1,
        "cannon": 1,
    }


def test_cells_are_called_and_pointed_at_by_the_labels_of_the_board():
    game = make_game("elsewhere.tictactoe")
    game = replace(game, look=Look(rows="321", columns="abc"))
    moves = choices(game, game.initial)
    assert move_input.cell_name(game, (1, 2)) == "2 c"
    assert move_input.meant(game, game.initial, moves, None, "2 c").turn == (5,)
    with pytest.raises(IllegalAction, match="0 1 is off the board: rows are 3 to 1, columns a to"):
        move_input.meant(game, game.initial, moves, None, "0 1")
    assert view.setting(game)["cells"][5] == [1, 2, "2 c"]
