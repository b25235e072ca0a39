"""Load test of the server: latency of confirmed moves, memory and CPU time per game.

    python -m benchmarks.load --games 1000 --thinking 20

The server runs in a process of its own, on the loopback interface; all clients share another one.
Each game has one connection with both seats, which plays a random move per second and waits for its
confirmation, sent after the move is on disk. The games of --thinking run at the same time but are
not measured: their person answers at once, so that minimax always thinks.
"""

import argparse
import asyncio
import base64
import gc
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from cc_env.play.session import HUMAN
from cc_env.registry.catalogue import GAMES

THINKER = "minimax:seconds=0.5"
AT_ONCE = 20  # games opened concurrently
MOST = 2000  # games; systems allow few more connections
PERIOD = 1.0  # seconds between the moves of a person
ANSWER_TIMEOUT = 60.0  # seconds
COMPILATION_TIMEOUT = 900.0  # seconds for an answer before which code may have to be compiled
TEXT, PING, PONG = 1, 9, 10  # kinds of WebSocket frames
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Load:
    """The load on a server."""

    games: int  # that are measured
    thinking: int  # games against THINKER
    seconds: float  # duration
    kinds: tuple[str, ...]  # names of the games, used in turn
    seed: int = 0


@dataclass
class Measured:
    """The measurements."""

    answers: list[float] = field(default_factory=list)  # seconds from a move to its confirmation
    received: int = 0  # bytes of the confirmations
    kilobytes: float = 0.0  # of the server's memory per game
    busy: float = 0.0  # CPU seconds of the server during the measurement

    def __str__(self) -> str:
        middle, late, last = (np.quantile(self.answers, share) * 1e3 for share in (0.5, 0.99, 1))
        answer = f"p50 {middle:.1f} ms, p99 {late:.1f} ms, max {last:.1f} ms"
        size = f"{self.received / len(self.answers):,.0f} bytes a move"
        return (
            f"{len(self.answers):,} moves: {answer}; {size}, {self.busy:.1f} s of CPU;"
            f" {self.kilobytes:,.0f} kB a game"
        )


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    port: int
    process: int

    @property
    def kilobytes(self) -> int:
        """The resident memory, in kB."""
        status = Path(f"/proc/{self.process}/status").read_text()
        resident = re.search(r"VmRSS:\s+(\d+)", status)
        assert resident
        return int(resident[1])

    @property
    def busy(self) -> float:
        """The CPU time so far, in seconds."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    async def begin(
        self, kind: str, seats: tuple[str, str], address: str = LOCAL, **options: Any
    ) -> dict[str, Any]:
        """Open a game; return its name and tokens; raise ConnectionError if it is refused."""
        return await self.post("games", {"game": kind, "seats": seats, **options}, address)

    async def post(self, path: str, content: Any, address: str = LOCAL) -> dict[str, Any]:
        """Return the answer to a request; raise ConnectionError if it is refused."""
        reader, writer = await asyncio.open_connection(LOCAL, self.port, local_addr=(address, 0))
        body, host = json.dumps(content), f"{LOCAL}:{self.port}"
        head = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        writer.write(
            f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        content = json.loads(answer.partition(b"\r\n\r\n")[2])
        if "error" in content:
            raise ConnectionError(content["error"])
        return content  # type: ignore[no-any-return]


def client_address(number: int) -> str:
    """Return the address of a client: as on the internet, most have one of their own."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


