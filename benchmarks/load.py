"""Load test of the server: latency of confirmed moves, memory and CPU time per game.

    python -m benchmarks.load --games 1000 --thinking 20

The server runs in a process of its own, on the loopback interface; all clients share another one.
Each game has one connection with both seats, which plays a random move per second and waits for its
confirmation, sent after the move is on disk. The games of --thinking run at the same time and are
not measured; their person moves at once, so that minimax always searches.
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
CONCURRENT_OPENINGS = 20
# Systems allow few more connections.
MAX_GAMES = 2000
SECONDS_PER_MOVE = 1.0
RESPONSE_TIMEOUT = 60.0
# The timeout of a response that may have to wait for the compiler.
COMPILATION_TIMEOUT = 900.0
# WebSocket opcodes.
TEXT, PING, PONG = 1, 9, 10
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Load:
    """A load: numbers of measured games and of games against THINKER, and the games in turn."""

    games: int
    thinking_games: int
    seconds: float
    game_names: tuple[str, ...]
    seed: int = 0


@dataclass
class Measurements:
    """Seconds until each confirmation, its bytes, memory per game, and CPU time of the server."""

    latencies: list[float] = field(default_factory=list)
    received_bytes: int = 0
    kilobytes_per_game: float = 0.0
    cpu_seconds: float = 0.0

    def __str__(self) -> str:
        size = f"{self.received_bytes / len(self.latencies):,.0f} bytes a move"
        return (
            f"{len(self.latencies):,} moves: {format_latencies(self.latencies)}; {size},"
            f" {self.cpu_seconds:.1f} s of CPU; {self.kilobytes_per_game:,.0f} kB a game"
        )


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    port: int
    pid: int

    @property
    def kilobytes(self) -> int:
        """The resident memory in kB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        resident = re.search(r"VmRSS:\s+(\d+)", status)
        assert resident
        return int(resident[1])

    @property
    def cpu_seconds(self) -> float:
        """The CPU time so far in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        user_ticks, system_ticks = map(int, fields[11:13])
        return (user_ticks + system_ticks) / os.sysconf("SC_CLK_TCK")

    async def create_game(
        self, name: str, seats: tuple[str, str], address: str = LOCAL, **options: Any
    ) -> dict[str, Any]:
        """Create a game `name` of the catalogue; return the response, with its id and tokens.

        Raises ConnectionError if it is rejected.
        """
        return await self.post("games", {"game": name, "seats": seats, **options}, address)

    async def post(self, path: str, content: Any, address: str = LOCAL) -> dict[str, Any]:
        """Return the response to a request; raise ConnectionError if it is rejected."""
        reader, writer = await asyncio.open_connection(LOCAL, self.port, local_addr=(address, 0))
        body, host = json.dumps(content), f"{LOCAL}:{self.port}"
        head = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        writer.write(
            f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        response = await reader.read()
        writer.close()
        await writer.wait_closed()
        content = json.loads(response.partition(b"\r\n\r\n")[2])
        if "error" in content:
            raise ConnectionError(content["error"])
        return content  # type: ignore[no-any-return]


def format_latencies(latencies: list[float]) -> str:
    """Return quantiles of latencies (seconds) in milliseconds."""
    median, p99, maximum = (1e3 * np.quantile(latencies, share) for share in (0.5, 0.99, 1))
    return f"p50 {median:.1f} ms, p99 {p99:.1f} ms, max {maximum:.1f} ms"


def client_address(number: int) -> str:
    """Return the local address of a client; few clients share one, as on the internet."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


