"""Cannon tournament: server and client over loopback."""

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
from conftest import command_line, run_host
from hypothesis import given
from hypothesis import strategies as st

from cc_env.__main__ import main
from cc_env.errors import BadOption, BadRecord
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match import record
from cc_env.players.specs import make_player
from cc_env.reproductions.cannon_tournament import server
from cc_env.reproductions.cannon_tournament.messages import MessageSocket

GAME = make_game("cannon")


# Open connections of clients.
OPEN = []
# By client address: a semaphore that counts the messages read.
READ = {}


@pytest.fixture(autouse=True)
def _close_connections():
    yield
    close_clients()


def close_clients():
    while OPEN:
        OPEN.pop().close()
    READ.clear()


def result(future):
    """Return the finished game, after closing the clients."""
    close_clients()
    return future.result()


def connect_pair():
    """Return the server's and the client's end of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        client.settimeout(60)
        OPEN.append(client)
        return server.accept()[0], client


class TournamentClient:
    """The tournament's client: each read has to return exactly one message."""

    def __init__(self, connection, seed):
        self.connection, self.rng = connection, np.random.default_rng(seed)
        self.received, self.sent = [], []
        self.message_socket = MessageSocket(connection)
        self.count = READ[connection.getsockname()] = threading.Semaphore(0)

    def read(self):
        self.received.append(json.loads(self.connection.recv(1024)))
        self.count.release()
        return self.received[-1]

    def receive(self):
        """Return the next message, however it is split into packets."""
        return self.message_socket.receive(60)[0]

    def play(self):
        """Play at random; return the last message, which may be its own."""
        init = self.read()
        assert init["action"] == "INIT"
        number, rows, columns, _ = init["data"].split()
        game = make_game("cannon", rows=int(rows), columns=int(columns))
        match, is_own_turn = server.Match(game), number == "1"
        while True:
            if is_own_turn:
                message = self.choose(match, int(number) - 1)
                self.sent.append(message)
                self.connection.sendall(json.dumps(message).encode())
            else:
                message = self.read()
                if message["action"] == "NORMAL":
                    match.play(*log.parse_command(game, match.position, message["data"]))
            if message["action"] != "NORMAL":
                self.connection.close()
                return message
            is_own_turn = not is_own_turn

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


def start_game(*seats, game=GAME, **options):
    """Play in another thread; return the future of the finished game and the lines of the log."""
    lines, pool = [], ThreadPoolExecutor(1)
    future = pool.submit(server.play_game, game, seats, write_log=lines.append, **options)
    pool.shutdown(wait=False)
    return future, lines


def local_seat(name, seed=0, game=GAME):
    return server.LocalSeat(make_player(name, game), seed)


def remote_client(seed=0, timeout=60.0):
    """Return a tournament client and its seat."""
    server_end, connection = connect_pair()
    return TournamentClient(connection, seed), server.RemoteSeat(MessageSocket(server_end), timeout)


def replay_log(lines, tmp_path, game=GAME):
    path = tmp_path / "game.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    ((exported, match),) = record.read_foreign(path, game)
    return exported, match


