"""One served game: its clients, their permissions, and a journal written ahead of every broadcast.

Everything in this module runs in the thread of the event loop, except the decisions of players.
"""

import asyncio
import hmac
import json
import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Protocol

from cc_env.errors import (
    BadOption,
    CcEnvError,
    IllegalAction,
    check_integer,
    check_name,
    check_number,
)
from cc_env.match.match import FAULTS, RESIGNED
from cc_env.match.referee import Response
from cc_env.play import messages, reasons, view
from cc_env.play.choices import list_choices
from cc_env.play.commands import CommandTable
from cc_env.play.exporting import file_suffixes
from cc_env.play.move_input import parse_move
from cc_env.play.threats import find_threat
from cc_env.server.journal import (
    MAX_DECISION_SECONDS,
    MAX_PACE_SECONDS,
    CommandId,
    GameSetup,
    Journal,
    SavedGame,
    decision_entry,
    read_command_number,
    result_entry,
)
from cc_env.server.limits import BusyError, ServerLimits

MAX_QUEUED_MESSAGES = 64
MAX_MOVE_LENGTH = 400
# Time after which a player may claim a win against one who has left.
MIN_AWAY_SECONDS = 60.0
# Opponents of whom the page can show what they threaten.
THREAT_OPPONENTS = "ladder:1", "ladder:2"
NO_ASSISTANCE = "off while two people play, unless the game was created with assistance"
# The role of a game's owner, besides the seats 0 and 1.
OWNER = 2
COMMANDS = CommandTable()
# Commands that only the owner of a game between two players may send.
OWNER_COMMANDS = "pace", "step"
# Commands that are allowed even if the journal has its maximum size.
UNLIMITED_COMMANDS = "play", "play_text", "resign", "claim", "step", "rematch", "hint", "view_turn"
_log = logging.getLogger("cc_env.server")
_to_json = json.JSONEncoder(separators=(",", ":")).encode

Message = Mapping[str, object]


class Client:
    """A connection to a game that holds one seat, both, or none (a spectator).

    `messages` is the queue of outgoing messages; None closes the connection. The owner of a game
    between two players controls its pace. A client that numbers its commands has a `name`, which
    it keeps when it reconnects. The `player_name` is what the other clients call a person.
    """

    def __init__(
        self,
        seats: frozenset[int] = frozenset(),
        *,
        is_owner: bool = False,
        address: str = "",
        name: str = "",
    ) -> None:
        """Create a client with an empty queue."""
        self.seats, self.is_owner, self.address, self.name = seats, is_owner, address, name
        self.player_name = ""
        self.is_disconnected = False
        self.messages: asyncio.Queue[str | None] = asyncio.Queue(MAX_QUEUED_MESSAGES)

    def send_text(self, text: str) -> None:
        """Queue a message unless the client is disconnected; disconnect it if its queue is full."""
        if self.is_disconnected:
            return
        try:
            self.messages.put_nowait(text)
        except asyncio.QueueFull:
            while not self.messages.empty():
                self.messages.get_nowait()
            self.disconnect()

    def send(self, message_type: str, **fields: object) -> None:
        """Queue a JSON message."""
        self.send_text(_to_json({"type": message_type, **fields}))

    def disconnect(self) -> None:
        """Close the connection after all queued messages; reject further commands."""
        self.is_disconnected = True
        if self.messages.full():
            self.messages.get_nowait()
        self.messages.put_nowait(None)


class RoomServices(Protocol):
    """The services of the lobby that a room uses."""

    @property
    def limits(self) -> ServerLimits:
        """The limits of the server."""

    def store_game(self, setup: GameSetup) -> str:
        """Store a new game and return its name."""

    def unload(self, room: "Room") -> None:
        """Drop a room from memory."""

    def request_hint(self, room: "Room", client: Client) -> None:
        """Start to compute a hint for a client, which is sent later."""

    async def request_decision(self, room: "Room") -> Response:
        """Return the decision of the player to move."""


