"""The Cannon tournament's protocol: our server and our client, over loopback."""

import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from conftest import command_line
from hypothesis import given
from hypothesis import strategies as st

from cc_env.__main__ import main
from cc_env.errors import BadOption, BadRecord
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.players.specs import make_player
from cc_env.protocols.cannon_tournament import server
from cc_env.protocols.cannon_tournament.messages import Wire

GAME = make_game("cannon")


OPEN = []  # connections of clients
READ = {}  # by the addresses of clients: a semaphore for each, which counts what they have read


@pytest.fixture(autouse=True)
def _closed():
    yield
    leave()


def leave():
    while OPEN:
        OPEN.pop().close()
    READ.clear()


def result(future):
    """Return how a game ended, once the clients have left."""
    leave()
    return future.result()


def pair():
    """Return the two ends of a connection, the server's first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        client.settimeout(60)
        OPEN.append(client)
        return server.accept()[0], client


class TheirClient:
    """The tournament's client, unchanged: what it reads at once is one message, or it crashes."""

    def __init__(self, connection, seed):
        self.connection, self.rng = connection, np.random.default_rng(seed)
        self.heard, self.said = [], []
        self.wire = Wire(connection)
        self.count = READ[connection.getsockname()] = threading.Semaphore(0)

    def read(self):
        self.heard.append(json.loads(self.connection.recv(1024)))
        self.count.release()
        return self.heard[-1]

    def hear(self):
        """Return the next message, wherever it ends; not as the tournament's client does."""
        return self.wire.receive(60)[0]

    def play(self):
        """Play at random; return the last message, which may be its own."""
        init = self.read()
        assert init["action"] == "INIT"
        number, rows, columns, _ = init["data"].split()
        game = make_game("cannon", rows=int(rows), columns=int(columns))
        match, mine = server.Match(game), number == "1"
        while True:
            if mine:
                message = self.choose(match, int(number) - 1)
                self.said.append(message)
                self.connection.sendall(json.dumps(message).encode())
            else:
                message = self.read()
                if message["action"] == "NORMAL":
                    match.play(*log.parse_command(game, match.position, message["data"]))
            if message["action"] != "NORMAL":
                self.connection.close()
                return message
            mine = not mine

    def choose(self, match, number):
        command = match.game.action_text(match.position, legal := self.draw(match))
        match.play(legal)
        if match.result is None:
            return {"meta": "", "action": "NORMAL", "data": command}
        own, other = match.score[number], match.score[1 - number]
        meta = f"Player {number + 1} SCORE : {own} : Player {2 - number} SCORE : {other}"
        return {"meta": meta, "action": "FINISH", "data": command}

    def draw(self, match):
        return int(self.rng.choice(match.game.legal_actions(match.position)))


def table(*seats, game=GAME, **rest):
    """Let seats play in another thread; return what will be the end, and the lines of the log."""
    lines, pool = [], ThreadPoolExecutor(1)
    future = pool.submit(server.play, game, seats, note=lines.append, **rest)
    pool.shutdown(wait=False)
    return future, lines


def here(name, seed=0, game=GAME):
    return server.Here(make_player(name, game), seed)


def theirs(seed=0, patience=60.0):
    """Return a client of the tournament, and its seat."""
    ours, connection = pair()
    return TheirClient(connection, seed), server.Client(Wire(ours), patience)


def replayed(lines, tmp_path, game=GAME):
    path = tmp_path / "game.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    ((played, match),) = record.read_foreign(path, game)
    return played, match


