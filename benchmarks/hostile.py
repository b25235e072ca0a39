"""The server under hostile clients: latency of other games, memory, shutdown, journals.

    python -m benchmarks.hostile            # all figures, a few minutes
    python -m benchmarks.hostile messages   # one of them

Each benchmark starts a server on the loopback interface. Hostile clients have addresses of their
own on this machine. Runs on Linux.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import random
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import psutil
from websockets.exceptions import WebSocketException

from benchmarks.load import LOCAL, Connection, Server, client_address, format_latencies, serving
from cc_env.games.factory import make_game
from cc_env.play.session import HUMAN
from cc_env.players.specs import make_player
from cc_env.server.journal import GameSetup, Journal, decision_entry

PEOPLE = HUMAN, HUMAN
ATTACKER = "127.9.9.{}"
# A morris position with 1,052 turns.
MANY_MOVES = "ww.bwbw.w.bbw.wbb.bbbw.w w 00 fw"
SECONDS = 10.0


async def time_moves(server: Server, seconds: float) -> list[float]:
    """Play mini checkers for a time; return the latency of each move in seconds."""
    latencies = []
    connection = Connection(server, random.Random(0), client_address(0))
    await connection.start_game("mini_checkers", PEOPLE)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        latencies.append(await connection.move())
        await asyncio.sleep(0.05)
    await connection.leave()
    return latencies


async def flood(server: Server, client: int, message: str) -> None:
    """Send a message repeatedly; join the game again when the server closes the connection."""
    connection = Connection(server, random.Random(client), ATTACKER.format(client))
    game = await server.create_game("morris", PEOPLE, connection.address, start=MANY_MOVES)
    while True:
        with suppress(ConnectionError, WebSocketException):
            await connection.join(game)
            text = message.replace("VERSION", str(connection.state["version"]))
            for _ in range(60):
                await connection.send(text)
                await asyncio.sleep(0.01)
            await connection.leave()
        await asyncio.sleep(0.1)


async def flood_requests(server: Server, client: int, path: str, content: object) -> None:
    """Send a request repeatedly, eight at a time."""

    async def post() -> None:
        while True:
            with suppress(ConnectionError, ValueError):
                await server.post(path, content, ATTACKER.format(client))
            await asyncio.sleep(0)

    await asyncio.gather(*(post() for _ in range(8)))


async def flood_bytes(server: Server, client: int, data: bytes) -> None:
    """Send `data` over and over as the body of one request, as fast as the server reads it."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(
                LOCAL, server.port, local_addr=(ATTACKER.format(client), 0)
            )
            head = f"POST /games HTTP/1.1\r\nHost: {LOCAL}:{server.port}\r\n"
            head += f"Origin: http://{LOCAL}:{server.port}\r\n"
            writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            while not writer.is_closing():
                writer.write(data)
                await writer.drain()
        await asyncio.sleep(0.01)


def floods(server: Server) -> dict[str, Callable[[int], Coroutine[object, object, None]]]:
    """Return the attacks by name, each a coroutine function of the client's number."""
    typed_move = json.dumps({"command": "play_text", "text": "zzN", "version": "VERSION"}).replace(
        '"VERSION"', "VERSION"
    )
    long_game = {"game": "checkers", "actions": []}
    text = "1. 11-15 23-19 2. 8-11 22-17 *\n\n" * 2500
    return {
        "nothing": lambda client: asyncio.sleep(SECONDS),
        "play_text": lambda client: flood(server, client, typed_move),
        "view_turn": lambda client: flood(server, client, '{"command":"view_turn","turns":0}'),
        "not JSON": lambda client: flood(server, client, "[" * 4000),
        "position": lambda client: flood_requests(server, client, "position", long_game),
        "open": lambda client: flood_requests(server, client, "open", {"text": text}),
        "new games": lambda client: flood_requests(
            server, client, "games", {"game": "cannon", "seats": ["human", "human"]}
        ),
        "small chunks": lambda client: flood_bytes(server, client, b"1\r\nx\r\n" * 10_000),
    }


def attack(server: Server, name: str) -> None:
    """Run an attack of `floods` with five clients, until this process is killed."""
    # Real attackers have their own machines.
    os.nice(19)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        # Ignore rejected requests.
        loop.set_exception_handler(lambda *_: None)
        logging.getLogger("asyncio").disabled = True
        await asyncio.gather(*map(floods(server)[name], range(1, 6)))

    asyncio.run(run())


async def measure_attacks(server: Server) -> None:
    """Measure the moves of another game during each attack."""
    await time_moves(server, 1.0)
    for name in floods(server):
        attackers = multiprocessing.get_context("spawn").Process(target=attack, args=(server, name))
        attackers.start()
        # Wait until the attack has started.
        await asyncio.sleep(3.0)
        latencies = await time_moves(server, SECONDS)
        attackers.kill()
        attackers.join()
        print(f"  {name}: {len(latencies)} moves, {format_latencies(latencies)}", flush=True)


def memory_of(server: Server) -> tuple[float, float]:
    """Return the memory of a server's processes in MiB.

    The first value counts shared pages once, the second one in every process.
    """
    main = psutil.Process(server.pid)
    memory_infos = [
        process.memory_full_info() for process in [main, *main.children(recursive=True)]
    ]
    proportional = sum(info.pss for info in memory_infos)
    resident = sum(info.rss for info in memory_infos)
    return proportional / 2**20, resident / 2**20


