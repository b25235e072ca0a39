"""Game sessions as JSON values for front ends, in every game."""

import json

import numpy as np
import pytest

from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.referee import Decision
from cc_env.play import view
from cc_env.play.choices import list_choices
from cc_env.play.move_input import parse_move
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.catalogue import GAMES
from cc_env.rendering import shapes
from cc_env.rendering.picture import draw

PEOPLE = HUMAN, HUMAN


def translated_pieces(setting, state):
    """Return the pieces of a state as front ends draw them: moved from the origin by cells."""
    step, primitives = setting["cell"], []
    for row, column, letter in state["pieces"]:
        row = setting["rows"] - 1 - row if setting["runs_upward"] else row
        for kind, *shape in setting["figures"][letter]:
            if kind == "line":
                points = tuple((x + column * step, y + row * step) for x, y in shape[0])
                primitives.append((points, *shape[1:]))
            else:
                primitives.append((shape[0] + column * step, shape[1] + row * step, *shape[2:]))
    return primitives


@pytest.mark.parametrize("name", GAMES)
def test_session_state_draws_the_same_picture(name):
    """The pieces of the state are those of the picture, in the shapes of the setting."""
    game, rng = make_game(name), np.random.default_rng(4)
    session, setting = GameSession(game, PEOPLE), json.loads(json.dumps(view.static_state(game)))
    for _ in range(60):
        state = json.loads(json.dumps(view.session_state(session)))
        picture = draw(game, session.position)
        painted = [tuple(shape) for shape in shapes.shapes(picture)]
        # The page shows the piece of an unfinished turn where it arrived.
        assert state["mid_turn"] or set(translated_pieces(setting, state)) <= set(painted)
        assert len(state["pieces"]) == len(picture.pieces)
        assert [choice[0] for choice in state["choices"]] == game.legal_actions(
            session.position
        ).tolist()
        if session.result:
            break
        session.play(int(rng.choice(game.legal_actions(session.position))))
        assert view.session_state(session)["decisions"] == len(session.decisions)
    assert state["turns"][0][:2] == [0, game.readable_turn_text(*session.match.history[0])]


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("capture_conquer", {"b": "blue", "r": "red"}),
        ("checkers", {"b": "black man", "R": "red king"}),
        ("cannon", {"w": "white soldier", "B": "black town hall"}),
    ],
)
def test_pieces_are_named_by_color_and_kind(name, called):
    assert called.items() <= view.static_state(make_game(name))["piece_names"].items()


@pytest.mark.parametrize("name", GAMES)
def test_every_choice_can_be_selected(name):
    game, rng = make_game(name), np.random.default_rng(1)
    session = GameSession(game, PEOPLE)
    cells = {(row, column) for row, column, _ in view.static_state(game)["cells"]}
    while session.result is None:
        for choice in list_choices(game, session.position):
            assert set(choice.pieces) <= cells
            assert choice.cell is None or choice.cell in cells
        session.play(int(rng.choice(game.legal_actions(session.position))))


