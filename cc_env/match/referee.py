"""The referee: requests decisions, checks them, keeps the time and returns the record."""

import math
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from cc_env.core import random_streams
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadPlayer, Forfeit, IllegalAction
from cc_env.match.match import Limits, Match
from cc_env.match.record import Record


class Clock(NamedTuple):
    """The remaining thinking time in seconds, for this turn and for all remaining turns."""

    turn: float = math.inf
    game: float = math.inf


@dataclass(frozen=True)
class Decision:
    """The action chosen by a player, with its evaluation.

    `value` is the expected result for the player, -1 to 1; `details` are statistics.
    """

    action: int
    value: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Player(Protocol):
    """A player: any object with this method, which may raise Forfeit.

    A player with state from earlier decisions also has `for_new_game()`, which returns a player of
    the same kind without that state, so that it can play several games at once. A player whose
    decisions can be made in compiled code also has `make_policy()`, which returns a new policy of
    `cc_env.search.policies`, or None.
    """

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a decision in `position`; use no randomness except `rng`."""


def is_player(candidate: object) -> bool:
    """Return whether an object has the method `choose` of a player, and is not a NumPy array."""
    return hasattr(candidate, "choose") and not isinstance(candidate, np.ndarray | np.generic)


def check_decision(decision: object) -> Decision:
    """Return the result of a player's `choose`; raise BadPlayer if it has no action."""
    if not hasattr(decision, "action"):
        expected = "a Decision, such as cc_env.match.referee.Decision(action)"
        raise BadPlayer(f"choose returned {decision!r:.80}; expected: {expected}")
    return cast(Decision, decision)


def player_for_new_game(player: Player) -> Player:
    """Return a player for another game: itself if it has no state."""
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
    """Play a match between two players and return its record.

    Each player has a random generator of its own, derived from `seed`. A player that raises an
    exception, chooses an illegal action or exceeds its time loses; the record contains the reason.
    Overlong decisions are interrupted in the main thread on systems with alarms, except in compiled
    code. Raises BadOption unless there are two players, two names and a valid seed; BadPosition if
    `start` is not a position of the game.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> players = [cc_env.make_player(spec, game) for spec in ("minimax:depth=3", "random")]
        >>> record = cc_env.play_match(game, players, names=("Anna", "Bob"))
        >>> record.players, record.result
        (('Anna', 'Bob'), '1-0')
    """
    _check_arguments(players, names, seed)
    match = Match(game, start, limits)
    players = [player_for_new_game(player) for player in players]
    rngs = player_generators(seed)
    timer = Timer(match)
    detail = ""
    while match.result is None:
        mover, clock = match.mover, timer.clock()
        start_time = time.perf_counter()
        response = request_decision(players[mover], match.position, rngs[mover], clock)
        delay = timer.add(time.perf_counter() - start_time)
        fault = ("time", delay) if delay else response.fault or _try_action(match, response.action)
        if fault:
            reason, detail = fault
            match.forfeit(mover, reason)
    return Record.from_match(match, players=names, seconds=timer.seconds, seed=seed, detail=detail)


def player_generators(seed: int) -> list[np.random.Generator]:
    """Return the random generators of the two players, derived from one seed."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)]


class Timer:
    """The thinking times of both players of a match, and its time limits.

    `seconds` has the time of each turn, including an unfinished one, `player_seconds` the total
    time of each player.
    """

    def __init__(self, match: Match) -> None:
        """Measure the times of `match`, beginning with zero."""
        self.seconds: list[float] = []
        self._match = match
        self.player_seconds = [0.0, 0.0]

    def clock(self) -> Clock:
        """Return the remaining time of the player to move."""
        limits, turn = self._match.limits, len(self._match.turns)
        per_turn = limits.seconds_per_turn or math.inf
        return Clock(per_turn - sum(self.seconds[turn:]), self.seconds_left(self._match.mover))

    def seconds_left(self, player: int) -> float:
        """Return a player's remaining seconds for all turns, infinity without a limit."""
        match, limits = self._match, self._match.limits
        if limits.seconds_per_game is None:
            return math.inf
        added = 0.0
        if limits.increment:
            movers = [match.game.to_move(before) for before, _ in match.history]
            added = limits.increment * movers.count(player)
        return limits.seconds_per_game + added - self.player_seconds[player]

    def add(self, seconds: float) -> str:
        """Add thinking time of the player to move; return a message if it exceeds a limit, else "".

        Call this before the action is played.
        """
        clock, turn = self.clock(), len(self._match.turns)
        self.seconds[turn:] = [sum(self.seconds[turn:]) + seconds]
        self.player_seconds[self._match.mover] += seconds
        return f"{seconds:.3f} s, had {min(clock):.3f} s" if seconds > min(clock) else ""

    def take_back(self, keep: int) -> None:
        """Remove the times of all turns after the first `keep`.

        Call this before the turns are taken back in the match.
        """
        match = self._match
        # The last position is that of an unfinished turn.
        positions = [*(before for before, _ in match.history[keep:]), match.position]
        for position, seconds in zip(positions, self.seconds[keep:], strict=False):
            player = match.game.to_move(position)
            self.player_seconds[player] = max(0.0, self.player_seconds[player] - seconds)
        del self.seconds[keep:]


def _check_arguments(players: Sequence[Player], names: Sequence[str], seed: int) -> None:
    if len(players) != 2 or len(names) != 2:
        raise BadOption(f"{len(players)} players and {len(names)} names; expected: two of each")
    for player, name in zip(players, names, strict=True):
        if not is_player(player):
            is_convertible = isinstance(player, str) or callable(player)
            hint = f"; use players.specs.as_player({player!r}, game)" if is_convertible else ""
            raise BadPlayer(f"{player!r} is not a player: it has no method choose{hint}")
        if not isinstance(name, str):
            raise BadOption(f"name {name!r}; expected: a string")
    random_streams.check_seed(seed)


def _try_action(match: Match, action: int) -> tuple[str, str] | None:
    """Play an action; return a fault with its description if it is illegal."""
    try:
        match.play(action)
    except IllegalAction as error:
        return "illegal", str(error)
    return None


class Response(NamedTuple):
    """The decision of a player, or a fault with its description."""

    decision: Decision | None
    fault: tuple[str, str] | None = None

    @property
    def action(self) -> Any:
        """The chosen action; None after a fault."""
        return self.decision.action if self.decision else None


def request_decision(
    player: Player, position: Position, rng: np.random.Generator, clock: Clock
) -> Response:
    """Return the decision of a player, or its fault; never raise an error of the player."""
    try:
        with _alarm(min(clock)):
            return Response(check_decision(player.choose(position, rng, clock)))
    except _TimeIsUpError:
        return Response(None, ("time", ""))
    except Forfeit as error:
        return Response(None, (error.fault, str(error)))
    except (Exception, SystemExit) as error:
        return Response(None, ("error", f"{type(error).__name__}: {_error_text(error)}"))


def _error_text(error: BaseException) -> str:
    """Return the message of an error in valid UTF-8, or "?" if that fails."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:
        return "?"


class _TimeIsUpError(BaseException):
    """Interrupts a player; not an Exception, which the player might catch."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUpError in the block when its time is up, if the system can interrupt it."""
    has_alarm = (
        hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    )
    if math.isinf(seconds) or not has_alarm or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(*_: object) -> None:
        raise _TimeIsUpError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(max(seconds, 1e-6), threading.TIMEOUT_MAX))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
