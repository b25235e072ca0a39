"""The server under hostile clients, by raw sockets. Rows A2, A4, A6 and A16 of outside testing."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest
import uvicorn

from cc_env.play.session import HUMAN
from cc_env.server import app, connections
from cc_env.server.connections import LogLimit
from cc_env.server.limits import Rates, ServerLimits, TooManyRequestsError
from cc_env.server.scheduler import FairSlots


class Site:
    """A server on a socket of this process."""

    def __init__(self, folder, limits, **configured):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        site = app.create_app(folder, limits=limits)
        self.config = connections.SiteConfig(site, limits)
        vars(self.config).update(configured)
        self.server = uvicorn.Server(self.config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()

    def connect(self, sent=b"", address="127.0.0.1"):
        made = socket.create_connection(("127.0.0.1", self.port), 60, (address, 0))
        made.sendall(sent)
        return made

    def head(self, path="/", method="GET", **headers):
        here = f"127.0.0.1:{self.port}"
        lines = {"Host": here, "Origin": f"http://{here}", **headers}
        text = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
        return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode()

    def get(self, address="127.0.0.1"):
        """Return the first line of the answer to a request."""
        with self.connect(self.head(Connection="close"), address) as made:
            return made.makefile("rb").readline()


@contextmanager
def site(folder, limits=None, **configured):
    made = Site(folder, limits or ServerLimits(), **configured)
    try:
        yield made
    finally:
        made.server.should_exit = True
        made.thread.join(60)
        assert not made.thread.is_alive()


def is_closed(made):
    """Wait for the server to end a connection."""
    with made:
        try:
            while made.recv(4096):
                pass
        except ConnectionError:
            pass
        return True


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", "half a body", "half a second request"],
)
def test_a_request_that_does_not_arrive_in_time_is_ended(sent, tmp_path):
    with site(tmp_path, ServerLimits(request_seconds=0.2)) as made:
        if sent == "half a body":
            sent = made.head("/games", "POST", Content_Length=100) + b"{"
        elif sent == "half a second request":
            sent = made.head() + b"GET"
        assert is_closed(made.connect(sent))
        assert made.get().startswith(b"HTTP/1.1 200")


def test_a_request_that_is_answered_late_is_not_ended(tmp_path):
    """What limits the time of a request does not limit the time of the answer."""
    with site(tmp_path, ServerLimits(request_seconds=0.2)) as made:
        asked = {"game": "mini_checkers", "player": "minimax:seconds=0.4", "seconds": 1}
        body = json.dumps(asked).encode()
        sent = made.head("/analyse", "POST", Content_Length=len(body)) + body
        with made.connect(sent) as answered:
            assert answered.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def upgrade(made, client="192.0.2.1"):
    """Return a request that opens a connection to a game, for a client of a proxy."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": 13,
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "X_Forwarded_For": client,
    }
    return made.head("/play/AAAAAAAAAAAAAAAA", **headers)


def test_a_client_that_never_says_whom_it_is_is_ended(tmp_path):
    limits = ServerLimits(request_seconds=0.2)
    with site(tmp_path, limits) as made, made.connect(upgrade(made)) as opened:
        stream, said = opened.makefile("rb"), b""
        assert b" 101 " in stream.readline()
        while b"did not come in time" not in said:
            said += stream.read(1)


def test_one_address_has_so_many_connections(tmp_path):
    with site(tmp_path, ServerLimits(connections_per_address=3)) as made:
        several = [made.connect(address="127.0.0.2") for _ in range(3)]
        assert made.get("127.0.0.3").startswith(b"HTTP/1.1 200")
        assert is_closed(made.connect(made.head(), "127.0.0.2"))
        several.pop().close()
        assert made.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        for other in several:
            other.close()


def test_clients_of_a_proxy_are_limited_one_by_one(tmp_path):
    """All their connections come from the proxy's address."""
    limits = ServerLimits(connections_per_address=2, new_connections_per_second=1)
    with site(tmp_path, limits) as made:
        several = [made.connect(upgrade(made, client)) for client in ("192.0.2.1", "192.0.2.2") * 2]
        assert all(b" 101 " in client.makefile("rb").readline() for client in several)
        with made.connect(upgrade(made, "192.0.2.1")) as refused:
            assert b"too many connections" in refused.makefile("rb").read()
        for client in several:
            client.close()


def test_open_connections_are_counted_by_address(tmp_path):
    with site(tmp_path) as made:
        several = [made.connect(address="127.0.0.2") for _ in range(3)]
        upgraded = made.connect(upgrade(made), "127.0.0.3")
        upgraded.recv(1)
        assert made.get().startswith(b"HTTP/1.1 200")
        counts = made.config.open_connections
        assert (counts["127.0.0.2"], counts["127.0.0.3"]) == (3, 1)
        for other in (*several, upgraded):
            other.close()
        while counts.keys() & {"127.0.0.2", "127.0.0.3"}:
            made.get()


def test_idle_connections_make_room_for_others(tmp_path):
    with site(tmp_path, max_connections=4) as made:
        idle = [made.connect(address=f"127.0.1.{number}") for number in range(1, 5)]
        assert made.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        assert is_closed(idle[0])  # the one that has waited longest
        for other in idle[1:]:
            other.close()


