"""Analysis over HTTP: what it answers, what it refuses; who has gone is not worked for."""

import asyncio
import json
import threading

import pytest
from conftest import HERE

from cc_env.games.factory import make_game
from cc_env.match.record import Record
from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.server import app, player_pool
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby
from cc_env.server.storage import GameFolder

CHAIN = "6/1bb3/1brrr1/1r1r2/6/6 b"


def asked(client, path, **values):
    answer = client.post(path, json=values)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("name", GAMES)
def test_a_position_is_looked_at_analysed_and_its_turns_are_judged(name, serving):
    client, node = serving(), {"game": name, "actions": []}
    opened = asked(client, "/open", game=name)
    assert (opened["game"], opened["turns"], opened["start"]) == (name, [], None)
    for _ in range(4):
        state = asked(client, "/look", **node)
        node["actions"].append(state["choices"][-1][0])
    state = asked(client, "/look", **node)
    assert state["decisions"] == 4
    assert len(state["turns"]) == 1
    how = {"player": "minimax:depth=2", "seconds": 5}
    analysis = asked(client, "/analyse", **node, **how)
    assert 0 <= analysis["chances"] <= 100
    assert {move["action"] for move in analysis["moves"]} == {move[0] for move in state["choices"]}
    chances = [move["chances"] for move in analysis["moves"]]
    assert chances == sorted(chances, reverse=True)
    assert analysis["moves"][0]["mark"] == "best"
    first_to_move = analysis["chances"] if not state["mover"] else 100 - analysis["chances"]
    assert first_to_move == pytest.approx(chances[0])
    if not state["mid_turn"]:
        turn = next(make_game(name).turns(make_game(name).from_text(state["position"])))
        judged = asked(client, "/judge", **node, **how, turn=list(map(int, turn)))
        assert judged["mark"] in ("best", "good", "doubtful", "blunder", "only move")
    assert asked(client, "/judge", **node, **how)["mark"] is None


def test_a_heat_map_says_where_a_player_looks(serving):
    heat = asked(serving(), "/analyse", game="morris", player="mcts:simulations=50", seconds=5)
    assert sum(share for *_, share in heat["from"]) == pytest.approx(1, abs=0.01)
    assert heat["from"] == heat["to"]  # pieces are placed


def test_a_served_game_is_opened_by_its_name(serving):
    client = serving()
    made = asked_for(client, {"game": "mini_checkers", "seats": ["human", "random"], "seed": 1})
    opened = asked(client, "/open", room=made["game"])
    assert opened["players"] == ["human", "random"]
    assert "tokens" not in json.dumps(opened)
    assert opened["result"] == "the game goes on after turn 0; reload for what follows"
    assert "there is no such game" in refused(client, "/open", room="../../etc/passwd")


def asked_for(client, opening):
    answer = client.post("/games", json=opening)
    assert answer.status_code == 201, answer.text
    return answer.json()


def refused(client, path, status=400, **values):
    answer = client.post(path, content=json.dumps(values).encode())
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


def test_texts_are_imported_and_games_chosen(serving):
    client, game = serving(max_analyzed_decisions=3), make_game("mini_checkers")
    played = Record(
        game=game.name, options=game.options, players=("<b>a", "b"), turns=("41-32",),
        result="*", reason="unfinished",
    )  # fmt: skip
    text = f"{played.to_json()}\n{played.to_json()}"
    opened = asked(client, "/open", text=text, which=1)
    assert opened["turns"] == [[0, "41-32", list(game.parse_turn(game.initial, "41-32"))]]
    assert (len(opened["games"]), opened["total"], opened["refused_total"]) == (2, 2, 0)
    broken = asked(client, "/open", text=f"{text}\n{{}}", which=1)
    assert (len(broken["games"]), broken["total"], broken["refused_total"]) == (2, 3, 1)
    assert [game["line"] for game in broken["refused"]] == [3]
    assert broken["refused"][0]["reason"]
    assert opened["players"] == ["<b>a", "b"]
    assert "there are 2" in refused(client, "/open", text=text, which=2)
    assert "not a position of any game" in refused(client, "/open", text="hello")
    chain = asked(client, "/open", text=CHAIN)
    assert (chain["game"], chain["start"], chain["turns"]) == ("capture_conquer", CHAIN, [])
    assert "wanted: the text" in refused(client, "/open", text=7)
    assert "wanted: the text" in refused(client, "/open")


