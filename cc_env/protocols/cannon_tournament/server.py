"""The Cannon tournament's server, and its client: a game by its protocol, over TCP.

The server plays along: it knows the rules, and who has lost by which fault. A client is asked to
follow nothing but the protocol, see `cc_env.games.cannon.log` and
`cc_env.protocols.cannon_tournament.messages`.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from cc_env.core.game import Game
from cc_env.errors import BadRecord, IllegalAction
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match.match import FAULTS, Limits, Match
from cc_env.match.referee import Clock, Player, player_for_new_game, request_decision
from cc_env.protocols.cannon_tournament.messages import Wire
from cc_env.protocols.program import check_tournament

PATIENCE = 150.0  # seconds that a read waits for a client
SECONDS = 150.0  # of a player's own for a game
SILENT = "TIMEOUT ON CLIENT NETWORK"
STOPPED = "UNEXPECTED STOP OF THE SERVER"
TOO_FEW = "ERROR IN INITIALIZATION"


class Move(NamedTuple):
    """What a seat does: a command, or a fault."""

    command: str = ""
    fault: str = ""
    detail: str = ""  # of the fault
    is_last: bool = False  # whether it says that the game is over
    text: str = ""  # of the message, as it came
    is_silent: bool = False


class Contestant(Protocol):
    """Somebody at the table."""

    def begin(self, match: Match, number: int, seconds: float) -> None:
        """Begin the game as this player."""

    def move(self) -> Move:
        """Return what it does."""

    def tell(self, text: str) -> None:
        """Tell it a message of the other's, or the end."""

    def close(self) -> None:
        """Let it go."""


class Client:
    """A seat at the other end of a connection."""

    def __init__(self, wire: Wire, patience: float = PATIENCE) -> None:
        self._wire, self._patience = wire, patience

    def begin(self, match: Match, number: int, seconds: float) -> None:
        """As `Contestant.begin`."""
        self._number = number
        self._wire.send(log.message("INIT", log.opening(match.game, number, seconds)))

    def move(self) -> Move:
        """As `Contestant.move`."""
        try:
            message, text = self._wire.receive(self._patience)
        except TimeoutError:
            return Move(fault="time", detail=SILENT, is_silent=True)
        except EOFError:
            return Move(fault="error", detail="the connection has ended")
        except BadRecord as error:
            return Move(fault="error", detail=str(error))
        if fault := log.fault_of(message["meta"]):
            if fault[1] == self._number:
                return Move(fault=fault[0], detail="as it says", text=_in_one_line(text))
            return Move(fault="error", detail=f"it cannot know: {message['meta']}")
        if message["action"] in ("INIT", "KILLPROC") or not message["data"]:
            return Move(fault="error", detail=message["meta"] or "no command")
        return Move(message["data"], is_last=message["action"] != "NORMAL", text=_in_one_line(text))

    def tell(self, text: str) -> None:
        """As `Contestant.tell`."""
        self._wire.send(text)

    def close(self) -> None:
        """As `Contestant.close`."""
        self._wire.close()


class Here:
    """A seat of a player of ours."""

    def __init__(self, player: Player, seed: int = 0) -> None:
        self._player, self._rng, self._left = (
            player_for_new_game(player),
            np.random.default_rng(seed),
            0.0,
        )

    def begin(self, match: Match, number: int, seconds: float) -> None:
        """As `Contestant.begin`."""
        self._match, self._left = match, seconds

    def move(self) -> Move:
        """As `Contestant.move`."""
        match, began = self._match, time.perf_counter()
        clock = Clock(game=self._left)
        answer = request_decision(self._player, match.position, self._rng, clock)
        self._left -= time.perf_counter() - began
        fault, detail = answer.fault or ("", "")
        if self._left <= 0:
            return Move(fault="time", detail=detail or "its time is up")
        if fault:
            return Move(fault=fault, detail=detail)
        try:
            return Move(match.game.turn_text(match.position, (answer.action,)))
        except IllegalAction as error:
            return Move(fault="illegal", detail=str(error))

    def tell(self, text: str) -> None:
        """As `Contestant.tell`."""

    def close(self) -> None:
        """As `Contestant.close`."""


@dataclass(frozen=True)
class Ended:
    """How a game ended."""

    match: Match
    meta: str  # the end message, as player 1 would send it
    detail: str = ""  # of a fault