async def measure_memory(server: Server) -> None:
    """Measure the memory after 2,000 new games and 100 analyses with different options."""
    maximum = 0.0

    def report(event: str) -> None:
        total, per_process = memory_of(server)
        shared = f"{per_process:.0f} MiB with shared pages counted in every process"
        print(f"  {event}: {total:.0f} MiB ({shared})", flush=True)

    report("at the start")
    options = {"options": {"size": 8}}
    seats = "alphazero:simulations=1000", "alphazero:simulations=1000"
    for number in range(2000):
        await server.create_game("capture_conquer", seats, client_address(number), **options)
    report("after 2,000 new games")
    for number in range(100):
        spec = f"minimax:hard,seconds={2 + number / 1000:.3f}"
        request = {"game": "mini_checkers", "actions": [], "player": spec, "seconds": 0.3}
        analysis = asyncio.create_task(server.post("analyze", request, client_address(number)))
        while not analysis.done():
            maximum = max(maximum, memory_of(server)[0])
            await asyncio.wait({analysis}, timeout=0.1)
        await analysis
    report("after 100 analyses")
    print(f"  maximum: {maximum:.0f} MB", flush=True)


async def measure_idle_connections(server: Server) -> None:
    """Play while 300 connections are idle: more than the number of files the server may open."""
    with ExitStack() as sockets:
        for number in range(300):
            with suppress(OSError):
                source = ATTACKER.format(number % 250 + 1), 0
                address = LOCAL, server.port
                sockets.enter_context(socket.create_connection(address, source_address=source))
        latencies = await time_moves(server, SECONDS)
        games = [
            await server.create_game("mini_checkers", PEOPLE, client_address(number + 1))
            for number in range(10)
        ]
    print(f"  {len(latencies)} moves, {format_latencies(latencies)}; {len(games)} games created")


async def measure_shutdown(server: Server, work: str) -> None:
    """Measure the seconds from SIGTERM to the end of a server that is busy with `work`."""
    if work == "half a request":
        connection = socket.create_connection((LOCAL, server.port))
        connection.sendall(
            b"POST /games HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
        )
    elif work == "an analysis":
        request = {"game": "morris", "actions": [], "player": "minimax:seconds=60", "seconds": 60}
        analysis = asyncio.gather(server.post("analyze", request), return_exceptions=True)
        await asyncio.wait({analysis}, timeout=4.0)
    process = psutil.Process(server.pid)
    await asyncio.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        await asyncio.sleep(0.01)
    print(f"  with {work}: {time.perf_counter() - start:.2f} s", flush=True)


def measure_journal() -> None:
    """Measure the time to load a game of 192 turns and 3,000 take-backs."""
    # This seed gives a long game.
    rng, game = np.random.default_rng(1), make_game("morris")
    with tempfile.TemporaryDirectory() as folder:
        journal_file = Journal(Path(folder) / "game.jsonl")
        journal_file.create(
            GameSetup(
                game.name,
                dict(game.options),
                PEOPLE,
                limits={"max_turns": None, "repetitions": None},
            )
        )
        session = journal_file.read(make_player).session
        while len(session.match.turns) < 192:
            action = int(rng.choice(session.match.legal_actions))
            session.play(action)
            journal_file.append(decision_entry(session.decisions[-1]))
        turns = len(session.match.turns)
        last = session.decisions[-1]
        session.take_back()
        for _ in range(3000):
            journal_file.append({"do": "take_back"}, decision_entry(last))
        start = time.perf_counter()
        journal_file.read(make_player)
        print(f"  {turns} turns, 3,000 take-backs: {time.perf_counter() - start:.2f} s", flush=True)


WORK = "nothing", "half a request", "an analysis"
# The server's limit of open files in `measure_idle_connections`.
MAX_FILES = 256


def measure(
    benchmark: Callable[[Server], Coroutine[object, object, None]], files: int | None = None
) -> None:
    """Start a server, with a limit of open files, and run a benchmark on it."""
    with tempfile.TemporaryFile() as log:
        with serving(4000, log, files) as server:
            asyncio.run(benchmark(server))
        log.seek(0)
        lines = log.read().decode().splitlines()
        print(f"  log of the server: {len(lines)} lines", *lines[:3], sep="\n    ", flush=True)


def measure_shutdowns() -> None:
    """Measure the shutdown during each kind of work."""
    for work in WORK:
        measure(lambda server, work=work: measure_shutdown(server, work))  # type: ignore[misc]


BENCHMARKS: dict[str, Callable[[], None]] = {
    "messages": lambda: measure(measure_attacks),
    "memory": lambda: measure(measure_memory),
    "idle": lambda: measure(measure_idle_connections, MAX_FILES),
    "terminate": measure_shutdowns,
    "journal": measure_journal,
}


def main() -> None:
    """Run some benchmarks, by default all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "benchmarks", nargs="*", metavar="BENCHMARK", help=f"of: {', '.join(BENCHMARKS)}"
    )
    for name in parser.parse_args().benchmarks or BENCHMARKS:
        print(f"{name}:", flush=True)
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
