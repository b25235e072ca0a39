"""The form that begins a game: what the server offers, it accepts as a request."""

import pytest
from conftest import HERE

from cc_env.games.factory import game_option_defaults, game_option_values, make_game
from cc_env.registry.catalogue import GAMES

UNLIMITED = {"crowning": "ends_move", "no_progress_limit": None}  # English draughts


def variants():
    """Yield each game with its defaults, and with each of its options changed."""
    for name in GAMES:
        defaults, values = game_option_defaults(name), game_option_values(name)
        yield name, {}
        yield name, dict(make_game(name).options)
        for option, default in defaults.items():
            alternatives = values.get(option) or ([not default] if default in (True, False) else [])
            for value in alternatives:
                yield name, {option: value}
    yield "checkers", UNLIMITED
    yield "capture_conquer", {"size": 5, "corner": None}


def accepted(client, path, **request):
    response = client.post(path, json=request, headers={"origin": HERE})
    assert response.status_code in (200, 201), response.text
    return response.json()


def test_what_the_server_answers_it_accepts_as_a_request(serving):
    client = serving()
    for name, options in variants():
        opened = accepted(client, "/open", game=name, options=options)
        node = {"game": opened["game"], "options": opened["options"], "start": opened["start"]}
        state = accepted(client, "/look", **node, actions=[])
        assert accepted(client, "/open", **node)["options"] == opened["options"]
        setup = {"players": opened["analysts"], "mover": state["mover"]}
        assert accepted(client, "/setup", **node) == setup
        begun = {**node, "start": state["position"], "seats": ["human", "human"]}
        accepted(client, "/games", **begun)


def test_a_pdn_game_without_a_limit_is_opened_and_looked_at(serving):
    """P1: PDN files are English draughts, which have no limit of turns without progress."""
    client = serving()
    opened = accepted(client, "/open", text="1. 11-15 23-19 2. 8-11 22-17 *")
    assert opened["options"] == UNLIMITED
    node = {"game": opened["game"], "options": opened["options"], "start": opened["start"]}
    actions = [action for _, _, turn in opened["turns"] for action in turn]
    assert accepted(client, "/look", **node, actions=actions)["decisions"] == 4


@pytest.mark.parametrize(
    ("name", "options", "start", "mover"),
    [
        ("mini_checkers", {"first": "white"}, None, 1),
        ("checkers", {}, "8/8/8/3b4/4r3/8/8/8 b", 1),
        ("checkers", {}, "8/8/8/3b4/4r3/8/8/8 r", 0),
        ("morris", {}, "ww.bbb.................. b 76", 1),
    ],
)
def test_the_setup_says_who_moves_first(name, options, start, mover, serving):
    answer = accepted(serving(), "/setup", game=name, options=options, start=start)
    assert answer["mover"] == mover


def test_a_setup_that_is_not_possible_is_refused(serving):
    client = serving()
    for request, why in (
        ({"game": "ludo"}, "no game 'ludo'"),
        ({"game": "cannon", "options": {"rows": 9}}, "rows=9"),
        ({"game": "cannon", "options": {"rows": None}}, "rows=None"),
        ({"game": "cannon", "options": {"rows": []}}, "a word, a number, true, false or null"),
        ({"game": "checkers", "start": "nonsense"}, "nonsense"),
        ({"game": "checkers", "seats": []}, "no field seats"),
    ):
        response = client.post("/setup", json=request, headers={"origin": HERE})
        assert response.status_code == 400
        assert why in response.json()["error"]
