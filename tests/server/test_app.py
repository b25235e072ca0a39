"""The web application: games over HTTP and WebSocket, with Starlette's test client."""

import asyncio
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from conftest import HERE
from starlette.websockets import WebSocketDisconnect

from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.match.record import read_records
from cc_env.match.referee import Decision
from cc_env.players.specs import temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.server import app, connections, player_pool
from cc_env.server.journal import Journal
from cc_env.server.limits import ServerLimits
from cc_env.server.lobby import Lobby, parse_setup
from cc_env.server.storage import GameFolder

PLAY = "ws://127.0.0.1:8000/play"
ORIGIN = {"origin": HERE}
PEOPLE = ["human", "human"]
CHAIN = "6/1bb3/1brrr1/1r1r2/6/6 b"


class GameClient:
    """A connection to a game."""

    def __init__(self, socket):
        self.socket, self.state = socket, None

    def until(self, kind, **values):
        """Return the next message of a kind with these values; skip others."""
        while True:
            message = json.loads(self.socket.receive_text())
            if message["type"] == "state":
                turns = self.state["turns"][: message["turns_from"]] if self.state else []
                assert len(turns) == message["turns_from"]
                message["turns"] = turns + message["turns"]
                self.state = message
            if message["type"] == kind and values.items() <= message.items():
                return message
            assert message["type"] != "error" or kind == "error", message

    def send_command(self, command, **fields):
        self.socket.send_text(json.dumps({"command": command, **fields}))

    def play(self, action):
        self.send_command("play", action=action, version=self.state["version"])

    def play_first(self):
        """Play the first choice; return the state after it."""
        done = self.state["decisions"]
        self.play(self.state["choices"][0][0])
        return self.until("state", decisions=done + 1)


def create_game(client, game="mini_checkers", seats=("human", "human"), **fields):
    response = client.post("/games", json={"game": game, "seats": list(seats), "seed": 1, **fields})
    assert response.status_code == 201, response.text
    return response.json()


@contextmanager
def connect(client, opened, *seats):
    """Yield a client with seats of a game; "owner" stands for the owner's token."""
    tokens = {0: opened["tokens"][0], 1: opened["tokens"][1], "owner": opened.get("owner_token")}
    with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
        player = GameClient(socket)
        socket.send_text(json.dumps({"tokens": [tokens[seat] for seat in seats]}))
        player.welcome = player.until("welcome")
        player.until("state")
        yield player


@pytest.mark.parametrize("name", GAMES)
def test_person_plays_against_player(name, serving):
    client = serving()
    opened = create_game(client, name, ("human", "random"))
    assert opened["tokens"][0]
    assert not opened["tokens"][1]
    with connect(client, opened, 0) as player:
        assert player.welcome["seats"] == [0]
        for _ in range(6):
            if not player.state["is_person"]:
                player.until("state", is_person=True)
            player.play_first()
        assert {turn[0] for turn in player.state["turns"]} == {0, 1}


def test_two_people_play_and_spectators_cannot(serving):
    client = serving()
    opened = create_game(client)
    with (
        connect(client, opened, 0) as first,
        connect(client, opened, 1) as second,
        connect(client, opened) as spectator,
    ):
        assert spectator.welcome["seats"] == []
        spectator.play(spectator.state["choices"][0][0])
        assert "spectators may not" in spectator.until("error")["reason"]
        second.play(second.state["choices"][0][0])
        assert second.until("error")["reason"] == "it is black's turn"
        first.play_first()
        second.until("state", decisions=1)
        second.play_first()
        spectator.until("state", decisions=2)
        assert spectator.state["turns"] == second.state["turns"]


def test_seat_requires_its_token(serving):
    client = serving()
    opened = create_game(client)
    for tokens in (["x"], [opened["tokens"][0], ""], ["x"] * 3, "text", [1], {}, ["\ud800"]):
        with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
            socket.send_text(json.dumps({"tokens": tokens}))
            assert json.loads(socket.receive_text())["type"] == "error"
            with pytest.raises(WebSocketDisconnect):
                socket.receive_text()
    for name in ("AAAAAAAAAAAAAAAA", "..passwd", "x" * 400):
        with client.websocket_connect(f"{PLAY}/{name}", headers=ORIGIN) as socket:
            socket.send_text("{}")
            assert "no such game" in json.loads(socket.receive_text())["reason"]


