"""The server of the page: games over HTTP and WebSocket, by Starlette's client."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

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
from cc_env.server.lobby import Lobby, check_opening
from cc_env.server.storage import GameFolder

PLAY = "ws://127.0.0.1:8000/play"
ORIGIN = {"origin": HERE}
PEOPLE = ["human", "human"]
CHAIN = "6/1bb3/1brrr1/1r1r2/6/6 b"


class Table:
    """One who is connected to a game."""

    def __init__(self, socket):
        self.socket, self.state = socket, None

    def until(self, kind, **values):
        """Return the next message of a kind with these values; others are read over."""
        while True:
            message = json.loads(self.socket.receive_text())
            if message["type"] == "state":
                known = self.state["turns"][: message["turns_from"]] if self.state else []
                assert len(known) == message["turns_from"]
                message["turns"] = known + message["turns"]
                self.state = message
            if message["type"] == kind and values.items() <= message.items():
                return message
            assert message["type"] != "refused" or kind == "refused", message

    def ask(self, do, **values):
        self.socket.send_text(json.dumps({"do": do, **values}))

    def play(self, action):
        self.ask("play", action=action, version=self.state["version"])

    def play_first(self):
        """Play the first choice; return the state after it."""
        done = self.state["decisions"]
        self.play(self.state["choices"][0][0])
        return self.until("state", decisions=done + 1)


def begin(client, game="mini_checkers", seats=("human", "human"), **asked):
    answer = client.post("/games", json={"game": game, "seats": list(seats), "seed": 1, **asked})
    assert answer.status_code == 201, answer.text
    return answer.json()


class Connected:
    """Somebody at a game, with tokens or as an onlooker."""

    def __init__(self, client, opened, *seats):
        self._socket = client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN)
        names = {0: opened["tokens"][0], 1: opened["tokens"][1], "owner": opened.get("owner")}
        self._tokens = [names[seat] for seat in seats]

    def __enter__(self):
        table = Table(self._socket.__enter__())
        table.socket.send_text(json.dumps({"tokens": self._tokens}))
        table.welcome = table.until("welcome")
        table.until("state")
        return table

    def __exit__(self, *error):
        return self._socket.__exit__(*error)


@pytest.mark.parametrize("name", GAMES)
def test_a_person_plays_against_a_player(name, serving):
    """checkers8: human against computer; checkers6: computer answers at once."""
    client = serving()
    opened = begin(client, name, ("human", "random"))
    assert opened["tokens"][0]
    assert not opened["tokens"][1]
    with Connected(client, opened, 0) as table:
        assert table.welcome["seats"] == [0]
        for _ in range(6):
            if not table.state["is_person"]:
                table.until("state", is_person=True)
            table.play_first()
        assert {turn[0] for turn in table.state["turns"]} == {0, 1}


def test_two_people_play_each_other_and_onlookers_cannot(serving):
    """checkers8: human against human."""
    client = serving()
    opened = begin(client)
    with (
        Connected(client, opened, 0) as first,
        Connected(client, opened, 1) as second,
        Connected(client, opened) as onlooker,
    ):
        assert onlooker.welcome["seats"] == []
        onlooker.play(onlooker.state["choices"][0][0])
        assert "onlookers cannot" in onlooker.until("refused")["why"]
        second.play(second.state["choices"][0][0])
        assert second.until("refused")["why"] == "it is the turn of black"
        first.play_first()
        second.until("state", decisions=1)
        second.play_first()
        onlooker.until("state", decisions=2)
        assert onlooker.state["turns"] == second.state["turns"]


def test_nobody_takes_a_seat_without_its_token(serving):
    client = serving()
    opened = begin(client)
    for tokens in (["x"], [opened["tokens"][0], ""], ["x"] * 3, "text", [1], {}, ["\ud800"]):
        with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
            socket.send_text(json.dumps({"tokens": tokens}))
            assert json.loads(socket.receive_text())["type"] == "refused"
            with pytest.raises(WebSocketDisconnect):
                socket.receive_text()
    for name in ("AAAAAAAAAAAAAAAA", "..passwd", "x" * 400):
        with client.websocket_connect(f"{PLAY}/{name}", headers=ORIGIN) as socket:
            socket.send_text("{}")
            assert "no such game" in json.loads(socket.receive_text())["why"]


def test_garbage_is_refused_and_changes_nothing(serving, tmp_path):
    client = serving(messages_per_second=1000)
    opened = begin(client)
    with Connected(client, opened, 0) as table:
        kept = (tmp_path / f"{opened['game']}.jsonl").read_bytes()
        action, version = table.state["choices"][0][0], table.state["version"]
        for text in (
            "", "[", "[]", "null", "{}", '{"do":[]}', '{"do":"__init__"}', '{"do":"play"}',
            "[" * 3000,
            "x" * 5000, '{"do":"say","version":1,"text":7}',
            '{"do":"say","version":1,"text":"nonsense"}',
            '{"do":"rematch"}', '{"do":"take_back"}',
            *(json.dumps({"do": "play", "version": version, "action": bad}) for bad in
              (-1, 10**30, 1.5, "0", None, True, [action])),
            *(json.dumps({"do": "play", "version": bad, "action": action}) for bad in
              (0, version + 1, None, "1", [])),
        ):  # fmt: skip
            table.socket.send_text(text)
            assert table.until("refused")["why"]
        table.socket.send_bytes(b"\xff\x00")
        assert table.until("refused")["why"] == "a message is JSON"
        assert (tmp_path / f"{opened['game']}.jsonl").read_bytes() == kept
        assert table.play_first()["decisions"] == 1


def test_a_late_answer_is_refused(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0, 1) as table:
        before = dict(table.state)
        table.play_first()
        table.ask("play", action=table.state["choices"][0][0], version=before["version"])
        assert table.until("refused")["why"].startswith("too late")


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
def test_only_listed_players_with_bounded_options_sit_down(seat, serving):
    answer = serving().post("/games", json={"game": "mini_checkers", "seats": ["human", seat]})
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "asked",
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
        {"game": "checkers", "seats": PEOPLE, "seed": -1},
    ],
)  # fmt: skip
def test_games_that_cannot_be_are_refused(asked, serving, tmp_path):
    answer = serving().post("/games", json=asked)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert not list(tmp_path.glob("*.jsonl"))


def test_bodies_that_are_not_json_or_too_long_are_refused(serving):
    client = serving()
    assert client.post("/games", content=b"\xff").status_code == 400
    assert client.post("/games", content=b"[" * 4000).status_code == 400
    assert client.post("/games", content=b" " * 5000).status_code == 413


def test_other_sites_are_refused(serving):
    client = serving()
    opened = begin(client)
    asked = {"game": "checkers", "seats": PEOPLE}
    for origin in ("https://elsewhere.example", "null", "http://127.0.0.1:9999"):
        assert client.post("/games", json=asked, headers={"origin": origin}).status_code == 403
        place = client.websocket_connect(f"{PLAY}/{opened['game']}", headers={"origin": origin})
        with pytest.raises(WebSocketDisconnect), place:
            pass
    assert client.get("/catalogue", headers={"host": "elsewhere.example"}).status_code == 403


def test_every_answer_has_a_strict_policy(serving):
    client = serving()
    for path in ("/catalogue", "/nowhere", "/static/..%2fserver.py"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/static/..%2fserver.py").status_code == 404


def test_lessons_are_served_for_the_games_that_there_are(serving):
    client = serving()
    guide = client.get("/lessons/mini_checkers").json()
    assert guide["lessons"][0]["title"] == "Steps"
    for name in ("ludo", "..%2fcheckers", "%00", "x" * 1000):
        answer = client.get(f"/lessons/{name}")
        assert answer.status_code == 404
        assert "<" not in answer.text


def test_the_catalogue_has_games_options_and_who_plays_them(serving):
    catalogue = serving().get("/catalogue").json()["games"]
    assert list(catalogue) == list(GAMES)
    assert catalogue["capture_conquer"]["options"]["size"] == 6
    assert catalogue["capture_conquer"]["values"] == {"size": [4, 5, 6, 7, 8]}
    assert "aggressive" in catalogue["cannon"]["players"]
    assert "easy" in catalogue["morris"]["players"]["minimax"]


def test_players_that_learned_are_listed_where_there_are_weights_and_torch(monkeypatch):
    learned = {"policy", "alphazero", "ppo"}
    there = {
        name: learned & set(player_pool.listed_players(make_game(name)))
        for name in ("capture_conquer", "checkers", "mini_checkers")
    }
    assert there == {
        "capture_conquer": learned,
        "checkers": {"policy", "alphazero"},
        "mini_checkers": set(),
    }
    assert not learned & set(player_pool.listed_players(make_game("capture_conquer", size=4)))
    assert "memory" not in player_pool.listed_players(make_game("checkers"))
    monkeypatch.setattr("agents.find_spec", lambda name: None)
    assert not learned & set(player_pool.listed_players(make_game("checkers")))


@pytest.mark.slow  # torch is imported
def test_a_network_plays_and_goes_on_after_a_restart(serving):
    pytest.importorskip("torch")
    client = serving()
    opened = begin(client, "capture_conquer", ("human", "alphazero:simulations=8"))
    for _ in range(2):
        with Connected(client, opened, 0) as table:
            done = table.play_first()["decisions"]
            table.until("state", is_person=True)
            assert table.state["decisions"] > done
        client = serving()


def test_a_game_that_is_asked_for_many_times_at_once_is_read_once(serving, monkeypatch):
    opened, read = begin(serving()), []

    def counted(journal, bench, read_it=Journal.read):
        read.append(journal.path)
        return read_it(journal, bench)

    monkeypatch.setattr(Journal, "read", counted)
    client = serving()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(client.get, [f"/games/{opened['game']}.txt"] * 8))
    assert {answer.status_code for answer in answers} == {200}
    assert len(read) == 1


def test_a_game_goes_on_after_a_restart_in_the_middle_of_a_chain(serving, tmp_path):
    client = serving()
    opened = begin(client, "capture_conquer", start=CHAIN)
    game = make_game("capture_conquer")
    turn = max(game.turns(game.from_text(CHAIN)), key=len)
    with Connected(client, opened, 0, 1) as table:
        table.play(turn[0])
        kept = table.until("state", decisions=1)
        assert kept["mid_turn"]
    with (tmp_path / f"{opened['game']}.jsonl").open("a") as file:
        file.write('{"do":"play","act')  # what a killed process leaves
    with Connected(serving(), opened, 0, 1) as table:
        told = "position", "decisions", "mid_turn", "turns", "choices", "version", "path"
        assert [table.state[key] for key in told] == [kept[key] for key in told]
        table.play(turn[1])
        table.until("state", decisions=2)


def test_ends_and_take_backs_outlive_a_restart(serving):
    client = serving()
    opened = begin(client, seats=("human", "minimax:depth=1"), seconds=600)
    with Connected(client, opened, 0) as table:
        for count in (2, 4):
            table.play_first()
            table.until("state", decisions=count)
        table.ask("take_back")
        table.until("state", decisions=2)
        table.ask("resign")
        last = table.until("state", choices=[])
    with Connected(serving(), opened, 0) as table:
        assert table.state["result"] == last["result"]
        assert table.state["result"]["reason"] == "resigned"
        assert table.state["turns"] == last["turns"]
        assert table.state["clocks"][0] <= 600
        table.ask("take_back")
        assert table.until("state")["result"] is None


def full(path, content, **options):
    raise OSError(28, "No space left on device", str(path))


def test_a_move_that_cannot_be_written_is_not_confirmed(serving, monkeypatch, caplog, tmp_path):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0) as table, monkeypatch.context() as context:
        context.setattr("cc_env.server.journal.append_atomically", full)
        table.play(table.state["choices"][0][0])
        why = table.until("refused")["why"]
        assert "cannot be stored" in why
        assert str(tmp_path) not in why
        with pytest.raises(WebSocketDisconnect) as closed:
            table.until("state")
        assert closed.value.code == app.TRY_LATER
    assert [record.exc_info for record in caplog.records] == [None]
    assert "No space left" in caplog.text
    with Connected(client, opened, 0) as table:
        assert table.state["decisions"] == 0
        assert table.play_first()["decisions"] == 1
    with Connected(serving(), opened, 0) as table:
        assert table.state["decisions"] == 1


def test_moves_survive_a_folder_that_was_away_for_a_while(serving, tmp_path):
    """Row A1: the journal cannot even be read again after a write has failed."""
    client = serving()
    opened = begin(client)
    away = tmp_path.with_name(tmp_path.name + "-away")
    with Connected(client, opened, 0, 1) as table:
        table.play_first()
        tmp_path.rename(away)
        table.play(table.state["choices"][0][0])
        assert "cannot be stored" in table.until("refused")["why"]
    tmp_path.exists() or away.rename(tmp_path)
    with Connected(client, opened, 0, 1) as table:
        assert table.state["decisions"] == 1
        for _ in range(2):
            table.play_first()
    with Connected(serving(), opened, 0, 1) as table:
        assert table.state["decisions"] == 3


def test_between_two_people_both_have_to_want_a_take_back_and_a_draw(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0) as first, Connected(client, opened, 1) as second:
        first.play_first()
        first.ask("take_back")
        second.until("state", wanted_back=0)
        assert second.state["decisions"] == 1
        second.ask("take_back")
        first.until("state", decisions=0)
        first.ask("draw")
        second.until("state", offered=0)
        assert second.state["result"] is None
        second.ask("draw")
        assert first.until("state", choices=[])["result"]["reason"] == "agreed"
        first.ask("rematch")
        second.until("state", rematch_offered=0)
        second.ask("rematch")
        again = second.until("next")["game"]
    swapped = {"game": again, "tokens": opened["tokens"][::-1]}
    with Connected(client, swapped, 0) as table:
        assert table.welcome["seats"] == [0]
        assert table.state["decisions"] == 0


def test_a_hint_is_for_who_asks(serving):
    client = serving(hint_player="minimax:depth=1")
    opened = begin(client, assistance=True)
    with Connected(client, opened, 0) as table:
        table.ask("hint", version=table.state["version"])
        hint = table.until("hint")
        assert hint["action"] in [choice[0] for choice in table.state["choices"]]
        assert table.state["decisions"] == 0


def test_a_game_is_exported_to_whoever_knows_its_name(serving, tmp_path):
    client = serving()
    opened = begin(client, "checkers")
    with Connected(client, opened, 0, 1) as table:
        for _ in range(3):
            table.play_first()
        assert table.welcome["exports"] == [".jsonl", ".pdn", ".txt", ".svg"]
        for ending in table.welcome["exports"]:
            answer = client.get(f"/games/{opened['game']}{ending}")
            assert answer.status_code == 200
            file = f'filename="checkers-{opened["game"]}{ending}"'
            assert answer.headers["content-disposition"] == f"attachment; {file}"
            (tmp_path / f"game{ending}").write_text(answer.text)
        turns = [turn[1] for turn in table.state["turns"]]
        assert (tmp_path / "game.txt").read_text() == table.state["position"] + "\n"
    ((_, game),) = read_records(tmp_path / "game.jsonl")
    assert list(game.turns) == turns
    ((_, match),) = record.read_foreign(tmp_path / "game.pdn", make_game("checkers"))
    assert match.turns == turns
    assert answer.headers["content-type"] == "image/svg+xml"
    for file in (f"{opened['game']}.exe", opened["game"], "A" * 16 + ".txt", "..%2fx.txt", ".txt"):
        answer = client.get(f"/games/{file}")
        assert answer.status_code == 404
        assert "content-disposition" not in answer.headers


def test_two_players_are_watched_to_the_end(serving):
    """checkers8: computer against computer."""
    client = serving()
    opened = begin(client, seats=("random", "greedy"))
    assert opened["tokens"] == ["", ""]
    with Connected(client, opened) as table:
        while not table.state["result"]:
            table.until("state")
        assert table.state["turns"]


def test_who_opened_a_watched_game_has_a_rematch_with_seats_swapped(serving):
    client = serving(pace_seconds=10.0)
    opened = begin(client, seats=("random", "greedy"))
    with Connected(client, opened, "owner") as table, Connected(client, opened) as onlooker:
        table.ask("rematch")
        assert "a rematch comes after it" in table.until("refused")["why"]
        table.ask("pace", seconds=0)
        for guest in (table, onlooker):
            while not guest.state["result"]:
                guest.until("state")
        onlooker.ask("rematch")
        assert "onlookers cannot do this" in onlooker.until("refused")["why"]
        table.ask("rematch")
        following = table.until("next")["game"]
        assert onlooker.until("next")["game"] == following != opened["game"]
    with Connected(client, opened | {"game": following}, "owner") as table:
        assert table.state["seats"] == ["greedy", "random"]
        assert table.welcome["is_owner"]
        assert table.state["pace"] == 10.0  # full speed was for the game before


def paused(client, **asked):
    """Return a game of two players that was opened and paused."""
    opened = begin(client, seats=("random", "greedy"), **asked)
    with Connected(client, opened, "owner") as table:
        table.ask("pace", seconds=None)
        table.until("state", pace=None)
    return opened


def test_who_opens_a_watched_game_pauses_steps_and_paces_it(serving):
    client = serving(pace_seconds=10.0)
    opened = paused(client)
    with Connected(client, opened, "owner") as table, Connected(client, opened) as onlooker:
        assert table.welcome["is_owner"]
        assert not onlooker.welcome["is_owner"]
        done = table.state["decisions"]  # one more may have been on its way
        for count in range(1, 4):
            table.ask("step")
            assert table.until("state", decisions=done + count)["pace"] is None
        for do, how in (("step", {}), ("pace", {"seconds": 0})):
            onlooker.ask(do, **how)
            assert "only who opened this game" in onlooker.until("refused")["why"]
        for seconds in (-1, 11, "1", True, [], 10**400):
            table.ask("pace", seconds=seconds)
            assert "wanted: 0 to 10, or null for a pause" in table.until("refused")["why"]
        table.ask("pace", seconds=0)
        onlooker.until("state", pace=0)
        while not table.state["result"]:
            table.until("state")
        table.ask("step")
        assert "is over" in table.until("refused")["why"]


def test_everybody_may_look_back(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0, 1) as table, Connected(client, opened) as onlooker:
        before = [table.state["pieces"]]
        for _ in range(3):
            before.append(table.play_first()["pieces"])
        for guest in (table, onlooker):
            for turns in (0, 2, 3):
                guest.ask("look_back", turns=turns)
                past = guest.until("past")
                assert (past["turns"], past["pieces"]) == (turns, before[turns])
                assert bool(past["path"]) == bool(turns)
            for turns in (-1, 4, "1", True, None, 10**400):
                guest.ask("look_back", turns=turns)
                assert "there are 0 to 3 to look back at" in guest.until("refused")["why"]


def test_a_game_of_people_has_no_owner(serving):
    client = serving()
    opened = begin(client)
    assert opened["owner"] == ""
    with Connected(client, opened, 0, 1) as table:
        table.ask("pace", seconds=None)
        assert "only who opened" in table.until("refused")["why"]


def test_the_pace_outlives_a_restart(serving):
    opened = paused(serving(pace_seconds=10.0))
    client = serving()
    with Connected(client, opened, "owner") as table:
        assert table.state["pace"] is None
        table.ask("pace", seconds=2.5)
        table.until("state", pace=2.5)
    with Connected(serving(), opened) as table:
        assert table.state["pace"] == 2.5


def test_turns_are_told_once(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0, 1) as table, Connected(client, opened) as onlooker:
        for count in range(6):
            assert table.play_first()["turns_from"] == count
        table.ask("take_back")
        assert (
            onlooker.until("state", decisions=5, turns_from=5)["turns"] == table.state["turns"][:5]
        )
        table.until("state", decisions=5)
        table.play_first()
        onlooker.until("state", decisions=6, turns_from=5)
        with Connected(client, opened) as late:
            assert late.state["turns_from"] == 0
            assert late.state["turns"] == table.state["turns"] == onlooker.state["turns"]


def test_what_is_asked_for_outlives_a_restart(serving):
    client = serving()
    opened = begin(client)
    with Connected(client, opened, 0) as table:
        version = table.play_first()["version"]
        table.ask("draw")
        table.until("state", offered=0)
        table.ask("take_back")
        assert table.until("state", wanted_back=0)["version"] == version
    client = serving()
    with Connected(client, opened, 1) as table:
        assert (table.state["offered"], table.state["wanted_back"]) == (0, 0)
        assert table.state["version"] == version
        table.ask("take_back")
        table.until("state", decisions=0, offered=None, wanted_back=None)
    with Connected(serving(), opened, 1) as table:
        assert (table.state["offered"], table.state["wanted_back"]) == (None, None)


def test_a_person_who_does_not_move_in_time_loses(serving):
    client = serving()
    opened = begin(client, seconds=1)
    with Connected(client, opened, 0, 1) as table:
        assert table.until("state", choices=[])["result"]["reason"] == "time"


def test_the_clocks_stand_still_until_everybody_has_come(serving):
    client = serving()
    opened = begin(client, seconds=600)
    with Connected(client, opened, 0) as first:
        assert first.state["is_held"]
        first.play_first()
        assert first.state["is_held"]
        with Connected(client, opened):  # an onlooker is nobody who plays
            pass
        assert first.state["clocks"] == [600.0, 600.0]
        with Connected(client, opened, 1) as second:
            assert not second.state["is_held"]
            first.until("state", is_held=False)
    with Connected(serving(), opened, 0) as first:  # who has moved has come
        assert first.state["is_held"]
    with Connected(serving(), opened, 1) as second:
        assert not second.state["is_held"]


class Slow:
    """A player who waits until it is told."""

    go = threading.Event()

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        self.go.wait(60)
        return Decision(int(self.game.legal_actions(position)[0]))


def test_a_game_waits_for_its_turn_to_think_and_says_so(serving, monkeypatch):
    monkeypatch.setitem(player_pool.OPTIONS, "slow", {})
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    Slow.go.clear()
    with temporary_players(slow=Slow):
        client = serving()
        first_room, two = (begin(client, seats=("human", "slow")) for _ in range(2))
        with Connected(client, first_room, 0) as first, Connected(client, two, 0) as second:
            first.play_first()
            second.play_first()
            assert second.until("queue", ahead=0)
            first.ask("take_back")
            first.until("state", decisions=0)
            Slow.go.set()
            second.until("queue", ahead=None)
            second.until("state", decisions=2)
            first.play_first()
            first.until("state", decisions=2)


def test_messages_of_one_connection_wait_for_their_turn(serving, monkeypatch):
    """Row A2: 40 messages at once stalled everybody; now a connection gets a share of the time."""
    pauses, sleep = [], asyncio.sleep

    async def note(seconds):
        pauses.append(seconds)
        await sleep(0)

    client = serving(messages_per_second=5)
    opened = begin(client)
    with Connected(client, opened, 0) as table:
        monkeypatch.setattr(app.asyncio, "sleep", note)
        monkeypatch.setattr(app.time, "perf_counter", lambda: 0.0)  # so pauses are exact
        for _ in range(40):
            table.ask("nonsense")
        for _ in range(40):
            table.until("refused")
    assert len(pauses) >= 39
    assert min(pauses) >= 1 / 5
    assert connections.pause_after(0.12) == pytest.approx(9 * 0.12)


def test_a_game_exists_in_memory_at_most_once(tmp_path):
    """Two rooms of one game would both confirm moves of the same seat."""

    async def scene():
        limits = ServerLimits(games_in_memory=1)
        lobby = Lobby(GameFolder(tmp_path, limits), limits)
        request = {"game": "mini_checkers", "seats": ["human", "human"]}
        name = lobby.open(check_opening(request, limits))
        actual = asyncio.create_task(lobby.find(name))
        while name not in lobby.rooms:
            await asyncio.sleep(0)
        lobby._make_room()  # as for another game; this one is idle
        assert not lobby.rooms
        assert await actual is lobby.rooms[name]
        lobby.close()

    asyncio.run(scene())


def test_players_enter_a_game_that_has_all_its_spectators(serving):
    """Row A8: the limit of spectators does not concern players, nor who opened a watched game."""
    client = serving(spectators_per_game=1)
    opened, watched = begin(client), begin(client, seats=("random", "random"))
    with Connected(client, opened), Connected(client, watched):
        for game in (opened, watched):
            refusal = refused_entry(client, game)
            assert "too many look on" in refusal["why"]
            assert not refusal["final"]
        with Connected(client, opened, 0), Connected(client, opened, 1) as player:
            assert player.welcome["seats"] == [1]
        with Connected(client, watched, "owner") as owner:
            assert owner.welcome["is_owner"]


def test_games_in_memory_are_bounded(serving):
    client = serving(games_in_memory=1)
    opened, other = begin(client), begin(client)
    with Connected(client, opened, 0):
        refusal = refused_entry(client, other)
        assert "1 games are played here; try again later" in refusal["why"]
        assert not refusal["final"]
    with Connected(client, other, 0) as table:
        assert table.state["decisions"] == 0


def refused_entry(client, opened, *tokens):
    """Return why a client may not enter a game."""
    with client.websocket_connect(f"{PLAY}/{opened['game']}", headers=ORIGIN) as socket:
        socket.send_text(json.dumps({"tokens": list(tokens)}))
        refusal = json.loads(socket.receive_text())
        assert refusal["type"] == "refused"
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()
        return refusal


def test_the_page_is_small_and_has_nothing_inline(serving):
    assert sum(path.stat().st_size for path in app.PAGE.iterdir()) < 110_000
    assert serving().get("/").text.startswith("<!doctype html>")
    text = (app.PAGE / "index.html").read_text()
    assert "style=" not in text
    assert text.count("<script") == text.count('<script type="module" src=')
