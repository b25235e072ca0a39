"""A game that is served: who looks on, who may do what, and that all is on disk before it is told.

Everything here runs in the thread of the event loop, except what a player thinks.
"""

import asyncio
import hmac
import json
import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from cc_env.errors import (
    BadOption,
    CcEnvError,
    IllegalAction,
    UnknownOption,
    format_list,
    is_integer,
    is_number,
)
from cc_env.match.match import AGREED, FAULTS, RESIGNED
from cc_env.match.referee import Response
from cc_env.play import view
from cc_env.play.choices import list_choices
from cc_env.play.exporting import file_suffixes
from cc_env.play.messages import check_turn, find_handler, read_action
from cc_env.play.move_input import parse_move
from cc_env.server.journal import SLOWEST, Journal, Opening, SavedGame
from cc_env.server.limits import BusyError, ServerLimits

DECLARED = (*FAULTS, RESIGNED, AGREED)  # ends that decisions do not tell
BEHIND = 64  # messages that may wait for a guest who reads slowly
LONGEST = 400  # characters of what is typed
_log = logging.getLogger("cc_env.play")
_written = json.JSONEncoder(separators=(",", ":")).encode
NO_ASSISTANCE = "off while two people play, unless the game was opened with assistance"
OWNERS = "pace", "step"  # what only the owner of a watched game may ask for
# What is possible when the journal has its maximum length, since the rules bound how often.
UNLIMITED = "play", "say", "resign", "step", "rematch", "hint", "look_back"


class Guest:
    """Somebody who is connected: at one seat, at both or at none."""

    def __init__(
        self, seats: frozenset[int] = frozenset(), *, is_owner: bool = False, address: str = ""
    ) -> None:
        """Hold these seats; the owner of a game to watch says how fast it goes."""
        self.seats, self.is_owner, self.address = seats, is_owner, address
        self.messages: asyncio.Queue[str | None] = asyncio.Queue(BEHIND)  # None: goodbye

    def tell(self, message: str) -> None:
        """Let a message wait for the guest; one who does not read is dismissed."""
        try:
            self.messages.put_nowait(message)
        except asyncio.QueueFull:
            while not self.messages.empty():
                self.messages.get_nowait()
            self.dismiss()

    def dismiss(self) -> None:
        """Close the connection once it has got what waits for it."""
        if self.messages.full():
            self.messages.get_nowait()
        self.messages.put_nowait(None)

    def send(self, kind: str, **values: Any) -> None:
        """As `tell`, of a message of some kind."""
        self.tell(_written({"type": kind, **values}))


class RoomOwner(Protocol):
    """What a room needs of the lobby: limits, other games, and players that think."""

    @property
    def limits(self) -> ServerLimits:
        """The limits of the server."""

    def open(self, opening: Opening) -> str:
        """Store a new game; return its name."""

    def forget(self, room: "Room") -> None:
        """Drop a room from memory."""

    def hint(self, room: "Room", guest: Guest) -> None:
        """Send a guest the move that the hint player would choose."""

    async def ask(self, room: "Room") -> Response:
        """Return the decision of the player to move."""