def test_one_address_connects_so_often(tmp_path):
    with site(tmp_path, ServerLimits(new_connections_per_second=1)) as made:
        answers = [made.connect(made.head(), "127.0.0.2") for _ in range(30)]
        assert is_closed(answers[-1])
        assert made.get("127.0.0.3").startswith(b"HTTP/1.1 200")
        for other in answers:
            other.close()


def send_for_ever(made, data):
    while True:
        made.send(data)


def test_small_chunks_are_read_slowly_and_others_are_served(tmp_path):
    with site(tmp_path) as made:
        head = made.head("/games", "POST", Transfer_Encoding="chunked")
        attackers = [made.connect(head) for _ in range(3)]
        for attacker in attackers:
            attacker.setblocking(False)
            with pytest.raises(BlockingIOError):  # the server does not read on
                send_for_ever(attacker, b"1\r\nx\r\n" * 10_000)
        assert made.get("127.0.0.2").startswith(b"HTTP/1.1 200")
        for attacker in attackers:
            attacker.close()


def test_a_body_in_many_pieces_is_read(tmp_path):
    with site(tmp_path) as made:
        body = json.dumps({"game": "morris", "actions": [], "start": None}).encode()
        body += b" " * 60_000
        sent = made.head("/look", "POST", Content_Length=len(body), Connection="close") + body
        with made.connect(sent) as answered:
            assert answered.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def test_a_request_cut_short_leaves_no_traceback(tmp_path, caplog):
    with site(tmp_path) as made:
        with made.connect(made.head("/games", "POST", Content_Length=100) + b"{"):
            pass
        assert made.get().startswith(b"HTTP/1.1 200")
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_the_server_ends_while_a_request_is_half_sent(tmp_path):
    with site(tmp_path) as made:
        half = made.connect(made.head("/games", "POST", Content_Length=100) + b"{")
        made.server.should_exit = True
        made.thread.join(30)
        assert not made.thread.is_alive()
        half.close()


def test_new_games_and_analyses_of_one_address_have_a_rate(serving):
    client = serving(games_per_minute=2, analyses_per_minute=2)
    opening = {"game": "mini_checkers", "seats": [HUMAN, HUMAN]}
    answers = [client.post("/games", json=opening) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 429]
    assert "at most 2 in 60 seconds" in answers[-1].json()["error"]
    answers = [client.post("/look", json={"game": "morris"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_rates_are_kept_for_each_address_alone():
    rates = Rates(ServerLimits(games_per_minute=1))
    rates.check("new games", "a")
    rates.check("new games", "b")
    with pytest.raises(TooManyRequestsError, match="new games"):
        rates.check("new games", "a")


def test_the_log_gets_one_line_a_minute_for_what_happens_often(caplog):
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
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "accept() fails: [Errno 24] Too many open files",
        "another thing",
        "accept() fails",
    ]
    assert "Traceback" not in caplog.text


def test_keys_take_turns_to_get_a_slot():
    async def scene():
        slots, order = FairSlots(1), []

        async def work(key, number):
            await slots.acquire(key, (key, number))
            order.append((key, number))
            slots.release()

        await slots.acquire("first")
        tasks = [asyncio.create_task(work("many", number)) for number in range(4)]
        tasks += [asyncio.create_task(work("few", number)) for number in range(2)]
        await asyncio.sleep(0)
        expected = list(slots.waiting())
        tasks.pop(2).cancel()
        slots.release()
        await asyncio.gather(*tasks)
        many, few = ([(key, number) for number in range(4)] for key in ("many", "few"))
        assert expected == [many[0], few[0], many[1], few[1], *many[2:]]
        assert order == [many[0], few[0], many[1], few[1], many[3]]
        await slots.acquire("again")  # none is lost

    asyncio.run(scene())


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
def test_requests_are_for_this_server(host, is_local, is_known):
    """Row A16; a name server of another site may forge names, but no addresses."""
    hosts = () if is_local else ("play.example",)
    assert app.is_known_host(host, hosts, is_local) == is_known


@pytest.mark.skipif(sys.platform != "linux", reason="only there is 127.0.0.2 an address")
def test_a_server_of_another_loopback_address_is_local_too(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "limit_log", lambda: None)  # it lasts
    with socket.create_server(("127.0.0.2", 0)) as listening:
        server = app.create_server(listening, tmp_path, ServerLimits())
        assert server.config.app._is_local


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
def test_a_server_with_few_files_logs_little(tmp_path):
    """Row A4: 300 connections, 256 files."""
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
        with socket.create_connection(("127.0.0.1", port), 60) as made:
            made.sendall(request.encode())
            assert made.makefile("rb").readline().startswith(b"HTTP/1.1 200")
        process.terminate()
        _, log = process.communicate(timeout=60)
        for connection in idle:
            connection.close()
    assert len(log.splitlines()) <= 2


def test_every_limit_is_documented():
    page = (Path(__file__).parents[2] / "docs/guide/server.md").read_text()
    names = {field.name for field in fields(ServerLimits)} - {"pace_seconds", "hint_player"}
    assert not [name for name in names if f"`{name}`" not in page]