@contextmanager
def host_process(*arguments):
    """Run `host` in a process of its own, and yield it with its port."""
    command = [sys.executable, "-m", "cc_env", "host", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        yield process, int(process.stdout.readline().rpartition(":")[2])


def connect(port):
    OPEN.append(socket.create_connection(("127.0.0.1", port), timeout=60))
    return OPEN[-1]


def test_tournament_client_plays_a_game_against_the_server(tmp_path):
    """The client has 150 seconds by default, and the log contains its messages as sent."""
    path = tmp_path / "game.log"

    def play(port):
        client = TournamentClient(connect(port), 4)
        return client, client.play()

    out, (client, last) = run_host(play, "--player", "aggressive", "--log", path)
    assert client.received[0] == {"meta": "", "action": "INIT", "data": "1 8 8 150"}
    lines = path.read_text().splitlines()
    exported, match = replay_log(lines, tmp_path)
    assert exported.scores == match.score
    assert lines[-1] == f"{json.dumps(last)} Received from client {(len(lines) - 1) % 2}"
    assert [json.loads(line.rpartition(" Received")[0]) for line in lines[::2]] == client.sent
    scores = "Player 1 SCORE : {} : Player 2 SCORE : {}".format(*match.score)
    assert out.splitlines()[1] == scores
    assert out.startswith(record.RESULTS[match.result.outcome] + f" ({match.result.reason}), ")


@pytest.fixture
def wait_for_reader(monkeypatch):
    """Make the server wait until a message has been read, instead of a fixed pause."""
    send = MessageSocket.send

    def send_after_read(message_socket, text):
        if message_socket._sent_at > 0:
            assert READ[message_socket._connection.getpeername()].acquire(timeout=60)
        send(message_socket, text)

    monkeypatch.setattr(MessageSocket, "send", send_after_read)


def test_message_without_reply_is_followed_by_a_pause(monkeypatch):
    server_end, connection = connect_pair()
    message_socket, pauses = MessageSocket(server_end), []
    monkeypatch.setattr("cc_env.reproductions.cannon_tournament.messages.PAUSE_SECONDS", 3600)
    monkeypatch.setattr("time.sleep", pauses.append)
    for _ in range(2):
        message_socket.send(log.message("INIT"))
    connection.sendall(b"{}")
    with pytest.raises(BadRecord, match="expected strings"):
        message_socket.receive(60)
    message_socket.send(log.message("NORMAL"))
    assert [pause > 0 for pause in pauses] == [False, True, False]
    connection.close()
    message_socket.close()


def test_local_first_player_sends_one_message_at_a_time(tmp_path, wait_for_reader):
    client, seat = remote_client(seed=2)
    future, lines = start_game(local_seat("enhanced"), seat, seconds=120)
    last = client.play()
    assert client.received[0]["data"] == "2 8 8 120"
    assert client.received[1]["action"] == "NORMAL"
    ended = result(future)
    assert replay_log(lines, tmp_path)[1].turns == ended.match.turns
    assert last["action"] == "FINISH"
    assert "TIMEOUT" not in ended.meta


def test_two_clients_receive_each_others_moves(tmp_path, wait_for_reader):
    """The log replays to the same result."""
    (client, first), (other, second) = remote_client(1), remote_client(2)
    game = make_game("cannon", rows=10)
    future, lines = start_game(first, second, game=game)
    with ThreadPoolExecutor(1) as pool:
        client_result = pool.submit(client.play)
        last = other.play()
    assert client_result.result() == last
    assert other.received[1:] == client.sent
    assert client.received[1:] == other.sent
    ended = result(future)
    assert replay_log(lines, tmp_path, game)[1].result == ended.match.result


def test_client_and_server_play_a_game():
    """Both sides report the same scores, each with its own first."""
    server_end, connection = connect_pair()
    seat = server.RemoteSeat(MessageSocket(server_end))
    future, _ = start_game(seat, local_seat("defensive"), seconds=60)
    meta = server.join_game(MessageSocket(connection), partial(make_player, "aggressive"), 5)
    assert meta.startswith("Player ")
    assert sorted(meta.split(" : ")) == sorted(result(future).meta.split(" : "))
    assert result(future).match.result.reason in ("halls", "no_moves", "no_soldiers", "stagnant")


# White has captured a town hall.
CAPTURED_HALL = "WwWwWwWw/1w1w1w1w/1w1w1w1w/8/8/b1b1b1b1/b1b1b1b1/b1bBbBbB b"


@pytest.mark.parametrize(
    ("start", "scores"),
    [(None, (0.12, 10.12)), (CAPTURED_HALL, (0.12, 10.12)), ("one", (2.12, 8.12))],
)
def test_sleeping_player_loses_on_time(tmp_path, start, scores):
    """The loser gets 0 points, or 2 if it has captured a hall."""
    text = CAPTURED_HALL.replace("WwWwWwWw", "1wWwWwWw") if start == "one" else start
    game = GAME.replace(initial=GAME.from_text(text)) if text else GAME
    (tmp_path / "sleeper").write_text("#!/bin/sh\nsleep 1000\n")
    (tmp_path / "sleeper").chmod(0o755)
    name = f"program:command={tmp_path / 'sleeper'},protocol=cannon"
    client, seat = remote_client()
    future, lines = start_game(local_seat(name, game=game), seat, game=game, seconds=0.1)
    client.receive()
    meta = f"TIMEOUT BY PLAYER 1 : Player 1 SCORE : {scores[0]} : Player 2 SCORE : {scores[1]}"
    assert client.receive() == {"meta": meta, "action": "FINISH", "data": ""}
    ended = result(future)
    assert (ended.meta, ended.match.result.reason) == (meta, "time")
    assert "sleeper: no reply in 0.1 s" in ended.detail
    assert lines == [f'{{"meta": "{meta}", "action": "FINISH", "data": ""}} Received from client 0']


def test_client_that_reports_a_timeout_loses(tmp_path):
    server_end, connection = connect_pair()
    future, _ = start_game(
        server.RemoteSeat(MessageSocket(server_end)), local_seat("random"), seconds=0.1
    )
    (tmp_path / "sleeper").write_text("#!/bin/sh\nsleep 1000\n")
    (tmp_path / "sleeper").chmod(0o755)
    name = f"program:command={tmp_path / 'sleeper'},protocol=cannon"
    meta = server.join_game(MessageSocket(connection), partial(make_player, name))
    assert meta.startswith("TIMEOUT BY PLAYER 1 : Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12")
    assert meta.startswith(result(future).meta)


NORMAL = '{"meta": "", "action": "NORMAL", "data": "%s"}'
KILLED = "Player 1 SCORE : 0.12 : Player 2 SCORE : 10.12"


@pytest.mark.parametrize(
    ("message", "fault", "detail"),
    [
        (NORMAL % "S 0 0 M 1 1", "INVALID MOVE", "is not legal in"),
        (NORMAL % "hello", "INVALID MOVE", "is not a command"),
        ('{"meta": "", "action": "FINISH", "data": "S 0 5 M 0 4"}', "UNEXPECTED", "in progress"),
        ('{"meta": "", "action": "KILLPROC", "data": ""}', "UNEXPECTED STOP", "no command"),
        ('{"meta": "INVALID MOVE BY PLAYER 1", "action": "KILLPROC", "data": ""}', "INV", "report"),
        ('{"meta": "TIMEOUT BY PLAYER 2", "action": "FINISH", "data": ""}', "UNEX", "invalid"),
        ("", "UNEXPECTED STOP", "the connection has ended"),
        ('{"meta": ""', "UNEXPECTED STOP", "the connection has ended"),
        ("hello", "UNEXPECTED STOP", "not JSON"),
        ("[" * 100_000, "UNEXPECTED STOP", "expected: at most 4,096"),
        ("{}", "UNEXPECTED STOP", "expected strings for"),
        ("{]", "UNEXPECTED STOP", "not JSON"),
        ('{"meta": "", "action": "DANCE", "data": ""}', "UNEXPECTED STOP", "action 'DANCE'"),
    ],
)  # fmt: skip
def test_client_fault_loses_and_is_reported(tmp_path, message, fault, detail):
    server_end, connection = connect_pair()
    other, seat = remote_client()
    future, lines = start_game(server.RemoteSeat(MessageSocket(server_end)), seat)
    connection.recv(1024)
    other.read()
    connection.sendall(message.encode())
    connection.shutdown(socket.SHUT_WR)
    message = other.read()
    assert message["action"] == "KILLPROC"
    assert message["meta"].startswith(fault)
    assert message["meta"].endswith(f" BY PLAYER 1 : {KILLED}")
    ended = result(future)
    assert detail in ended.detail
    exported, match = replay_log(lines, tmp_path)
    assert (exported.outcome, match.score) == (1, (0.12, 10.12))
    connection.close()


def test_silent_client_loses(tmp_path):
    client, seat = remote_client(timeout=0.05)
    other, second = remote_client()
    future, lines = start_game(seat, second)
    other.receive()
    assert other.receive() == {
        "meta": "TIMEOUT ON CLIENT NETWORK",
        "action": "KILLPROC",
        "data": "",
    }
    client.receive()
    assert client.receive()["meta"] == f"TIMEOUT BY PLAYER 1 : {KILLED}"
    assert lines == ["None Received from client 0"]
    assert result(future).match.result.reason == "time"
    assert replay_log(lines, tmp_path)[0].fault == "time"


def test_win_counts_without_a_finish_message(tmp_path):
    game = GAME.replace(initial=GAME.from_text("WwW1W1W1/b7/8/8/8/8/8/1B1B1B1B b"))
    server_end, connection = connect_pair()
    other, seat = remote_client()
    future, _ = start_game(server.RemoteSeat(MessageSocket(server_end)), seat, game=game)
    connection.recv(1024)
    other.read()
    connection.sendall((NORMAL % "S 0 1 M 1 0").encode())
    last = json.loads(connection.recv(1024))
    assert last["action"] == "FINISH"
    assert other.read() == last
    assert result(future).match.result.reason == "no_soldiers"


def test_client_reports_faults_of_the_server():
    peer, connection = connect_pair()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            server.join_game, MessageSocket(connection), partial(make_player, "random")
        )
        peer.sendall(log.message("INIT", "2 8 8 9").encode())
        peer.sendall((NORMAL % "S 0 0 M 0 0").encode())
        report = json.loads(peer.recv(1024))
        assert (
            report["meta"]
            == "INVALID MOVE BY PLAYER 1 : Player 2 SCORE : 10.12 : "
            + KILLED.partition(" : Player 2")[0]
        )
        peer.close()
        assert future.result().startswith(report["meta"])
    peer, connection = connect_pair()
    peer.sendall(log.message("INIT", "3 8 8 9").encode())
    peer.shutdown(socket.SHUT_WR)
    with pytest.raises(BadRecord, match="expected: id rows cols seconds"):
        server.join_game(MessageSocket(connection), partial(make_player, "random"))
    peer.close()