def test_capture_chain_is_shown_hop_by_hop(game):
    session = GameSession(game, PEOPLE, start=game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b"))
    turn = max(game.turns(session.position), key=len)
    assert len(turn) > 1
    for count, action in enumerate(turn[:-1], 1):
        session.play(action)
        state = view.session_state(session)
        assert state["mid_turn"]
        assert len(state["turns"]) == 1
        assert state["turns"][0][1].endswith("…")
        assert state["last_decision"]["path"] == list(
            game.track(game.play_turn(session.match.start, turn[: count - 1]), (action,)).path
        )
    session.play(turn[-1])
    state = view.session_state(session)
    assert not state["mid_turn"]
    before, turn = session.match.history[0]
    assert [entry[1] for entry in state["turns"]] == [game.readable_turn_text(before, turn)]


def test_session_state_has_clocks_values_and_result():
    game = make_game("mini_checkers")
    session = GameSession(game, (HUMAN, "minimax:depth=1"), limits=Limits(seconds_per_game=60))
    session.play(int(game.legal_actions(session.position)[0]))
    session.play_computer_decision()
    state = view.session_state(session)
    assert [0 < seconds <= 60 for seconds in state["clocks"]] == [True, True]
    assert state["turns"][0][2] is None
    assert state["turns"][1][2] == -round(session.decisions[-1].value, 3)
    assert state["summary"].startswith("depth 1 ")
    assert state["result"] is None
    session.resign(0)
    state = view.session_state(session)
    assert state["result"]["text"] == "white wins: black resigned"
    assert state["choices"] == []
    assert view.session_state(GameSession(game, PEOPLE))["clocks"] is None


def test_scores_are_reported_if_the_game_has_them():
    session = GameSession(make_game("cannon"), PEOPLE)
    session.resign(1)
    assert view.session_state(session)["result"]["scores"] == list(session.match.score)


def test_replayed_decisions_restore_a_game(game):
    start = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
    turn = max(game.turns(start), key=len)
    session = GameSession(game, PEOPLE, start=start)
    for action in turn[:1]:
        session.replay_decision(Decision(action), 1.5)
    assert session.turn_seconds == (1.5,)
    assert session.last_turn == (start, turn[:1])
    with pytest.raises(ValueError, match="not legal"):
        session.replay_decision(Decision(0), 1.0)
    assert session.turn_seconds == (1.5,)


def test_top_player_is_the_one_with_higher_pieces():
    tops = {name: view.static_state(make_game(name))["top"] for name in GAMES}
    assert tops == {
        "capture_conquer": 1,
        "checkers": 1,
        "mini_checkers": 1,
        "morris": 1,
        "cannon": 1,
    }


@pytest.mark.parametrize(
    ("name", "text", "turn"),
    [
        ("capture_conquer", "c1 d1", "0,2-0,3"),
        ("capture_conquer", "C1-D1", "0,2-0,3"),
        ("mini_checkers", "6-9", "41-30"),
        ("cannon", "c3 b4", "S 2 5 M 1 4"),
        ("morris", "d", "D"),
    ],
)
def test_typed_moves_may_be_readable(name, text, turn):
    game = make_game(name)
    for typed in (text, turn):
        move = parse_move(game, game.initial, list_choices(game, game.initial), None, typed)
        assert move.turn == game.parse_turn(game.initial, turn)


def test_refusals_name_cells_in_the_readable_notation(game):
    choices = list_choices(game, game.initial)
    with pytest.raises(IllegalAction, match="a1 cannot go to b1; it can go to: c3"):
        parse_move(game, game.initial, choices, None, "a1 b1")
    with pytest.raises(IllegalAction, match="b3 is empty; you can move from: a1, b1, "):
        parse_move(game, game.initial, choices, None, "b3 b4")


@pytest.mark.parametrize("name", ["checkers", "mini_checkers"])
def test_cells_of_draughts_are_the_numbered_squares(name):
    cells = view.static_state(make_game(name))["cells"]
    assert sorted(int(cell_name) for *_, cell_name in cells) == [*range(1, len(cells) + 1)]


def test_cells_are_named_by_board_labels():
    game = make_game("elsewhere.tictactoe")
    game = game.replace(row_labels="321", column_labels="abc")
    moves = list_choices(game, game.initial)
    assert game.cell_text((1, 2), "input") == "2 c"
    assert parse_move(game, game.initial, moves, None, "2 c").turn == (5,)
    with pytest.raises(IllegalAction, match="0 1 is off the board: rows are 3 to 1, columns a to"):
        parse_move(game, game.initial, moves, None, "0 1")
    assert view.static_state(game)["cells"][5] == [1, 2, "2c"]


def test_piece_that_chooses_a_capture_is_where_it_arrived(game):
    session = GameSession(game, PEOPLE, start=game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b"))
    turn = next(turn for turn in game.turns(session.position) if len(turn) > 1)
    before = {(row, column) for row, column, _ in view.session_state(session)["pieces"]}
    session.play(turn[0])
    state = view.session_state(session)
    start, end = state["last_decision"]["path"]
    after = {(row, column) for row, column, _ in state["pieces"]}
    assert after == before - {start} | {end}
    labels = {choice.text for choice in state["choices"] if choice.cell is None}
    assert labels == {"Capture nothing"}
