"""Load test of the server: latency of confirmed moves, memory and CPU time per game.

    python -m benchmarks.load --games 1000 --thinking 20

The server runs in a process of its own, on the loopback interface; all clients share another one.
Each game has one connection with both seats, which plays a random move per second and waits for its
confirmation, sent after the move is on disk. The games of --thinking run at the same time and are
not measured; their person moves at once, so that minimax always searches.
"""

import argparse
import asyncio
import gc
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import IO, Any

import numpy as np
import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

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
LOCAL = "127.0.0.1"


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
    def kilobytes(self) -> float:
        """The resident memory in kB."""
        return float(psutil.Process(self.pid).memory_info().rss / 1024)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time so far in seconds."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

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
    """Return the local address of a client; each client has its own, as on the internet."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


@contextmanager
def serving(games: int, log: IO[bytes] | None = None, files: int | None = None) -> Iterator[Server]:
    """Run a server in a new process and folder; `files` is its limit of open files."""
    command = [sys.executable, "-m", "cc_env", "serve", "--port", "0", "--games", str(games)]
    if files:
        command = ["prlimit", f"--nofile={files}:{files}", *command]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*command, "--folder", folder], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if not address:
                raise ConnectionError(f"the server did not start: {line!r}")
            yield Server(int(address[1]), process.pid)
        finally:
            process.kill()


class Connection:
    """A WebSocket connection to a game, with all of its seats.

    `state` is the latest state of the game that was received, and `bytes` its size.
    """

    def __init__(self, server: Server, rng: random.Random, address: str = LOCAL) -> None:
        """Prepare a connection from a local address; `start_game` opens it."""
        self.timeout = RESPONSE_TIMEOUT
        self.server, self._rng, self.address = server, rng, address
        self.state: dict[str, Any] = {}
        self.bytes = 0
        self._socket: ClientConnection

    async def start_game(self, name: str, seats: tuple[str, str]) -> None:
        """Create a game `name` of the catalogue and join it with all seats."""
        self._name, self._seats = name, seats
        await self.join(await self.server.create_game(name, seats, self.address))

    async def join(self, game: dict[str, Any]) -> None:
        """Join a game with all of its seats."""
        self._socket = await connect(
            f"ws://{LOCAL}:{self.server.port}/play/{game['game']}",
            origin=Origin(f"http://{LOCAL}:{self.server.port}"),
            local_addr=(self.address, 0),
            compression=None,
            open_timeout=self.timeout,
            ping_interval=None,
            proxy=None,
            # Hostile clients do not read what they receive.
            max_queue=None,
        )
        await self.send(json.dumps({"tokens": [token for token in game["tokens"] if token]}))
        await self._receive_state()

    async def leave(self) -> None:
        """Close the connection."""
        await self._socket.close()

    async def send(self, text: str) -> None:
        """Send a message."""
        await self._socket.send(text)

    async def move(self) -> float:
        """Play a random move; return the seconds until its confirmation.

        If the game is over, the same game is started again before.
        """
        if self.state["result"]:
            await self.leave()
            await self.start_game(self._name, self._seats)
        action, version = self._rng.choice(self.state["choices"])[0], self.state["version"]
        request = json.dumps({"command": "play", "action": action, "version": version})
        start = time.perf_counter()
        await self.send(request)
        while self.state["version"] == version:
            end = await self._receive_state()
        return end - start

    async def wait_for_turn(self) -> None:
        """Wait until a person is to move, or the game is over."""
        while not (self.state["is_person"] or self.state["result"]):
            await self._receive_state()

    async def _receive_state(self) -> float:
        """Receive the next state; return the time of `time.perf_counter` when it arrived.

        Raises ConnectionError if the server sends an error, WebSocketException if it closes the
        connection, TimeoutError if no state arrives in time.
        """
        async with asyncio.timeout(self.timeout):
            while True:
                text = await self._socket.recv(decode=False)
                now = time.perf_counter()
                message = json.loads(text)
                if message["type"] == "error":
                    raise ConnectionError(message["reason"])
                if message["type"] == "state":
                    self.state, self.bytes = message, len(text)
                    return now


async def _measure_play(connection: Connection, until: float, measurements: Measurements) -> None:
    """Play a move every SECONDS_PER_MOVE, in one game after another.

    `until` is a time of `time.perf_counter`.
    """
    move_time = time.perf_counter() + connection._rng.random() * SECONDS_PER_MOVE
    while move_time < until:
        await asyncio.sleep(move_time - time.perf_counter())
        measurements.latencies.append(await connection.move())
        measurements.received_bytes += connection.bytes
        move_time += SECONDS_PER_MOVE


async def _play_thinker(connection: Connection, game: str, until: float) -> None:
    """Play against THINKER without pauses, in one game after another.

    `until` is a time of `time.perf_counter`.
    """
    await connection.start_game(game, (HUMAN, THINKER))
    while time.perf_counter() < until:
        await connection.move()
        await connection.wait_for_turn()
    await connection.leave()


async def _open_games(server: Server, games: Sequence[str], rng: random.Random) -> list[Connection]:
    """Start a session of each of these games, names in the catalogue; return the connections."""
    slots = asyncio.Semaphore(CONCURRENT_OPENINGS)
    connections = [
        Connection(server, random.Random(rng.random()), client_address(number))
        for number in range(len(games))
    ]

    async def start(connection: Connection, name: str) -> None:
        async with slots:
            await connection.start_game(name, (HUMAN, HUMAN))

    await asyncio.gather(*map(start, connections, games))
    return connections


async def _run(
    server: Server, measured_games: Sequence[str], thinker_games: Sequence[str], seconds: float
) -> Measurements:
    """Play the measured games, and those against THINKER, on a server."""
    measurements, rng = Measurements(), random.Random(0)
    # Compile everything before the measurement.
    for game in {*measured_games, *thinker_games}:
        for seats in ((HUMAN, HUMAN), (HUMAN, THINKER)):
            connection = Connection(server, rng)
            connection.timeout = COMPILATION_TIMEOUT
            await connection.start_game(game, seats)
            await connection.move()
            await connection.wait_for_turn()
            await connection.leave()
    before = server.kilobytes
    connections = await _open_games(server, measured_games, rng)
    measurements.kilobytes_per_game = (server.kilobytes - before) / len(measured_games)
    until = time.perf_counter() + seconds
    # Pauses of the clients would count as latency.
    gc.disable()
    measured_play = [_measure_play(connection, until, measurements) for connection in connections]
    thinker_play = [
        _play_thinker(Connection(server, rng, client_address(index)), game, until)
        for index, game in enumerate(thinker_games)
    ]
    cpu_seconds = server.cpu_seconds
    await asyncio.gather(*measured_play, *thinker_play)
    gc.enable()
    measurements.cpu_seconds = server.cpu_seconds - cpu_seconds
    await asyncio.gather(*(connection.leave() for connection in connections))
    return measurements


def measure(
    measured_games: Sequence[str], thinker_games: Sequence[str], seconds: float
) -> Measurements:
    """Start a server and measure games between people while others are played against THINKER.

    Both sequences have a name in the catalogue for each game. Raises OSError on an error or a
    timeout, WebSocketException if the server closes a connection.
    """
    with serving(2 * (len(measured_games) + len(thinker_games)) + 20) as server:
        return asyncio.run(_run(server, measured_games, thinker_games, seconds))


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
    names = list(islice(cycle(options.game or GAMES), MAX_GAMES))
    for count in sorted({0, options.thinking}):
        measurements = measure(names[: options.games], names[:count], options.seconds)
        print(f"{options.games:,} games, {count} against {THINKER}: {measurements}", flush=True)


if __name__ == "__main__":
    main()