def test_invalid_messages_are_rejected_and_change_nothing(serving, tmp_path):
    client = serving(messages_per_second=1000)
    opened = create_game(client)
    with connect(client, opened, 0) as player:
        journal = (tmp_path / f"{opened['game']}.jsonl").read_bytes()
        action, version = player.state["choices"][0][0], player.state["version"]
        for text in (
            "", "[", "[]", "null", "{}", '{"command":[]}', '{"command":"__init__"}',
            '{"command":"play"}',
            "[" * 3000,
            "x" * 5000, '{"command":"play_text","version":1,"text":7}',
            '{"command":"play_text","version":1,"text":"nonsense"}',
            '{"command":"rematch"}', '{"command":"take_back"}',
            *(json.dumps({"command": "play", "version": version, "action": bad}) for bad in
              (-1, 10**30, 1.5, "0", None, True, [action])),
            *(json.dumps({"command": "play", "version": bad, "action": action}) for bad in
              (0, version + 1, None, "1", [])),
        ):  # fmt: skip
            player.socket.send_text(text)
            assert player.until("error")["reason"]
        player.socket.send_bytes(b"\xff\x00")
        assert player.until("error")["reason"] == "the message is not valid JSON"
        assert (tmp_path / f"{opened['game']}.jsonl").read_bytes() == journal
        assert player.play_first()["decisions"] == 1


def test_move_for_an_old_version_is_rejected(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0, 1) as player:
        before = dict(player.state)
        player.play_first()
        player.send_command("play", action=player.state["choices"][0][0], version=before["version"])
        assert player.until("error")["reason"].startswith("too late")


@pytest.mark.parametrize(
    "seat",
    [
        "agents.policy", "os.system", "program:command=ls", "memory:path=/etc/passwd",
        "policy:path=/etc",
        "minimax:table_megabytes=9999", "minimax:depth=1000", "minimax:seconds=1e9",
        "minimax:nobody",
        "mcts:simulations=10000000", "aggressive", "", 7, None, [], "human ", "x" * 999,
        "minimax:depth='3'",
        "mcts:seconds=nan", "greedy:evaluation=3",
    ],
)  # fmt: skip
def test_only_allowed_players_with_bounded_options_are_seated(seat, serving):
    response = serving().post("/games", json={"game": "mini_checkers", "seats": ["human", seat]})
    assert response.status_code == 400
    assert response.json()["error"]


@pytest.mark.parametrize(
    "fields",
    [
        [], 3, {}, {"game": "os", "seats": PEOPLE}, {"game": "elsewhere.tictactoe",
        "seats": PEOPLE},
        {"game": "checkers", "seats": ["human"]}, {"game": "checkers", "seats": PEOPLE, "x": 1},
        {"game": "checkers", "seats": PEOPLE, "options": {"size": 8}},
        {"game": "capture_conquer", "seats": PEOPLE, "options": {"size": 99}},
        {"game": "capture_conquer", "seats": PEOPLE, "options": {"size": [[[]]]}},
        {"game": "checkers", "seats": PEOPLE, "start": "hello"},
        {"game": "checkers", "seats": PEOPLE, "start": 5},
        {"game": "checkers", "seats": PEOPLE, "seconds": -1},
        {"game": "checkers", "seats": PEOPLE, "seconds": "1e9"},
        {"game": "checkers", "seats": PEOPLE, "seconds": 60, "increment": -1},
        {"game": "checkers", "seats": PEOPLE, "seconds": 60, "increment": 61},
        {"game": "checkers", "seats": PEOPLE, "increment": "2"},
        {"game": "checkers", "seats": PEOPLE, "seed": -1},
    ],
)  # fmt: skip
def test_invalid_game_requests_are_rejected(fields, serving, tmp_path):
    response = serving().post("/games", json=fields)
    assert response.status_code == 400
    assert response.json()["error"]
    assert not list(tmp_path.glob("*.jsonl"))


