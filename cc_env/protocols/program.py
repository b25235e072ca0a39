"""A program that plays: it speaks UGI, or the lines of the Cannon tournament's player programs.

    program:command="./bot --strong",seconds=2           UGI, see `cc_env.play.ugi_engine`
    program:command=./bot.sh,protocol=cannon             its lines, see `cc_env.games.cannon.log`

A program is started for each game, gets what has been played as far as its player has seen it, and
is ended with all its children.
"""

import math
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from typing import Protocol, TypeVar

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import (
    BadOption,
    BadPlayer,
    Forfeit,
    IllegalAction,
    UnknownOption,
    format_list,
    is_number,
)
from cc_env.games.cannon import log
from cc_env.match.referee import Clock, Decision
from cc_env.protocols.channel import Channel, LineTooLong
from cc_env.protocols.process import ProcessChannel
from cc_env.protocols.ugi import game_words, one_line, position_words, split_first

_T = TypeVar("_T")
PROTOCOLS = "ugi", "cannon"
SECONDS = 10.0  # that a turn may take where nothing is said
BUDGET = 150.0  # that a game may take, of programs of the tournament
START = 60.0  # that it may take until it is ready
LONGEST_TURN = 1000  # characters
MAX_NAME_LENGTH = 80  # characters of a name that a program gives itself
_SHARE, _SPARE = 0.95, 0.02  # of its time a program is told less, by this share and these seconds


class Course:
    """What was played, as far as a player sees it who is asked now and then."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.start: Position | None = None
        self.position: Position = game.initial
        self.turns: list[str] = []

    def arrive(self, position: Position) -> None:
        """Note the opponent's turn that led here; where none can have, all begins here."""
        if self.start is None and self.game.to_move(position) != self.game.to_move(self.position):
            self.start = self.game.initial  # the first player may have moved
        if self.start is not None and position != self.position:
            turn = next(self.game.turns_between(self.position, position), None)
            if turn is None:
                self.start = None
            else:
                self.turns.append(self.game.turn_text(self.position, turn))
        if self.start is None:
            self.start, self.turns = position, []
        self.position = position

    def leave(self, turn: Turn) -> None:
        """Note a turn of the player's own."""
        self.turns.append(self.game.turn_text(self.position, turn))
        self.position = self.game.play_turn(self.position, turn)


class Talk(Protocol):
    """How a program is talked to; all raise as `Channel.hear`, or Forfeit."""

    farewell: str

    def begin(self, channel: Channel, game: Game, until: float) -> None:
        """Begin a game."""

    def ask(self, channel: Channel, course: Course, clock: Clock, until: float) -> Turn:
        """Return the turn that the program plays."""


class UGITalk:
    """UGI, the driver's side."""

    farewell = "quit"
    name = ""  # that the program gives itself

    def begin(self, channel: Channel, game: Game, until: float) -> None:
        """As `Talk.begin`."""
        channel.say("ugi", until)
        for word, rest in _lines(channel, until):
            if word == "ugiok":
                break
            kind, name = split_first(rest)
            if (word, kind) == ("id", "name"):
                self.name = name[:MAX_NAME_LENGTH]
        for line in (f"setgame {game_words(game)}", "uginewgame", "isready"):
            channel.say(line, until)
        _await("readyok", channel, until)

    def ask(self, channel: Channel, course: Course, clock: Clock, until: float) -> Turn:
        """As `Talk.ask`."""
        assert course.start is not None
        channel.say(f"position {position_words(course.game, course.start, course.turns)}", until)
        channel.say(f"go {_go_words(clock)}", until)
        words = _await("bestmove", channel, until).split()
        end = words.index("ponder") if "ponder" in words else len(words)
        return course.game.parse_turn(course.position, _short(" ".join(words[:end])))


def _await(word: str, channel: Channel, until: float) -> str:
    """Return what follows `word`, once a line begins with it; raise Forfeit for an error."""
    return next(rest for first, rest in _lines(channel, until) if first == word)


