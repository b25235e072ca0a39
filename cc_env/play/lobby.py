"""All games that are served: they are opened, found again in their files, and think in turn."""

import asyncio
import os
import re
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cc_env import games, options, players
from cc_env.catalogue import GAMES
from cc_env.errors import (
    BadOption,
    BadPosition,
    CcEnvError,
    UnknownOption,
    is_number,
    is_whole,
    listed,
)
from cc_env.game import Game
from cc_env.match import Limits
from cc_env.play import bench, importing, view
from cc_env.play.journal import Journal, Opening, SavedGame, with_tokens
from cc_env.play.messages import fields
from cc_env.play.room import Guest, Room
from cc_env.play.sitting import HUMAN, Sitting
from cc_env.play.workers import NICE, Workers
from cc_env.referee import Answer, Clock, Decision

NAME = re.compile(r"[A-Za-z0-9_-]{16}")  # of a game: who knows it may look on
KEYS = "game", "options", "seats", "seconds", "start", "draw_lots", "seed"  # of what opens one
Result = TypeVar("Result")


@dataclass(frozen=True)
class Bounds:
    """What a server allows."""

    games: int = 2000  # at once; those that nobody looks at stay on disk alone
    kept: int = 100_000  # on disk
    guests: int = 200  # connections to one game
    seconds: float = 10.0  # that a player thinks about a decision
    clock: float = 24 * 3600.0  # of a player for a game
    pause: float = 0.8  # after each decision where players are watched, as it begins
    adviser: str = "minimax:hard"  # who gives hints
    messages: float = 20.0  # a second from one connection, and twice as many in a burst
    letters: int = 4096  # of one message
    studies: int = 8  # requests of analysis at once from one address
    decisions: int = 4000  # of a game that is analysed
    file: int = 100_000  # letters of what is imported, and of a request of analysis


class BusyError(CcEnvError):
    """There are as many games as there may be."""


