"""Fuzzing of the server: requests, messages and altered journals."""

import asyncio
import json

import pytest
from conftest import HERE
from fuzz.harness import call_or_reject
from fuzz.mutations import lines, texts
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from cc_env.core.rules import SECOND_WINS
from cc_env.match.match import RESIGNED
from cc_env.match.referee import Decision
from cc_env.play import view
from cc_env.play.exporting import export_game, file_suffixes
from cc_env.play.session import HUMAN
from cc_env.server import app, review_api
from cc_env.server.journal import CommandId, Journal, add_tokens, decision_entry
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, parse_setup
from cc_env.server.room import Client
from cc_env.server.storage import GameFolder

LIMITS = ServerLimits(
    hint_player="minimax:depth=1",
    pace_seconds=0.0,
    messages_per_second=10**6,
    joins_per_second=10**6,
    games_per_minute=10**6,
    analyses_per_minute=10**6,
)
OPENINGS = [
    {"game": "mini_checkers", "seats": [HUMAN, HUMAN], "seed": 1, "assistance": True},
    {
        "game": "capture_conquer",
        "options": {"size": "4", "corner": 2},
        "seats": ["random", "minimax:depth=1"],
        "random_seats": True,
        "start": "bb2/b3/3r/2rr b",
        "seconds": 60,
    },
    {"game": "cannon", "seats": ["aggressive", HUMAN], "options": {}, "seconds": 1.5},
    {"game": "morris", "seats": [HUMAN, "mcts:simulations=9,playout=random"], "seconds": None},
]
MESSAGES = [
    {"command": "play", "action": 14, "version": 1},
    {"command": "play_text", "text": "41-32", "version": 1},
    {"command": "play_text", "text": "4 1", "piece": [4, 1], "version": 1},
    *({"command": do, "version": 1} for do in ("take_back", "hint", "resign", "draw", "rematch")),
    {"command": "decline", "offer": "draw", "version": 1},
    {"command": "view_turn", "turns": 0},
    {"command": "pace", "seconds": 0.5},
    {"command": "pace", "seconds": None},
    {"command": "step"},
]


def to_texts(messages):
    return [json.dumps(message) for message in messages]


@pytest.fixture
def lobby(tmp_path):
    lobby = Lobby(GameFolder(tmp_path, LIMITS), LIMITS, cores=1)
    yield lobby
    lobby.close()


def journal_of(path, lobby, fields):
    """Write a journal with a line of each kind; return its lines."""
    setup = parse_setup(fields, LIMITS)
    journal, session = Journal(path), setup.start_session(lobby.make_player)
    journal.create(setup)
    game, position = session.game, session.position
    for number in range(3):
        action = int(game.legal_actions(position)[0])
        details = {"depth": 2, "cuts_max": 1, "cuts_min": 0, "nodes": 77}
        value = (None, -0.25, 0.5)[number]
        decision = Decision(action, value, details if number else {})
        journal.append({**decision_entry(decision), "seconds": 0.25})
        position = game.apply(position, action)
    journal.append({"do": "offer", "player": 0})
    journal.append({"do": "request_take_back", "player": 1})
    journal.append({"do": "decline", "offer": "draw"})
    journal.append({"do": "decline", "offer": "take_back"})
    if HUMAN in setup.seats:
        journal.append({"do": "take_back"})
    journal.append({"do": "pace", "seconds": None})
    journal.append({"do": "pace", "seconds": 2.5})
    end = {"do": "end", "outcome": SECOND_WINS, "reason": RESIGNED, "detail": "", "seconds": 0.5}
    journal.append(end)
    with journal.execution(CommandId("client", 7)):
        journal.append({"do": "offer_rematch", "player": 0})
    journal.append({"do": "rematch", "game": "A" * 16})
    return path.read_text().splitlines()


@pytest.mark.parametrize("fields", OPENINGS, ids=lambda fields: fields["game"])
def test_altered_journals_raise_only_cc_env_errors(fields, lobby, tmp_path):
    path, make = tmp_path / "game.jsonl", lobby.make_player
    good = journal_of(path, lobby, fields)
    assert Journal(path).read(make).session.result

    def read():
        saved_game = Journal(path).read(make)
        state = view.session_state(saved_game.session)
        requests = saved_game.take_back_requested_by, saved_game.rematch_offered_by
        json.dumps([state, requests, saved_game.rematch, saved_game.pace], allow_nan=False)
        for ending in file_suffixes(saved_game.session.game):
            export_game(saved_game.session, ending).encode()

    @given(st.integers(0, len(good) - 1), lines(good), texts(["\n".join(good)]))
    def fuzz(number, line, text):
        altered = [*good[:number], line, *good[number + 1 :]]
        path.write_text("\n".join(altered) + "\n", "utf-8", "surrogatepass")
        call_or_reject(read)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        call_or_reject(read)

    fuzz()


