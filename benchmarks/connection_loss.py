"""Moves typed on the page during a connection loss: played once, or shown as not played.

    python -m benchmarks.connection_loss --tries 20

Each try opens a game in Chromium through a proxy. During an outage, which starts at a random moment
around the typed move, the proxy drops all data in both directions and closes no connection, like a
router without a route.
"""

import argparse
import asyncio
import json
import random
import shutil
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.load import LOCAL, Server, serving
from benchmarks.proxy import Proxy
from cc_env.play.session import HUMAN

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

MOVE = "41-32"
# Maximum times from the start of an outage to the typed move, and from the move to the start.
MAX_SECONDS_BEFORE, MAX_SECONDS_AFTER = 12.0, 0.02
MAX_OUTAGE_SECONDS = 25.0
# Maximum time until the page shows whether a move was played.
MAX_RESULT_SECONDS = 30.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Outage:
    """A period without data: its start after the move is typed, and its length, in seconds."""

    start: float
    length: float


@dataclass(frozen=True)
class Outcome:
    """What the page showed, after how many seconds, and how often the move was played."""

    shown: str
    seconds: float
    times_played: int


async def try_outage(browser: "Browser", server: Server, outage: Outage) -> Outcome:
    """Type a move before, during or after an outage; return the outcome.

    Raises RuntimeError if the page does not show the stored game after the outage, playwright's
    errors if it fails otherwise.
    """
    game = await server.create_game("mini_checkers", (HUMAN, HUMAN))
    async with Proxy(server.port) as proxy:
        page = await browser.new_page()
        tokens = "/".join(game["tokens"])
        await page.goto(f"http://{LOCAL}:{proxy.port}/#/{game['game']}/{tokens}")
        await page.wait_for_selector("#game[data-decisions='0']")
        await page.click("#buttons >> text=More")
        now = time.perf_counter()
        typed_at = now + max(0.0, -outage.start)
        dropping = asyncio.create_task(_drop_data(proxy, typed_at + outage.start, outage.length))
        await asyncio.sleep(typed_at - now)
        await page.fill("[name=text]", MOVE)
        start = time.perf_counter()
        await page.press("[name=text]", "Enter")
        result = await _wait_for_result(page, start)
        seconds = time.perf_counter() - start
        await dropping
        # After the reconnection the page shows what the server has.
        await page.wait_for_selector("#connection-alert", state="hidden")
        response = await page.request.get(f"http://{LOCAL}:{proxy.port}/games/{game['game']}.jsonl")
        times_played = len(json.loads(await response.text())["turns"])
        decisions = await page.get_attribute("#game", "data-decisions")
        if decisions != str(times_played):
            raise RuntimeError(f"the page shows {decisions} decisions; expected: {times_played}")
        await page.close()
        return Outcome(result, seconds, times_played)


async def _drop_data(proxy: Proxy, start: float, seconds: float) -> None:
    """Drop all data for some seconds, from a time of `time.perf_counter` on."""
    await asyncio.sleep(start - time.perf_counter())
    proxy.drop_data()
    await asyncio.sleep(seconds)
    proxy.restore()


async def _wait_for_result(page: "Page", start: float) -> str:
    """Return "played" or "not played", as the page shows it, or "nothing" if it shows neither."""
    while time.perf_counter() < start + MAX_RESULT_SECONDS:
        if await page.get_attribute("#game", "data-decisions") == "1":
            return "played"
        if "not played" in (await page.text_content("#message") or ""):
            return "not played"
        await asyncio.sleep(POLL_SECONDS)
    return "nothing"


async def measure(server: Server, tries: int, seed: int) -> list[Outcome]:
    """Try outages at random moments, of random lengths; print and return their outcomes."""
    from playwright.async_api import async_playwright

    rng = random.Random(seed)
    outages = [
        Outage(
            rng.uniform(-MAX_SECONDS_BEFORE, MAX_SECONDS_AFTER), rng.uniform(0, MAX_OUTAGE_SECONDS)
        )
        for _ in range(tries)
    ]
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(async_playwright())
        path = shutil.which("chromium")
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        outcomes = await asyncio.gather(
            *(try_outage(browser, server, outage) for outage in outages)
        )
        for outage, outcome in zip(outages, outcomes, strict=True):
            print(f"  {outage.start:+.2f} s, for {outage.length:.1f} s: {outcome}", flush=True)
        return outcomes


def main() -> None:
    """Try outages and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with serving(100) as server:
        outcomes = asyncio.run(measure(server, options.tries, options.seed))
    counts = Counter((outcome.shown, outcome.times_played) for outcome in outcomes)
    for (shown, times_played), count in sorted(counts.items()):
        print(f"{count} shown as {shown} and played {times_played} times")
    print(f"longest: {max(outcome.seconds for outcome in outcomes):.1f} s")


if __name__ == "__main__":
    main()
