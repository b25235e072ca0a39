"""External programs as players.

    program:command="./bot --strong",seconds=2           UGI, as in `cc_env.play.ugi_engine`
    program:command=./bot.sh,protocol=cannon             lines of `cc_env.games.cannon.log`

A program is started for each game and ended with all its descendants. It receives the turns played,
reconstructed from the positions in which its player has to decide.
"""

import math
import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import TypeVar

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import (
    BadOption,
    BadPlayer,
    Forfeit,
    IllegalAction,
    check_name,
    describe_os_error,
)
from cc_env.match.match import check_time_limits
from cc_env.match.referee import Clock, Decision
from cc_env.protocols.channel import Channel, LineTooLong
from cc_env.protocols.process import ProcessChannel
from cc_env.protocols.program_protocol import GameHistory
from cc_env.protocols.ugi import one_line
from cc_env.protocols.ugi_driver import UGIDriver
from cc_env.reproductions.cannon_tournament import program_lines

_T = TypeVar("_T")
# See `cc_env.protocols.program_protocol`.
ProgramProtocol = UGIDriver | program_lines.CannonProgramProtocol
PROTOCOLS = "ugi", "cannon"
# Default time for a turn.
TURN_SECONDS = 10.0
# Default time to get ready.
START_SECONDS = 60.0


class ProgramConnection:
    """A player at the other end of a channel, for one game."""

    def __init__(
        self,
        game: Game,
        name: str,
        protocol: ProgramProtocol,
        channel: Channel,
        clock: Clock,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Start a game; `clock` has the program's own limits, besides those of a match.

        Faults are raised by the first `choose`.
        """
        self._game, self._name, self._protocol, self._channel = game, name, protocol, channel
        self._clock, self._seconds_spent = clock, 0.0
        self._history = GameHistory(game)
        # Remaining actions of the current turn, each with its position.
        self._planned: list[tuple[Position, int]] = []
        self._fault: Forfeit | None = None
        with suppress(Forfeit):
            self._guard(lambda until: protocol.begin(channel, game, until), start_seconds)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the next decision of the program's turn; raise Forfeit after a fault."""
        if self._planned and self._planned[0][0] == position:
            return Decision(self._planned.pop(0)[1])
        if self._fault is not None:
            raise self._fault
        self._history.add_opponent_turn(position)
        turn = self._request_turn(clock)
        positions = [position]
        for action in turn[:-1]:
            positions.append(self._game.apply(positions[-1], action))
        self._planned = list(zip(positions, turn, strict=True))[1:]
        self._history.add_own_turn(turn)
        return Decision(turn[0])

    def _request_turn(self, clock: Clock) -> Turn:
        """Return the program's turn within its limits and `clock`, and add up its seconds.

        Raises Forfeit for a fault.
        """
        start_time = time.perf_counter()
        remaining = self._clock.game - self._seconds_spent
        limits = Clock(min(self._clock.turn, clock.turn), min(remaining, clock.game))
        turn = self._guard(
            lambda until: self._protocol.request_turn(self._channel, self._history, limits, until),
            min(limits),
        )
        self._seconds_spent += time.perf_counter() - start_time
        return turn

    def _guard(self, action: Callable[[float], _T], seconds: float) -> _T:
        """Return the result of `action(until)`; on failure kill the program and raise Forfeit."""
        try:
            return action(time.perf_counter() + seconds)
        except TimeoutError:
            fault, reason = "time", f"no reply in {seconds:.3g} s"
        except EOFError as error:
            fault, reason = "error", f"{error}{self._last_error_line()}"
        except IllegalAction as error:
            fault, reason = "illegal", one_line(error)
        except Forfeit as error:
            fault, reason = error.fault, str(error)
        except LineTooLong as error:
            fault, reason = "error", str(error)
        except BaseException:
            self._channel.kill()
            raise
        self._channel.kill()
        if report := self._protocol.reported_error:
            reason += f"; the program reported: {report}"
        self._fault = Forfeit(fault, f"{self._name}: {reason}")
        raise self._fault

    def _last_error_line(self) -> str:
        """Return a suffix for error messages with the last line of stderr; "" if it is empty."""
        lines = self._channel.stderr_tail.splitlines()
        return f"; last line of stderr: {lines[-1][:200]}" if lines else ""


class ProgramPlayer:
    """A player that starts an external program for each game."""

    def __init__(
        self,
        game: Game,
        *,
        command: str | None = None,
        protocol: str = "ugi",
        seconds: float | None = None,
        budget: float | None = None,
        start: float = START_SECONDS,
    ) -> None:
        """Play with the program of a `command`, which is split into words but run without a shell.

        `seconds` limits a turn (default 10 with UGI), `budget` the program's time for a game
        (default 150 with the tournament's protocol), `start` the time to get ready. Raises
        BadOption for invalid values or a missing program.
        """
        check_time_limits(seconds=seconds, budget=budget, start=start)
        if check_protocol(protocol) == "cannon":
            program_lines.check_game(game)
            budget = program_lines.GAME_SECONDS if budget is None else budget
        elif seconds is None:
            seconds = TURN_SECONDS
        self._game, self._words, self._protocol = game, _split_command(command), protocol
        self._start_seconds = start
        self._clock = Clock(math.inf if seconds is None else seconds, budget or math.inf)
        self._connection: ProgramConnection | None = None

    def for_new_game(self) -> "ProgramPlayer":
        """Return a player for another game with a new program; raise BadPlayer if none starts."""
        player = copy(self)
        player._connection = player._start_program()
        return player

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the next decision of the program's turn; raise Forfeit after a fault.

        Starts the program unless it is running; raises BadPlayer if that fails.
        """
        if self._connection is None:
            self._connection = self._start_program()
        return self._connection.choose(position, rng, clock)

    def _start_program(self) -> ProgramConnection:
        """Start the program and return the connection; raise BadPlayer on failure."""
        protocol: ProgramProtocol = UGIDriver()
        if self._protocol == "cannon":
            protocol = program_lines.CannonProgramProtocol(self._clock.game)
        name = f"program {shlex.join(self._words)}"
        try:
            channel = ProcessChannel(self._words, protocol.farewell)
        except OSError as error:
            raise BadPlayer(f"{name} cannot be started: {describe_os_error(error)}") from error
        return ProgramConnection(
            self._game, name, protocol, channel, self._clock, self._start_seconds
        )


def check_protocol(name: str) -> str:
    """Return the name of a protocol; raise UnknownOption for an unknown one."""
    return check_name("protocol", name, PROTOCOLS)


def _split_command(command: object) -> list[str]:
    """Return the words of a command.

    Raises BadOption if it is not a valid command line or its program does not exist.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError as error:
        raise BadOption(f"command={command!r}: {error}") from None
    if not words:
        raise BadOption(f'command={command!r}; expected: a program, such as "./bot --strong"')
    if "\0" in str(command) or shutil.which(words[0]) is None:
        raise BadOption(f"command={command!r}: there is no program {words[0]!r}")
    return words
