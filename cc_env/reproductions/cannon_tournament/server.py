"""Server and client of the Cannon tournament: one game by its protocol, over TCP.

The server applies the rules and decides which player has lost by which fault. Clients need to
follow only the protocol, see `cc_env.games.cannon.log` and
`cc_env.reproductions.cannon_tournament.messages`.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cc_env.core.game import Game
from cc_env.errors import BadRecord, IllegalAction
from cc_env.games.cannon import log
from cc_env.games.factory import make_game
from cc_env.match.match import FAULTS, Limits, Match
from cc_env.match.referee import Clock, Player, player_for_new_game, request_decision
from cc_env.reproductions.cannon_tournament.messages import MessageSocket
from cc_env.reproductions.cannon_tournament.program_lines import GAME_SECONDS, check_game

# Time to wait for a message of a client.
MESSAGE_TIMEOUT_SECONDS = 150.0
SILENT = "TIMEOUT ON CLIENT NETWORK"
STOPPED = "UNEXPECTED STOP OF THE SERVER"
TOO_FEW = "ERROR IN INITIALIZATION"


class Move(NamedTuple):
    """A move of a seat: a command or a fault."""

    command: str = ""
    fault: str = ""
    # Description of the fault.
    detail: str = ""
    # Whether the message claims that the game is over.
    is_last: bool = False
    # The message as received, "" for local players.
    text: str = ""
    # Whether the client sent nothing in time.
    is_silent: bool = False


class RemoteSeat:
    """The seat of a client."""

    def __init__(self, connection: MessageSocket, timeout: float = MESSAGE_TIMEOUT_SECONDS) -> None:
        self._connection, self._timeout = connection, timeout

    def begin(self, match: Match, player: int, seconds: float) -> None:
        """Send the client the board, its number `player`, 0 or 1, and its time for the game."""
        self._player = player
        self._connection.send(log.message("INIT", log.opening(match.game, player, seconds)))

    def move(self) -> Move:
        """Receive the client's next move, or its fault."""
        try:
            message, text = self._connection.receive(self._timeout)
        except TimeoutError:
            return Move(fault="time", detail=SILENT, is_silent=True)
        except (EOFError, BadRecord) as error:
            return Move(fault="error", detail=str(error))
        return self._read_move(message, _single_line(text))

    def _read_move(self, message: Mapping[str, str], text: str) -> Move:
        """Return the move in a message, or the fault that it reports or is."""
        reported = log.fault_of(message["meta"])
        if reported and reported[1] == self._player:
            return Move(fault=reported[0], detail="reported by the client", text=text)
        if reported:
            detail = f"invalid report: {message['meta']}"
        elif message["action"] in ("INIT", "KILLPROC") or not message["data"]:
            detail = message["meta"] or "no command"
        else:
            return Move(message["data"], is_last=message["action"] != "NORMAL", text=text)
        return Move(fault="error", detail=detail)

    def send(self, text: str) -> None:
        """Send the client the opponent's message or the end of the game."""
        self._connection.send(text)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class LocalSeat:
    """The seat of a player of this process."""

    def __init__(self, player: Player, seed: int = 0) -> None:
        self._player, self._rng = player_for_new_game(player), np.random.default_rng(seed)

    def begin(self, match: Match, player: int, seconds: float) -> None:
        """Start the game; the player has `seconds` for it."""
        self._match, self._remaining = match, seconds

    def move(self) -> Move:
        """Return the player's decision as a move, or its fault; deduct its time."""
        match, clock = self._match, Clock(game=self._remaining)
        start_time = time.perf_counter()
        response = request_decision(self._player, match.position, self._rng, clock)
        self._remaining -= time.perf_counter() - start_time
        fault, detail = response.fault or ("", "")
        if self._remaining <= 0:
            return Move(fault="time", detail=detail or "the time is up")
        if fault:
            return Move(fault=fault, detail=detail)
        try:
            return Move(match.game.turn_text(match.position, (response.action,)))
        except IllegalAction as error:
            return Move(fault="illegal", detail=str(error))

    def send(self, text: str) -> None:
        """Do nothing: the player reads the match."""

    def close(self) -> None:
        """Do nothing: a player of this process has no connection."""


# One of the two seats of a game.
Seat = RemoteSeat | LocalSeat


@dataclass(frozen=True)
class FinishedGame:
    """A finished game."""

    match: Match
    # The end message as player 1 would send it.
    meta: str
    # Description of a fault.
    detail: str = ""


