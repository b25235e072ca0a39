"""Requests for new games: the server accepts every choice that its responses list."""

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


def post_valid(client, path, **request):
    response = client.post(path, json=request, headers={"origin": HERE})
    assert response.status_code in (200, 201), response.text
    return response.json()


def test_responses_are_valid_requests(serving):
    client = serving()
    for name, options in variants():
        opened = post_valid(client, "/open", game=name, options=options)
        node = {"game": opened["game"], "options": opened["options"], "start": opened["start"]}
        state = post_valid(client, "/position", **node, actions=[])
        assert post_valid(client, "/open", **node)["options"] == opened["options"]
        expected = {
            "players": opened["analysts"],
            "rungs": opened["setting"]["rungs"],
            "mover": state["mover"],
        }
        assert post_valid(client, "/players", **node) == expected
        setup = {**node, "start": state["position"], "seats": ["human", "human"]}
        post_valid(client, "/games", **setup)


def test_pdn_game_without_a_limit_is_opened(serving):
    """PDN files are English draughts, which have no limit of turns without progress."""
    client = serving()
    opened = post_valid(client, "/open", text="1. 11-15 23-19 2. 8-11 22-17 *")
    assert opened["options"] == UNLIMITED
    node = {"game": opened["game"], "options": opened["options"], "start": opened["start"]}
    actions = [action for _, _, turn in opened["turns"] for action in turn]
    assert post_valid(client, "/position", **node, actions=actions)["decisions"] == 4


@pytest.mark.parametrize(
    ("name", "options", "start", "mover"),
    [
        ("mini_checkers", {"first": "white"}, None, 1),
        ("checkers", {}, "8/8/8/3b4/4r3/8/8/8 b", 1),
        ("checkers", {}, "8/8/8/3b4/4r3/8/8/8 r", 0),
        ("morris", {}, "ww.bbb.................. b 76", 1),
    ],
)
def test_players_request_returns_the_first_mover(name, options, start, mover, serving):
    answer = post_valid(serving(), "/players", game=name, options=options, start=start)
    assert answer["mover"] == mover


def test_invalid_players_request_is_rejected(serving):
    client = serving()
    for request, text in (
        ({"game": "ludo"}, "'ludo'"),
        ({"game": "cannon", "options": {"rows": 9}}, "rows=9"),
        ({"game": "cannon", "options": {"rows": None}}, "rows=None"),
        ({"game": "cannon", "options": {"rows": []}}, "rows"),
        ({"game": "checkers", "start": "nonsense"}, "nonsense"),
        ({"game": "checkers", "seats": []}, "seats"),
    ):
        response = client.post("/players", json=request, headers={"origin": HERE})
        assert response.status_code == 400
        assert text in response.json()["error"]