@contextmanager
def serving(
    folder: Path, games: int, log: IO[bytes] | None = None, files: int | None = None
) -> Iterator[Server]:
    """Run a server in a new process during the block; `files` is its limit of open files."""
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

    Its own framing code is fast, since clients and server share the cores.
    """

    def __init__(self, server: Server, rng: random.Random, address: str = LOCAL) -> None:
        """Prepare a connection from a local address; `start_game` opens it."""
        self.timeout = RESPONSE_TIMEOUT
        self.server, self._rng, self.address = server, rng, address
        self._transport: asyncio.Transport
        self.state: dict[str, Any] = {}
        # Size of the last state.
        self.bytes = 0

    async def start_game(self, name: str, seats: tuple[str, str]) -> None:
        """Create a game `name` of the catalogue and join it with all seats."""
        await self.join(await self.server.create_game(name, seats, self.address))

    async def join(self, game: dict[str, Any]) -> None:
        """Join a game with all of its seats."""
        self._received, self._is_open, self._state_time = b"", False, 0.0
        self._response: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await asyncio.get_running_loop().create_connection(
            lambda: self, LOCAL, self.server.port, local_addr=(self.address, 0)
        )
        host = f"{LOCAL}:{self.server.port}"
        key = base64.b64encode(self._rng.randbytes(16)).decode()
        head = f"GET /play/{game['game']} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        head += f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {key}\r\n"
        self._transport.write(f"{head}Sec-WebSocket-Version: 13\r\n\r\n".encode())
        await self._next_state()
        tokens = [token for token in game["tokens"] if token]
        self.send(json.dumps({"tokens": tokens}))
        await self._next_state()

    def leave(self) -> None:
        """Close the connection."""
        self._transport.close()

    async def move(self) -> float:
        """Play a random move; return the seconds until its confirmation."""
        action = self._rng.choice(self.state["choices"])[0]
        request = {"command": "play", "action": action, "version": self.state["version"]}
        start = time.perf_counter()
        self.send(json.dumps(request))
        await self._next_state()
        return self._state_time - start

    async def wait_for_turn(self) -> None:
        """Wait until a person is to move, or the game is over."""
        while not (self.state["is_person"] or self.state["result"]):
            await self._next_state()

    async def _next_state(self) -> None:
        """Wait for the next state, or for the connection to be open."""
        async with asyncio.timeout(self.timeout):
            await self._response
        self._response = asyncio.get_running_loop().create_future()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the pending response."""
        if not self._response.done():
            self._response.set_exception(
                error or ConnectionError("the server closed the connection")
            )
            # Mark the exception as retrieved; it may have no waiter.
            self._response.exception()

    def data_received(self, data: bytes) -> None:
        """Parse messages; store the latest state."""
        now = time.perf_counter()
        self._received += data
        if not self._is_open:
            head, end, rest = self._received.partition(b"\r\n\r\n")
            self._is_open = bool(end)
            if not end:
                return
            if b" 101 " not in head:
                raise ConnectionError(head.decode("latin-1"))
            self._received = rest
            self._response.set_result(None)
        while frame := _parse_frame(self._received):
            opcode, text, self._received = frame
            if opcode == TEXT:
                self._receive(text, now)
            elif opcode == PING:
                self._transport.write(_make_frame(PONG, text))

    def _receive(self, text: bytes, now: float) -> None:
        """Store the state in a message; an error message fails the pending response."""
        if not text.startswith((b'{"type":"state"', b'{"type":"error"')):
            return
        message = json.loads(text)
        if message["type"] == "error":
            self._response.set_exception(ConnectionError(message["reason"]))
            return
        self.state, self.bytes, self._state_time = message, len(text), now
        if not self._response.done():
            self._response.set_result(None)

    def send(self, text: str) -> None:
        """Send a message."""
        self._transport.write(_make_frame(TEXT, text.encode()))


def _parse_frame(received: bytes) -> tuple[int, bytes, bytes] | None:
    """Split off a server's first frame: (opcode, content, rest); return None if it is incomplete.

    Lengths from 126 are in the next 2 bytes, after 127 in the next 8 (RFC 6455).
    """
    if len(received) < 2:
        return None
    size, start = received[1], 2
    if size >= 126:
        start = 4 if size == 126 else 10
        size = int.from_bytes(received[2:start], "big")
    end = start + size
    return None if len(received) < end else (received[0] & 15, received[start:end], received[end:])


def _make_frame(opcode: int, content: bytes) -> bytes:
    """Return a client's frame of less than 2**16 bytes, with a mask of zero."""
    size = len(content)
    assert size < 1 << 16
    head = bytes([0x80 | opcode, 0x80 | min(size, 126)])
    return head + (size.to_bytes(2, "big") if size >= 126 else b"") + bytes(4) + content