@pytest.mark.parametrize("line", ["2\t10  8 \t90.5", " 2 10 8 90.5 \n"])
def test_opening_words_are_separated_by_whitespace(line):
    assert log.parse_opening(line) == (1, 10, 8, 90.5)


def test_missing_clients_are_reported():
    out = command_line(main, "host", "--patience", 0.05, "--player", "random", status=2)
    assert "0 clients connected in 0.05 s; expected: 1" in out


def test_invalid_arguments_of_the_server_are_rejected():
    assert "3 players" in command_line(main, "host", *["-p", "random"] * 3, status=2)
    assert "seconds=0.0" in command_line(main, "host", "--seconds", 0, status=2)
    with pytest.raises(BadOption, match="with the game 'checkers'; expected: 'cannon'"):
        server.play_game(make_game("checkers"), (None, None))


def test_terminated_server_notifies_its_client():
    with host_process("--player", "random") as (process, port):
        client = TournamentClient(connect(port), 4)
        client.read()
        process.send_signal(signal.SIGTERM)
        assert client.read()["meta"] == server.STOPPED
        client.connection.close()
        assert process.wait() == 128 + signal.SIGTERM
        process.communicate()


def test_both_seats_can_be_local(tmp_path):
    path = tmp_path / "game.log"
    out = command_line(main, "host", "-p", "aggressive", "-p", "random", "--log", path)
    assert "Player 1 SCORE" in out
    assert replay_log(path.read_text().splitlines(), tmp_path)[1].result is not None


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


@given(chunks=st.lists(st.sampled_from(PIECES).map(str.encode) | st.binary(max_size=4), max_size=9))
def test_random_client_input_ends_the_game_with_a_fault(chunks):
    server_end, connection = connect_pair()
    connection.sendall(b"".join(chunks))
    connection.shutdown(socket.SHUT_WR)
    seats = server.RemoteSeat(MessageSocket(server_end)), local_seat("random")
    reader = ThreadPoolExecutor(1)
    read = reader.submit(lambda: [*iter(lambda: connection.recv(1024), b"")])
    ended = server.play_game(GAME, seats)
    assert ended.match.result.outcome == 1
    assert read.result()
    reader.shutdown()
    connection.close()
