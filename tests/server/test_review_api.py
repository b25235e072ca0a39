"""Reviews over HTTP: a stream of turns, moments and a summary; tries at a moment."""

import asyncio
import json

import pytest
from conftest import HERE

from cc_env.core.rules import ONGOING
from cc_env.games.factory import make_game
from cc_env.server import review_api
from cc_env.server.json_routes import write_lines
from cc_env.server.limits import ConcurrencyLimit, TooManyRequestsError
from cc_env.server.lobby import Lobby

PLAY = HERE.replace("http", "ws") + "/play"
# Red reaches the corner in one turn, unless blue takes the piece or red misses it.
RACE = "6/brb2r/b3r1/6/3b2/r2b2 r"


def create_game(client, **request):
    response = client.post("/games", json=request)
    assert response.status_code == 201, response.text
    return response.json()


def play(client, created, seat, *actions):
    """Play decisions of a seat over a WebSocket."""
    with client.websocket_connect(f"{PLAY}/{created['game']}", headers={"origin": HERE}) as socket:
        socket.send_json({"tokens": [token for token in created["tokens"] if token]})
        for action in actions:
            state = next_state(socket)
            socket.send_json({"command": "play", "action": action, "version": state["version"]})
        return next_state(socket)


def next_state(socket):
    while (message := socket.receive_json())["type"] != "state":
        pass
    return message


def review(client, created, tokens=None, status=200):
    fields = {
        "room": created["game"],
        "tokens": tokens if tokens is not None else [t for t in created["tokens"] if t],
    }
    response = client.post("/review", json=fields)
    assert response.status_code == status, response.text
    if status != 200:
        return response.json()["error"]
    return [json.loads(line) for line in response.text.splitlines()]


@pytest.fixture
def reviewed(serving):
    """A client and a game of one person in which red misses a win in one turn, and then loses."""
    client, game = serving(), make_game("capture_conquer")
    created = create_game(client, game=game.name, seats=["human", "human"], start=RACE)
    position = game.from_text(RACE)
    turns = []
    for text in ("1,1-1,3x1,2", None, None):
        turn = game.parse_turn(position, text) if text else next(iter(game.turns(position)))
        turns.append(turn)
        position = game.play_turn(position, turn)
    play(client, created, 0, *[int(action) for turn in turns for action in turn])
    return client, created, turns


def test_review_is_a_stream_of_turns_with_moments_and_a_summary(reviewed):
    client, created, turns = reviewed
    game, *parts, summary = review(client, created)
    assert (game["game"], game["start"], game["seats"]) == ("capture_conquer", RACE, [0, 1])
    # Each turn, then those of a longer search.
    assert [part["turn"] for part in parts[: len(turns)]] == list(range(len(turns)))
    confirmed = [part["turn"] for part in parts[len(turns) :]]
    assert confirmed[0] == 0
    assert parts[0]["mark"] == "blunder"
    assert parts[0]["is_turning_point"]
    # Red, the second player, had won.
    assert parts[0]["chances"] == 0.0
    first = summary["moments"][0]
    assert (first["turn"], first["sign"]) == (0, "??")
    assert first["reason"] == "misses a turn that reaches the far corner"
    assert first["change"] == "threw away a proven win in 1 turn"
    assert first["state"]["position"] == RACE
    assert first["solution"]["arrow"] == [[1, 1], [0, 0]]
    assert len(summary["moments"]) <= 3
    assert [
        accuracy is None or 0 <= accuracy["percent"] <= 100 for accuracy in summary["accuracies"]
    ] == [True, True]
    assert summary["final_chances"] is None


def test_second_review_is_the_first_one_without_a_search(reviewed, monkeypatch):
    client, created, _ = reviewed
    first = review(client, created)
    monkeypatch.delattr(review_api.review_turn.__module__ + ".assess_turn")
    assert review(client, created) == first


def test_number_of_known_turns_is_limited(reviewed, monkeypatch):
    client, created, turns = reviewed
    monkeypatch.setattr(review_api, "MAX_KNOWN_TURNS", 0)
    run_analysis, searches = Lobby.run_analysis, []

    async def counted(lobby, *arguments):
        searches.append(arguments)
        return await run_analysis(lobby, *arguments)

    monkeypatch.setattr(Lobby, "run_analysis", counted)
    for number in (1, 2):
        review(client, created)
        assert len(searches) >= number * len(turns)


def test_moment_is_tried_again(reviewed):
    client, created, turns = reviewed
    moment = review(client, created)[-1]["moments"][0]
    game = make_game("capture_conquer")
    fields = {"game": game.name, "start": moment["state"]["position"]}
    wrong = client.post("/retry", json={**fields, "turn": [int(a) for a in turns[0]]}).json()
    assert (wrong["is_finished"], wrong["is_correct"]) == (True, False)
    assert moment["solution"]["text"] not in wrong["message"]
    best = game.parse_turn(game.from_text(RACE), moment["solution"]["text"])
    right = client.post("/retry", json={**fields, "turn": [int(a) for a in best]}).json()
    assert (right["is_correct"], right["is_solved"], right["reply_states"]) == (True, True, [])
    assert right["message"] == f"{moment['solution']['text']} keeps the chances."
    assert game.outcome(game.from_text(right["states"][-1]["position"])) != ONGOING


def test_client_may_review_only_what_it_may_analyze(serving):
    client = serving(max_reviewed_turns=1)
    created = create_game(client, game="mini_checkers", seats=["human", "human"])
    assert "analysis is off" in review(client, created, [created["tokens"][0]], 400)
    assert "no such game" in review(client, {"game": "../etc", "tokens": []}, status=400)
    assert "tokens" in review(client, created, "abc", 400)
    game = make_game("mini_checkers")
    first = next(game.turns(game.initial))
    second = next(game.turns(game.play_turn(game.initial, first)))
    play(client, created, 0, *map(int, (*first, *second)))
    assert "the game has 2 turns; expected: at most 1" in review(client, created, status=400)


def test_invalid_tries_are_rejected(serving):
    client = serving()
    game = make_game("mini_checkers")
    turn = [int(action) for action in next(game.turns(game.initial))]
    after = game.play_turn(game.initial, turn)
    two = [*turn, *(int(action) for action in next(game.turns(after)))]
    for bad in ([], two, [10**6], [True], "0", None):
        response = client.post("/retry", json={"game": game.name, "turn": bad})
        assert response.status_code == 400, bad
    over = {"game": game.name, "start": "6/6/6/6/6/b5 w", "turn": turn}
    assert client.post("/retry", json=over).status_code == 400


def test_stream_of_a_disconnected_client_is_closed():
    limit, closed = ConcurrencyLimit("analyses", 1), []

    async def make_parts():
        try:
            yield {"turn": 0}
            yield {"turn": 1}
        finally:
            closed.append(True)

    async def disconnect_after_a_line():
        stream = write_lines(make_parts(), limit, "address")
        assert await anext(stream) == '{"turn":0}\n'
        with pytest.raises(TooManyRequestsError), limit.count("address"):
            pass
        await stream.aclose()
        with limit.count("address"):
            pass

    asyncio.run(disconnect_after_a_line())
    assert closed == [True]


def test_error_during_a_stream_is_its_last_line(reviewed, monkeypatch):
    client, created, _ = reviewed

    async def fail(self, index, seconds):
        raise asyncio.TimeoutError if index < 0 else review_api.BadOption("no player")

    monkeypatch.setattr(review_api._Review, "_review_turn", fail)
    game, error = review(client, created)
    assert game["game"] == "capture_conquer"
    assert error == {"error": "no player"}