async def _play_measured(
    connection: Connection, game: str, until: float, measurements: Measurements
) -> None:
    """Play a move every SECONDS_PER_MOVE, in one game after another.

    `until` is a time of `time.perf_counter`.
    """
    move_time = time.perf_counter() + connection._rng.random() * SECONDS_PER_MOVE
    while move_time < until:
        await asyncio.sleep(move_time - time.perf_counter())
        if connection.state["result"]:
            connection.leave()
            await connection.start_game(game, (HUMAN, HUMAN))
        measurements.latencies.append(await connection.move())
        measurements.received_bytes += connection.bytes
        move_time += SECONDS_PER_MOVE


async def _play_thinker(connection: Connection, game: str, until: float) -> None:
    """Play against THINKER without pauses, in one game after another.

    `until` is a time of `time.perf_counter`.
    """
    await connection.start_game(game, (HUMAN, THINKER))
    while time.perf_counter() < until:
        if connection.state["result"]:
            connection.leave()
            await connection.start_game(game, (HUMAN, THINKER))
        await connection.move()
        await connection.wait_for_turn()
    connection.leave()


async def _open_games(server: Server, load: Load, rng: random.Random) -> list[Connection]:
    """Create and join all measured games."""
    slots = asyncio.Semaphore(CONCURRENT_OPENINGS)
    connections = [
        Connection(server, random.Random(rng.random()), client_address(number))
        for number in range(load.games)
    ]

    async def start(index: int, connection: Connection) -> None:
        async with slots:
            await connection.start_game(
                load.game_names[index % len(load.game_names)], (HUMAN, HUMAN)
            )

    await asyncio.gather(
        *(start(index, connection) for index, connection in enumerate(connections))
    )
    return connections


async def _run(server: Server, load: Load) -> Measurements:
    """Play all games of a load on a server; return the measurements."""
    measurements, rng = Measurements(), random.Random(load.seed)
    # Compile everything before the measurement.
    for game in load.game_names:
        for seats in ((HUMAN, HUMAN), (HUMAN, THINKER)):
            connection = Connection(server, rng)
            connection.timeout = COMPILATION_TIMEOUT
            await connection.start_game(game, seats)
            await connection.move()
            await connection.wait_for_turn()
            connection.leave()
    before = server.kilobytes
    connections = await _open_games(server, load, rng)
    measurements.kilobytes_per_game = (server.kilobytes - before) / load.games
    until = time.perf_counter() + load.seconds
    names = [load.game_names[index % len(load.game_names)] for index in range(load.games)]
    # Pauses of the clients would count as latency.
    gc.disable()
    measured_games = [
        _play_measured(connection, game, until, measurements)
        for connection, game in zip(connections, names, strict=True)
    ]
    thinker_games = [
        _play_thinker(
            Connection(server, rng, client_address(index)), names[index % len(names)], until
        )
        for index in range(load.thinking_games)
    ]
    cpu_seconds = server.cpu_seconds
    await asyncio.gather(*measured_games, *thinker_games)
    gc.enable()
    measurements.cpu_seconds = server.cpu_seconds - cpu_seconds
    for connection in connections:
        connection.leave()
    return measurements


def measure(load: Load) -> Measurements:
    """Start a server and measure it under a load; raise OSError on an error or a timeout."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), 2 * (load.games + load.thinking_games) + 20) as server,
    ):
        return asyncio.run(_run(server, load))


def main() -> None:
    """Measure without and with games against THINKER."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--games", type=int, default=1000, choices=range(1, MAX_GAMES + 1), metavar="N"
    )
    parser.add_argument("--thinking", type=int, default=20, choices=range(MAX_GAMES), metavar="N")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--game", choices=GAMES, action="append", help="default: all in turn")
    options = parser.parse_args()
    for count in sorted({0, options.thinking}):
        names = tuple(options.game or GAMES)
        measurements = measure(Load(options.games, count, options.seconds, names))
        print(f"{options.games:,} games, {count} against {THINKER}: {measurements}", flush=True)


if __name__ == "__main__":
    main()