class Room(SavedGame):
    """A served game with its connected clients."""

    def __init__(
        self, name: str, journal: Journal, saved_game: SavedGame, lobby: RoomServices
    ) -> None:
        """Continue a saved game."""
        super().__init__(**vars(saved_game))
        self.name, self._journal, self._lobby = name, journal, lobby
        self.clients: set[Client] = set()
        match = self.session.match
        movers = {match.game.to_move(before) for before, _ in match.history}
        # Seats of people who have never joined; the clocks are paused until all have joined.
        self._absent_seats = self._human_seats - movers
        if self._absent_seats:
            self.session.pause_clock()
        # Names of people, by seat.
        self._player_names = ["", ""]
        # Times of the monotonic clock since which people have been away, by seat.
        self._away_since: dict[int, float] = {}
        # Number of games whose players decide before this one, None if it does not wait.
        self.games_ahead: int | None = None
        # Number of finished turns that all clients have received.
        self._sent_turns = 0
        # Time of the event loop at the last decision of a player.
        self._last_decision_at = -math.inf
        self._decision_task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.is_closed = False

    @property
    def _human_seats(self) -> set[int]:
        """The seats of people."""
        return {seat for seat, token in enumerate(self.setup.tokens) if token}

    @property
    def is_idle(self) -> bool:
        """Whether the room has no clients and no pending work."""
        return not (self.clients or self._decision_task or self._timer)

    @property
    def is_without_people(self) -> bool:
        """Whether players hold both seats."""
        return not any(self.setup.tokens)

    @property
    def address(self) -> str:
        """The address of a connected client, "" if there is none."""
        return next((client.address for client in self.clients), "")

    def admit(self, tokens: Sequence[str], address: str = "", name: str = "") -> Client:
        """Return a new client with the seats of these tokens.

        Raises BadOption for a token of another game, BusyError if there are too many spectators.
        """
        if not all(self._roles([token]) for token in tokens):
            raise BadOption("this link does not hold a seat of this game")
        roles = self._roles(tokens)
        seats, is_owner = frozenset(roles & {0, 1}), OWNER in roles
        spectators = sum(not (client.seats or client.is_owner) for client in self.clients)
        limit = self._lobby.limits.spectators_per_game
        if not (seats or is_owner) and spectators >= limit:
            raise BusyError(f"too many spectators; expected: at most {limit} per game")
        return Client(seats, is_owner=is_owner, address=address, name=name)

    def seats(self, tokens: Sequence[str]) -> set[int]:
        """Return the seats that these tokens hold."""
        return self._roles(tokens) & {0, 1}

    def _roles(self, tokens: Sequence[str]) -> set[int]:
        """Return the seats that these tokens hold, and OWNER for the owner's token."""
        roles = enumerate((*self.setup.tokens, self.setup.owner))
        return {role for role, valid in roles if valid and _any_equal(valid, tokens)}

    # Clients join and leave

    def join(self, client: Client) -> None:
        """Add a client; start the clocks if all people have joined now; notify the others.

        The earlier connection of a client that has reconnected is closed.
        """
        for other in [other for other in self.clients if client.name and other.name == client.name]:
            other.disconnect()
            self.clients.discard(other)
        self._absent_seats -= client.seats
        if self.session.is_paused and not self._absent_seats:
            self.session.start_clock()
            self._broadcast_state()
        self.clients.add(client)
        if len(client.seats) == 1:
            self._player_names[min(client.seats)] = client.player_name
        game = self.session.game
        client.send(
            "welcome",
            game=self.name,
            seats=sorted(client.seats),
            is_owner=client.is_owner,
            assistance=self.allows_assistance(client.seats),
            setting=view.static_state(game),
            request=self.setup.request,
            exports=file_suffixes(game),
        )
        client.send_text(self._state_message())
        if self.rematch:
            client.send("rematch", game=self.rematch)
        self._broadcast_presence()
        self._schedule_next()

    def leave(self, client: Client) -> None:
        """Remove a client."""
        self.clients.discard(client)
        self._broadcast_presence()
        if not self._has_audience:
            self._cancel_timer()

    def _broadcast_presence(self) -> None:
        """Send all clients the occupied seats, people's names and the number of spectators."""
        seats = sorted({seat for client in self.clients for seat in client.seats})
        now = monotonic()
        away = self._human_seats.difference(seats)
        self._away_since = {seat: self._away_since.get(seat, now) for seat in away}
        spectators = sum(not client.seats for client in self.clients)
        names = self._player_names
        self.broadcast("presence", seats=seats, names=names, spectators=spectators)

    def broadcast(self, message_type: str, **fields: object) -> None:
        """Send a message to all clients."""
        self._broadcast_text(_to_json({"type": message_type, **fields}))

    def _broadcast_text(self, text: str) -> None:
        for client in self.clients:
            client.send_text(text)

    def _broadcast_state(self) -> None:
        """Send the state to all clients, with the turns that not all of them have received."""
        done = len(self.session.match.turns)
        turns_from = min(self._sent_turns, done)
        self._sent_turns = done
        if self.clients:
            self._broadcast_text(self._state_message(turns_from))

    def _state_message(self, turns_from: int = 0) -> str:
        session = self.session
        state = {
            "type": "state",
            "version": self._journal.version,
            "take_back_requested_by": self.take_back_requested_by,
            "rematch_offered_by": self.rematch_offered_by,
            "games_ahead": self.games_ahead,
            "pace": self.pace if self.is_without_people else 0,
            **view.session_state(session, turns_from),
        }
        if self._shows_threats:
            state["threat"] = find_threat(session.game, session.position)
        if session.result:
            text = reasons.explain_ending(session.game, session.result, session.detail)
            state["result"]["explanation"] = text
        return _to_json(state)

    @property
    def _shows_threats(self) -> bool:
        """Whether a person is to move against one of the weakest opponents of a ladder."""
        opponent = self.session.seats[1 - self.session.mover].name
        return self.session.is_person_to_move and opponent in THREAT_OPPONENTS

    # Commands of clients

    def handle_message(self, client: Client, message: Message) -> None:
        """Execute a client's command and confirm it if it has a number; otherwise send the error.

        A command with the same number is executed at most once. A client sends the next one after
        the answer.
        """
        fields = {name: value for name, value in message.items() if name != "number"}
        answer = {"number": message["number"]} if "number" in message else {}
        try:
            if answer:
                self._execute_once(client, read_command_number(message["number"]), fields)
                client.send("accepted", **answer)
            else:
                self.execute_command(client, fields)
        except CcEnvError as error:
            client.send("error", reason=str(error), **answer)

    def _execute_once(self, client: Client, number: int, message: Message) -> None:
        """Execute a command unless it was executed before; raise CcEnvError if it is invalid."""
        if not client.name:
            expected = "none, since the first message names no client"
            raise BadOption(f"number={number}; expected: {expected}")
        executed = self._journal.executed.get(client.name, 0)
        if number < executed:
            raise BadOption(f"number={number}; expected: at least {executed}")
        if number == executed:
            return
        if client.seats or client.is_owner:
            with self._journal.execution(CommandId(client.name, number)):
                self.execute_command(client, message)
        else:
            # Spectators change nothing.
            self.execute_command(client, message)

    def execute_command(self, client: Client, message: Message) -> None:
        """Execute a client's command; raise CcEnvError, and change nothing, if it is invalid.

        If the change cannot be written, the room is closed.
        """
        command, arguments = messages.read_command(message, COMMANDS)
        self._check_permission(client, str(message["command"]))
        with self._close_on_write_error():
            command.run(self, client, *arguments)

    def _check_permission(self, client: Client, command: str) -> None:
        """Raise IllegalAction if the client may not send this command now."""
        if self.is_closed or client.is_disconnected:
            raise IllegalAction("this connection has ended; reload the game")
        if command in OWNER_COMMANDS:
            if not client.is_owner:
                raise IllegalAction(f"only the client that created this game may send {command}")
        elif not client.seats:
            is_owners_rematch = command == "rematch" and client.is_owner
            if command != "view_turn" and not is_owners_rematch:
                raise IllegalAction(f"spectators may not send {command}; use a player's link")
        is_full = self._journal.bytes >= self._lobby.limits.journal_bytes
        if is_full and command not in UNLIMITED_COMMANDS:
            raise IllegalAction(f"the file of this game is full; expected: a move, not {command}")

    @contextmanager
    def _close_on_write_error(self) -> Iterator[None]:
        """Close the room on an OSError in the block, since memory may be ahead of the file."""
        try:
            yield
        except OSError as error:
            _log.warning("a game cannot be written: %s", error)
            self.broadcast("error", reason="the game cannot be stored now; the last change is lost")
            self.close()

    def close(self) -> None:
        """Disconnect all clients and unload the game; on reconnection its file is read again."""
        self.is_closed = True
        self._cancel_timer()
        for client in self.clients:
            client.disconnect()
        self._lobby.unload(self)

    def _check_turn(self, client: Client, version: object) -> None:
        """Raise IllegalAction unless the client is to move, in the current version."""
        messages.check_turn(self.session, client.seats, version == self._journal.version)

    @COMMANDS.add("play", "version", "action")
    def _play_action(self, client: Client, version: object, action: int) -> None:
        self._check_turn(client, version)
        self._play(self.session.play, action)

    @COMMANDS.add("play_text", "version", "text", "piece")
    def _play_text(self, client: Client, version: object, text: object, piece: object) -> None:
        """Play a typed move, or send the client the moves that it may mean."""
        self._check_turn(client, version)
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_MOVE_LENGTH:
            raise IllegalAction(
                f"text={text!r:.40}; expected: a move in notation, or its cells, "
                f"in at most {MAX_MOVE_LENGTH} characters"
            )
        session = self.session
        choices = list_choices(session.game, session.position)
        pieces = (cell for choice in choices for cell in choice.pieces)
        selected = next((cell for cell in pieces if list(cell) == piece), None)
        move = parse_move(session.game, session.position, choices, selected, text.strip())
        if move.turn:
            self._play(session.play_turn, move.turn)
        else:
            candidates = [choice.action for choice in move.candidates]
            client.send("candidates", piece=move.piece, actions=candidates)

    @COMMANDS.add("take_back")
    def _take_back(self, client: Client) -> None:
        """Take back a turn; between two people, request it unless both consent."""
        session, seat = self.session, min(client.seats)
        if not session.decisions:
            raise IllegalAction("there is no decision to take back")
        is_own_turn = session.result is None and session.mover in client.seats
        is_agreed = (
            # Decisions in the middle of a turn need no consent.
            (is_own_turn and session.game.mid_turn(session.position))
            or len(self._human_seats) < 2
            or len(client.seats) == 2
            or self.take_back_requested_by not in (None, seat)
        )
        if is_agreed:
            self._change("take_back")
        elif self.take_back_requested_by != seat:
            self._change("request_take_back", player=seat)

    def _acting_seat(self, client: Client) -> int:
        """Return the client's seat; of both seats, the one to move."""
        return self.session.mover if self.session.mover in client.seats else min(client.seats)

    @COMMANDS.add("resign")
    def _resign(self, client: Client) -> None:
        self._end_by_resignation(1 - self._acting_seat(client))

    def _end_by_resignation(self, winner: int, detail: str = "") -> None:
        """End the game; the clock of the player to move is charged until now."""
        self.session.check_in_progress()
        seconds = min(round(self.session.elapsed_seconds, 6), MAX_DECISION_SECONDS)
        self._change("end", outcome=winner, reason=RESIGNED, detail=detail, seconds=seconds)

    @COMMANDS.add("claim")
    def _claim_win(self, client: Client) -> None:
        """Win the game if the other person has joined it, and has been away for long enough."""
        seat = min(client.seats)
        if len(client.seats) == 2 or not self._human_seats - {seat}:
            raise IllegalAction("only a game between two people can be claimed")
        self.session.check_in_progress()
        now = monotonic()
        away_seconds = now - self._away_since.get(1 - seat, now)
        if 1 - seat in self._absent_seats or away_seconds < MIN_AWAY_SECONDS:
            expected = f"at least {MIN_AWAY_SECONDS:.0f} s after joining"
            raise IllegalAction(f"the other player is away for {away_seconds:.0f} s; {expected}")
        self._end_by_resignation(seat, "left the game")

    @COMMANDS.add("draw")
    def _offer_draw(self, client: Client) -> None:
        """Offer a draw or accept the offer."""
        session, seat = self.session, self._acting_seat(client)
        # A client with both seats accepts its own offer.
        if len(client.seats) == 2 and session.draw_offered_by == seat:
            seat = 1 - seat
        is_repeated = session.draw_offered_by == seat
        seconds = sum(session.turn_seconds)
        if session.offer_draw(seat):
            seconds = round(sum(session.turn_seconds) - seconds, 6)
            self._store_move({**result_entry(session), "seconds": seconds})
        elif session.draw_offered_by != seat:
            self.broadcast("declined", offer="draw", player=1 - seat)
        elif not is_repeated:
            self._store_move({"do": "offer", "player": seat})

    @COMMANDS.add("decline", "offer")
    def _decline(self, client: Client, offer: object) -> None:
        """Decline the other player's offer of this name.

        Raises IllegalAction if there is none, UnknownOption for another name.
        """
        offers = {
            "draw": self.session.draw_offered_by,
            "take_back": self.take_back_requested_by,
            "rematch": self.rematch_offered_by,
        }
        player = offers[name := check_name("offer", offer, offers)]
        if player is None or client.seats <= {player}:
            raise IllegalAction(f"the other player does not offer: {name.replace('_', ' ')}")
        self._change("decline", offer=offer)
        self.broadcast("declined", offer=offer, player=1 - player)

    def allows_assistance(self, seats: Collection[int]) -> bool:
        """Return whether the holder of these seats may use hints and analysis during the game.

        A game between two people allows them only if it was created with assistance.
        """
        is_between_people = all(self.setup.tokens) and len(seats) < 2
        return not is_between_people or self.setup.assistance

    def check_analysis(self, tokens: Sequence[str]) -> None:
        """Raise IllegalAction if the holder of these tokens may not analyze the game yet."""
        if self.session.result is None and not self.allows_assistance(self.seats(tokens)):
            raise IllegalAction(f"analysis is {NO_ASSISTANCE}")

    @COMMANDS.add("hint", "version")
    def _request_hint(self, client: Client, version: object) -> None:
        self._check_turn(client, version)
        if not self.allows_assistance(client.seats):
            raise IllegalAction(f"hints are {NO_ASSISTANCE}")
        self._lobby.request_hint(self, client)

    @COMMANDS.add("view_turn", "turns")
    def _send_past_state(self, client: Client, turns: object) -> None:
        """Send a client the board after a number of turns."""
        count = check_integer("turns", turns, 0, len(self.session.match.history))
        client.send("past_state", turns=count, **view.past_state(self.session, count))

    @COMMANDS.add("rematch")
    def _offer_rematch(self, client: Client) -> None:
        """Create the rematch if both sides agree; otherwise offer it."""
        if self.session.result is None:
            raise IllegalAction("a rematch is possible only after the game")
        if self.rematch is None:
            consenting = client.seats | {self.rematch_offered_by}
            if not (client.is_owner or self._human_seats <= consenting):
                if self.rematch_offered_by != min(client.seats):
                    self._change("offer_rematch", player=min(client.seats))
                return
            seats, tokens = self.setup.seats, self.setup.tokens
            swapped = replace(self.setup, seats=(seats[1], seats[0]), tokens=(tokens[1], tokens[0]))
            self._change("rematch", game=self._lobby.store_game(swapped))
        self.broadcast("rematch", game=self.rematch)

    @COMMANDS.add("pace", "seconds")
    def _set_pace(self, client: Client, seconds: object) -> None:
        """Set the seconds between two decisions; None pauses the game."""
        if seconds is not None:
            seconds = check_number("seconds", seconds, 0, MAX_PACE_SECONDS, ", or null for a pause")
        if seconds != self.pace:
            self._change("pace", seconds=seconds)
        else:
            self._store()

    @COMMANDS.add("step")
    def _step(self, client: Client) -> None:
        """Let the player to move decide once; pause the game."""
        self.session.check_in_progress()
        if self.pace is not None:
            self._set_pace(client, None)
        self._start_decision()

    # Changes of the game

    def _change(self, kind: str, **fields: object) -> None:
        """Apply a change to the game, write and broadcast it.

        Raises CcEnvError, and changes nothing, if it is invalid, OSError if it cannot be written.
        """
        entry = {"do": kind, **fields}
        self.apply(entry)
        self._store(entry)

    def _play(self, play: Callable[..., object], *arguments: object) -> None:
        """Call a method of the session that plays decisions or forfeits; store the changes.

        Raises CcEnvError if the decisions are invalid, OSError if they cannot be written.
        """
        session = self.session
        count, seconds = len(session.decisions), sum(session.turn_seconds)
        play(*arguments)
        entries = list(map(decision_entry, session.decisions[count:]))
        if session.result and session.result.reason in FAULTS:
            entries.append(result_entry(session))
        if entries:
            # The first decision of several, or else the end, takes all the time.
            seconds = max(0.0, sum(session.turn_seconds) - seconds)
            self._store_move({**entries[0], "seconds": round(seconds, 6)}, *entries[1:])
        else:
            self._schedule_next()

    def _store_move(self, *entries: Mapping[str, object]) -> None:
        """Close all requests, and store decisions, a result or an offer."""
        self.close_requests()
        self._store(*entries)

    def _store(self, *entries: Mapping[str, object]) -> None:
        """Write changes that have been made, broadcast the state, and let the next player decide.

        Raises OSError if they cannot be written.
        """
        if entries:
            self._journal.append(*entries)
        self._broadcast_state()
        self._schedule_next()

    def _schedule_next(self) -> None:
        """Start the decision of a player to move, or a timer for a person's clock."""
        self._cancel_timer()
        session = self.session
        if session.result is not None or self.is_closed:
            return
        if session.is_person_to_move:
            seconds_left = min(session.clock())
            if seconds_left < math.inf:
                self._set_timer(max(0.0, seconds_left) + 0.01, self._forfeit_on_time)
        elif not self.is_without_people:
            self._start_decision()
        elif self.pace is not None and self._has_audience and not self._decision_task:
            elapsed = asyncio.get_running_loop().time() - self._last_decision_at
            self._set_timer(max(0.0, self.pace - elapsed), self._start_decision)

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, callback)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @property
    def _has_audience(self) -> bool:
        """Whether players should decide: a person plays, or a client is connected."""
        return bool(self.clients) or not self.is_without_people

    def _forfeit_on_time(self) -> None:
        self._timer = None
        with self._close_on_write_error():
            if self.session.result is None:
                self._play(self.session.forfeit_on_time)

    def _start_decision(self) -> None:
        self._cancel_timer()
        if self._decision_task is None:
            self._decision_task = asyncio.create_task(self._decide())

    async def _decide(self) -> None:
        """Let the player to move decide, then schedule the next decision unless this failed."""
        version = self._journal.version
        has_failed = False
        try:
            response = await self._lobby.request_decision(self)
            if version == self._journal.version and not self.is_closed:
                with self._close_on_write_error():
                    self._play(self.session.finish_decision, response)
        except CcEnvError as error:
            self.broadcast("error", reason=str(error))
            has_failed = True
        finally:
            self._decision_task = None
        self._last_decision_at = asyncio.get_running_loop().time()
        if not has_failed or self.session.is_person_to_move:
            self._schedule_next()

    def set_queue_position(self, games_ahead: int | None) -> None:
        """Broadcast the number of games that decide before this one, None if it does not wait."""
        if games_ahead != self.games_ahead:
            self.games_ahead = games_ahead
            self.broadcast("queue", games_ahead=games_ahead)


def _any_equal(valid: str, tokens: Sequence[str]) -> bool:
    """Return whether the valid token is among `tokens`, in a time that reveals nothing of it."""
    encoded = (token.encode("utf-8", "replace") for token in tokens)
    return any(hmac.compare_digest(valid.encode(), token) for token in encoded)
