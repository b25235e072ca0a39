"""Analysis over HTTP: responses, errors, cancellation on disconnect, limits."""

import asyncio
import json
import threading

import pytest
from conftest import HERE

from cc_env.games.factory import make_game
from cc_env.match.record import Record
from cc_env.match.referee import Decision
from cc_env.play.analysis import MARKS, ONLY_MOVE
from cc_env.players.specs import temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.server import app, player_pool
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby
from cc_env.server.storage import GameFolder

CHAIN = "6/1bb3/1brrr1/1r1r2/6/6 b"


def post(client, path, **values):
    response = client.post(path, json=values)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("name", GAMES)
def test_positions_are_analyzed_and_turns_assessed(name, serving):
    client, node = serving(), {"game": name, "actions": []}
    opened = post(client, "/open", game=name)
    assert (opened["game"], opened["turns"], opened["start"]) == (name, [], None)
    for _ in range(4):
        state = post(client, "/position", **node)
        node["actions"].append(state["choices"][-1][0])
    state = post(client, "/position", **node)
    assert state["decisions"] == 4
    assert len(state["turns"]) == 1
    settings = {"player": "minimax:depth=2", "seconds": 5}
    analysis = post(client, "/analyze", **node, **settings)
    assert 0 <= analysis["chances"] <= 100
    assert {move["action"] for move in analysis["moves"]} == {move[0] for move in state["choices"]}
    chances = [move["chances"] for move in analysis["moves"]]
    assert chances == sorted(chances, reverse=True)
    assert analysis["moves"][0]["mark"] == "best"
    movers_chances = analysis["chances"] if not state["mover"] else 100 - analysis["chances"]
    assert movers_chances == pytest.approx(chances[0])
    if not state["mid_turn"]:
        turn = next(make_game(name).turns(make_game(name).from_text(state["position"])))
        assessment = post(client, "/assess", **node, **settings, turn=list(map(int, turn)))
        assert assessment["mark"] in {mark.name for mark in (*MARKS, ONLY_MOVE)}
    assert post(client, "/assess", **node, **settings)["mark"] is None


def test_end_of_a_game_says_who_won_and_why(serving):
    client = serving()
    won = {"game": "mini_checkers", "start": "6/6/6/6/1w4/b5 b", "actions": [32]}
    state = post(client, "/position", **won)
    assert state["result"]["text"] == "black won: black captured the last man"


def test_won_positions_have_their_distance(serving):
    """Exact values of tables come first, and shorter wins before longer ones."""
    client = serving()
    solved = {"game": "capture_conquer", "options": {"size": 4}, "start": "brrb/b3/2r1/4 b"}
    moves = post(client, "/analyze", **solved, player="perfect", seconds=5)["moves"]
    assert (moves[0]["turns_to_win"], moves[0]["chances"]) == (5, 100.0)
    race = {"game": "capture_conquer", "start": "6/brb2r/b3r1/6/3b2/r2b2 r"}
    moves = post(client, "/analyze", **race, player="minimax:depth=4", seconds=5)["moves"]
    wins = [move["turns_to_win"] for move in moves if move["chances"] == 100.0]
    assert wins[0] == 1
    assert wins == sorted(wins)
    assert "perfect" in post_invalid(client, "/analyze", **race, player="perfect")


def test_heat_map_shows_the_shares_of_actions(serving):
    heat = post(serving(), "/analyze", game="morris", player="mcts:simulations=50", seconds=5)
    assert sum(share for *_, share in heat["from"]) == pytest.approx(1, abs=0.01)
    assert heat["from"] == heat["to"]


def test_served_game_is_opened_by_name(serving):
    client = serving()
    served = create_game(client, {"game": "mini_checkers", "seats": ["human", "random"], "seed": 1})
    opened = post(client, "/open", room=served["game"])
    assert opened["players"] == ["human", "random"]
    assert "tokens" not in json.dumps(opened)
    assert opened["result"] == "the game continues after turn 0; reload to update"
    assert "no such game" in post_invalid(client, "/open", room="../../etc/passwd")