class Room:
    """A game with all who are connected to it."""

    def __init__(self, name: str, journal: Journal, standing: SavedGame, lobby: RoomOwner) -> None:
        """Go on as a game stands."""
        self.name, self.opening = name, standing.opening
        self._journal, self._lobby = journal, lobby
        self.guests: set[Guest] = set()
        self.session, self.pace = standing.session, standing.pace
        self.wanted_back = standing.wanted_back
        match = self.session.match
        played = {match.game.to_move(before) for before, _ in match.history}
        people = {seat for seat, token in enumerate(self.opening.tokens) if token}
        self._awaited = people - played  # the clocks stand still until all have come
        if self._awaited:
            self.session.pause_clock()
        self.next: str | None = None  # the game that is its rematch
        self.rematch_offered: int | None = None  # the player who offers a rematch
        self.ahead: int | None = None  # how many games think before it; None: it does not wait
        self._told = 0  # so many finished turns are known to all guests
        self._moved_at = -math.inf  # by the loop's clock, when a player decided last
        self.is_closed = False
        self._thinking: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Return whether nobody is here and nothing goes on."""
        return not (self.guests or self._thinking or self._alarm)

    @property
    def is_watched(self) -> bool:
        """Return whether no person plays."""
        return not any(self.opening.tokens)

    @property
    def address(self) -> str:
        """Return the address of the first client, "" without any."""
        return next((guest.address for guest in self.guests), "")

    def admit(self, tokens: Sequence[str], address: str = "") -> Guest:
        """Return who comes with these tokens.

        Raises BadOption where one is not of this game, BusyError where too many look on.
        """
        seats, is_owner = set[int](), False
        for token in tokens:
            known = (*self.opening.tokens, self.opening.owner)
            mine = [place for place, own in enumerate(known) if own and _is_same(own, token)]
            if not mine:
                raise BadOption("this link holds no seat of this game")
            seats.update(place for place in mine if place < 2)
            is_owner |= 2 in mine
        onlookers = sum(not (guest.seats or guest.is_owner) for guest in self.guests)
        if not (seats or is_owner) and onlookers >= self._lobby.limits.spectators_per_game:
            raise BusyError("too many look on at this game")
        return Guest(frozenset(seats), is_owner=is_owner, address=address)

    # Guests come and go

    def join(self, guest: Guest) -> None:
        """Let somebody in, and tell all."""
        self._awaited -= guest.seats
        if self.session.is_paused and not self._awaited:
            self.session.start_clock()
            self._tell_state()
        self.guests.add(guest)
        game = self.session.game
        guest.send(
            "welcome",
            game=self.name,
            seats=sorted(guest.seats),
            is_owner=guest.is_owner,
            assistance=self.allows_assistance(guest.seats),
            setting=view.static_state(game),
            exports=file_suffixes(game),
        )
        guest.tell(self._state())
        if self.next:
            guest.send("next", game=self.next)
        self._tell_presence()
        self._go_on()

    def leave(self, guest: Guest) -> None:
        """Let somebody go."""
        self.guests.discard(guest)
        self._tell_presence()
        if not self._is_wanted:
            self._silence()

    def _tell_presence(self) -> None:
        here = sorted({seat for guest in self.guests for seat in guest.seats})
        self.tell_all(
            "present", seats=here, onlookers=sum(not guest.seats for guest in self.guests)
        )

    def tell_all(self, kind: str, **values: Any) -> None:
        """Send a message to everybody here."""
        text = _written({"type": kind, **values})
        for guest in list(self.guests):
            guest.tell(text)

    def _state(self, turns_from: int = 0) -> str:
        told = {
            "type": "state",
            "version": self._journal.version,
            "wanted_back": self.wanted_back,
            "rematch_offered": self.rematch_offered,
            "ahead": self.ahead,
            "pace": self.pace if self.is_watched else 0,
            **view.session_state(self.session, turns_from),
        }
        return _written(told)

    # What guests ask for

    def obey(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Do what a guest asks for; where it cannot be, change nothing.

        Raises CcEnvError. Where it cannot be written the room is closed.
        """
        asked: dict[str, Callable[[Guest, Mapping[str, Any]], None]] = {
            "play": self._play,
            "say": self._say,
            "take_back": self._take_back,
            "hint": self._hint,
            "resign": self._resign,
            "draw": self._offer,
            "decline": self._decline,
            "rematch": self._rematch,
            "pace": self._set_pace,
            "step": self._step,
            "look_back": self._look_back,
        }
        act, do = find_handler(message, asked), message["do"]
        if self.is_closed:
            raise IllegalAction("this connection has ended; a new one has the game as it stands")
        if do in OWNERS and not guest.is_owner:
            raise IllegalAction("only who opened this game to watch it can do this")
        is_free = do == "look_back" or (do == "rematch" and guest.is_owner)
        if do not in OWNERS and not guest.seats and not is_free:
            raise IllegalAction("onlookers cannot do this; a player's own link can")
        if do not in UNLIMITED and self._journal.bytes >= self._lobby.limits.journal_bytes:
            raise IllegalAction(f"this game can only be played on: its file is full, so no {do}")
        with self._writing():
            act(guest, message)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Close the room if the block cannot write, since memory may be ahead of the file then."""
        try:
            yield
        except OSError as error:
            _log.warning("a game cannot be written: %s", error)
            self.tell_all(
                "refused", why="the game cannot be stored now; it is as it was stored last"
            )
            self.close()

    def close(self) -> None:
        """Dismiss all clients and forget the game, of which the file has what was confirmed.

        Clients that come again get the game as it is read from there.
        """
        self.is_closed = True
        self._silence()
        for guest in self.guests:
            guest.dismiss()
        self._lobby.forget(self)

    def _check_turn(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Raise IllegalAction unless it is the guest's turn, in the position that it saw."""
        check_turn(self.session, guest.seats, message, self._journal.version)

    def _play(self, guest: Guest, message: Mapping[str, Any]) -> None:
        self._check_turn(guest, message)
        action = read_action(message)
        self._confirm(lambda: self.session.play(action))

    def _say(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Play what somebody typed, or ask which of several is meant."""
        self._check_turn(guest, message)
        text = message.get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            raise IllegalAction("a move is typed in notation, or as row and column")
        session, piece = self.session, message.get("piece")
        moves = list_choices(session.game, session.position)
        chosen = tuple(piece) if isinstance(piece, list) else None
        known = {cell for choice in moves for cell in choice.pieces}
        cell = next((choice for choice in known if choice == chosen), None)
        which = parse_move(session.game, session.position, moves, cell, text.strip())
        if which.turn:
            for action in which.turn:
                if session.result is None:
                    self._confirm(lambda action=action: session.play(action))  # type: ignore[misc]
        else:
            several = [choice.action for choice in which.candidates]
            guest.send("meant", piece=which.piece, several=several)

    def _take_back(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Take back; between two people the other has to want it, too."""
        session = self.session
        people = [player for player, seat in enumerate(session.seats) if seat.player is None]
        asking = min(guest.seats)
        if not session.decisions:
            raise IllegalAction("there is nothing to take back")
        mine = not session.result and session.mover in guest.seats
        if mine and session.game.mid_turn(session.position):  # what the guest has begun
            agreed = True
        else:
            agreed = len(people) < 2 or len(guest.seats) == 2
            agreed |= self.wanted_back not in (None, asking)
        if agreed:
            self._confirm(session.take_back)
        elif self.wanted_back != asking:
            self._journal.asked_back(asking)
            self.wanted_back = asking
            self._tell_state()

    def _resign(self, guest: Guest, message: Mapping[str, Any]) -> None:
        seat = self.session.mover if self.session.mover in guest.seats else min(guest.seats)
        self._confirm(lambda: self.session.resign(seat))

    def _offer(self, guest: Guest, message: Mapping[str, Any]) -> None:
        seat = self.session.mover if self.session.mover in guest.seats else min(guest.seats)
        if len(guest.seats) == 2:
            seat = 1 - seat if self.session.draw_offered_by == seat else seat
        self._confirm(lambda: self.session.offer_draw(seat))
        if self.session.result is None and self.session.draw_offered_by != seat:
            self.tell_all("declined", offer="draw", player=1 - seat)

    def _decline(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Decline what the other player offers; raises IllegalAction where there is no offer."""
        offers = {
            "draw": self.session.draw_offered_by,
            "take_back": self.wanted_back,
            "rematch": self.rematch_offered,
        }
        offer = message.get("offer")
        if not isinstance(offer, str) or offer not in offers:
            raise UnknownOption(f"no offer {str(offer)[:40]!r}; there are: {format_list(offers)}")
        player = offers[offer]
        if player is None or guest.seats <= {player}:
            raise IllegalAction(f"there is no offer to decline: {offer.replace('_', ' ')}")
        if offer != "rematch":
            self._journal.declined(offer)
        if offer == "draw":
            self.session.decline_draw(1 - player)
        elif offer == "take_back":
            self.wanted_back = None
        else:
            self.rematch_offered = None
        self._tell_state()
        self.tell_all("declined", offer=offer, player=1 - player)

    def allows_assistance(self, seats: Collection[int]) -> bool:
        """Return whether who holds these seats may have hints and analysis.

        Between two people that is so if it was agreed when the game was opened, or once it is over.
        """
        is_between_people = all(self.opening.tokens) and len(seats) < 2
        return not is_between_people or self.opening.assistance

    def check_analysis(self, tokens: Sequence[str]) -> None:
        """Raise IllegalAction if who comes with these tokens may not analyse the game yet."""
        pairs = [(seat, own) for seat, own in enumerate(self.opening.tokens) if own]
        seats = {seat for seat, own in pairs if any(_is_same(own, token) for token in tokens)}
        if self.session.result is None and not self.allows_assistance(seats):
            raise IllegalAction(f"analysis is {NO_ASSISTANCE}")

    def _hint(self, guest: Guest, message: Mapping[str, Any]) -> None:
        self._check_turn(guest, message)
        if not self.allows_assistance(guest.seats):
            raise IllegalAction(f"hints are {NO_ASSISTANCE}")
        self._lobby.hint(self, guest)

    def _look_back(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Show a guest how the board stood after a number of turns."""
        turns, most = message.get("turns"), len(self.session.match.history)
        if not isinstance(turns, int) or not is_integer(turns, 0, most):
            raise BadOption(f"{str(turns)[:40]!r} turns; there are 0 to {most} to look back at")
        guest.send("past", turns=turns, **view.past_state(self.session, turns))

    def _rematch(self, guest: Guest, message: Mapping[str, Any]) -> None:
        if self.session.result is None:
            raise IllegalAction("the game goes on; a rematch comes after it")
        people = {seat for seat, token in enumerate(self.opening.tokens) if token}
        is_agreed = people <= guest.seats | {self.rematch_offered}
        if self.next is None and not guest.is_owner and not is_agreed:
            self.rematch_offered = min(guest.seats)
            self._tell_state()
            return
        if self.next is None:
            opening, swapped = self.opening, (1, 0)
            first, second = (opening.seats[seat] for seat in swapped)
            mine, yours = (opening.tokens[seat] for seat in swapped)
            again = replace(opening, seats=(first, second), tokens=(mine, yours))
            self.next = self._lobby.open(again)
        self.rematch_offered = None
        self.tell_all("next", game=self.next)

    def _set_pace(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Let so many seconds pass between two decisions from now on; None pauses."""
        seconds = message.get("seconds")
        if seconds is not None and not is_number(seconds, 0, SLOWEST):
            would_do = f"0 to {SLOWEST:g}, or null for a pause"
            raise BadOption(f"{str(seconds)[:40]!r} seconds a decision; wanted: {would_do}")
        if seconds != self.pace:
            self._journal.paced(seconds)
            self.pace = seconds
        self._tell_state()
        self._go_on()

    def _step(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Let a player decide once; a game that goes on by itself is paused."""
        if self.session.result is not None:
            raise IllegalAction(f"the game is over ({self.session.result.reason})")
        if self.pace is not None:
            self._set_pace(guest, {"seconds": None})
        self._begin_to_think()

    # What happens

    def _confirm(self, change: Callable[[], object]) -> None:
        """Change the game, write what came of it, then tell; raises CcEnvError, OSError."""
        session = self.session
        count, seconds, was_over = len(session.decisions), sum(session.turn_seconds), session.result
        offered = session.draw_offered_by
        change()
        if len(session.decisions) < count or (was_over and not session.result):
            self._journal.taken_back()
        for decision in session.decisions[count:]:
            self._journal.decided(decision, max(0.0, sum(session.turn_seconds) - seconds))
        if session.result and not was_over and session.result.reason in DECLARED:
            self._journal.ended(session.result, session.detail)
        elif session.draw_offered_by not in (None, offered):
            self._journal.offered(session.draw_offered_by)
        self.wanted_back = self.rematch_offered = None
        self._tell_state()
        self._go_on()

    def _tell_state(self) -> None:
        """Tell everybody how it stands, of the turns those that not all know."""
        done = len(self.session.match.turns)
        turns_from, self._told = min(self._told, done), done
        if self.guests:
            text = self._state(turns_from)
            for guest in list(self.guests):
                guest.tell(text)

    def _go_on(self) -> None:
        """Let a player think if one is to move, and set the alarm of a person's clock."""
        self._silence()
        session = self.session
        if session.result is not None or self.is_closed:
            return
        if session.is_person_to_move:
            left = min(session.clock())
            if left < math.inf:
                self._set_alarm(max(0.0, left) + 0.01, self._expire)
        elif not self.is_watched:
            self._begin_to_think()
        elif self.pace is not None and self._is_wanted and not self._thinking:
            passed = asyncio.get_running_loop().time() - self._moved_at
            self._set_alarm(max(0.0, self.pace - passed), self._begin_to_think)

    def _set_alarm(self, seconds: float, act: Callable[[], None]) -> None:
        self._alarm = asyncio.get_running_loop().call_later(seconds, act)

    def _silence(self) -> None:
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None

    @property
    def _is_wanted(self) -> bool:
        """Return whether players have somebody to play for."""
        return bool(self.guests) or not self.is_watched

    def _expire(self) -> None:
        self._alarm = None
        with self._writing():
            self._confirm(self.session.forfeit_on_time)

    def _begin_to_think(self) -> None:
        self._silence()
        if self._thinking is None:
            self._thinking = asyncio.create_task(self._think())

    async def _think(self) -> None:
        """Let the player who is to move decide; go on then, unless that could not be kept."""
        version, session, is_kept = self._journal.version, self.session, True
        try:
            answer = await self._lobby.ask(self)
            if version == self._journal.version and not self.is_closed:
                with self._writing():
                    self._confirm(lambda: session.finish_decision(answer))
        except CcEnvError as error:
            self.tell_all("refused", why=str(error))
            is_kept = False
        finally:
            self._thinking = None
        self._moved_at = asyncio.get_running_loop().time()
        if is_kept or self.session.is_person_to_move:
            self._go_on()

    def wait(self, ahead: int | None) -> None:
        """Tell how many games think before this one does, None where it does not wait."""
        if ahead != self.ahead:
            self.ahead = ahead
            self.tell_all("queue", ahead=ahead)


def _is_same(own: str, token: str) -> bool:
    """Return whether a token is this one; how long it takes tells nothing of it."""
    return hmac.compare_digest(own.encode(), token.encode("utf-8", "replace"))
