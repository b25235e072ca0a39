"""The server under hostile clients, with raw sockets."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from benchmarks.load import Server
from cc_env.errors import IllegalAction
from cc_env.play.session import HUMAN
from cc_env.server import app, connections
from cc_env.server.connections import LogLimit
from cc_env.server.limits import Rates, ServerLimits, TooManyRequestsError
from cc_env.server.room import Room
from cc_env.server.scheduler import FairSlots


class Site:
    """A server in a thread of this process."""

    def __init__(self, folder, limits, **settings):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        site = app.create_app(folder, limits=limits)
        self.config = connections.ServerConfig(site, limits)
        vars(self.config).update(settings)
        self.uvicorn = uvicorn.Server(self.config)
        self.thread = threading.Thread(target=self.uvicorn.run, args=([self.socket],))
        self.thread.start()

    def connect(self, data=b"", address="127.0.0.1"):
        connection = socket.create_connection(("127.0.0.1", self.port), 60, (address, 0))
        connection.sendall(data)
        return connection

    def head(self, path="/", method="GET", **headers):
        host = f"127.0.0.1:{self.port}"
        lines = {"Host": host, "Origin": f"http://{host}", **headers}
        text = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
        return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode()

    def get(self, address="127.0.0.1"):
        """Return the first line of the response to a request."""
        with self.connect(self.head(Connection="close"), address) as server:
            return server.makefile("rb").readline()


@contextmanager
def site(folder, limits=None, **settings):
    server = Site(folder, limits or ServerLimits(), **settings)
    try:
        yield server
    finally:
        server.uvicorn.should_exit = True
        server.thread.join(60)
        assert not server.thread.is_alive()


def is_closed(connection):
    """Wait for the server to end a connection."""
    with connection:
        try:
            while connection.recv(4096):
                pass
        except ConnectionError:
            pass
        return True


@pytest.mark.parametrize(
    "data",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", "half a body", "half a second request"],
)
def test_slow_request_is_closed(data, tmp_path):
    with site(tmp_path, ServerLimits(request_seconds=0.2)) as server:
        if data == "half a body":
            data = server.head("/games", "POST", Content_Length=100) + b"{"
        elif data == "half a second request":
            data = server.head() + b"GET"
        assert is_closed(server.connect(data))
        assert server.get().startswith(b"HTTP/1.1 200")


def test_slow_response_is_not_closed(tmp_path):
    """The time limit of a request does not apply to the response."""
    with site(tmp_path, ServerLimits(request_seconds=0.2)) as server:
        fields = {"game": "mini_checkers", "player": "minimax:seconds=0.4", "seconds": 1}
        body = json.dumps(fields).encode()
        data = server.head("/analyze", "POST", Content_Length=len(body)) + body
        with server.connect(data) as connection:
            assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def upgrade(server, client="192.0.2.1"):
    """Return a request that opens a connection to a game, for a client of a proxy."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": 13,
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "X_Forwarded_For": client,
    }
    return server.head("/play/AAAAAAAAAAAAAAAA", **headers)


def play_until_disconnected(server):
    """Join a new game and send a command; return once the server has closed the connection."""
    host = f"127.0.0.1:{server.port}"
    opened = asyncio.run(Server(server.port, 0).create_game("mini_checkers", (HUMAN, HUMAN)))
    with connect(f"ws://{host}/play/{opened['game']}", origin=f"http://{host}") as socket:
        socket.send(json.dumps({"tokens": opened["tokens"]}))
        socket.send('{"command": "resign"}')
        with suppress(ConnectionClosedError):
            while True:
                socket.recv()


def test_client_without_first_message_is_closed(tmp_path):
    limits = ServerLimits(request_seconds=0.2)
    with site(tmp_path, limits) as server, server.connect(upgrade(server)) as opened:
        stream, received = opened.makefile("rb"), b""
        assert b" 101 " in stream.readline()
        while b"did not arrive in time" not in received:
            received += stream.read(1)


def test_connections_of_one_address_are_limited(tmp_path):
    with site(tmp_path, ServerLimits(connections_per_address=3)) as server:
        several = [server.connect(address="127.0.0.2") for _ in range(3)]
        assert server.get("127.0.0.3").startswith(b"HTTP/1.1 200")
        assert is_closed(server.connect(server.head(), "127.0.0.2"))
        several.pop().close()
        assert server.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        for other in several:
            other.close()


def test_clients_of_a_proxy_are_limited_separately(tmp_path):
    """All their connections come from the proxy's address."""
    limits = ServerLimits(connections_per_address=2, new_connections_per_second=1)
    with site(tmp_path, limits) as server:
        addresses = ("192.0.2.1", "192.0.2.2") * 2
        several = [server.connect(upgrade(server, address)) for address in addresses]
        assert all(b" 101 " in client.makefile("rb").readline() for client in several)
        with server.connect(upgrade(server, "192.0.2.1")) as refused:
            # The server keeps the socket open until the client answers its close frame.
            stream, received = refused.makefile("rb"), b""
            while b"too many connections" not in received:
                received += stream.read(1)
        for client in several:
            client.close()