@contextmanager
def hosted(*arguments):
    """Run `host` in a process of its own, and yield it with its port."""
    command = [sys.executable, "-m", "cc_env", "host", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        yield process, int(process.stdout.readline().rpartition(":")[2])


def connected(port):
    OPEN.append(socket.create_connection(("127.0.0.1", port), timeout=60))
    return OPEN[-1]


def test_an_unchanged_client_plays_a_whole_game_against_us(tmp_path):
    """cannon: server, log file, default budget of 150 s; end messages with both scores."""
    path = tmp_path / "game.log"
    with hosted("--player", "aggressive", "--log", path) as (process, port):
        client = TheirClient(connected(port), 4)
        last = client.play()
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert client.heard[0] == {"meta": "", "action": "INIT", "data": "1 8 8 150"}
    lines = path.read_text().splitlines()
    played, match = replayed(lines, tmp_path)
    assert played.scores == match.score  # in the file, and by the rules
    assert lines[-1] == f"{json.dumps(last)} Received from client {(len(lines) - 1) % 2}"
    assert [json.loads(line.rpartition(" Received")[0]) for line in lines[::2]] == client.said
    ended = "Player 1 SCORE : {} : Player 2 SCORE : {}".format(*match.score)
    assert out.splitlines()[1] == ended
    assert out.startswith(record.RESULTS[match.result.outcome] + f" ({match.result.reason}), ")


@pytest.fixture
def no_haste(monkeypatch):
    """Let the server wait until a message was read, where it pauses for a while."""
    send = Wire.send

    def patient(wire, text):
        if wire._sent > 0:
            assert READ[wire._connection.getpeername()].acquire(timeout=60)
        send(wire, text)

    monkeypatch.setattr(Wire, "send", patient)


def test_a_message_that_was_not_answered_is_followed_after_a_pause(monkeypatch):
    ours, connection = pair()
    wire, pauses = Wire(ours), []
    monkeypatch.setattr("cc_env.protocols.cannon_tournament.messages.PAUSE", 3600)
    monkeypatch.setattr("time.sleep", pauses.append)
    for _ in range(2):
        wire.send(log.message("INIT"))
    connection.sendall(b"{}")
    with pytest.raises(BadRecord, match="expected strings"):
        wire.receive(60)
    wire.send(log.message("NORMAL"))
    assert [pause > 0 for pause in pauses] == [False, True, False]
    connection.close()
    wire.close()


def test_our_moves_come_one_at_a_time_though_we_begin(tmp_path, no_haste):
    client, seat = theirs(seed=2)
    future, lines = table(here("enhanced"), seat, seconds=120)
    last = client.play()
    assert client.heard[0]["data"] == "2 8 8 120"
    assert client.heard[1]["action"] == "NORMAL"
    ended = result(future)
    assert replayed(lines, tmp_path)[1].turns == ended.match.turns
    assert last["action"] == "FINISH"
    assert "TIMEOUT" not in ended.meta


def test_two_clients_hear_each_other(tmp_path, no_haste):
    """cannon: server for two clients, log file: the log equals the moves; end messages of both."""
    (client, first), (other, second) = theirs(1), theirs(2)
    game = make_game("cannon", rows=10)
    future, lines = table(first, second, game=game)
    with ThreadPoolExecutor(1) as pool:
        theirs_last = pool.submit(client.play)
        last = other.play()
    assert theirs_last.result() == last
    assert other.heard[1:] == client.said
    assert client.heard[1:] == other.said
    ended = result(future)
    assert replayed(lines, tmp_path, game)[1].result == ended.match.result


def test_our_client_plays_with_our_server():
    """cannon: end messages: who won, own and opponent's score; headless mode."""
    ours, connection = pair()
    seat = server.Client(Wire(ours))
    future, _ = table(seat, here("defensive"), seconds=60)
    meta = server.join(Wire(connection), partial(make_player, "aggressive"), 5)
    assert meta.startswith("Player ")
    assert sorted(meta.split(" : ")) == sorted(result(future).meta.split(" : "))
    assert result(future).match.result.reason in ("halls", "no_moves", "no_soldiers", "stagnant")


TAKEN = "WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/b1bBbBbB b"  # white has taken a hall


@pytest.mark.parametrize(
    ("start", "scores"), [(None, (0.12, 10.12)), (TAKEN, (0.12, 10.12)), ("one", (2.12, 8.12))]
)
def test_a_player_that_sleeps_loses_by_time(tmp_path, start, scores):
    """cannon: time budget: a sleeping player loses, 10:0 or 8:2."""
    text = TAKEN.replace("WwWwWwWw", "1wWwWwWw") if start == "one" else start
    game = GAME.replace(initial=GAME.from_text(text)) if text else GAME
    (tmp_path / "sleeper").write_text("#!/bin/sh\nsleep 1000\n")
    (tmp_path / "sleeper").chmod(0o755)
    name = f"program:command={tmp_path / 'sleeper'},protocol=cannon"
    client, seat = theirs()
    future, lines = table(here(name, game=game), seat, game=game, seconds=0.1)
    client.hear()
    meta = f"TIMEOUT BY PLAYER 1 : Player 1 SCORE : {scores[0]} : Player 2 SCORE : {scores[1]}"
    assert client.hear() == {"meta": meta, "action": "FINISH", "data": ""}
    ended = result(future)
    assert (ended.meta, ended.match.result.reason) == (meta, "time")
    assert "sleeper: no answer in 0.1 s" in ended.detail
    assert lines == [f'{{"meta": "{meta}", "action": "FINISH", "data": ""}} Received from client 0']


def test_a_client_that_tells_its_time_is_up_has_lost(tmp_path):
    """cannon: time budget; client that wraps any player program."""
    ours, connection = pair()
    future, _ = table(server.Client(Wire(ours)), here("random"), seconds=0.1)
    (tmp_path / "sleeper").write_text("#!/bin/sh\nsleep 1000\n")
    (tmp_path / "sleeper").chmod(0o755)
    name = f"program:command={tmp_path / 'sleeper'},protocol=cannon"
    meta = server.join(Wire(connection), partial(make_player, name))
    assert meta.startswith("TIMEOUT BY PLAYER 1 : Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12")
    assert meta.startswith(result(future).meta)


NORMAL = '{"meta": "", "action": "NORMAL", "data": "%s"}'
KILLED = "Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12"


@pytest.mark.parametrize(
    ("said", "fault", "detail"),
    [
        (NORMAL % "S 0 0 M 1 1", "INVALID MOVE", "is not legal in"),
        (NORMAL % "hello", "INVALID MOVE", "is not a command"),
        ('{"meta": "", "action": "FINISH", "data": "S 0 5 M 0 4"}', "UNEXPECTED", "it is not"),
        ('{"meta": "", "action": "KILLPROC", "data": ""}', "UNEXPECTED STOP", "no command"),
        ('{"meta": "INVALID MOVE BY PLAYER 1", "action": "KILLPROC", "data": ""}', "INV", "says"),
        ('{"meta": "TIMEOUT BY PLAYER 2", "action": "FINISH", "data": ""}', "UNEX", "not know"),
        ("", "UNEXPECTED STOP", "the connection has ended"),
        ('{"meta": ""', "UNEXPECTED STOP", "the connection has ended"),
        ("hello", "UNEXPECTED STOP", "not JSON"),
        ("[" * 100_000, "UNEXPECTED STOP", "more than 4,096 bytes"),
        ("{}", "UNEXPECTED STOP", "expected strings for"),
        ("{]", "UNEXPECTED STOP", "not JSON"),
        ('{"meta": "", "action": "DANCE", "data": ""}', "UNEXPECTED STOP", "action 'DANCE'"),
    ],
)  # fmt: skip
def test_the_faults_of_a_client_are_named(tmp_path, said, fault, detail):
    """cannon: invalid move loses: message, score."""
    ours, connection = pair()
    other, seat = theirs()
    future, lines = table(server.Client(Wire(ours)), seat)
    connection.recv(1024)
    other.read()
    connection.sendall(said.encode())
    connection.shutdown(socket.SHUT_WR)
    told = other.read()
    assert told["action"] == "KILLPROC"
    assert told["meta"].startswith(fault)
    assert told["meta"].endswith(f" BY PLAYER 1 : {KILLED}")
    ended = result(future)
    assert detail in ended.detail
    played, match = replayed(lines, tmp_path)
    assert (played.outcome, match.score) == (1, (0.12, 10.12))
    connection.close()


def test_a_client_that_is_silent_has_lost(tmp_path):
    client, seat = theirs(patience=0.05)
    other, second = theirs()
    future, lines = table(seat, second)
    other.hear()
    assert other.hear() == {"meta": "TIMEOUT ON CLIENT NETWORK", "action": "KILLPROC", "data": ""}
    client.hear()
    assert client.hear()["meta"] == f"TIMEOUT BY PLAYER 1 : {KILLED}"
    assert lines == ["None Received from client 0"]
    assert result(future).match.result.reason == "time"
    assert replayed(lines, tmp_path)[0].fault == "time"


def test_a_client_that_does_not_say_that_it_has_won_has(tmp_path):
    game = GAME.replace(initial=GAME.from_text("WwW1W1W1/b7/8/8/8/8/8/1B1B1B1B b"))
    ours, connection = pair()
    other, seat = theirs()
    future, _ = table(server.Client(Wire(ours)), seat, game=game)
    connection.recv(1024)
    other.read()
    connection.sendall((NORMAL % "S 0 1 M 1 0").encode())
    last = json.loads(connection.recv(1024))
    assert last["action"] == "FINISH"
    assert other.read() == last
    assert result(future).match.result.reason == "no_soldiers"


def test_client_reports_faults_of_the_server():
    peer, connection = pair()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(server.join, Wire(connection), partial(make_player, "random"))
        peer.sendall(log.message("INIT", "2 8 8 9").encode())
        peer.sendall((NORMAL % "S 0 0 M 0 0").encode())
        said = json.loads(peer.recv(1024))
        assert (
            said["meta"]
            == "INVALID MOVE BY PLAYER 1 : Player 2 SCORE : 10.12 : "
            + KILLED.partition(" : Player 2")[0]
        )
        peer.close()
        assert future.result().startswith(said["meta"])
    peer, connection = pair()
    peer.sendall(log.message("INIT", "3 8 8 9").encode())
    peer.shutdown(socket.SHUT_WR)
    with pytest.raises(BadRecord, match="expected id rows cols seconds"):
        server.join(Wire(connection), partial(make_player, "random"))
    peer.close()


@pytest.mark.parametrize("line", ["2\t10  8 \t90.5", " 2 10 8 90.5 \n"])
def test_any_run_of_blanks_separates_the_words_of_an_opening(line):
    assert log.parse_opening(line) == (1, 10, 8, 90.5)


def test_too_few_clients_are_told():
    out = command_line(main, "host", "--patience", 0.05, "--player", "random", status=2)
    assert "0 clients came in 0.05 s; wanted: 1" in out
    assert "3 players" in command_line(main, "host", *["-p", "random"] * 3, status=2)
    assert "seconds=0.0" in command_line(main, "host", "--seconds", 0, status=2)
    with pytest.raises(BadOption, match="is for the game cannon, not for checkers"):
        server.play(make_game("checkers"), (None, None))


def test_a_server_that_is_ended_tells_its_client():
    with hosted("--player", "random") as (process, port):
        client = TheirClient(connected(port), 4)
        client.read()
        process.send_signal(signal.SIGTERM)
        assert client.read()["meta"] == server.STOPPED
        client.connection.close()
        assert process.wait() == 128 + signal.SIGTERM
        process.communicate()


def test_both_can_play_here(tmp_path):
    """cannon: headless mode."""
    path = tmp_path / "game.log"
    out = command_line(main, "host", "-p", "aggressive", "-p", "random", "--log", path)
    assert "Player 1 SCORE" in out
    assert replayed(path.read_text().splitlines(), tmp_path)[1].result is not None


PIECES = [
    '{"meta":"",',
    '"action":"NORMAL",',
    '"data":"S 2 7 M 1 6"}',
    "{",
    "}",
    '"',
    "\\",
    "[",
    "1",
]


@given(said=st.lists(st.sampled_from(PIECES).map(str.encode) | st.binary(max_size=4), max_size=9))
def test_whatever_a_client_sends_the_game_ends_with_its_fault(said):
    ours, connection = pair()
    connection.sendall(b"".join(said))
    connection.shutdown(socket.SHUT_WR)
    seats = server.Client(Wire(ours)), here("random")
    connection_end = ThreadPoolExecutor(1)
    read = connection_end.submit(lambda: [*iter(lambda: connection.recv(1024), b"")])
    ended = server.play(GAME, seats)
    assert ended.match.result.outcome == 1
    assert read.result()
    connection_end.shutdown()
    connection.close()
