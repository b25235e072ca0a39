"""All served games: creation, loading from disk, expiry, and the work of their players.

Long work waits for a slot; addresses take turns to get one.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Coroutine, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import (
    BadPosition,
    BadRecord,
    CcEnvError,
    check_bool,
    check_integer,
    check_name,
    check_names,
    check_number,
    invalid_value,
)
from cc_env.games.factory import game_option_defaults, game_option_values, make_game
from cc_env.ladder.rungs import CHARACTERS, has_ladder, rungs
from cc_env.match.match import Limits
from cc_env.match.referee import Clock, Player, Response
from cc_env.play import importing, messages, view
from cc_env.play.lessons import load_guide
from cc_env.play.review import ReviewedTurn
from cc_env.play.session import HUMAN
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from cc_env.registry.options import parse_options
from cc_env.server.jobs import (
    Job,
    call_function,
    make_pooled_player,
    play_random_game,
)
from cc_env.server.journal import GameSetup, Journal, add_tokens
from cc_env.server.limits import BusyError, ConcurrencyLimit, DamagedGameError, Rates, ServerLimits
from cc_env.server.player_pool import allowed_players, normalize_spec
from cc_env.server.preparation import GAME, NO_PROGRESS, Preparations
from cc_env.server.room import Client, Room
from cc_env.server.scheduler import FairSlots
from cc_env.server.storage import GameFolder
from cc_env.server.workers import Cancellation, LocalWorker, Worker, WorkerPool
from cc_env.version import __version__

# The fields of a request that creates a game.
REQUEST_FIELDS = (
    *("game", "options", "seats", "seconds", "increment", "start"),
    *("random_seats", "seed", "assistance"),
)
BACKGROUND_SLOTS = 2
EXPIRY_INTERVAL_SECONDS = 600.0
MIN_CLOCK_SECONDS = 1
MAX_INCREMENT_SECONDS = 60
# Of the background task that prepares all games, and of people who do not wait for it.
PREPARATION_SLOTS = 2
T = TypeVar("T")
_log = logging.getLogger("cc_env.server")


class Lobby:
    """The games of one folder."""

    def __init__(
        self,
        folder: GameFolder,
        limits: ServerLimits | None = None,
        cores: int | None = None,
        worker_class: type[Worker] = LocalWorker,
    ) -> None:
        """Serve the games of a folder, which `close` closes; workers are made on demand.

        By default as many searches run at once as this machine has cores.
        """
        self._folder, self.limits = folder, limits or ServerLimits()
        self.rates = Rates(self.limits)
        self.connections = ConcurrencyLimit("connections", self.limits.connections_per_address)
        self.analyses = ConcurrencyLimit("analyses", self.limits.analyses_at_once)
        cores = cores or os.cpu_count() or 1
        make_worker = partial(worker_class, self.limits.idle_player_bytes)
        self._search_workers = WorkerPool(make_worker)
        self._background_workers = WorkerPool(make_worker)
        self.rooms: dict[str, Room] = {}
        threads = cores + BACKGROUND_SLOTS + PREPARATION_SLOTS
        self._threads = ThreadPoolExecutor(threads, "player")
        self._search_slots = FairSlots(cores, self._update_queue_positions)
        # Analyses may occupy half of the cores; the others are reserved for games.
        self._analysis_slots = FairSlots(max(1, cores // 2))
        self._background_slots = FairSlots(BACKGROUND_SLOTS)
        self._preparation_slots = FairSlots(PREPARATION_SLOTS)
        self._load_tasks: dict[str, asyncio.Task[None]] = {}
        self._background_tasks: set[asyncio.Task[None]] = set()
        self._hinted_rooms: set[Room] = set()
        self.reviewed_turns: dict[Hashable, ReviewedTurn] = {}
        """The reviews of turns that are known, by game, position, turn and time."""
        # None if games are not prepared.
        self._preparations: Preparations | None = None
        self._prepared_catalogue: asyncio.Task[dict[str, object]] | None = None

    def close(self) -> None:
        """Cancel all work and unlock the folder."""
        for task in self._background_tasks:
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._search_workers.close()
        self._background_workers.close()
        self._folder.close()

    async def run_in_background(self, address: str, function: Callable[..., T], *args: object) -> T:
        """Return the result of a function, run in a thread when a background slot is free.

        Addresses take turns to get a slot; searches occupy other slots.
        """
        await self._background_slots.acquire(address)
        return await self._run_in_slot(self._background_slots.release, function, *args)

    async def run_in_worker(self, address: str, function: Callable[..., T], *args: object) -> T:
        """Return the result of a function, run in a worker when a background slot is free."""
        job = partial(call_function, function, args)
        return await self.run_in_background(address, self._background_workers.run, job)

    async def _run_in_slot(
        self, release: Callable[[], None], function: Callable[..., T], *args: object
    ) -> T:
        """Run work in a thread; release its slot when it ends, even if the caller is cancelled."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

        def finish(done: asyncio.Future[T]) -> None:
            release()
            if not done.cancelled():
                # Mark the exception as retrieved; the caller may have been cancelled.
                done.exception()

        future.add_done_callback(finish)
        return await asyncio.shield(future)

    def start_expiry(self) -> None:
        """Start removing expired games in the background."""
        self._start_task(self._expire_regularly())

    def start_warm_up(self) -> None:
        """Start to prepare all games in the background.

        From now on a game or a puzzle is shown when what it needs is prepared.
        """
        load_game = partial(self.run_in_background, "", play_random_game)
        self._preparations = Preparations(self._run_preparation, load_game)
        self._start_task(self._prepare_all(self._preparations))

    async def _prepare_all(self, preparations: Preparations) -> None:
        """Prepare the home page before the games."""
        self._prepared_catalogue = asyncio.create_task(self.run_in_worker("", _catalogue))
        try:
            await asyncio.shield(self._prepared_catalogue)
        except CcEnvError as error:
            _log.warning("the home page is not prepared: %s", error)
            self._prepared_catalogue = None
        await preparations.prepare_all()

    async def _run_preparation(self, job: Job[None]) -> None:
        """Run a job that compiles, without a slot of searches or analyses."""
        await self._preparation_slots.acquire("")
        await self._run_in_slot(self._preparation_slots.release, self._prepare_workers, job)

    def _prepare_workers(self, job: Job[None]) -> None:
        """Run a job that compiles, then once more in a worker of searches, which loads the code.

        The next search takes this worker, even while another preparation compiles.
        """
        self._background_workers.run(job)
        self._search_workers.run(job)

    async def prepare(self, name: str, part: str) -> None:
        """Wait until a part of a game is prepared, if games are prepared."""
        if self._preparations:
            await self._preparations.prepare(name, part)

    def preparation(self, name: str) -> dict[str, float]:
        """Return the elapsed and the expected time to prepare a game, both 0 afterwards."""
        check_name("game", name, GAMES)
        return self._preparations.progress(name) if self._preparations else NO_PROGRESS

    def _start_task(self, work: Coroutine[object, object, None]) -> None:
        """Run work in the background; keep a reference until it is done."""
        task = asyncio.create_task(work)
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)

    async def _expire_regularly(self) -> None:
        while True:
            await self.remove_expired()
            await asyncio.sleep(EXPIRY_INTERVAL_SECONDS)

    async def remove_expired(self) -> None:
        """Remove all expired games that are not in memory."""
        try:
            for game in await self.run_in_background("", self._folder.select_removals):
                if game.name not in self.rooms and game.name not in self._load_tasks:
                    self._folder.remove(game)
        except OSError as error:
            _log.warning("expired games cannot be removed: %s", error)

    # Creation and loading of games

    async def create_game(self, request: object, address: str = "") -> tuple[str, GameSetup]:
        """Store a game that a client requests; return its name and its setup.

        The game is loaded into memory when a client joins it. Raises CcEnvError for an invalid
        request or a full folder, OSError if the file cannot be written.
        """
        if isinstance(request, Mapping) and request.get("game") in list(GAMES):
            await self.prepare(request["game"], GAME)
        setup = await self.run_in_worker(address, parse_setup, request, self.limits)
        if self._preparations:
            await self._preparations.prepare_players(setup.game, setup.seats)
        if self._folder.is_full:
            await self.remove_expired()
        return self.store_game(setup), setup

    def store_game(self, setup: GameSetup) -> str:
        """Store a game with a valid setup; return its name.

        Raises BusyError if the folder is full, OSError if the file cannot be written.
        """
        return self._folder.create(setup)

    async def find_room(self, name: str, address: str = "") -> Room:
        """Return the room of a game, loaded if necessary.

        Raises UnknownOption if there is no such game, DamagedGameError if its file is damaged,
        BusyError if it cannot be loaded now. The caller must join the room before it next yields to
        the event loop: idle rooms may be evicted, and a game must never have two rooms.
        """
        while name not in self.rooms:
            journal = self._folder.journal(name)
            if name not in self._load_tasks:
                self._evict_idle()
                self._load_tasks[name] = asyncio.create_task(self._load(name, journal, address))
            await asyncio.shield(self._load_tasks[name])
        return self.rooms[name]

    async def _load(self, name: str, journal: Journal, address: str) -> None:
        try:
            saved_game = await self.run_in_background(address, journal.read, self.make_player)
        except BadRecord as error:
            _log.warning("a game cannot be read: %s", error)
            raise DamagedGameError("the stored game cannot be read") from error
        except OSError as error:
            _log.warning("a game cannot be read: %s", error)
            raise BusyError("this game cannot be read now") from error
        finally:
            del self._load_tasks[name]
        if saved_game.rematch not in self._folder:
            # The rematch has expired.
            saved_game.rematch = None
        self.rooms[name] = Room(name, journal, saved_game, self)

    def unload(self, room: Room) -> None:
        """Drop a room from memory; its game is read again when a client joins it."""
        if self.rooms.get(room.name) is room:
            del self.rooms[room.name]

    def _evict_idle(self) -> None:
        """Drop idle rooms if too many games are in memory; raise BusyError if none is idle."""
        limit = self.limits.games_in_memory - len(self._load_tasks)
        if len(self.rooms) < limit:
            return
        for name in [name for name, room in self.rooms.items() if room.is_idle]:
            del self.rooms[name]
        if len(self.rooms) >= limit:
            raise BusyError(f"{len(self.rooms):,} games are in progress; try again later")

    async def catalogue(self) -> dict[str, object]:
        """Return the games with their options and players, and the limits of clocks."""
        clock = [MIN_CLOCK_SECONDS, self.limits.clock_seconds]
        limits = {"clock": clock, "increment": MAX_INCREMENT_SECONDS}
        if self._prepared_catalogue is None:
            return {**await self.run_in_worker("", _catalogue), **limits}
        return {**await asyncio.shield(self._prepared_catalogue), **limits}

    # Work of players

    def make_player(self, spec: str, game: Game) -> Player:
        """Return a player that allocates nothing before its first decision.

        Raises BadOption unless an untrusted client may seat it in this game.
        """
        return make_pooled_player(normalize_spec(spec, game), game, self._search_workers.run)

    async def request_decision(self, room: Room) -> Response:
        """Return the decision of the player to move, after waiting for a slot.

        It is a fault if no player is to move any more.
        """
        await self._search_slots.acquire(room.address, room)
        room.set_queue_position(None)
        session = room.session
        # A take-back may have changed the mover meanwhile.
        if session.result or session.is_person_to_move:
            self._search_slots.release()
            return Response(None, ("error", "no player is to move"))
        session.start_clock()
        task = session.decision_task(self.limits.decision_seconds)
        return await self._run_in_slot(self._search_slots.release, task)

    def _update_queue_positions(self) -> None:
        rooms = (item for item in self._search_slots.waiting_items() if isinstance(item, Room))
        for games_ahead, room in enumerate(rooms):
            room.set_queue_position(games_ahead)

    async def run_analysis(self, job: Job[T], seconds: float, address: str = "") -> T:
        """Return the result of a job, after waiting for a slot; cancellation ends the job."""
        await self._analysis_slots.acquire(address)
        try:
            await self._search_slots.acquire(address)
        except asyncio.CancelledError:
            self._analysis_slots.release()
            raise

        def release() -> None:
            self._search_slots.release()
            self._analysis_slots.release()

        cancellation = Cancellation()
        run = partial(self._search_workers.run, job, seconds, cancellation)
        try:
            return await self._run_in_slot(release, run)
        except asyncio.CancelledError:
            cancellation.set()
            raise

    def request_hint(self, room: Room, client: Client) -> None:
        """Start to compute a hint for a client, which is sent later.

        Raises BusyError while another hint for the room is being computed.
        """
        if room in self._hinted_rooms:
            raise BusyError("a hint is already being computed")
        self._hinted_rooms.add(room)
        self._start_task(self._send_hint(room, client))

    async def _send_hint(self, room: Room, client: Client) -> None:
        """Compute a hint and send it to the client, or an error."""
        game, position, spec = room.session.game, room.session.position, self.limits.hint_player
        player = make_pooled_player(spec, game, self._search_workers.run)
        rng, clock = np.random.default_rng(0), Clock(turn=self.limits.decision_seconds)
        try:
            await self._search_slots.acquire(room.address)
            release = self._search_slots.release
            decision = await self._run_in_slot(release, player.choose, position, rng, clock)
            action = int(decision.action)
            text = game.readable_action_text(position, action)
            client.send("hint", player=spec, action=action, text=text)
        except CcEnvError as error:
            client.send("error", reason=str(error))
        finally:
            self._hinted_rooms.discard(room)


