"""A game that is served: who looks on, who may do what, and that all is on disk before it is told.

Everything here runs in the thread of the event loop, except what a player thinks.
"""

import asyncio
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cc_env.errors import CcEnvError, IllegalAction, UnknownOption
from cc_env.match import AGREED, FAULTS, RESIGNED
from cc_env.play import view
from cc_env.play.choices import choices
from cc_env.play.journal import Journal, Opening
from cc_env.play.messages import act_of, action_of, check_turn
from cc_env.play.pointing import meant

if TYPE_CHECKING:
    from cc_env.play.lobby import Lobby

DECLARED = (*FAULTS, RESIGNED, AGREED)  # ends that decisions do not tell
BEHIND = 64  # messages that may wait for a guest who reads slowly
LONGEST = 400  # characters of what is typed


class Guest:
    """Somebody who is connected: at one seat, at both or at none."""

    def __init__(self, seats: frozenset[int] = frozenset()) -> None:
        """Hold these seats."""
        self.seats = seats
        self.messages: asyncio.Queue[str | None] = asyncio.Queue(BEHIND)  # None: goodbye

    def tell(self, message: str) -> None:
        """Let a message wait for the guest; one who does not read is dismissed."""
        try:
            self.messages.put_nowait(message)
        except asyncio.QueueFull:
            while not self.messages.empty():
                self.messages.get_nowait()
            self.messages.put_nowait(None)

    def send(self, kind: str, **values: Any) -> None:
        """As `tell`, of a message of some kind."""
        self.tell(json.dumps({"type": kind, **values}))