def _lines(channel: Channel, until: float) -> Iterator[tuple[str, str]]:
    """Yield lines as their first word and the rest; raise Forfeit for an error."""
    while True:
        first, rest = split_first(channel.hear(until))
        if (first, *rest.split()[:2]) == ("info", "string", "error"):
            raise Forfeit("error", rest[:LONGEST_TURN])
        yield first, rest


def _go_words(clock: Clock) -> str:
    """Return the limits that `go` names; a program knows its own time alone."""
    turn, game = (
        str(int(1000 * max(_SHARE * seconds - _SPARE, 0.001))) for seconds in _finite(clock)
    )
    words = ["movetime", turn] if clock.turn < math.inf else []
    return " ".join(words if clock.game == math.inf else [*words, "p1time", game, "p2time", game])


def _finite(clock: Clock) -> tuple[float, ...]:
    return tuple(0.0 if seconds == math.inf else seconds for seconds in clock)


def _short(text: str) -> str:
    """Return the text of a turn; raise IllegalAction where it is longer than any."""
    if len(text) > LONGEST_TURN:
        raise IllegalAction(f"'{text[:40]}…' has {len(text):,} characters")
    return text.strip()


class CannonTalk:
    """The lines of the Cannon tournament's player programs: from the start alone."""

    farewell = ""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._is_told = seconds, False

    def begin(self, channel: Channel, game: Game, until: float) -> None:
        """As `Talk.begin`: it is told which player it is when it is asked first."""

    def ask(self, channel: Channel, course: Course, clock: Clock, until: float) -> Turn:
        """As `Talk.ask`."""
        game = course.game
        if course.start != game.initial:
            where = f"'{game.to_text(course.position)}'"
            raise Forfeit("error", f"by this protocol a game begins at the start, not in {where}")
        if not self._is_told:
            channel.say(log.opening(game, game.to_move(course.position), self._seconds), until)
            self._is_told = True
        for turn in course.turns[-1:]:
            channel.say(turn, until)
        return log.parse_command(game, course.position, _short(channel.hear(until)))