def parse_setup(request: object, limits: ServerLimits) -> GameSetup:
    """Return the setup that an untrusted client requests; raise CcEnvError for invalid fields."""
    fields = messages.read_object(request, "a request for a game", REQUEST_FIELDS)
    game = parse_game(fields)
    seats = _parse_seats(fields.get("seats"), game)
    start = parse_start(fields, game)
    seed = check_integer("seed", fields.get("seed", secrets.randbelow(2**31)), 0)
    assistance = fields.get("assistance", False)
    check_bool("assistance", assistance)
    if fields.get("random_seats"):
        order = np.random.default_rng(seed).permutation(2)
        seats = seats[order[0]], seats[order[1]]
    setup = GameSetup(
        game=game.name,
        options=dict(game.options),
        seats=seats,
        start=None if start == game.initial else game.to_text(start),
        limits=_parse_limits(fields, limits).to_dict(),
        seed=seed,
        pace=limits.pace_seconds,
        assistance=assistance,
    )
    # Raises for a position or limits that the game rejects.
    view.session_state(replace(setup, seats=(HUMAN, HUMAN)).start_session(make_player))
    return add_tokens(setup)


def _parse_limits(fields: Mapping[str, object], limits: ServerLimits) -> Limits:
    """Return the limits with an untrusted time and increment, by default without a clock."""
    seconds = fields.get("seconds")
    increment = check_number("increment", fields.get("increment", 0), 0, MAX_INCREMENT_SECONDS)
    if seconds is None:
        return Limits()
    bounds = MIN_CLOCK_SECONDS, limits.clock_seconds
    seconds = check_number("seconds", seconds, *bounds, ", or null for no clock")
    return Limits(seconds_per_game=seconds, increment=increment)