@contextmanager
def serving(
    folder: Path, games: int, log: IO[bytes] | None = None, files: int | None = None
) -> Iterator[Server]:
    """Run a server in a new process during the block, which may open a number of `files`."""
    command = [sys.executable, "-m", "cc_env", "serve", "--port", "0", "--games", str(games)]
    if files:
        command = ["prlimit", f"--nofile={files}:{files}", *command]
    with subprocess.Popen(
        [*command, "--folder", str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if not address:
                raise ConnectionError(f"the server did not start: {line!r}")
            yield Server(int(address[1]), process.pid)
        finally:
            process.kill()


class Connection(asyncio.Protocol):
    """A WebSocket connection to a game, with all of its seats.

    It has its own framing code, which is fast: clients and server share the cores.
    """

    def __init__(self, server: Server, rng: random.Random, address: str = LOCAL) -> None:
        """Prepare a connection from an address of this machine; `sit` opens it."""
        self.timeout = ANSWER_TIMEOUT
        self.server, self._rng, self.address = server, rng, address
        self._transport: asyncio.Transport
        self.state: dict[str, Any] = {}
        self.bytes = 0  # of the last state

    async def sit(self, kind: str, seats: tuple[str, str]) -> None:
        """Open a game and take its seats."""
        await self.enter(await self.server.begin(kind, seats, self.address))

    async def enter(self, opened: dict[str, Any]) -> None:
        """Take the seats of a game."""
        self._received, self._is_open, self._at = b"", False, 0.0
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await asyncio.get_running_loop().create_connection(
            lambda: self, LOCAL, self.server.port, local_addr=(self.address, 0)
        )
        host = f"{LOCAL}:{self.server.port}"
        key = base64.b64encode(self._rng.randbytes(16)).decode()
        head = f"GET /play/{opened['game']} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        head += f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {key}\r\n"
        self._transport.write(f"{head}Sec-WebSocket-Version: 13\r\n\r\n".encode())
        await self._next_state()
        tokens = [token for token in opened["tokens"] if token]
        self.send(json.dumps({"tokens": tokens}))
        await self._next_state()

    def leave(self) -> None:
        """Close the connection."""
        self._transport.close()

    async def move(self) -> float:
        """Play a random move; return the seconds until its confirmation."""
        action = self._rng.choice(self.state["choices"])[0]
        request = {"command": "play", "action": action, "version": self.state["version"]}
        began = time.perf_counter()
        self.send(json.dumps(request))
        await self._next_state()
        return self._at - began

    async def wait_for_turn(self) -> None:
        """Wait until a person is to move, or the game is over."""
        while not (self.state["is_person"] or self.state["result"]):
            await self._next_state()

    async def _next_state(self) -> None:
        """Wait for the next state, or for the connection to be open."""
        async with asyncio.timeout(self.timeout):
            await self._answered
        self._answered = asyncio.get_running_loop().create_future()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the pending answer."""
        if not self._answered.done():
            self._answered.set_exception(
                error or ConnectionError("the server closed the connection")
            )
            self._answered.exception()  # mark it as retrieved: there may be no waiter

    def data_received(self, data: bytes) -> None:
        """Process messages; keep the latest state."""
        at = time.perf_counter()
        self._received += data
        if not self._is_open:
            head, end, rest = self._received.partition(b"\r\n\r\n")
            self._is_open = bool(end)
            if not end:
                return
            if b" 101 " not in head:
                raise ConnectionError(head.decode("latin-1"))
            self._received = rest
            self._answered.set_result(None)
        while frame := _frame(self._received):
            kind, text, self._received = frame
            if kind == TEXT:
                self._take(text, at)
            elif kind == PING:
                self._transport.write(_masked(PONG, text))

    def _take(self, text: bytes, at: float) -> None:
        if not text.startswith((b'{"type":"state"', b'{"type":"error"')):
            return
        message = json.loads(text)
        if message["type"] == "error":
            self._answered.set_exception(ConnectionError(message["reason"]))
            return
        self.state, self.bytes, self._at = message, len(text), at
        if not self._answered.done():
            self._answered.set_result(None)

    def send(self, text: str) -> None:
        """Send a message."""
        self._transport.write(_masked(TEXT, text.encode()))


def _frame(received: bytes) -> tuple[int, bytes, bytes] | None:
    """Return kind, content and rest of the first frame from a server; None if it is incomplete."""
    if len(received) < 2:
        return None
    size, begin = received[1], 2
    if size >= 126:
        begin = 4 if size == 126 else 10
        size = int.from_bytes(received[2:begin], "big")
    end = begin + size
    return None if len(received) < end else (received[0] & 15, received[begin:end], received[end:])


def _masked(kind: int, content: bytes) -> bytes:
    """Return a frame from a client; the mask is zero."""
    size = len(content)
    assert size < 1 << 16
    head = bytes([0x80 | kind, 0x80 | min(size, 126)])
    return head + (size.to_bytes(2, "big") if size >= 126 else b"") + bytes(4) + content


async def _person(connection: Connection, kind: str, until: float, measured: Measured) -> None:
    """Play a move per period, in one game after another, until the time is up."""
    at = time.perf_counter() + connection._rng.random() * PERIOD
    while at < until:
        await asyncio.sleep(at - time.perf_counter())
        if connection.state["result"]:
            connection.leave()
            await connection.sit(kind, (HUMAN, HUMAN))
        measured.answers.append(await connection.move())
        measured.received += connection.bytes
        at += PERIOD


async def _thinkers(connection: Connection, kind: str, until: float) -> None:
    """Play against THINKER without pauses, in one game after another, until the time is up."""
    await connection.sit(kind, (HUMAN, THINKER))
    while time.perf_counter() < until:
        if connection.state["result"]:
            connection.leave()
            await connection.sit(kind, (HUMAN, THINKER))
        await connection.move()
        await connection.wait_for_turn()
    connection.leave()


async def _opened(server: Server, load: Load, rng: random.Random) -> list[Connection]:
    """Open all measured games, AT_ONCE at a time."""
    slots = asyncio.Semaphore(AT_ONCE)
    connections = [
        Connection(server, random.Random(rng.random()), client_address(number))
        for number in range(load.games)
    ]

    async def sit(number: int, connection: Connection) -> None:
        async with slots:
            await connection.sit(load.kinds[number % len(load.kinds)], (HUMAN, HUMAN))

    await asyncio.gather(
        *(sit(number, connection) for number, connection in enumerate(connections))
    )
    return connections


async def _run(server: Server, load: Load) -> Measured:
    measured, rng = Measured(), random.Random(load.seed)
    for kind in load.kinds:  # everything is compiled before the measurement
        for seats in ((HUMAN, HUMAN), (HUMAN, THINKER)):
            connection = Connection(server, rng)
            connection.timeout = COMPILATION_TIMEOUT
            await connection.sit(kind, seats)
            await connection.move()
            await connection.wait_for_turn()
            connection.leave()
    before = server.kilobytes
    connections = await _opened(server, load, rng)
    measured.kilobytes = (server.kilobytes - before) / load.games
    until = time.perf_counter() + load.seconds
    kinds = [load.kinds[number % len(load.kinds)] for number in range(load.games)]
    gc.disable()  # pauses of the clients would count as latency
    people = [
        _person(connection, kind, until, measured)
        for connection, kind in zip(connections, kinds, strict=True)
    ]
    others = [
        _thinkers(
            Connection(server, rng, client_address(number)), kinds[number % len(kinds)], until
        )
        for number in range(load.thinking)
    ]
    measured.busy -= server.busy
    await asyncio.gather(*people, *others)
    gc.enable()
    measured.busy += server.busy
    for connection in connections:
        connection.leave()
    return measured


def measure(load: Load) -> Measured:
    """Start a server and put the load on it; raise OSError if it refuses or times out."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), 2 * (load.games + load.thinking) + 20) as server,
    ):
        return asyncio.run(_run(server, load))


def main() -> None:
    """Measure without and with games against THINKER."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1000, choices=range(1, MOST + 1), metavar="N")
    parser.add_argument("--thinking", type=int, default=20, choices=range(MOST), metavar="N")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--game", choices=GAMES, action="append", help="default: all in turn")
    given = parser.parse_args()
    for thinking in sorted({0, given.thinking}):
        kinds = tuple(given.game or GAMES)
        measured = measure(Load(given.games, thinking, given.seconds, kinds))
        print(f"{given.games:,} games, {thinking} against {THINKER}: {measured}", flush=True)


if __name__ == "__main__":
    main()