def create_game(client, opening):
    response = client.post("/games", json=opening)
    assert response.status_code == 201, response.text
    return response.json()


def post_invalid(client, path, status=400, **values):
    response = client.post(path, content=json.dumps(values).encode())
    assert response.status_code == status, response.text
    return response.json()["error"]


def test_texts_are_imported_and_games_selected(serving):
    client, game = serving(max_analyzed_decisions=3), make_game("mini_checkers")
    record = Record(
        game=game.name, options=game.options, players=("<b>a", "b"), turns=("41-32",),
        result="*", reason="unfinished",
    )  # fmt: skip
    text = f"{record.to_json()}\n{record.to_json()}"
    opened = post(client, "/open", text=text, index=1)
    assert opened["turns"] == [[0, "6-8", list(game.parse_turn(game.initial, "41-32"))]]
    assert (len(opened["games"]), opened["total"], opened["broken_total"]) == (2, 2, 0)
    broken = post(client, "/open", text=f"{text}\n{{}}", index=1)
    assert (len(broken["games"]), broken["total"], broken["broken_total"]) == (2, 3, 1)
    assert [game["line"] for game in broken["broken"]] == [3]
    assert broken["broken"][0]["reason"]
    assert opened["players"] == ["<b>a", "b"]
    assert "index" in post_invalid(client, "/open", text=text, index=2)
    assert "nor a position of any game" in post_invalid(client, "/open", text="hello")
    chain = post(client, "/open", text=CHAIN)
    assert (chain["game"], chain["start"], chain["turns"]) == ("capture_conquer", CHAIN, [])
    assert "text" in post_invalid(client, "/open", text=7)
    assert "text" in post_invalid(client, "/open")


def test_requests_beyond_limits_are_rejected(serving):
    client = serving(max_analyzed_decisions=3, max_request_bytes=300, decision_seconds=2.0)
    node = {"game": "mini_checkers", "actions": [0]}
    assert "not legal" in post_invalid(client, "/position", **node)
    for actions in ([0] * 4, "0", [True], [-1], [2**40], [[]], {"a": 1}):
        assert "actions" in post_invalid(client, "/position", game="mini_checkers", actions=actions)
        if actions != [0] * 4:
            assert "turn" in post_invalid(client, "/assess", game="mini_checkers", turn=actions)
    for seconds in (0, 61, -1, "1", True, None, 1e999):
        message = post_invalid(client, "/analyze", game="mini_checkers", seconds=seconds)
        assert "0.01 to 60" in message
    for player in ("program:command=sh", "os.system", "minimax:depth=1000", 7, None):
        post_invalid(client, "/analyze", game="mini_checkers", player=player)
    assert "300 bytes" in post_invalid(client, "/position", 413, game="x" * 300)
    assert "os.system" in post_invalid(client, "/position", game="os.system")
    response = client.post("/position", content=b"[]")
    assert (response.status_code, response.json()["error"]) == (
        400,
        "a request to /position: []; expected: a JSON object",
    )
    response = client.post("/position", content=b"{}", headers={"origin": "http://evil.example"})
    assert response.status_code == 403


class Slow:
    """A player that decides after an event."""

    go, starts, stopped = threading.Event(), threading.Semaphore(0), threading.Event()

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        self.starts.release()
        self.go.wait(60)
        return Decision(int(self.game.legal_actions(position)[0]))

    def stop(self):
        self.stopped.set()
        self.go.set()


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "slow", {})
    for event in (Slow.go, Slow.stopped):
        event.clear()
    Slow.starts = threading.Semaphore(0)
    with temporary_players(slow=Slow):
        yield Slow
        Slow.go.set()