def test_what_is_too_much_is_refused(serving):
    client = serving(max_analyzed_decisions=3, max_request_bytes=300, decision_seconds=2.0)
    node = {"game": "mini_checkers", "actions": [0]}
    assert "not legal" in refused(client, "/look", **node)
    for actions in ([0] * 4, "0", [True], [-1], [2**40], [[]], {"a": 1}):
        assert "decisions are" in refused(client, "/look", game="mini_checkers", actions=actions)
        if actions != [0] * 4:
            assert "decisions are" in refused(client, "/judge", game="mini_checkers", turn=actions)
    for seconds in (0, 61, -1, "1", True, None, 1e999):
        why = refused(client, "/analyse", game="mini_checkers", seconds=seconds)
        assert "wanted: 0.01 to 60" in why
    for player in ("program:command=sh", "os.system", "minimax:depth=1000", 7, None):
        refused(client, "/analyse", game="mini_checkers", player=player)
    assert "300 bytes" in refused(client, "/look", 413, game="x" * 300)
    assert "there is no game" in refused(client, "/look", game="os.system")
    answer = client.post("/look", content=b"[]")
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "a request to /look is a JSON object",
    )
    answer = client.post("/look", content=b"{}", headers={"origin": "http://evil.example"})
    assert answer.status_code == 403


class Slow:
    """A player who waits until it is told."""

    go, asked, stopped = threading.Event(), threading.Semaphore(0), threading.Event()

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        self.asked.release()
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
    Slow.asked = threading.Semaphore(0)
    with temporary_players(slow=Slow):
        yield Slow
        Slow.go.set()


class Visitor:
    """One who asks the application without a client, and may go away."""

    def __init__(self, app, **values):
        self.status = None
        self._messages = asyncio.Queue()
        body = json.dumps({"game": "mini_checkers", "player": "slow", **values}).encode()
        self._messages.put_nowait({"type": "http.request", "body": body, "more_body": False})
        headers = [(b"host", b"127.0.0.1:8000"), (b"origin", HERE.encode())]
        scope = {
            "type": "http", "method": "POST", "path": "/analyse", "raw_path": b"/analyse",
            "root_path": "", "scheme": "http", "query_string": b"", "headers": headers,
            "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 8000), "http_version": "1.1",
            "app": None, "state": {},
        }  # fmt: skip
        self.task = asyncio.create_task(app(scope, self._messages.get, self._send))

    async def _send(self, message):
        self.status = message.get("status", self.status)

    def go(self):
        self._messages.put_nowait({"type": "http.disconnect"})


@pytest.fixture
def asking(tmp_path, slow, monkeypatch):
    """Return a function that runs a scene, which gets a function that makes visitors."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)

    def run(scene, **limits):
        async def play():
            site = app.create_app(tmp_path, limits=ServerLimits(**limits))
            starlette = site._app
            async with starlette.router.lifespan_context(starlette):
                await scene(lambda **values: Visitor(site, **values))

        asyncio.run(play())

    return run


def test_who_has_gone_is_not_worked_for(asking, slow):
    async def scene(visit):
        first = visit()
        await asyncio.to_thread(slow.asked.acquire)
        waiting = [visit() for _ in range(3)]
        await asyncio.sleep(0)
        for request in waiting[:2]:
            request.go()
        await asyncio.gather(*(request.task for request in waiting[:2]))
        assert [request.status for request in waiting] == [499, 499, None]
        slow.go.set()
        await asyncio.gather(first.task, waiting[2].task)
        assert (first.status, waiting[2].status) == (200, 200)

    asking(scene)


def test_who_goes_while_a_player_thinks_ends_it(asking, slow):
    async def scene(visit):
        first = visit()
        await asyncio.to_thread(slow.asked.acquire)
        second = visit()
        first.go()
        await first.task
        assert slow.stopped.is_set()
        await second.task
        assert (first.status, second.status) == (499, 200)

    asking(scene)


def test_one_address_asks_for_so_much_at_once(asking, slow):
    async def scene(visit):
        several = [visit() for _ in range(3)]
        await asyncio.to_thread(slow.asked.acquire)
        await several[2].task
        assert [request.status for request in several] == [None, None, 429]
        slow.go.set()
        await asyncio.gather(*(request.task for request in several))
        last = visit()
        await last.task
        assert last.status == 200

    asking(scene, analyses_at_once=2)


def test_games_keep_a_core_while_others_analyse(tmp_path):
    async def scene():
        lobby = Lobby(GameFolder(tmp_path, ServerLimits()), cores=2)
        go, begun = threading.Event(), threading.Semaphore(0)

        class Waiting:
            def run(self, pool, time):
                begun.release()
                go.wait(60)
                return 1

        jobs = [asyncio.create_task(lobby.study(Waiting(), 1.0)) for _ in range(5)]
        await asyncio.to_thread(begun.acquire)
        await lobby._seats.acquire("")  # as a game has one
        assert not begun.acquire(blocking=False)
        lobby._seats.release()
        go.set()
        assert await asyncio.gather(*jobs) == [1] * 5
        lobby.close()

    asyncio.run(scene())


def test_nobody_is_asked_for_longer_than_the_server_allows(serving, monkeypatch):
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
        asked(client, "/judge", game="mini_checkers", player="clocked", seconds=60)
        assert 0 < Clocked.clocks[0] < 2