def _catalogue() -> dict[str, object]:
    """Return the games with their options and players, and the name of a person's seat."""
    games = {}
    for name in GAMES:
        game, guide = make_game(name), load_guide(name)
        games[name] = {
            "options": game_option_defaults(name),
            "option_notes": guide.options,
            "values": game_option_values(name),
            "names": list(game.players),
            "players": allowed_players(game),
            "rungs": view.rung_names(game),
            "ladder": _ladder(game),
            "summary": guide.summary,
            "lesson_minutes": guide.minutes,
            "setting": view.static_state(game),
            "start": view.start_state(game),
            "mover": game.to_move(game.initial),
        }
    return {"games": games, "human": HUMAN, "version": __version__}


def _ladder(game: Game) -> list[tuple[str, str, int]]:
    """Return the name, character and Elo of each opponent of a game's ladder."""
    if not has_ladder(game):
        return []
    return [(rung.name, CHARACTERS[rung.level - 1], round(rung.elo.value)) for rung in rungs(game)]


def parse_game(fields: Mapping[str, object]) -> Game:
    """Return the `game` with the `options` that an untrusted client requests.

    Raises UnknownOption for an unknown game or option, BadOption for an invalid value.
    """
    name, option_values = check_name("game", fields.get("game"), GAMES), fields.get("options") or {}
    if not isinstance(option_values, Mapping) or len(option_values) > 20:
        raise invalid_value("options", option_values, "an object of names and values")
    check_names(name, "option", option_values, game_option_defaults(name))
    checked = {}
    for option, value in option_values.items():
        if not isinstance(value, bool | int | float | str | None) or len(str(value)) > 40:
            raise invalid_value(option, value, "a word, a number, true, false or null")
        is_text = isinstance(value, str)
        checked[option] = parse_options([f"{option}={value}"])[option] if is_text else value
    return make_game(name, **checked)


def _parse_seats(specs: object, game: Game) -> tuple[str, str]:
    """Return two checked player specs or HUMAN; raise BadOption if they are invalid."""
    if not isinstance(specs, list) or len(specs) != 2:
        raise invalid_value("seats", specs, "a list of two")
    first, second = (spec if spec == HUMAN else normalize_spec(spec, game) for spec in specs)
    return first, second


def parse_start(fields: Mapping[str, object], game: Game) -> Position:
    """Return the `start` of a request, a position as text; None and "" are the initial position.

    Raises BadPosition if the text is invalid.
    """
    text = fields.get("start")
    if text is None or text == "":
        return game.initial
    if not isinstance(text, str) or len(text) > importing.MAX_POSITION_LENGTH:
        raise BadPosition(
            f"position {text!r:.40}; expected: text of at most "
            f"{importing.MAX_POSITION_LENGTH} characters"
        )
    return game.from_text(text)
