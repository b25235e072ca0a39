"""Compilation of what games, their opponents and puzzles need, before they are shown.

A background task prepares everything, one after the other. What a person requests earlier is
prepared beside it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import NamedTuple

from cc_env.errors import CcEnvError
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import has_ladder, rungs
from cc_env.registry.catalogue import GAMES
from cc_env.server.jobs import Job, decide_first_turn, resolve_rung, solve_first_puzzle

# Expected time of the first preparation.
DEFAULT_SECONDS = 20.0
# What is prepared for each game; the other parts are names of players.
GAME, PUZZLES = "game", "puzzles"
# Players that compile more than the weakest opponent does.
PLAYER_SPECS = {
    "mcts": "mcts:simulations=2",
    "policy": "policy",
    "alphazero": "alphazero:simulations=2",
    "ppo": "ppo",
}
NO_PROGRESS = {"elapsed": 0.0, "expected": 0.0}
_log = logging.getLogger("cc_env.server")


class Preparation(NamedTuple):
    """A preparation; its task returns the time that it took."""

    task: asyncio.Task[float]
    # Of the monotonic clock.
    started_at: float


class Preparations:
    """The preparations of all games, each made once."""

    def __init__(
        self,
        run: Callable[[Job[None]], Awaitable[None]],
        load_game: Callable[[str], Awaitable[None]],
    ) -> None:
        """`run` runs a job of a worker; `load_game` loads what it compiled into this process."""
        self._run, self._load_game = run, load_game
        # By game and part, in the order of their start.
        self._preparations: dict[tuple[str, str], Preparation] = {}

    async def prepare_all(self) -> None:
        """Prepare all games, then their puzzles, then the opponents of their ladders."""
        for part in (GAME, PUZZLES):
            for name in GAMES:
                await self.prepare(name, part)
        for name in GAMES:
            game = make_game(name)
            if has_ladder(game):
                await self.prepare_players(name, (rung.spec for rung in rungs(game)))

    async def prepare_players(self, name: str, specs: Iterable[str]) -> None:
        """Wait until what these players of a game need is prepared."""
        game = make_game(name)
        for spec in specs:
            player = resolve_rung(spec, game).partition(":")[0]
            if player in PLAYER_SPECS:
                await self.prepare(name, player)

    async def prepare(self, name: str, part: str) -> None:
        """Wait until a part of a game is prepared."""
        key = name, part
        if key not in self._preparations:
            task = asyncio.create_task(self._compile(name, part))
            self._preparations[key] = Preparation(task, time.monotonic())
        await asyncio.shield(self._preparations[key].task)

    async def _compile(self, name: str, part: str) -> float:
        """Compile what a part of a game needs; return the time that it took."""
        if part != GAME:
            await self.prepare(name, GAME)
        start = time.monotonic()
        try:
            await self._run(_job(name, part))
            if part == GAME:
                await self._load_game(name)
        except CcEnvError as error:
            # The game itself will report what is wrong.
            _log.warning("%s of %s could not be prepared: %s", part, name, error)
        return time.monotonic() - start

    def progress(self, name: str) -> dict[str, float]:
        """Return the elapsed and the expected time of a game's latest preparation.

        Both are 0 if nothing of the game is being prepared.
        """
        running = [
            (part, preparation)
            for (game, part), preparation in self._preparations.items()
            if game == name and not preparation.task.done()
        ]
        if not running:
            return NO_PROGRESS
        part, preparation = running[-1]
        elapsed = time.monotonic() - preparation.started_at
        return {"elapsed": elapsed, "expected": self._expected_seconds(part)}

    def _expected_seconds(self, part: str) -> float:
        """Return the longest time that this part of another game took."""
        done = [
            preparation.task.result()
            for (_, other), preparation in self._preparations.items()
            if other == part and preparation.task.done()
        ]
        return max(done, default=DEFAULT_SECONDS)


def _job(name: str, part: str) -> Job[None]:
    if part == PUZZLES:
        return partial(solve_first_puzzle, name)
    return partial(decide_first_turn, name, PLAYER_SPECS.get(part) or weakest_opponent(name))


def weakest_opponent(name: str) -> str:
    """Return the spec of the weakest player that the page offers for a game."""
    game = make_game(name)
    return rungs(game)[0].spec if has_ladder(game) else "minimax:depth=1"