class Talker:
    """A player at the other end of a channel, in one game."""

    def __init__(
        self,
        game: Game,
        name: str,
        talk: Talk,
        channel: Channel,
        clock: Clock,
        start: float = START,
    ) -> None:
        """Begin to talk; `clock` is what it has of its own, `start` the seconds to get ready.

        What goes wrong here is raised when it is asked.
        """
        self._game, self._name, self._talk, self._channel = game, name, talk, channel
        self._clock, self._spent = clock, 0.0
        self._course = Course(game)
        self._planned: list[tuple[Position, int]] = []  # the rest of a turn, and where it is played
        self._fault: Forfeit | None = None
        with suppress(Forfeit):
            self._guarded(lambda until: talk.begin(channel, game, until), start)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the next decision of its turn; raise Forfeit where it has lost by a fault."""
        if self._planned and self._planned[0][0] == position:
            return Decision(self._planned.pop(0)[1])
        if self._fault is not None:
            raise self._fault
        self._course.arrive(position)
        turn = self._ask(clock)
        after = [position]
        for action in turn[:-1]:
            after.append(self._game.apply(after[-1], action))
        self._planned = list(zip(after, turn, strict=True))[1:]
        self._course.leave(turn)
        return Decision(turn[0])

    def _ask(self, clock: Clock) -> Turn:
        """Return the turn it plays; raise Forfeit."""
        began = time.perf_counter()
        own = Clock(self._clock.turn, self._clock.game - self._spent)
        bounds = Clock(min(own.turn, clock.turn), min(own.game, clock.game))
        decision = self._guarded(
            lambda until: self._talk.ask(self._channel, self._course, bounds, until), min(bounds)
        )
        self._spent += time.perf_counter() - began
        return decision

    def _guarded(self, act: Callable[[float], _T], seconds: float) -> _T:
        """Return what `act` does in this time; raise Forfeit, which ends the program."""
        try:
            return act(time.perf_counter() + seconds)
        except TimeoutError:
            self._fault = Forfeit("time", f"{self._name}: no answer in {seconds:.3g} s")
        except EOFError as error:
            self._fault = Forfeit("error", f"{self._name}: {error}{self._last_words()}")
        except IllegalAction as error:
            self._fault = Forfeit("illegal", f"{self._name}: {one_line(error)}")
        except Forfeit as error:
            self._fault = Forfeit(error.fault, f"{self._name}: {error}")
        except LineTooLong as error:
            self._fault = Forfeit("error", f"{self._name}: {error}")
        except BaseException:
            self._channel.kill()
            raise
        self._channel.kill()
        raise self._fault

    def _last_words(self) -> str:
        said = self._channel.said_aside.splitlines()[-1:]
        return f"; last on stderr: {said[0][:200]}" if said else ""


class ProgramPlayer:
    """A program as a player; it is started again for each game."""

    def __init__(
        self,
        game: Game,
        *,
        command: str | None = None,
        protocol: str = "ugi",
        seconds: float | None = None,
        budget: float | None = None,
        start: float = START,
    ) -> None:
        """Play by the program that `command` starts, words as a shell reads them; no shell runs it.

        It may take `seconds` for a turn (by UGI 10 if nothing is said), `budget` seconds for a game
        (by the tournament's protocol 150), and `start` seconds to get ready. Raises BadOption on
        bad values, and where there is no such program.
        """
        check_seconds(seconds=seconds, budget=budget, start=start)
        if check_protocol(protocol) == "cannon":
            check_tournament(game)
            budget = BUDGET if budget is None else budget
        elif seconds is None:
            seconds = SECONDS
        self._game, self._words, self._protocol = game, _words(command), protocol
        self._budget, self._start = budget, start
        self._clock = Clock(math.inf if seconds is None else seconds, budget or math.inf)
        self._talker: Talker | None = None

    def for_new_game(self) -> "ProgramPlayer":
        """Return the same player for another game, its program started."""
        other = copy(self)
        other._talker = other._started()
        return other

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """As `Talker.choose`."""
        if self._talker is None:
            self._talker = self._started()
        return self._talker.choose(position, rng, clock)

    def _started(self) -> Talker:
        """Return the program, started; raise BadPlayer where it cannot be."""
        talk = CannonTalk(self._clock.game) if self._protocol == "cannon" else UGITalk()
        name = f"program {shlex.join(self._words)}"
        try:
            channel = ProcessChannel(self._words, talk.farewell)
        except OSError as error:
            raise BadPlayer(f"{name} cannot be started: {error}") from error
        return Talker(self._game, name, talk, channel, self._clock, self._start)


def check_protocol(name: str) -> str:
    """Return the name of a protocol; raise UnknownOption where it does not exist."""
    if name not in PROTOCOLS:
        raise UnknownOption(f"protocol={name!r}; there are: {format_list(PROTOCOLS)}")
    return name


def check_seconds(**given: float | None) -> None:
    """Raise BadOption for what is neither a time, which is more than 0, nor None."""
    for name, value in given.items():
        if value is not None and not (is_number(value, 0) and value):
            raise BadOption(f"{name}={value!r}; it is more than 0")


def check_tournament(game: Game) -> None:
    """Raise BadOption for a game that the tournament's protocol does not know."""
    if game.name != "cannon":
        raise BadOption(f"protocol=cannon is for the game cannon, not for {game.name}")


def _words(command: object) -> list[str]:
    """Return the words of a command; raise BadOption where there is no such program."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError as error:
        raise BadOption(f"command={command!r}: {error}") from None
    if not words:
        raise BadOption(f'command={command!r}; wanted a program: command="./bot --strong"')
    if "\0" in str(command) or shutil.which(words[0]) is None:
        raise BadOption(f"command={command!r}: there is no program {words[0]!r}")
    return words
