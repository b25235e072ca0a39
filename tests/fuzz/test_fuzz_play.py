"""What strangers send to the server of the page, and journals that somebody has altered."""

import asyncio
import json

import pytest
from conftest import HERE
from fuzz.harness import refused_or_fine
from fuzz.mutations import lines, texts
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from cc_env.core.rules import SECOND_WINS
from cc_env.match.match import RESIGNED, Result
from cc_env.match.referee import Decision
from cc_env.play import view
from cc_env.play.exporting import export_game, file_suffixes
from cc_env.play.session import HUMAN
from cc_env.server import app
from cc_env.server.journal import Journal, with_tokens
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, check_opening
from cc_env.server.room import Guest
from cc_env.server.storage import GameFolder

LIMITS = ServerLimits(
    hint_player="minimax:depth=1",
    pace_seconds=0.0,
    messages_per_second=10**6,
    joins_per_second=10**6,
    games_per_minute=10**6,
)
OPENINGS = [
    {"game": "mini_checkers", "seats": [HUMAN, HUMAN], "seed": 1, "assistance": True},
    {
        "game": "capture_conquer",
        "options": {"size": "4", "corner": 2},
        "seats": ["random", "minimax:depth=1"],
        "draw_lots": True,
        "start": "bb2/b3/3r/2rr b",
        "seconds": 60,
    },
    {"game": "cannon", "seats": ["aggressive", HUMAN], "options": {}, "seconds": 1.5},
    {"game": "morris", "seats": [HUMAN, "mcts:simulations=9,playout=random"], "seconds": None},
]
MESSAGES = [
    {"do": "play", "action": 14, "version": 1},
    {"do": "say", "text": "41-32", "version": 1},
    {"do": "say", "text": "4 1", "piece": [4, 1], "version": 1},
    *({"do": do, "version": 1} for do in ("take_back", "hint", "resign", "draw", "rematch")),
    {"do": "decline", "offer": "draw", "version": 1},
    {"do": "look_back", "turns": 0},
    {"do": "pace", "seconds": 0.5},
    {"do": "pace", "seconds": None},
    {"do": "step"},
]


def in_words(good):
    return [json.dumps(message) for message in good]


@pytest.fixture
def lobby(tmp_path):
    made = Lobby(GameFolder(tmp_path, LIMITS), LIMITS, cores=1)
    yield made
    made.close()


def journal_of(path, lobby, asked):
    """Write a journal with a line of each kind; return its lines."""
    opening = check_opening(asked, LIMITS)
    journal, session = Journal(path), opening.session(lobby.make_player)
    journal.begin(opening)
    game, position = session.game, session.position
    for number in range(3):
        action = int(game.legal_actions(position)[0])
        details = {"depth": 2, "cuts_max": 1, "cuts_min": 0, "nodes": 77}
        value = (None, -0.25, 0.5)[number]
        journal.decided(Decision(action, value, details if number else {}), 0.25)
        position = game.apply(position, action)
    journal.offered(0)
    journal.asked_back(1)
    journal.declined("draw")
    journal.declined("take_back")
    if HUMAN in opening.seats:
        journal.taken_back()
    journal.paced(None)
    journal.paced(2.5)
    journal.ended(Result(SECOND_WINS, RESIGNED), "")
    return path.read_text().splitlines()


@pytest.mark.parametrize("asked", OPENINGS, ids=lambda asked: asked["game"])
def test_journals(asked, lobby, tmp_path):
    path, make = tmp_path / "game.jsonl", lobby.make_player
    good = journal_of(path, lobby, asked)
    assert Journal(path).read(make).session.result

    def read():
        standing = Journal(path).read(make)
        told = view.session_state(standing.session)
        json.dumps([told, standing.wanted_back, standing.pace], allow_nan=False)
        for ending in file_suffixes(standing.session.game):
            export_game(standing.session, ending).encode()

    @given(st.integers(0, len(good) - 1), lines(good), texts(["\n".join(good)]))
    def fuzz(number, line, text):
        altered = [*good[:number], line, *good[number + 1 :]]
        path.write_text("\n".join(altered) + "\n", "utf-8", "surrogatepass")
        refused_or_fine(read)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        refused_or_fine(read)

    fuzz()


def stands(room, path):
    return room._state(), path.read_bytes(), room.pace


@pytest.mark.parametrize("seats", [(HUMAN, HUMAN), (HUMAN, "random"), ("random", "random")])
def test_messages(seats, lobby, tmp_path):
    first = check_opening({"game": "mini_checkers", "seats": list(seats), "seed": 1}, LIMITS)
    done = {True: 0, False: 0}

    async def send(text, place):
        room = await lobby.find(lobby.open(with_tokens(first)))
        guest = Guest(frozenset(((0, 1), (0,), (1,), ())[place]), is_owner=place == 3)
        path, is_obeyed = tmp_path / f"{room.name}.jsonl", []
        before = stands(room, path)

        def obey():
            room.obey(guest, app._read(text, LIMITS))
            is_obeyed.append(True)

        refused_or_fine(obey)
        done[bool(is_obeyed)] += 1
        if not is_obeyed:
            assert stands(room, path) == before
        while room._thinking:
            await room._thinking
        again = Journal(path).read(lobby.make_player)
        held = {"is_held": room.session.is_paused}  # who has come is not written down
        assert view.session_state(again.session) | held == view.session_state(room.session)
        assert (again.wanted_back, again.pace) == (room.wanted_back, room.pace)
        del lobby.rooms[room.name]

    with asyncio.Runner() as runner:  # of one loop: slots are released by its callbacks

        @given(texts(in_words(MESSAGES)) | lines(in_words(MESSAGES)))
        def fuzz(text):
            for place in range(4):
                runner.run(send(text, place))

        fuzz()
    assert done[False] > done[True] > 0


def test_what_opens_a_game(lobby, tmp_path):
    done = []

    @given(lines(in_words(OPENINGS)))
    def fuzz(line):
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError):
            asked = line
        opening = refused_or_fine(check_opening, asked, LIMITS)
        done.append(opening is not None)
        if opening is not None:
            json.dumps(view.session_state(opening.session(lobby.make_player)), allow_nan=False)

    fuzz()
    assert any(done)
    assert not all(done)
    assert not list(tmp_path.glob("*.jsonl"))


def test_what_comes_first_over_http_and_websocket(tmp_path):
    site = app.create_app(tmp_path, limits=LIMITS)
    with TestClient(site, base_url=HERE, headers={"origin": HERE}) as client:
        opened = client.post("/games", json=OPENINGS[0]).json()
        place = f"ws://127.0.0.1:8000/play/{opened['game']}"
        first = json.dumps({"tokens": opened["tokens"]})

        @given(texts([*in_words(OPENINGS), first]), texts([first]), texts(["name.jsonl", "a.pdn"]))
        def fuzz(body, hello, file):
            answer = client.post("/games", content=body.encode("utf-8", "surrogatepass"))
            assert answer.status_code in (201, 400, 413)
            assert answer.status_code == 201 or answer.json()["error"]
            path = "".join(f"%{byte:02x}" for byte in file[:99].encode("utf-8", "surrogatepass"))
            assert client.get(f"/games/{path}").status_code in (400, 404, 405)
            with client.websocket_connect(place, headers={"origin": HERE}) as socket:
                socket.send_text(hello.encode("utf-8", "replace").decode())
                assert json.loads(socket.receive_text())["type"] in ("welcome", "refused")

        fuzz()