def test_open_connections_are_counted_by_address(tmp_path):
    with site(tmp_path) as server:
        several = [server.connect(address="127.0.0.2") for _ in range(3)]
        upgraded = server.connect(upgrade(server), "127.0.0.3")
        upgraded.recv(1)
        assert server.get().startswith(b"HTTP/1.1 200")
        counts = server.config.open_connections
        assert (counts["127.0.0.2"], counts["127.0.0.3"]) == (3, 1)
        for other in (*several, upgraded):
            other.close()
        while counts.keys() & {"127.0.0.2", "127.0.0.3"}:
            server.get()


def test_oldest_idle_connection_is_closed(tmp_path):
    with site(tmp_path, max_connections=4) as server:
        idle = [server.connect(address=f"127.0.1.{number}") for number in range(1, 5)]
        assert server.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        assert is_closed(idle[0])
        for other in idle[1:]:
            other.close()


def test_connection_rate_of_one_address_is_limited(tmp_path):
    with site(tmp_path, ServerLimits(new_connections_per_second=1)) as server:
        answers = [server.connect(server.head(), "127.0.0.2") for _ in range(30)]
        assert is_closed(answers[-1])
        assert server.get("127.0.0.3").startswith(b"HTTP/1.1 200")
        for other in answers:
            other.close()


def send_forever(server, data):
    while True:
        server.send(data)


def test_small_chunks_are_read_slowly(tmp_path):
    with site(tmp_path) as server:
        head = server.head("/games", "POST", Transfer_Encoding="chunked")
        attackers = [server.connect(head) for _ in range(3)]
        for attacker in attackers:
            attacker.setblocking(False)
            with pytest.raises(BlockingIOError):
                send_forever(attacker, b"1\r\nx\r\n" * 10_000)
        assert server.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        for attacker in attackers:
            attacker.close()


def test_body_in_many_pieces_is_read(tmp_path):
    with site(tmp_path) as server:
        body = json.dumps({"game": "morris", "actions": [], "start": None}).encode()
        body += b" " * 60_000
        data = server.head("/position", "POST", Content_Length=len(body), Connection="close") + body
        with server.connect(data) as connection:
            assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def test_aborted_request_leaves_no_traceback(tmp_path, caplog):
    with site(tmp_path) as server:
        with server.connect(server.head("/games", "POST", Content_Length=100) + b"{"):
            pass
        assert server.get().startswith(b"HTTP/1.1 200")
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


@pytest.fixture
def server_log(caplog, monkeypatch):
    """Return the log of the server and its libraries, limited as in `serve`."""
    # uvicorn's configuration removes other handlers.
    monkeypatch.setattr(uvicorn.Config, "configure_logging", lambda config: None)
    limited = [logging.getLogger(name) for name in ("asyncio", "uvicorn.error", "cc_env.server")]
    for logger in limited:
        logger.addFilter(LogLimit())
    yield caplog
    for logger in limited:
        logger.filters.pop()


def frame(opcode, data, first_byte=0x80):
    """Return a masked WebSocket frame of at most 125 bytes."""
    return bytes([first_byte | opcode, 0x80 | len(data)]) + bytes(4) + data


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(1, b"\xff"), 1007),
        (frame(1, b"\xc3", first_byte=0) + frame(0, b"("), 1007),
        (frame(8, b"\x03\xe8\xff"), 1007),
        (frame(3, b""), 1002),
        (b"\x81\x01x", 1002),
    ],
)
def test_protocol_error_is_at_most_one_log_line(data, code, tmp_path, server_log):
    with site(tmp_path) as server, server.connect(upgrade(server)) as opened:
        stream = opened.makefile("rb")
        while stream.readline() != b"\r\n":
            pass
        opened.sendall(data)
        assert int.from_bytes(stream.read(4)[2:]) == code
    assert len(server_log.text.splitlines()) <= 1
    assert "Traceback" not in server_log.text


def test_error_of_a_command_is_logged_with_its_traceback(tmp_path, server_log, monkeypatch):
    """Only the errors of an ended connection are expected."""

    def fail(room, client, message):
        raise RuntimeError("set changed size during iteration")

    monkeypatch.setattr(Room, "execute_command", fail)
    with site(tmp_path) as server:
        play_until_disconnected(server)
    assert [record.name for record in server_log.records if record.exc_info] == ["uvicorn.error"]
    assert "set changed size during iteration" in server_log.text


def test_message_to_an_ended_connection_is_not_logged(tmp_path, server_log, monkeypatch):
    """Starlette and uvicorn raise RuntimeError for it."""

    def close_then_broadcast(room, client, message):
        client.disconnect()
        asyncio.get_running_loop().call_soon(client.send, "state")
        raise IllegalAction("closed")

    monkeypatch.setattr(Room, "execute_command", close_then_broadcast)
    with site(tmp_path) as server:
        play_until_disconnected(server)
    assert not server_log.text