def test_invalid_or_long_bodies_are_rejected(serving):
    client = serving()
    assert client.post("/games", content=b"\xff").status_code == 400
    assert client.post("/games", content=b"[" * 4000).status_code == 400
    assert client.post("/games", content=b" " * 5000).status_code == 413


def test_requests_of_other_sites_are_rejected(serving):
    client = serving()
    opened = create_game(client)
    fields = {"game": "checkers", "seats": PEOPLE}
    for origin in ("https://elsewhere.example", "null", "http://127.0.0.1:9999"):
        assert client.post("/games", json=fields, headers={"origin": origin}).status_code == 403
        place = client.websocket_connect(f"{PLAY}/{opened['game']}", headers={"origin": origin})
        with pytest.raises(WebSocketDisconnect), place:
            pass
    assert client.get("/catalogue", headers={"host": "elsewhere.example"}).status_code == 403


def test_every_response_has_security_headers(serving):
    client = serving()
    for path in ("/catalogue", "/nowhere", "/static/..%2fserver.py"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/static/..%2fserver.py").status_code == 404


def test_lessons_are_served_for_known_games(serving):
    client = serving()
    guide = client.get("/lessons/mini_checkers").json()
    assert guide["lessons"][0]["title"] == "Steps"
    for name in ("ludo", "..%2fcheckers", "%00", "x" * 1000):
        response = client.get(f"/lessons/{name}")
        assert response.status_code == 404
        assert "<" not in response.text


def test_catalogue_lists_games_options_and_players(serving):
    catalogue = serving().get("/catalogue").json()["games"]
    assert list(catalogue) == list(GAMES)
    assert catalogue["capture_conquer"]["options"]["size"] == 6
    assert catalogue["capture_conquer"]["values"] == {"size": [4, 5, 6, 7, 8]}
    assert "aggressive" in catalogue["cannon"]["players"]
    assert "easy" in catalogue["morris"]["players"]["minimax"]


def test_learned_players_are_listed_if_torch_and_weights_exist(monkeypatch):
    learned = {"policy", "alphazero", "ppo"}
    names = {
        name: learned & set(player_pool.allowed_players(make_game(name)))
        for name in ("capture_conquer", "checkers", "morris")
    }
    assert names == dict.fromkeys(names, learned)
    small_game = make_game("capture_conquer", size=5, corner=2)
    assert learned & set(player_pool.allowed_players(small_game)) == {"policy", "alphazero"}
    assert not learned & set(player_pool.allowed_players(make_game("capture_conquer", size=4)))
    assert "memory" not in player_pool.allowed_players(make_game("checkers"))
    monkeypatch.setattr("agents.find_spec", lambda name: None)
    assert not learned & set(player_pool.allowed_players(make_game("checkers")))


@pytest.mark.slow  # torch is imported
def test_learned_player_continues_after_a_restart(serving):
    pytest.importorskip("torch")
    client = serving()
    opened = create_game(client, "capture_conquer", ("human", "alphazero:simulations=8"))
    for _ in range(2):
        with connect(client, opened, 0) as player:
            done = player.play_first()["decisions"]
            player.until("state", is_person=True)
            assert player.state["decisions"] > done
        client = serving()


def test_concurrent_requests_load_a_game_once(serving, monkeypatch):
    opened, read = create_game(serving()), []

    def count_reads(journal, make_player, read_journal=Journal.read):
        read.append(journal.path)
        return read_journal(journal, make_player)

    monkeypatch.setattr(Journal, "read", count_reads)
    client = serving()
    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(client.get, [f"/games/{opened['game']}.txt"] * 8))
    assert {response.status_code for response in responses} == {200}
    assert len(read) == 1