class RawRequest:
    """A raw ASGI request that can disconnect."""

    def __init__(self, app, **values):
        self.status = None
        self._messages = asyncio.Queue()
        body = json.dumps({"game": "mini_checkers", "player": "slow", **values}).encode()
        self._messages.put_nowait({"type": "http.request", "body": body, "more_body": False})
        headers = [(b"host", b"127.0.0.1:8000"), (b"origin", HERE.encode())]
        scope = {
            "type": "http", "method": "POST", "path": "/analyze", "raw_path": b"/analyze",
            "root_path": "", "scheme": "http", "query_string": b"", "headers": headers,
            "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 8000), "http_version": "1.1",
            "app": None, "state": {},
        }  # fmt: skip
        self.task = asyncio.create_task(app(scope, self._messages.get, self._send))

    async def _send(self, message):
        self.status = message.get("status", self.status)

    def disconnect(self):
        self._messages.put_nowait({"type": "http.disconnect"})


@pytest.fixture
def run_scenario(tmp_path, slow, monkeypatch):
    """Return a function that runs a scenario with a function that starts requests."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)

    def run(scenario, **limits):
        async def play():
            site = app.create_app(tmp_path, limits=ServerLimits(**limits))
            starlette = site._app
            async with starlette.router.lifespan_context(starlette):
                await scenario(lambda **values: RawRequest(site, **values))

        asyncio.run(play())

    return run


def test_waiting_request_of_disconnected_client_is_dropped(run_scenario, slow):
    async def scenario(start):
        first = start()
        await asyncio.to_thread(slow.starts.acquire)
        queued = [start() for _ in range(3)]
        await asyncio.sleep(0)
        for request in queued[:2]:
            request.disconnect()
        await asyncio.gather(*(request.task for request in queued[:2]))
        assert [request.status for request in queued] == [499, 499, None]
        slow.go.set()
        await asyncio.gather(first.task, queued[2].task)
        assert (first.status, queued[2].status) == (200, 200)

    run_scenario(scenario)


def test_disconnect_stops_the_search(run_scenario, slow):
    async def scenario(start):
        first = start()
        await asyncio.to_thread(slow.starts.acquire)
        second = start()
        first.disconnect()
        await first.task
        assert slow.stopped.is_set()
        await second.task
        assert (first.status, second.status) == (499, 200)

    run_scenario(scenario)


def test_concurrent_analyses_of_one_address_are_limited(run_scenario, slow):
    async def scenario(start):
        several = [start() for _ in range(3)]
        await asyncio.to_thread(slow.starts.acquire)
        await several[2].task
        assert [request.status for request in several] == [None, None, 429]
        slow.go.set()
        await asyncio.gather(*(request.task for request in several))
        last = start()
        await last.task
        assert last.status == 200

    run_scenario(scenario, analyses_at_once=2)


def test_analyses_leave_a_core_for_games(tmp_path):
    async def scenario():
        lobby = Lobby(GameFolder(tmp_path, ServerLimits()), cores=2)
        go, starts = threading.Event(), threading.Semaphore(0)

        def block(pool, time):
            starts.release()
            go.wait(60)
            return 1

        jobs = [asyncio.create_task(lobby.run_analysis(block, 1.0)) for _ in range(5)]
        await asyncio.to_thread(starts.acquire)
        await lobby._search_slots.acquire("")
        assert not starts.acquire(blocking=False)
        lobby._search_slots.release()
        go.set()
        assert await asyncio.gather(*jobs) == [1] * 5
        lobby.close()

    asyncio.run(scenario())


def test_thinking_time_is_limited_by_the_server(serving, monkeypatch):
    class Clocked:
        clocks = []

        def __init__(self, game):
            self.game = game

        def choose(self, position, rng, clock):
            self.clocks.append(clock.turn)
            return Decision(int(self.game.legal_actions(position)[0]), 0.0)

    monkeypatch.setitem(player_pool.OPTIONS, "clocked", {})
    with temporary_players(clocked=Clocked):
        client = serving(decision_seconds=2.0)
        post(client, "/assess", game="mini_checkers", player="clocked", seconds=60)
        assert 0 < Clocked.clocks[0] < 2