class Lobby:
    """The games of one folder."""

    def __init__(
        self,
        folder: Path,
        bounds: Bounds | None = None,
        cores: int | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Keep games in a folder, which is made; raises OSError.

        Players decide among the workers, which are closed with this; without any in threads.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.bounds = folder, bounds or Bounds()
        self._workers = workers
        self.bench = bench.Bench(workers)
        self.rooms: dict[str, Room] = {}
        self._kept = sum(1 for _ in folder.glob("*.jsonl"))
        cores = cores or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(cores, "think", _give_way)
        self._asking = ThreadPoolExecutor(cores, "ask") if workers else self._pool
        self._desk = ThreadPoolExecutor(2, thread_name_prefix="desk")  # waits for no thinking
        self._reading: dict[str, asyncio.Task[Room]] = {}
        self._seats = asyncio.Semaphore(cores)
        self._studies = asyncio.Semaphore(max(1, cores // 2))  # the others are for games
        self._waiting: list[Room] = []
        self._advised: set[Room] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Wait for no player any more."""
        for pool in (self._pool, self._asking, self._desk):
            pool.shutdown(wait=False, cancel_futures=True)
        if self._workers:
            self._workers.close()

    async def beside(self, work: Callable[..., Result], *given: object) -> Result:
        """Return what some work finds that waits for no thinking, done in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._desk, work, *given)

    async def catalogue(self) -> dict[str, Any]:
        """Return the games with their options, and who plays them."""
        return await self.beside(_catalogue)

    async def begin(self, asked: object) -> Room:
        """Open a game as somebody asks for it; raises CcEnvError."""
        return self.open(await self.beside(self._checked, asked))

    def open(self, standing: SavedGame) -> Room:
        """Open a game that was checked; raises BusyError, OSError."""
        self._make_room()
        if self._kept >= self.bounds.kept:
            raise BusyError(f"{self._kept:,} games are kept here, and no more can be")
        name = secrets.token_urlsafe(12)
        journal = Journal(self._path(name))
        journal.begin(standing.opening)
        self._kept += 1
        self.rooms[name] = room = Room(name, journal, standing, self)
        return room

    async def find(self, name: str) -> Room:
        """Return a game, from its file if need be; raises UnknownOption, BadRecord, BusyError."""
        if not NAME.fullmatch(name) or not (name in self.rooms or self._path(name).exists()):
            raise UnknownOption("there is no such game here")
        if name in self.rooms:
            return self.rooms[name]
        if name not in self._reading:
            self._make_room()
            self._reading[name] = asyncio.create_task(self._read(name))
        room = await asyncio.shield(self._reading[name])
        return self.rooms.setdefault(name, room)

    async def _read(self, name: str) -> Room:
        """Read a game, in another thread: its players may have to be made again."""
        journal = Journal(self._path(name))
        try:
            standing = await self.beside(journal.read, self.bench)
        finally:
            del self._reading[name]
        self.rooms[name] = room = Room(name, journal, standing, self)
        return room

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _make_room(self) -> None:
        """Forget games that nobody looks at where there are too many; raises BusyError."""
        if len(self.rooms) < self.bounds.games:
            return
        for name in [name for name, room in self.rooms.items() if room.is_idle]:
            del self.rooms[name]
        if len(self.rooms) >= self.bounds.games:
            raise BusyError(f"{len(self.rooms):,} games are played here; try again later")

    # What somebody asks for

    def _checked(self, asked: object) -> SavedGame:
        """Return a game that begins; raises CcEnvError where something of it is not allowed."""
        asked = fields(asked, "what opens a game", KEYS)
        game = known_game(asked.get("game"), asked.get("options") or {})
        seats = _seats(asked.get("seats"), game)
        seed = asked.get("seed", secrets.randbelow(2**31))
        if not is_whole(seed, 0):
            raise BadOption(f"seed={str(seed)[:40]!r}; wanted: 0 or more")
        if asked.get("draw_lots"):
            order = np.random.default_rng(seed).permutation(2)
            seats = seats[order[0]], seats[order[1]]
        opening = Opening(
            game=game.name,
            options=dict(game.options),
            seats=seats,
            start=known_start(asked.get("start"), game),
            limits=asdict(self._limits(asked.get("seconds"))),
            seed=seed,
            pace=self.bounds.pause,
        )
        standing = SavedGame.begun(with_tokens(opening), self.bench)
        view.state(standing.sitting)  # compiles, and refuses what cannot be
        return standing

    def _limits(self, seconds: object) -> Limits:
        if seconds is None:
            return Limits()
        if not is_number(seconds, 1, self.bounds.clock):
            would_do = f"1 to {self.bounds.clock:g}, or nothing"
            raise BadOption(f"{str(seconds)[:40]!r} seconds for a game; wanted: {would_do}")
        return Limits(seconds_per_game=float(seconds))  # type: ignore[arg-type]

    # Who thinks

    async def ask(self, room: Room) -> Answer:
        """Return what the player to move in a game decides, once it is its turn to think."""
        self._waiting.append(room)
        self._tell_waiting()
        try:
            async with self._seats:
                self._waiting.remove(room)
                room.wait(None)
                self._tell_waiting()
                sitting = room.sitting
                if sitting.result or sitting.is_person_to_move:  # taken back meanwhile
                    return Answer(None, ("error", "nobody is asked"))
                sitting.start_clock()
                question = sitting.question(self.bounds.seconds)
                is_lent = isinstance(sitting.seats[sitting.mover].player, bench.Lent)
                pool = self._asking if is_lent else self._pool
                return await asyncio.get_running_loop().run_in_executor(pool, question)
        finally:
            if room in self._waiting:
                self._waiting.remove(room)

    def _tell_waiting(self) -> None:
        if self._seats.locked():
            for place, room in enumerate(self._waiting):
                room.wait(place)

    async def study(self, job: Callable[[], Result]) -> Result:
        """Return what a job finds, once it is its turn; if nobody waits then, it is not begun."""
        await self._studies.acquire()
        try:
            await self._seats.acquire()
        except asyncio.CancelledError:
            self._studies.release()
            raise
        future = asyncio.get_running_loop().run_in_executor(self._pool, job)
        future.add_done_callback(self._studied)
        return await asyncio.shield(future)  # it has its core until it ends

    def _studied(self, job: asyncio.Future[Result]) -> None:
        self._seats.release()
        self._studies.release()
        if not job.cancelled():
            job.exception()  # is known, also where nobody waits for it

    def hint(self, room: Room, guest: Guest) -> None:
        """Tell a guest what the adviser would play, later; raises CcEnvError while it thinks."""
        if room in self._advised:
            raise BusyError("a hint is on its way")
        self._advised.add(room)
        task = asyncio.create_task(self._advise(room, guest))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _advise(self, room: Room, guest: Guest) -> None:
        sitting, position = room.sitting, room.sitting.position
        try:
            async with self._seats:
                loop = asyncio.get_running_loop()
                decision = await loop.run_in_executor(self._asking, self._advice, sitting, position)
            text = sitting.game.action_text(position, decision.action)
            guest.send("hint", by=self.bounds.adviser, action=int(decision.action), text=text)
        except CcEnvError as error:
            guest.send("refused", why=str(error))
        finally:
            self._advised.discard(room)

    def _advice(self, sitting: Sitting, position: Any) -> Decision:
        clock = Clock(turn=self.bounds.seconds)
        rng = np.random.default_rng(0)
        return self.bench.choose(self.bounds.adviser, sitting.game, position, rng, clock)


def _give_way() -> None:
    """Let this thread compute when others do not, where the system knows priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def _catalogue() -> dict[str, Any]:
    known = {}
    for name in GAMES:
        game = games.make(name)
        known[name] = {
            "options": games.option_defaults(name),
            "values": games.option_values(name),
            "names": list(game.players),
            "players": bench.listed_players(game),
        }
    return {"games": known, "human": HUMAN}


def known_game(name: object, given: object) -> Game:
    """Return a game of the table as a stranger asks for it; raises BadOption."""
    if not isinstance(name, str) or name not in GAMES:
        raise UnknownOption(f"there is no game {str(name)[:40]!r}; there are: {listed(GAMES)}")
    if not isinstance(given, Mapping) or len(given) > 20:
        raise BadOption("the options of a game have names and values")
    known = games.option_defaults(name)
    checked = {}
    if unknown := [option[:40] for option in given if option not in known]:
        raise UnknownOption(f"{name} has no option {listed(unknown)}; it has: {listed(known)}")
    for option, value in given.items():
        if not isinstance(value, bool | int | float | str) or len(str(value)) > 40:
            raise BadOption(f"{name}: {option} is not a word or a number")
        text = isinstance(value, str)
        checked[option] = options.read([f"{option}={value}"])[option] if text else value
    return games.make(name, **checked)


def _seats(given: object, game: Game) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise BadOption("a game has two seats")
    for name in given:
        if name != HUMAN:
            bench.check(name, game)
            players.check(name)
    return given[0], given[1]


def known_start(text: object, game: Game) -> str | None:
    """Return where a stranger's game begins, None for the game's own; raises CcEnvError."""
    if text is None or text == "":
        return None
    if not isinstance(text, str) or len(text) > importing.LONGEST:
        raise BadPosition("a position is a text of this game")
    start = game.from_text(text)
    return None if start == game.initial else game.to_text(start)
