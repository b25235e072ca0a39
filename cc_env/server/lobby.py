"""All games that are served: they are opened, found again in their files, and get players in turn.

Work that takes long waits for a slot, and addresses take turns to get one.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from cc_env.core.game import Game
from cc_env.errors import (
    BadOption,
    BadPosition,
    BadRecord,
    CcEnvError,
    UnknownOption,
    check_bool,
    format_list,
    is_integer,
    is_number,
)
from cc_env.games.factory import game_option_defaults, game_option_values, make_game
from cc_env.match.match import Limits
from cc_env.match.referee import Clock, Player, Response
from cc_env.play import importing, view
from cc_env.play.messages import read_object
from cc_env.play.session import HUMAN
from cc_env.registry.catalogue import GAMES
from cc_env.registry.options import parse_options
from cc_env.server import player_pool
from cc_env.server.jobs import Call, Choice, Choose, GameKey, Job, pooled_player
from cc_env.server.journal import Journal, Opening, with_tokens
from cc_env.server.limits import BusyError, ConcurrencyLimit, Rates, ServerLimits
from cc_env.server.room import Guest, Room
from cc_env.server.scheduler import FairSlots
from cc_env.server.storage import GameFolder
from cc_env.server.workers import Cancellation, LocalWorker, Worker, Workers

# The fields of a request that opens a game.
KEYS = "game", "options", "seats", "seconds", "start", "draw_lots", "seed", "assistance"
IO_THREADS = 2
EXPIRY_SECONDS = 600.0  # between two searches for games that have expired
MIN_CLOCK_SECONDS = 1  # of a player for a game
Result = TypeVar("Result")
_log = logging.getLogger("cc_env.play")


class Lobby:
    """The games of one folder."""

    def __init__(
        self,
        folder: GameFolder,
        limits: ServerLimits | None = None,
        cores: int | None = None,
        make_worker: Callable[[], Worker] | None = None,
    ) -> None:
        """Serve the games of a folder, which is closed with this; workers are made as needed."""
        self._folder, self.limits = folder, limits or ServerLimits()
        self.rates = Rates(self.limits)
        self.connections = ConcurrencyLimit("connections", self.limits.connections_per_address)
        cores = cores or os.cpu_count() or 1
        make_worker = make_worker or (lambda: LocalWorker(self.limits.idle_player_bytes))
        self._players, self._others = Workers(make_worker), Workers(make_worker)
        self.rooms: dict[str, Room] = {}
        self._thinking = ThreadPoolExecutor(cores, "think")
        self._io = ThreadPoolExecutor(IO_THREADS, "io")
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._seats = FairSlots(cores, self._tell_waiting)
        self._studies = FairSlots(max(1, cores // 2))  # the other cores are for games
        self._io_slots = FairSlots(IO_THREADS)
        self._advised: set[Room] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """End all work, also that which is under way."""
        for task in self._tasks:
            task.cancel()
        for pool in (self._thinking, self._io):
            pool.shutdown(wait=False, cancel_futures=True)
        self._players.close()
        self._others.close()
        self._folder.close()

    async def run_io(self, address: str, function: Callable[..., Result], *given: object) -> Result:
        """Return what a function finds that runs in a thread which searches never occupy."""
        await self._io_slots.acquire(address)
        return await self._in_slot(self._io, self._io_slots.release, function, *given)

    async def compute(
        self, address: str, function: Callable[..., Result], *given: object
    ) -> Result:
        """Return what a function finds that runs in a worker which searches never occupy."""
        result: Result = await self.run_io(address, self._others.run, Call(function, given))
        return result

    async def _in_slot(
        self, pool: Executor, release: Callable[[], None], work: Callable[..., Result], *given: Any
    ) -> Result:
        """Return what some work finds; release its slot when it ends, even if nobody waits."""
        future = asyncio.get_running_loop().run_in_executor(pool, work, *given)

        def end(done: asyncio.Future[Result]) -> None:
            release()
            if not done.cancelled():
                done.exception()  # is retrieved, also where nobody waits for it

        future.add_done_callback(end)
        return await asyncio.shield(future)

    def begin_background(self) -> None:
        """Remove expired games from now on, in the background."""
        self._background(self._expire())

    def _background(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire(self) -> None:
        while True:
            await self.remove_expired()
            await asyncio.sleep(EXPIRY_SECONDS)

    async def remove_expired(self) -> None:
        """Remove the games that have expired, but for those that are open."""
        try:
            for game in await self.run_io("", self._folder.expired):
                if game.name not in self.rooms and game.name not in self._reading:
                    self._folder.remove(game)
        except OSError as error:
            _log.warning("expired games cannot be removed: %s", error)

    # Games are opened and found

    async def begin(self, request: object, address: str = "") -> tuple[str, Opening]:
        """Store a game as a client asks for it; return its name. Raises CcEnvError, OSError.

        Nothing is kept in memory for it until somebody joins.
        """
        opening = await self.compute(address, check_opening, request, self.limits)
        if self._folder.is_full:
            await self.remove_expired()
        return self.open(opening), opening

    def open(self, opening: Opening) -> str:
        """Store a game whose opening was checked; return its name. Raises BusyError, OSError."""
        return self._folder.create(opening)

    async def find(self, name: str, address: str = "") -> Room:
        """Return a game, from its file if need be; raises UnknownOption, BusyError.

        A client has to join it before the event loop runs on: an idle game may be forgotten then,
        and read again, and each game must exist in memory at most once.
        """
        while name not in self.rooms:
            journal = self._folder.journal(name)
            if name not in self._reading:
                self._make_room()
                self._reading[name] = asyncio.create_task(self._read(name, journal, address))
            await asyncio.shield(self._reading[name])
        return self.rooms[name]

    async def _read(self, name: str, journal: Journal, address: str) -> None:
        try:
            standing = await self.run_io(address, journal.read, self.make_player)
        except (BadRecord, OSError) as error:
            _log.warning("a game cannot be read: %s", error)
            raise BusyError("this game cannot be read now") from error
        finally:
            del self._reading[name]
        self.rooms[name] = Room(name, journal, standing, self)

    def forget(self, room: Room) -> None:
        """Let a game be read from its file when it is needed again."""
        if self.rooms.get(room.name) is room:
            del self.rooms[room.name]

    def _make_room(self) -> None:
        """Forget games that nobody looks at where there are too many; raises BusyError."""
        most = self.limits.games_in_memory - len(self._reading)
        if len(self.rooms) < most:
            return
        for name in [name for name, room in self.rooms.items() if room.is_idle]:
            del self.rooms[name]
        if len(self.rooms) >= most:
            raise BusyError(f"{len(self.rooms):,} games are played here; try again later")

    async def catalogue(self) -> dict[str, Any]:
        """Return the games with their options, and who plays them."""
        clock = [MIN_CLOCK_SECONDS, self.limits.clock_seconds]
        return {**await self.compute("", _catalogue), "clock": clock}

    # Players think

    def make_player(self, spec: str, game: Game) -> Player:
        """Return a player, for which nothing is allocated before it decides.

        Raises BadOption unless an untrusted client may seat it.
        """
        return pooled_player(player_pool.check(spec, game), game, self._players.run)

    async def ask(self, room: Room) -> Response:
        """Return what the player to move in a game decides, once it is its turn to think."""
        await self._seats.acquire(room.address, room)
        room.wait(None)
        session = room.session
        if session.result or session.is_person_to_move:  # taken back meanwhile
            self._seats.release()
            return Response(None, ("error", "nobody is asked"))
        session.start_clock()
        question = session.decision_task(self.limits.decision_seconds)
        return await self._in_slot(self._thinking, self._seats.release, question)

    def _tell_waiting(self) -> None:
        waiting = (item for item in self._seats.waiting() if isinstance(item, Room))
        for place, room in enumerate(waiting):
            room.wait(place)

    async def study(self, job: Job, seconds: float, address: str = "") -> Any:
        """Return what a job finds, once it is its turn; a client that leaves ends it."""
        await self._studies.acquire(address)
        try:
            await self._seats.acquire(address)
        except asyncio.CancelledError:
            self._studies.release()
            raise

        def release() -> None:
            self._seats.release()
            self._studies.release()

        cancellation, run = Cancellation(), self._players.run
        try:
            return await self._in_slot(self._thinking, release, run, job, seconds, cancellation)
        except asyncio.CancelledError:
            cancellation.set()
            raise

    def hint(self, room: Room, guest: Guest) -> None:
        """Tell a guest what the adviser would play, later; raises CcEnvError while it thinks."""
        if room in self._advised:
            raise BusyError("a hint is on its way")
        self._advised.add(room)
        self._background(self._advise(room, guest))

    async def _advise(self, room: Room, guest: Guest) -> None:
        game, position, spec = room.session.game, room.session.position, self.limits.hint_player
        clock = Clock(turn=self.limits.decision_seconds)
        job = Choose(spec, GameKey.of(game), position, np.random.default_rng(0), clock)
        try:
            await self._seats.acquire(room.address)
            work = self._in_slot(self._thinking, self._seats.release, self._players.run, job)
            choice: Choice = await work
            action = int(choice.decision.action)
            guest.send("hint", by=spec, action=action, text=game.action_text(position, action))
        except CcEnvError as error:
            guest.send("refused", why=str(error))
        finally:
            self._advised.discard(room)


def check_opening(asked: object, limits: ServerLimits) -> Opening:
    """Return how a game is opened; raises CcEnvError where something of it is not allowed."""
    asked = read_object(asked, "what opens a game", KEYS)
    game = known_game(asked.get("game"), asked.get("options") or {})
    seats = _seats(asked.get("seats"), game)
    seed = asked.get("seed", secrets.randbelow(2**31))
    if not is_integer(seed, 0):
        raise BadOption(f"seed={str(seed)[:40]!r}; wanted: 0 or more")
    check_bool("assistance", assistance := asked.get("assistance", False))
    if asked.get("draw_lots"):
        order = np.random.default_rng(seed).permutation(2)
        seats = seats[order[0]], seats[order[1]]
    opening = Opening(
        game=game.name,
        options=dict(game.options),
        seats=seats,
        start=known_start(asked.get("start"), game),
        limits=asdict(_match_limits(asked.get("seconds"), limits)),
        seed=seed,
        pace=limits.pace_seconds,
        assistance=assistance,
    )
    view.session_state(opening.session(_idle_player))  # refuses what cannot be
    return with_tokens(opening)


def _match_limits(seconds: object, limits: ServerLimits) -> Limits:
    if seconds is None:
        return Limits()
    if not is_number(seconds, MIN_CLOCK_SECONDS, limits.clock_seconds):
        would_do = f"{MIN_CLOCK_SECONDS} to {limits.clock_seconds:g}, or nothing"
        raise BadOption(f"{str(seconds)[:40]!r} seconds for a game; wanted: {would_do}")
    return Limits(seconds_per_game=float(seconds))  # type: ignore[arg-type]


def _idle_player(spec: str, game: Game) -> Player:
    """Return a player of a game that is not played."""
    return pooled_player(spec, game, lambda job: None)


def _catalogue() -> dict[str, Any]:
    known = {}
    for name in GAMES:
        game = make_game(name)
        known[name] = {
            "options": game_option_defaults(name),
            "values": game_option_values(name),
            "names": list(game.players),
            "players": player_pool.listed_players(game),
            "mover": game.to_move(game.initial),
        }
    return {"games": known, "human": HUMAN}


def known_game(name: object, given: object) -> Game:
    """Return a game of the table as an untrusted client asks for it; raises BadOption."""
    if not isinstance(name, str) or name not in GAMES:
        raise UnknownOption(f"there is no game {str(name)[:40]!r}; there are: {format_list(GAMES)}")
    if not isinstance(given, Mapping) or len(given) > 20:
        raise BadOption("the options of a game have names and values")
    known = game_option_defaults(name)
    checked = {}
    if unknown := [option[:40] for option in given if option not in known]:
        raise UnknownOption(
            f"{name} has no option {format_list(unknown)}; it has: {format_list(known)}"
        )
    for option, value in given.items():
        if not isinstance(value, bool | int | float | str | None) or len(str(value)) > 40:
            raise BadOption(f"{name}: {option} is not a word, a number, true, false or null")
        text = isinstance(value, str)
        checked[option] = parse_options([f"{option}={value}"])[option] if text else value
    return make_game(name, **checked)


def _seats(given: object, game: Game) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise BadOption("a game has two seats")
    first, second = (name if name == HUMAN else player_pool.check(name, game) for name in given)
    return first, second


def known_start(text: object, game: Game) -> str | None:
    """Return where a client's game begins, None for the game's own; raises CcEnvError."""
    if text is None or text == "":
        return None
    if not isinstance(text, str) or len(text) > importing.MAX_POSITION_LENGTH:
        raise BadPosition("a position is a text of this game")
    start = game.from_text(text)
    return None if start == game.initial else game.to_text(start)