def test_unfinished_chain_continues_after_a_restart(serving, tmp_path):
    client = serving()
    opened = create_game(client, "capture_conquer", start=CHAIN)
    game = make_game("capture_conquer")
    turn = max(game.turns(game.from_text(CHAIN)), key=len)
    with connect(client, opened, 0, 1) as player:
        player.play(turn[0])
        state = player.until("state", decisions=1)
        assert state["mid_turn"]
    with (tmp_path / f"{opened['game']}.jsonl").open("a") as file:
        file.write('{"do":"play","act')
    with connect(serving(), opened, 0, 1) as player:
        keys = "position", "decisions", "mid_turn", "turns", "choices", "version", "path"
        assert [player.state[key] for key in keys] == [state[key] for key in keys]
        player.play(turn[1])
        player.until("state", decisions=2)


def test_results_and_take_backs_survive_a_restart(serving):
    client = serving()
    opened = create_game(client, seats=("human", "minimax:depth=1"), seconds=600)
    with connect(client, opened, 0) as player:
        for count in (2, 4):
            player.play_first()
            player.until("state", decisions=count)
        player.send_command("take_back")
        player.until("state", decisions=2)
        player.send_command("resign")
        last = player.until("state", choices=[])
    with connect(serving(), opened, 0) as player:
        assert player.state["result"] == last["result"]
        assert player.state["result"]["reason"] == "resigned"
        assert player.state["turns"] == last["turns"]
        assert player.state["clocks"][0] <= 600
        player.send_command("take_back")
        assert player.until("state")["result"] is None


def full(path, content, **options):
    raise OSError(28, "No space left on device", str(path))


def test_unwritten_move_is_not_confirmed(serving, monkeypatch, caplog, tmp_path):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as player, monkeypatch.context() as context:
        context.setattr("cc_env.server.journal.append_atomically", full)
        player.play(player.state["choices"][0][0])
        reason = player.until("error")["reason"]
        assert "cannot be stored" in reason
        assert str(tmp_path) not in reason
        with pytest.raises(WebSocketDisconnect) as closed:
            player.until("state")
        assert closed.value.code == app.TRY_AGAIN_LATER
    assert [record.exc_info for record in caplog.records] == [None]
    assert "No space left" in caplog.text
    with connect(client, opened, 0) as player:
        assert player.state["decisions"] == 0
        assert player.play_first()["decisions"] == 1
    with connect(serving(), opened, 0) as player:
        assert player.state["decisions"] == 1


def test_moves_survive_a_folder_that_was_away_for_a_while(serving, tmp_path):
    """After a failed write, the journal cannot be read until the folder is back."""
    client = serving()
    opened = create_game(client)
    away = tmp_path.with_name(tmp_path.name + "-away")
    with connect(client, opened, 0, 1) as player:
        player.play_first()
        tmp_path.rename(away)
        player.play(player.state["choices"][0][0])
        assert "cannot be stored" in player.until("error")["reason"]
    tmp_path.exists() or away.rename(tmp_path)
    with connect(client, opened, 0, 1) as player:
        assert player.state["decisions"] == 1
        for _ in range(2):
            player.play_first()
    with connect(serving(), opened, 0, 1) as player:
        assert player.state["decisions"] == 3