def test_server_stops_during_an_incomplete_request(tmp_path):
    with site(tmp_path) as server:
        half = server.connect(server.head("/games", "POST", Content_Length=100) + b"{")
        server.uvicorn.should_exit = True
        server.thread.join(30)
        assert not server.thread.is_alive()
        half.close()


def test_new_games_and_analyses_have_rates(serving):
    client = serving(games_per_minute=2, analyses_per_minute=2)
    opening = {"game": "mini_checkers", "seats": [HUMAN, HUMAN]}
    answers = [client.post("/games", json=opening) for _ in range(3)]
    assert [response.status_code for response in answers] == [201, 201, 429]
    assert "at most 2 in 60 seconds" in answers[-1].json()["error"]
    answers = [client.post("/position", json={"game": "morris"}) for _ in range(3)]
    assert [response.status_code for response in answers] == [200, 200, 429]


def test_rates_of_addresses_are_separate():
    rates = Rates(ServerLimits(games_per_minute=1))
    rates.check("new games", "a")
    rates.check("new games", "b")
    with pytest.raises(TooManyRequestsError, match="new games"):
        rates.check("new games", "a")


def test_log_gets_one_line_a_minute_per_message(caplog):
    now, logger = [0.0], logging.getLogger("test_log")
    logger.addFilter(LogLimit(lambda: now[0]))
    for _ in range(1000):
        try:
            raise OSError(24, "Too many open files")
        except OSError:
            logger.exception("accept() fails\nsocket: %s", object())
        logger.warning("another thing")
    now[0] = 61.0
    logger.error("accept() fails")
    received = [record.getMessage() for record in caplog.records]
    assert received == [
        "accept() fails: [Errno 24] Too many open files",
        "another thing",
        "accept() fails",
    ]
    assert "Traceback" not in caplog.text


def test_slots_are_granted_to_keys_in_turn():
    async def scenario():
        slots, order = FairSlots(1), []

        async def work(key, number):
            await slots.acquire(key, (key, number))
            order.append((key, number))
            slots.release()

        await slots.acquire("first")
        tasks = [asyncio.create_task(work("many", number)) for number in range(4)]
        tasks += [asyncio.create_task(work("few", number)) for number in range(2)]
        await asyncio.sleep(0)
        expected = list(slots.waiting_items())
        tasks.pop(2).cancel()
        slots.release()
        await asyncio.gather(*tasks)
        many, few = ([(key, number) for number in range(4)] for key in ("many", "few"))
        assert expected == [many[0], few[0], many[1], few[1], *many[2:]]
        assert order == [many[0], few[0], many[1], few[1], many[3]]
        await slots.acquire("again")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "is_local", "is_known"),
    [
        ("127.0.0.1:8000", True, True),
        ("127.0.0.2:8000", True, True),
        ("127.0.0.2", True, True),
        ("[::1]:8000", True, True),
        ("localhost:8000", True, True),
        ("LOCALHOST", True, True),
        ("evil.example:8000", True, False),
        ("192.0.2.7:8000", True, False),
        ("127.0.0.1.evil.example", True, False),
        ("", True, False),
        ("192.0.2.7:8000", False, True),
        ("[2001:db8::7]:8000", False, True),
        ("evil.example:8000", False, False),
        ("play.example", False, True),
        ("PLAY.example:8000", False, True),
    ],
)
def test_host_header_must_be_allowed(host, is_local, is_known):
    """DNS rebinding can forge names, but no addresses."""
    hosts = () if is_local else ("play.example",)
    assert app.is_allowed_host(host, hosts, is_local) == is_known


@pytest.mark.skipif(sys.platform != "linux", reason="needs the address 127.0.0.2")
def test_server_on_127_0_0_2_is_local(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "limit_log", lambda: None)
    with socket.create_server(("127.0.0.2", 0)) as server_socket:
        server = app.create_server(server_socket, tmp_path, ServerLimits())
        assert server.config.app._is_local


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
def test_server_with_few_files_logs_little(tmp_path):
    """300 connections, 256 files."""
    serve = [sys.executable, "-m", "cc_env", "serve", "--port", "0", "--folder", str(tmp_path)]
    command = ["prlimit", "--nofile=256:256", *serve]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        idle = []
        for number in range(300):
            address = f"127.0.9.{number % 250 + 1}", 0
            idle.append(socket.create_connection(("127.0.0.1", port), 60, address))
        request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), 60) as server:
            server.sendall(request.encode())
            assert server.makefile("rb").readline().startswith(b"HTTP/1.1 200")
        process.terminate()
        _, log = process.communicate(timeout=60)
        for connection in idle:
            connection.close()
    assert len(log.splitlines()) <= 2


def test_every_limit_is_documented():
    page = (Path(__file__).parents[2] / "docs/guide/server.md").read_text()
    names = {field.name for field in fields(ServerLimits)} - {"pace_seconds", "hint_player"}
    assert not [name for name in names if f"`{name}`" not in page]