class Room:
    """A game with all who are connected to it."""

    def __init__(self, name: str, journal: Journal, opening: Opening, lobby: "Lobby") -> None:
        """Begin, or go on where the journal ends."""
        self.name, self.opening = name, opening
        self._journal, self._lobby = journal, lobby
        self.guests: set[Guest] = set()
        self.sitting = opening.sitting(lobby.bench)
        self.wanted_back: int | None = None  # the player who asks to take back
        self.next: str | None = None  # the game that is its rematch
        self.ahead: int | None = None  # how many games think before it; None: it does not wait
        self._thinking: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    @classmethod
    def read(cls, name: str, journal: Journal, lobby: "Lobby") -> "Room":
        """Return the game at its last confirmed decision; raises BadRecord, OSError."""
        opening, sitting = journal.read(lobby.bench)
        room = cls(name, journal, opening, lobby)
        room.sitting = sitting
        return room

    @property
    def is_idle(self) -> bool:
        """Return whether nobody is here and nothing goes on."""
        return not (self.guests or self._thinking or self._alarm)

    def seats_of(self, tokens: Sequence[str]) -> frozenset[int]:
        """Return which seats these tokens hold; raise UnknownOption where one holds none."""
        found = set()
        for token in tokens:
            mine = [
                seat
                for seat, own in enumerate(self.opening.tokens)
                if own and hmac.compare_digest(own.encode(), token.encode("utf-8", "replace"))
            ]
            if not mine:
                raise UnknownOption("this link holds no seat of this game")
            found.update(mine)
        return frozenset(found)

    # Guests come and go

    def join(self, guest: Guest) -> None:
        """Let somebody in, and tell all."""
        self.guests.add(guest)
        setting = view.setting(self.sitting.game)
        guest.send("welcome", game=self.name, seats=sorted(guest.seats), setting=setting)
        guest.tell(self._state())
        if self.next:
            guest.send("next", game=self.next)
        self._tell_presence()
        self._go_on()

    def leave(self, guest: Guest) -> None:
        """Let somebody go."""
        self.guests.discard(guest)
        self._tell_presence()

    def _tell_presence(self) -> None:
        here = sorted({seat for guest in self.guests for seat in guest.seats})
        self.tell_all("present", seats=here, onlookers=sum(not each.seats for each in self.guests))

    def tell_all(self, kind: str, **values: Any) -> None:
        """Send a message to everybody here."""
        text = json.dumps({"type": kind, **values})
        for guest in list(self.guests):
            guest.tell(text)

    def _state(self) -> str:
        told = {
            "type": "state",
            "version": self._journal.lines,
            "wanted_back": self.wanted_back,
            "ahead": self.ahead,
            **view.state(self.sitting),
        }
        return json.dumps(told)

    # What guests ask for

    def obey(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Do what a guest asks for; raises CcEnvError, and changes nothing, where it cannot be."""
        asked: dict[str, Callable[[Guest, Mapping[str, Any]], None]] = {
            "play": self._play,
            "say": self._say,
            "take_back": self._take_back,
            "hint": self._hint,
            "resign": self._resign,
            "draw": self._offer,
            "rematch": self._rematch,
        }
        act = act_of(message, asked)
        if not guest.seats:
            raise IllegalAction("onlookers cannot do this; a player's own link can")
        act(guest, message)

    def _check_turn(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Raise IllegalAction unless it is the guest's turn, in the position that it saw."""
        check_turn(self.sitting, guest.seats, message, self._journal.lines)

    def _play(self, guest: Guest, message: Mapping[str, Any]) -> None:
        self._check_turn(guest, message)
        action = action_of(message)
        self._confirm(lambda: self.sitting.play(action))

    def _say(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Play what somebody typed, or ask which of several is meant."""
        self._check_turn(guest, message)
        text = message.get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            raise IllegalAction("a move is typed in notation, or as row and column")
        sitting, piece = self.sitting, message.get("piece")
        found = choices(sitting.game, sitting.position)
        chosen = tuple(piece) if isinstance(piece, list) else None
        known = {cell for each in found for cell in each.pieces}
        cell = next((each for each in known if each == chosen), None)
        which = meant(sitting.game, sitting.position, found, cell, text.strip())
        if which.turn:
            for action in which.turn:
                if sitting.result is None:
                    self._confirm(lambda action=action: sitting.play(action))  # type: ignore[misc]
        else:
            several = [each.action for each in which.several]
            guest.send("meant", piece=which.piece, several=several)

    def _take_back(self, guest: Guest, message: Mapping[str, Any]) -> None:
        """Take back; between two people the other has to want it, too."""
        sitting = self.sitting
        people = [seat for seat, each in enumerate(sitting.seats) if each.player is None]
        asking = min(guest.seats)
        if not sitting.decisions:
            raise IllegalAction("there is nothing to take back")
        mine = not sitting.result and sitting.mover in guest.seats
        if mine and sitting.game.mid_turn(sitting.position):  # what the guest has begun
            agreed = True
        else:
            agreed = len(people) < 2 or len(guest.seats) == 2
            agreed |= self.wanted_back not in (None, asking)
        if agreed:
            self._confirm(sitting.take_back)
        else:
            self.wanted_back = asking
            self._tell_state()

    def _resign(self, guest: Guest, message: Mapping[str, Any]) -> None:
        seat = self.sitting.mover if self.sitting.mover in guest.seats else min(guest.seats)
        self._confirm(lambda: self.sitting.resign(seat))

    def _offer(self, guest: Guest, message: Mapping[str, Any]) -> None:
        seat = self.sitting.mover if self.sitting.mover in guest.seats else min(guest.seats)
        if len(guest.seats) == 2:
            seat = 1 - seat if self.sitting.offered == seat else seat
        self._confirm(lambda: self.sitting.offer_draw(seat))

    def _hint(self, guest: Guest, message: Mapping[str, Any]) -> None:
        self._check_turn(guest, message)
        self._lobby.hint(self, guest)

    def _rematch(self, guest: Guest, message: Mapping[str, Any]) -> None:
        if self.sitting.result is None:
            raise IllegalAction("the game goes on; a rematch comes after it")
        if self.next is None:
            opening, swapped = self.opening, (1, 0)
            first, second = (opening.seats[seat] for seat in swapped)
            mine, yours = (opening.tokens[seat] for seat in swapped)
            again = replace(opening, seats=(first, second), tokens=(mine, yours))
            self.next = self._lobby.open(again).name
        self.tell_all("next", game=self.next)

    # What happens

    def _confirm(self, change: Callable[[], object]) -> None:
        """Change the game, write what came of it, then tell; raises CcEnvError."""
        sitting = self.sitting
        count, seconds, was_over = len(sitting.decisions), sum(sitting.seconds), sitting.result
        change()
        try:
            if len(sitting.decisions) < count or (was_over and not sitting.result):
                self._journal.taken_back()
            for decision in sitting.decisions[count:]:
                self._journal.decided(decision, max(0.0, sum(sitting.seconds) - seconds))
            if sitting.result and not was_over and sitting.result.reason in DECLARED:
                self._journal.ended(sitting.result, sitting.detail)
        except OSError as error:
            _, self.sitting = self._journal.read(self._lobby.bench)
            self._tell_state()
            raise CcEnvError(f"it could not be kept: {error.strerror}") from error
        self.wanted_back = None
        self._tell_state()
        self._go_on()

    def _tell_state(self) -> None:
        text = self._state()
        for guest in list(self.guests):
            guest.tell(text)

    def _go_on(self) -> None:
        """Let a player think if one is to move, and set the alarm of a person's clock."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        sitting = self.sitting
        if sitting.result is not None:
            return
        if sitting.is_person_to_move:
            left = min(sitting.clock())
            if left < float("inf"):
                loop = asyncio.get_running_loop()
                self._alarm = loop.call_later(max(0.0, left) + 0.01, self._expire)
        elif self._thinking is None and self._is_wanted:
            self._thinking = asyncio.create_task(self._think())

    @property
    def _is_wanted(self) -> bool:
        """Return whether players have somebody to play for."""
        return bool(self.guests) or any(self.opening.tokens)

    def _expire(self) -> None:
        self._alarm = None
        with suppress(CcEnvError):
            self._confirm(self.sitting.expire)

    async def _think(self) -> None:
        """Let players decide until a person is to move, or the game is over."""
        try:
            while self.sitting.result is None and not self.sitting.is_person_to_move:
                if not self._is_wanted:
                    break
                version, sitting = self._journal.lines, self.sitting
                answer = await self._lobby.ask(self)
                if (version, sitting) == (self._journal.lines, self.sitting):
                    self._confirm(lambda: self.sitting.settle(answer))  # noqa: B023
                    if not any(self.opening.tokens):
                        await asyncio.sleep(self._lobby.bounds.pause)
        except CcEnvError as error:
            self.tell_all("refused", why=str(error))
        finally:
            self._thinking = None
        with suppress(CcEnvError):
            self._go_on_after_thinking()

    def _go_on_after_thinking(self) -> None:
        if self.sitting.is_person_to_move:
            self._go_on()

    def wait(self, ahead: int | None) -> None:
        """Tell how many games think before this one does, None where it does not wait."""
        if ahead != self.ahead:
            self.ahead = ahead
            self.tell_all("queue", ahead=ahead)