def play(
    game: Game,
    seats: tuple[Contestant, Contestant],
    *,
    seconds: float = SECONDS,
    note: Callable[[str], None] = lambda line: None,
) -> Ended:
    """Let two seats play a game; `note` gets each line of the log.

    Raises BadOption where the game is not Cannon.
    """
    check_tournament(game)
    match = Match(game, limits=Limits(max_turns=None, repetitions=None))
    detail = ""
    try:
        for number, seat in enumerate(seats):
            seat.begin(match, number, seconds)
        while match.result is None:
            detail = _step(match, seats, note)
    except BaseException:
        for seat in seats:
            seat.tell(log.message("KILLPROC", meta=STOPPED))
        raise
    finally:
        for seat in seats:
            seat.close()
    return Ended(match, _meta(match, 0), detail)


def _step(match: Match, seats: tuple[Contestant, Contestant], note: Callable[[str], None]) -> str:
    """Let the player to move do what it does, note and tell it; return what its fault was."""
    mover = match.game.to_move(match.position)
    move = _played(match, seats[mover].move())
    if move.fault:
        match.forfeit(mover, move.fault)
    text = _said(match, mover, move.command)
    logged = log.SILENCE if move.is_silent else move.text or text
    note(log.line(logged, mover))
    seats[1 - mover].tell(log.message("KILLPROC", meta=SILENT) if move.is_silent else text)
    if match.result is not None and not (move.is_last or (move.fault and move.text)):
        seats[mover].tell(text)
    return move.detail


def _played(match: Match, move: Move) -> Move:
    """Play a command; return the move, or the fault that it is."""
    if move.fault:
        return move
    try:
        turn = log.parse_command(match.game, match.position, move.command)
    except IllegalAction as error:
        return Move(fault="illegal", detail=str(error))
    for action in turn:
        match.play(action)
    if move.is_last and not match.result:
        return Move(fault="error", detail="it says that the game is over, which it is not")
    return move


def _said(match: Match, mover: int, command: str) -> str:
    """Return the message that says what the mover did."""
    if match.result is None:
        return log.message("NORMAL", command)
    return log.end_message(_meta(match, mover), command, _fault_of(match))


def _meta(match: Match, sender: int) -> str:
    """Return the scores of a game that is over, that of the sender first, after a fault."""
    assert match.result is not None
    assert match.score is not None
    return log.scores_text(match.score, sender, _fault_of(match), 1 - match.result.outcome)


def _fault_of(match: Match) -> str:
    """Return the fault that ended a game, "" where the rules did."""
    assert match.result is not None
    return match.result.reason if match.result.reason in FAULTS else ""


def _in_one_line(text: str) -> str:
    """Return a message as it came, unless it is of several lines."""
    return text if text.isprintable() else json.dumps(json.loads(text))


def join(wire: Wire, make: Callable[[Game], Player], seed: int = 0) -> str:
    """Play a game as a client of a tournament's server; return the end message.

    `make` makes the player of the game that the server says. Raises BadRecord where the server says
    what cannot be, EOFError and TimeoutError where it is gone or silent.
    """
    try:
        message, _ = wire.receive(PATIENCE)
        number, rows, columns, seconds = log.parse_opening(message["data"])
        game = make_game("cannon", rows=rows, columns=columns)
        match = Match(game, limits=Limits(max_turns=None, repetitions=None))
        here = Here(make(game), seed)
        here.begin(match, number, seconds)
        end = ""
        while not end:
            mine = game.to_move(match.position) == number
            end = _acted(match, here, wire) if mine else _heard(match, wire)
        return end
    finally:
        wire.close()


def _acted(match: Match, here: Here, wire: Wire) -> str:
    """Do what the player here does, and say it; return the end message, if that ends the game."""
    number = match.game.to_move(match.position)
    move = _played(match, here.move())
    if move.fault:
        match.forfeit(number, move.fault)
    wire.send(_said(match, number, move.command))
    if match.result is None:
        return ""
    return _meta(match, number) + (f" ({move.detail})" if move.detail else "")


def _heard(match: Match, wire: Wire) -> str:
    """Play what the server says; return the end message, if that ends the game."""
    other = match.game.to_move(match.position)
    message, _ = wire.receive(PATIENCE)
    if message["data"]:
        move = _played(match, Move(message["data"]))
        if move.fault:
            match.forfeit(other, move.fault)
            wire.send(_said(match, 1 - other, ""))
            return f"{_meta(match, 1 - other)} ({move.detail})"
    if message["action"] in log.CLOSING:
        return message["meta"]
    return _meta(match, 1 - other) if match.result is not None else ""