def play_game(
    game: Game,
    seats: tuple[Seat, Seat],
    *,
    seconds: float = GAME_SECONDS,
    write_log: Callable[[str], None] = lambda line: None,
) -> FinishedGame:
    """Play a game between two seats; `write_log` is called with each line of the log.

    Raises BadOption unless the game is Cannon.
    """
    check_game(game)
    match = Match(game, limits=Limits(max_turns=None, repetitions=None))
    detail = ""
    try:
        for player, seat in enumerate(seats):
            seat.begin(match, player, seconds)
        while match.result is None:
            detail = _step(match, seats, write_log)
    except BaseException:
        for seat in seats:
            seat.send(log.message("KILLPROC", meta=STOPPED))
        raise
    finally:
        for seat in seats:
            seat.close()
    return FinishedGame(match, _end_meta(match, 0), detail)


def _step(match: Match, seats: tuple[Seat, Seat], write_log: Callable[[str], None]) -> str:
    """Play, log and forward the next move; return the description of its fault, if any."""
    mover = match.game.to_move(match.position)
    move = _play_command(match, seats[mover].move())
    if move.fault:
        match.forfeit(mover, move.fault)
    text = _move_message(match, mover, move.command)
    logged = log.SILENCE if move.is_silent else move.text or text
    write_log(log.line(logged, mover))
    seats[1 - mover].send(log.message("KILLPROC", meta=SILENT) if move.is_silent else text)
    if match.result is not None and not (move.is_last or (move.fault and move.text)):
        seats[mover].send(text)
    return move.detail


def _play_command(match: Match, move: Move) -> Move:
    """Play the command of a move; return the move, or a fault if the command is invalid."""
    if move.fault:
        return move
    try:
        turn = log.parse_command(match.game, match.position, move.command)
    except IllegalAction as error:
        return Move(fault="illegal", detail=str(error))
    for action in turn:
        match.play(action)
    if move.is_last and not match.result:
        return Move(fault="error", detail="a report of the end of a game in progress")
    return move


def _move_message(match: Match, mover: int, command: str) -> str:
    """Return the message about the mover's command, with the result if the game is over."""
    if match.result is None:
        return log.message("NORMAL", command)
    return log.end_message(_end_meta(match, mover), command, _fault_of(match))


def _end_meta(match: Match, sender: int) -> str:
    """Return the meta field of an end message: any fault, then the scores, the sender's first."""
    assert match.result is not None
    assert match.score is not None
    return log.scores_text(match.score, sender, _fault_of(match), 1 - match.result.outcome)


def _fault_of(match: Match) -> str:
    """Return the fault that ended a game, "" if the rules ended it."""
    assert match.result is not None
    return match.result.reason if match.result.reason in FAULTS else ""


def _single_line(text: str) -> str:
    """Return a message as received, reformatted if it has several lines."""
    return text if text.isprintable() else json.dumps(json.loads(text))


def join_game(
    connection: MessageSocket, player_factory: Callable[[Game], Player], seed: int = 0
) -> str:
    """Play a game as a client of a tournament's server; return the end message.

    `player_factory` creates the player for the server's game. Raises BadRecord for an invalid
    message, EOFError if the server closes the connection, TimeoutError if it is silent.
    """
    try:
        message, _ = connection.receive(MESSAGE_TIMEOUT_SECONDS)
        player, rows, columns, seconds = log.parse_opening(message["data"])
        game = make_game("cannon", rows=rows, columns=columns)
        match = Match(game, limits=Limits(max_turns=None, repetitions=None))
        seat = LocalSeat(player_factory(game), seed)
        seat.begin(match, player, seconds)
        end = ""
        while not end:
            if game.to_move(match.position) == player:
                end = _send_move(match, seat, connection)
            else:
                end = _receive_move(match, connection)
        return end
    finally:
        connection.close()


def _send_move(match: Match, seat: LocalSeat, connection: MessageSocket) -> str:
    """Play and send the local player's move; return the end message if the game is over."""
    player = match.game.to_move(match.position)
    move = _play_command(match, seat.move())
    if move.fault:
        match.forfeit(player, move.fault)
    connection.send(_move_message(match, player, move.command))
    if match.result is None:
        return ""
    return _end_meta(match, player) + (f" ({move.detail})" if move.detail else "")


def _receive_move(match: Match, connection: MessageSocket) -> str:
    """Receive and play the opponent's move; return the end message if the game is over."""
    other = match.game.to_move(match.position)
    message, _ = connection.receive(MESSAGE_TIMEOUT_SECONDS)
    if message["data"]:
        move = _play_command(match, Move(message["data"]))
        if move.fault:
            match.forfeit(other, move.fault)
            connection.send(_move_message(match, 1 - other, ""))
            return f"{_end_meta(match, 1 - other)} ({move.detail})"
    if message["action"] in log.CLOSING:
        return message["meta"]
    return _end_meta(match, 1 - other) if match.result is not None else ""