def snapshot(room, path):
    return room._state_message(), path.read_bytes(), room.pace


@pytest.mark.parametrize("seats", [(HUMAN, HUMAN), (HUMAN, "random"), ("random", "random")])
def test_random_messages_raise_only_cc_env_errors(seats, lobby, tmp_path):
    setup = parse_setup({"game": "mini_checkers", "seats": list(seats), "seed": 1}, LIMITS)
    done = {True: 0, False: 0}

    async def send(text, place):
        room = await lobby.find_room(lobby.store_game(add_tokens(setup)))
        client = Client(frozenset(((0, 1), (0,), (1,), ())[place]), is_owner=place == 3)
        path, is_executed = tmp_path / f"{room.name}.jsonl", []
        before = snapshot(room, path)

        def execute():
            room.execute_command(client, app._parse_message(text, LIMITS))
            is_executed.append(True)

        call_or_reject(execute)
        done[bool(is_executed)] += 1
        if not is_executed:
            assert snapshot(room, path) == before
        while room._decision_task:
            await room._decision_task
        saved_game = Journal(path).read(lobby.make_player)
        paused = {"clocks_paused": room.session.is_paused}
        assert view.session_state(saved_game.session) | paused == view.session_state(room.session)
        assert saved_game.take_back_requested_by == room.take_back_requested_by
        assert saved_game.pace == room.pace
        del lobby.rooms[room.name]

    with asyncio.Runner() as runner:

        @given(texts(to_texts(MESSAGES)) | lines(to_texts(MESSAGES)))
        def fuzz(text):
            for place in range(4):
                runner.run(send(text, place))

        fuzz()
    assert done[False] > done[True] > 0


def test_random_game_requests_raise_only_cc_env_errors(lobby, tmp_path):
    done = []

    @given(lines(to_texts(OPENINGS)))
    def fuzz(line):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = line
        setup = call_or_reject(parse_setup, fields, LIMITS)
        done.append(setup is not None)
        if setup is not None:
            json.dumps(view.session_state(setup.start_session(lobby.make_player)), allow_nan=False)

    fuzz()
    assert any(done)
    assert not all(done)
    assert not list(tmp_path.glob("*.jsonl"))


def test_random_first_messages_raise_only_cc_env_errors(tmp_path):
    site = app.create_app(tmp_path, limits=LIMITS)
    with TestClient(site, base_url=HERE, headers={"origin": HERE}) as client:
        opened = client.post("/games", json=OPENINGS[0]).json()
        place = f"ws://127.0.0.1:8000/play/{opened['game']}"
        first = json.dumps({"tokens": opened["tokens"]})

        @given(texts([*to_texts(OPENINGS), first]), texts([first]), texts(["name.jsonl", "a.pdn"]))
        def fuzz(body, hello, file):
            response = client.post("/games", content=body.encode("utf-8", "surrogatepass"))
            assert response.status_code in (201, 400, 413)
            assert response.status_code == 201 or response.json()["error"]
            path = "".join(f"%{byte:02x}" for byte in file[:99].encode("utf-8", "surrogatepass"))
            assert client.get(f"/games/{path}").status_code in (400, 404, 405)
            with client.websocket_connect(place, headers={"origin": HERE}) as socket:
                socket.send_text(hello.encode("utf-8", "replace").decode())
                assert json.loads(socket.receive_text())["type"] in ("welcome", "error")

        fuzz()


PUZZLE = {"game": "mini_checkers", "number": 1, "turns": []}
# A request of each kind, by path.
TASKS = {
    "/puzzle": {"game": "mini_checkers", "number": 1},
    "/puzzle/turn": {**PUZZLE, "turn": [17]},
    "/puzzle/solution": PUZZLE,
    "/retry": {"game": "mini_checkers", "options": {}, "start": None, "actions": [], "turn": [14]},
    "/review": {"room": "A" * 16, "tokens": ["B" * 24]},
}


@pytest.mark.parametrize("path", TASKS)
def test_random_requests_for_tasks_are_answered_or_rejected(path, tmp_path, monkeypatch):
    monkeypatch.setattr(review_api, "MOMENT_SECONDS", 0.01)
    site = app.create_app(tmp_path, limits=LIMITS)
    with TestClient(site, base_url=HERE, headers={"origin": HERE}) as client:

        @given(lines(to_texts(TASKS.values())))
        def fuzz(line):
            response = client.post(path, content=line.encode("utf-8", "surrogatepass"))
            assert response.status_code in (200, 400, 413)
            assert response.json().get("error") or response.status_code == 200

        fuzz()
