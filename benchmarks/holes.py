"""Moves typed on the page while its connection is dead: played once, or shown as not played.

    python -m benchmarks.holes --tries 20

Each try opens a game in Chromium through a proxy. At a random moment around the typed move, the
proxy swallows the data of all connections in both directions and closes none, as a network does
that has lost its route. New connections are swallowed, too, until the hole ends.
"""

import argparse
import asyncio
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchmarks.load import LOCAL, Server, serving
from cc_env.play.session import HUMAN

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

MOVE = "41-32"
# A hole begins at most this time before the move is typed, or after it.
MAX_SECONDS_BEFORE, MAX_SECONDS_AFTER = 12.0, 0.02
MAX_HOLE_SECONDS = 25.0
# Time after which a move without a word counts as lost.
PATIENCE_SECONDS = 30.0
POLL_SECONDS = 0.05


@dataclass
class _Path:
    """One connection through a proxy, and the directions in which its data vanish."""

    writers: list[asyncio.StreamWriter]
    swallowed: set[str] = field(default_factory=set)


class Proxy:
    """A TCP proxy on the loopback interface that can swallow data without closing connections.

    Use it as an asynchronous context manager. `swallow` and `heal` may be called in any thread.
    """

    def __init__(self, target_port: int) -> None:
        """Prepare a proxy to a port of this machine; `port` is its own once it has started."""
        self._target_port, self.port = target_port, 0
        self._paths: list[_Path] = []
        self._tasks: list[asyncio.Task[None]] = []
        # The directions in which the data of new connections vanish.
        self._swallowed: set[str] = set()

    async def __aenter__(self) -> Self:
        """Start to accept connections."""
        self._server = await asyncio.start_server(self._connect, LOCAL, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        self._server.close()
        for path in self._paths:
            for writer in path.writers:
                writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def swallow(self, *directions: str) -> None:
        """Swallow the data of all connections in the directions "up" and "down", by default both.

        The data of new connections are swallowed, too, until `heal`.
        """
        self._swallowed = set(directions or ("up", "down"))
        for path in self._paths:
            path.swallowed |= self._swallowed

    def heal(self) -> None:
        """Let new connections through; the earlier ones stay dead."""
        self._swallowed = set()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(LOCAL, self._target_port)
        path = _Path([writer, upstream_writer], set(self._swallowed))
        self._paths.append(path)
        self._tasks += [
            asyncio.create_task(self._copy(reader, upstream_writer, path, "up")),
            asyncio.create_task(self._copy(upstream_reader, writer, path, "down")),
        ]

    async def _copy(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: _Path,
        direction: str,
    ) -> None:
        """Copy data in one direction; swallow them, and the end, while the path does."""
        while data := await reader.read(2**16):
            if direction not in path.swallowed:
                writer.write(data)
        if direction not in path.swallowed:
            writer.close()


@dataclass(frozen=True)
class Hole:
    """A hole in the network: its start after the move is typed, and its length, in seconds."""

    start: float
    length: float


@dataclass(frozen=True)
class Outcome:
    """What the page showed, after how many seconds, and how often the move was played."""

    shown: str
    seconds: float
    times_played: int


async def try_hole(browser: "Browser", server: Server, hole: Hole) -> Outcome:
    """Type a move beside a hole; return the outcome.

    Raises playwright's errors if the page does not work otherwise.
    """
    game = await server.create_game("mini_checkers", (HUMAN, HUMAN))
    async with Proxy(server.port) as proxy:
        page = await browser.new_page()
        tokens = "/".join(game["tokens"])
        await page.goto(f"http://{LOCAL}:{proxy.port}/#/{game['game']}/{tokens}")
        await page.wait_for_selector("#game[data-decisions='0']")
        now = time.perf_counter()
        typed_at = now + max(0.0, -hole.start)
        swallowed_at = typed_at + hole.start
        swallowing = asyncio.create_task(_swallow(proxy, swallowed_at, hole.length))
        await asyncio.sleep(typed_at - now)
        await page.fill("[name=text]", MOVE)
        start = time.perf_counter()
        await page.press("[name=text]", "Enter")
        shown = await _wait_for_word(page, start)
        seconds = time.perf_counter() - start
        await swallowing
        # After the reconnection the page shows what the server has.
        await page.wait_for_selector("#connection-alert", state="hidden")
        response = await page.request.get(f"http://{LOCAL}:{proxy.port}/games/{game['game']}.jsonl")
        times_played = len(json.loads(await response.text())["turns"])
        decisions = await page.get_attribute("#game", "data-decisions")
        assert decisions == str(times_played), (decisions, times_played)
        await page.close()
        return Outcome(shown, seconds, times_played)


async def _swallow(proxy: Proxy, start: float, seconds: float) -> None:
    """Swallow everything from a time of `time.perf_counter` on."""
    await asyncio.sleep(start - time.perf_counter())
    proxy.swallow()
    await asyncio.sleep(seconds)
    proxy.heal()


async def _wait_for_word(page: "Page", start: float) -> str:
    """Return "played" or "not played", as the page shows it, or "nothing" after a long time."""
    while time.perf_counter() < start + PATIENCE_SECONDS:
        if await page.get_attribute("#game", "data-decisions") == "1":
            return "played"
        if "not played" in (await page.text_content("#status") or ""):
            return "not played"
        await asyncio.sleep(POLL_SECONDS)
    return "nothing"


async def measure(server: Server, tries: int, seed: int) -> list[Outcome]:
    """Return the outcomes of holes at random moments, of random lengths."""
    from playwright.async_api import async_playwright

    rng = random.Random(seed)
    holes = [
        Hole(rng.uniform(-MAX_SECONDS_BEFORE, MAX_SECONDS_AFTER), rng.uniform(0, MAX_HOLE_SECONDS))
        for _ in range(tries)
    ]
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(async_playwright())
        path = shutil.which("chromium")
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        outcomes = await asyncio.gather(*(try_hole(browser, server, hole) for hole in holes))
        for hole, outcome in zip(holes, outcomes, strict=True):
            print(f"  {hole.start:+.2f} s, for {hole.length:.1f} s: {outcome}", flush=True)
        return outcomes


def main() -> None:
    """Try holes and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 100) as server:
        outcomes = asyncio.run(measure(server, options.tries, options.seed))
    counts = Counter((outcome.shown, outcome.times_played) for outcome in outcomes)
    for (shown, times_played), count in sorted(counts.items()):
        print(f"{count} shown as {shown} and played {times_played} times")
    print(f"longest: {max(outcome.seconds for outcome in outcomes):.1f} s")


if __name__ == "__main__":
    main()