def test_take_back_and_draw_need_both_people(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as first, connect(client, opened, 1) as second:
        first.play_first()
        first.send_command("take_back")
        second.until("state", take_back_requested_by=0)
        assert second.state["decisions"] == 1
        second.send_command("take_back")
        first.until("state", decisions=0)
        first.send_command("draw")
        second.until("state", draw_offered_by=0)
        assert second.state["result"] is None
        second.send_command("draw")
        assert first.until("state", choices=[])["result"]["reason"] == "agreed"
        first.send_command("rematch")
        second.until("state", rematch_offered_by=0)
        second.send_command("rematch")
        again = second.until("rematch")["game"]
    swapped = {"game": again, "tokens": opened["tokens"][::-1]}
    with connect(client, swapped, 0) as player:
        assert player.welcome["seats"] == [0]
        assert player.state["decisions"] == 0


def test_hint_is_a_legal_action_and_plays_nothing(serving):
    client = serving(hint_player="minimax:depth=1")
    opened = create_game(client, assistance=True)
    with connect(client, opened, 0) as player:
        player.send_command("hint", version=player.state["version"])
        hint = player.until("hint")
        assert hint["action"] in [choice[0] for choice in player.state["choices"]]
        assert player.state["decisions"] == 0


def test_game_is_exported_by_name(serving, tmp_path):
    client = serving()
    opened = create_game(client, "checkers")
    with connect(client, opened, 0, 1) as player:
        for _ in range(3):
            player.play_first()
        assert player.welcome["exports"] == [".jsonl", ".pdn", ".txt", ".svg"]
        for ending in player.welcome["exports"]:
            response = client.get(f"/games/{opened['game']}{ending}")
            assert response.status_code == 200
            file = f'filename="checkers-{opened["game"]}{ending}"'
            assert response.headers["content-disposition"] == f"attachment; {file}"
            (tmp_path / f"game{ending}").write_text(response.text)
        turns = [turn[1] for turn in player.state["turns"]]
        assert (tmp_path / "game.txt").read_text() == player.state["position"] + "\n"
    ((_, game),) = read_records(tmp_path / "game.jsonl")
    match = record.replay(game)
    assert list(itertools.starmap(match.game.readable_turn_text, match.history)) == turns
    ((_, match),) = record.read_foreign(tmp_path / "game.pdn", make_game("checkers"))
    assert match.turns == list(game.turns)
    assert response.headers["content-type"] == "image/svg+xml"
    for file in (f"{opened['game']}.exe", opened["game"], "A" * 16 + ".txt", "..%2fx.txt", ".txt"):
        response = client.get(f"/games/{file}")
        assert response.status_code == 404
        assert "content-disposition" not in response.headers


def test_two_players_play_to_the_end(serving):
    client = serving()
    opened = create_game(client, seats=("random", "greedy"))
    assert opened["tokens"] == ["", ""]
    with connect(client, opened) as player:
        while not player.state["result"]:
            player.until("state")
        assert player.state["turns"]


def test_owner_starts_a_rematch_with_swapped_seats(serving):
    client = serving(pace_seconds=10.0)
    opened = create_game(client, seats=("random", "greedy"))
    with connect(client, opened, "owner") as player, connect(client, opened) as spectator:
        player.send_command("rematch")
        assert "after the game" in player.until("error")["reason"]
        player.send_command("pace", seconds=0)
        for watcher in (player, spectator):
            while not watcher.state["result"]:
                watcher.until("state")
        spectator.send_command("rematch")
        assert "spectators may not" in spectator.until("error")["reason"]
        player.send_command("rematch")
        following = player.until("rematch")["game"]
        assert spectator.until("rematch")["game"] == following != opened["game"]
    with connect(client, opened | {"game": following}, "owner") as player:
        assert player.state["seats"] == ["greedy", "random"]
        assert player.welcome["is_owner"]
        assert player.state["pace"] == 10.0  # full speed was for the game before


def create_paused_game(client, **fields):
    """Create a game between two players and pause it."""
    opened = create_game(client, seats=("random", "greedy"), **fields)
    with connect(client, opened, "owner") as player:
        player.send_command("pace", seconds=None)
        player.until("state", pace=None)
    return opened


def test_owner_controls_the_pace(serving):
    client = serving(pace_seconds=10.0)
    opened = create_paused_game(client)
    with connect(client, opened, "owner") as player, connect(client, opened) as spectator:
        assert player.welcome["is_owner"]
        assert not spectator.welcome["is_owner"]
        done = player.state["decisions"]  # one more may have been on its way
        for count in range(1, 4):
            player.send_command("step")
            assert player.until("state", decisions=done + count)["pace"] is None
        for command, fields in (("step", {}), ("pace", {"seconds": 0})):
            spectator.send_command(command, **fields)
            assert "only the client" in spectator.until("error")["reason"]
        for seconds in (-1, 11, "1", True, [], 10**400):
            player.send_command("pace", seconds=seconds)
            assert "0 to 10" in player.until("error")["reason"]
        player.send_command("pace", seconds=0)
        spectator.until("state", pace=0)
        while not player.state["result"]:
            player.until("state")
        player.send_command("step")
        assert "is over" in player.until("error")["reason"]


def test_every_client_may_view_past_turns(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0, 1) as player, connect(client, opened) as spectator:
        before = [player.state["pieces"]]
        for _ in range(3):
            before.append(player.play_first()["pieces"])
        for watcher in (player, spectator):
            for turns in (0, 2, 3):
                watcher.send_command("view_turn", turns=turns)
                past = watcher.until("past_state")
                assert (past["turns"], past["pieces"]) == (turns, before[turns])
                assert bool(past["path"]) == bool(turns)
            for turns in (-1, 4, "1", True, None, 10**400):
                watcher.send_command("view_turn", turns=turns)
                assert "0 to 3" in watcher.until("error")["reason"]


def test_game_with_a_person_has_no_owner(serving):
    client = serving()
    opened = create_game(client)
    assert opened["owner_token"] == ""
    with connect(client, opened, 0, 1) as player:
        player.send_command("pace", seconds=None)
        assert "only the client" in player.until("error")["reason"]


def test_pace_survives_a_restart(serving):
    opened = create_paused_game(serving(pace_seconds=10.0))
    client = serving()
    with connect(client, opened, "owner") as player:
        assert player.state["pace"] is None
        player.send_command("pace", seconds=2.5)
        player.until("state", pace=2.5)
    with connect(serving(), opened) as player:
        assert player.state["pace"] == 2.5


def test_each_turn_is_sent_once(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0, 1) as player, connect(client, opened) as spectator:
        for count in range(6):
            assert player.play_first()["turns_from"] == count
        player.send_command("take_back")
        assert (
            spectator.until("state", decisions=5, turns_from=5)["turns"]
            == player.state["turns"][:5]
        )
        player.until("state", decisions=5)
        player.play_first()
        spectator.until("state", decisions=6, turns_from=5)
        with connect(client, opened) as late:
            assert late.state["turns_from"] == 0
            assert late.state["turns"] == player.state["turns"] == spectator.state["turns"]


def test_offers_survive_a_restart(serving):
    client = serving()
    opened = create_game(client)
    with connect(client, opened, 0) as player:
        version = player.play_first()["version"]
        player.send_command("draw")
        player.until("state", draw_offered_by=0)
        player.send_command("take_back")
        assert player.until("state", take_back_requested_by=0)["version"] == version
    client = serving()
    with connect(client, opened, 1) as player:
        assert (player.state["draw_offered_by"], player.state["take_back_requested_by"]) == (0, 0)
        assert player.state["version"] == version
        player.send_command("take_back")
        player.until("state", decisions=0, draw_offered_by=None, take_back_requested_by=None)
    with connect(serving(), opened, 1) as player:
        assert (player.state["draw_offered_by"], player.state["take_back_requested_by"]) == (
            None,
            None,
        )


def test_person_without_time_loses(serving):
    client = serving()
    opened = create_game(client, seconds=1)
    with connect(client, opened, 0, 1) as player:
        assert player.until("state", choices=[])["result"]["reason"] == "time"


def test_increment_survives_a_restart(serving):
    client = serving()
    opened = create_game(client, seconds=600, increment=60)
    with connect(client, opened, 0, 1) as player:
        player.play_first()
        assert player.state["clocks"][0] > 600
    with connect(serving(), opened, 0, 1) as player:
        assert player.state["clocks"][0] > 600


def test_clocks_start_when_all_people_have_joined(serving):
    client = serving()
    opened = create_game(client, seconds=600)
    with connect(client, opened, 0) as first:
        assert first.state["clocks_paused"]
        first.play_first()
        assert first.state["clocks_paused"]
        # A spectator does not start the clocks.
        with connect(client, opened):
            pass
        assert first.state["clocks"] == [600.0, 600.0]
        with connect(client, opened, 1) as second:
            assert not second.state["clocks_paused"]
            first.until("state", clocks_paused=False)
    with connect(serving(), opened, 0) as first:
        assert first.state["clocks_paused"]
    with connect(serving(), opened, 1) as second:
        assert not second.state["clocks_paused"]


class Slow:
    """A player that decides after an event."""

    go = threading.Event()

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        self.go.wait(60)
        return Decision(int(self.game.legal_actions(position)[0]))


def test_waiting_game_reports_its_queue_position(serving, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "slow", {})
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    Slow.go.clear()
    with temporary_players(slow=Slow):
        client = serving()
        first_room, two = (create_game(client, seats=("human", "slow")) for _ in range(2))
        with connect(client, first_room, 0) as first, connect(client, two, 0) as second:
            first.play_first()
            second.play_first()
            assert second.until("queue", games_ahead=0)
            first.send_command("take_back")
            first.until("state", decisions=0)
            Slow.go.set()
            second.until("queue", games_ahead=None)
            second.until("state", decisions=2)
            first.play_first()
            first.until("state", decisions=2)


def test_messages_of_one_connection_are_throttled(serving, monkeypatch):
    """A connection that sends many messages at once does not delay other connections."""
    pauses, sleep = [], asyncio.sleep

    async def note(seconds):
        pauses.append(seconds)
        await sleep(0)

    client = serving(messages_per_second=5)
    opened = create_game(client)
    with connect(client, opened, 0) as player:
        monkeypatch.setattr(app.asyncio, "sleep", note)
        monkeypatch.setattr(app.time, "perf_counter", lambda: 0.0)  # so pauses are exact
        for _ in range(40):
            player.send_command("nonsense")
        for _ in range(40):
            player.until("error")
    assert len(pauses) >= 39
    assert min(pauses) >= 1 / 5
    assert connections.pause_after(0.12) == pytest.approx(9 * 0.12)


def test_game_has_at_most_one_room(tmp_path):
    """Two rooms of one game would both confirm moves of the same seat."""

    async def load_evicted_game():
        limits = ServerLimits(games_in_memory=1)
        lobby = Lobby(GameFolder(tmp_path, limits), limits)
        request = {"game": "mini_checkers", "seats": ["human", "human"]}
        name = lobby.store_game(parse_setup(request, limits))
        actual = asyncio.create_task(lobby.find_room(name))
        while name not in lobby.rooms:
            await asyncio.sleep(0)
        lobby._evict_idle()
        assert not lobby.rooms
        assert await actual is lobby.rooms[name]
        lobby.close()

    asyncio.run(load_evicted_game())


def test_spectator_limit_does_not_concern_players(serving):
    """The limit of spectators applies neither to players nor to the owner of a watched game."""
    client = serving(spectators_per_game=1)
    opened, watched = create_game(client), create_game(client, seats=("random", "random"))
    with connect(client, opened), connect(client, watched):
        for game in (opened, watched):
            refusal = rejection(client, game)
            assert "too many spectators" in refusal["reason"]
            assert not refusal["final"]
        with connect(client, opened, 0), connect(client, opened, 1) as player:
            assert player.welcome["seats"] == [1]
        with connect(client, watched, "owner") as owner:
            assert owner.welcome["is_owner"]


def test_games_in_memory_are_limited(serving):
    client = serving(games_in_memory=1)
    opened, other = create_game(client), create_game(client)
    with connect(client, opened, 0):
        refusal = rejection(client, other)
        assert "1 games are in progress" in refusal["reason"]
        assert not refusal["final"]
    with connect(client, other, 0) as player:
        assert player.state["decisions"] == 0


def rejection(client, opened, *tokens):
    """Return the error of a client that may not join a game."""
    with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
        socket.send_text(json.dumps({"tokens": list(tokens)}))
        refusal = json.loads(socket.receive_text())
        assert refusal["type"] == "error"
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()
        return refusal


def test_scripts_of_the_page_are_short():
    lines = [line for path in app.PAGE.glob("*.js") for line in path.read_text().splitlines()]
    assert len(lines) <= 4000


def test_page_has_nothing_inline(serving):
    assert serving().get("/").text.startswith("<!doctype html>")
    text = (app.PAGE / "index.html").read_text()
    assert "style=" not in text
    assert text.count("<script") == text.count('<script type="module" src=')
