"""The referee: asks the players in turn, checks them, keeps the clock, writes the record."""

import math
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from cc_env.core import random_streams
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.match import Limits, Match
from cc_env.match.record import Record


class Clock(NamedTuple):
    """How long a player may think, in seconds."""

    turn: float = math.inf  # for this turn
    game: float = math.inf  # for all turns that are left


@dataclass(frozen=True)
class Decision:
    """What a player chose, and what it knows about it."""

    action: int
    value: float | None = None  # expected result for the player, -1 to 1
    details: Mapping[str, Any] = field(default_factory=dict)


class Player(Protocol):
    """Somebody who plays. Anything with this method will do; it may raise Forfeit.

    A player with state from earlier decisions also has `for_new_game()`, which returns a player of
    its kind without that state, so that many games can be played at once.
    """

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a decision in `position`; all randomness comes from `rng`."""


def is_player(candidate: object) -> bool:
    """Return whether an object has a method `choose` as players have; that of NumPy's differs."""
    return hasattr(candidate, "choose") and not isinstance(candidate, np.ndarray | np.generic)


def player_for_new_game(player: Player) -> Player:
    """Return a player for another game: itself, if it remembers nothing of its games."""
    return player.for_new_game() if hasattr(player, "for_new_game") else player


def play_match(
    game: Game,
    players: Sequence[Player],
    *,
    names: Sequence[str] = ("first", "second"),
    start: Position | None = None,
    limits: Limits | None = None,
    seed: int = 0,
) -> Record:
    """Let the two players play, and return the record of it.

    Each player has its own random generator, made from `seed`. A player that raises an exception,
    chooses an illegal action or takes too long loses; the record says why. A player that does not
    return in time is interrupted, if this is the main thread, the system has alarms, and the player
    is not in compiled code.
    Raises BadOption unless there are two players, two names and a seed; BadPosition as `Match`.
    """
    _check(players, names, seed)
    match, players = Match(game, start, limits), [player_for_new_game(player) for player in players]
    timer, rngs = Timer(match), player_generators(seed)
    detail = ""
    while match.result is None:
        mover, clock = match.mover, timer.clock()
        began = time.perf_counter()
        answer = request_decision(players[mover], match.position, rngs[mover], clock)
        late = timer.add(time.perf_counter() - began)
        fault, detail = ("time", late) if late else answer.fault or try_action(match, answer.action)
        if fault:
            match.forfeit(mover, fault)
    return Record.from_match(match, players=names, seconds=timer.seconds, seed=seed, detail=detail)


def player_generators(seed: int) -> list[np.random.Generator]:
    """Return a random generator for each of the two players."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)]


class Timer:
    """How long the players of a match have thought, against its limits."""

    def __init__(self, match: Match) -> None:
        """Begin with no time spent."""
        self.seconds: list[float] = []  # for each turn, an unfinished last one included
        self._match = match
        self._spent = [0.0, 0.0]  # by player

    def clock(self) -> Clock:
        """Return what is left to the player who is to move."""
        limits, turn = self._match.limits, len(self._match.turns)
        if limits.seconds_per_turn is None and limits.seconds_per_game is None:
            return Clock()
        used = self.seconds[turn] if turn < len(self.seconds) else 0.0
        a_turn, a_game = (
            limit or math.inf for limit in (limits.seconds_per_turn, limits.seconds_per_game)
        )
        return Clock(a_turn - used, a_game - self.seconds_spent(self._match.mover))

    def add(self, seconds: float) -> str:
        """Add the thinking time of the player to move; return a complaint if it is too long.

        To be called before the player's action is played.
        """
        clock, turn = self.clock(), len(self._match.turns)
        self.seconds[turn:] = [sum(self.seconds[turn:]) + seconds]
        self._spent[self._match.mover] += seconds
        return f"{seconds:.3f} s, had {min(clock):.3f} s" if seconds > min(clock) else ""

    def take_back(self, keep: int) -> None:
        """Forget the time of all turns after the first `keep`.

        To be called before the turns are taken back in the match.
        """
        movers = [*self._match.movers[keep:], self._match.mover]  # the latter of an unfinished turn
        for mover, seconds in zip(movers, self.seconds[keep:], strict=False):
            self._spent[mover] = max(0.0, self._spent[mover] - seconds)
        del self.seconds[keep:]

    def seconds_spent(self, player: int) -> float:
        """Return for how many seconds a player has thought."""
        return self._spent[player]


def _check(players: Sequence[Player], names: Sequence[str], seed: int) -> None:
    if len(players) != 2 or len(names) != 2:
        raise BadOption(f"{len(players)} players and {len(names)} names; wanted: two of each")
    for player, name in zip(players, names, strict=True):
        if not is_player(player):
            would_do = isinstance(player, str) or callable(player)
            near = f"; players.of({player!r}, game) makes one" if would_do else ""
            raise BadPlayer(f"{player!r} is not a player: it has no method choose{near}")
        if not isinstance(name, str):
            raise BadOption(f"{name!r} is not a name")
    random_streams.check_seed(seed)


def try_action(match: Match, action: Any) -> tuple[str, str]:
    """Play an action; return a fault and what is wrong with the action, or two empty texts."""
    try:
        match.play(action)
    except IllegalAction as error:
        return "illegal", str(error)
    return "", ""


class Response(NamedTuple):
    """What a player chose, or a fault with what went wrong."""

    decision: Decision | None
    fault: tuple[str, str] | None = None

    @property
    def action(self) -> Any:
        """Return the action that was chosen."""
        return self.decision.action if self.decision else None


def request_decision(
    player: Player, position: Position, rng: np.random.Generator, clock: Clock
) -> Response:
    """Ask a player for a decision; return an answer whatever the player does."""
    try:
        with _alarm(min(clock)):
            decision = player.choose(position, rng, clock)
            _ = decision.action
            return Response(decision)
    except _TimeIsUpError:
        return Response(None, ("time", ""))
    except Forfeit as error:
        return Response(None, (error.fault, str(error)))
    except (Exception, SystemExit) as error:
        return Response(None, ("error", f"{type(error).__name__}: {_text(error)}"))


def _text(error: BaseException) -> str:
    """Return what an error says, if it can be said and written."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:
        return "?"


class _TimeIsUpError(BaseException):
    """What interrupts a player; not an Exception, which it might catch."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUpError in the block when its time is up, where that is possible."""
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if math.isinf(seconds) or not can or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(*_: Any) -> None:
        raise _TimeIsUpError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(max(seconds, 1e-6), threading.TIMEOUT_MAX))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
