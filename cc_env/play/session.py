"""Game session: a game in progress between two seats, each taken by a person or a player.

Decisions are played one at a time, under the rules, limits, clock and checks of
`cc_env.match.referee.play_match`. Front ends display the session and pass people's decisions to it;
they contain no rules.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cc_env.core import random_streams
from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadOption, IllegalAction
from cc_env.match import record
from cc_env.match.match import RESIGNED, Limits, Match, Result
from cc_env.match.record import Record
from cc_env.match.referee import (
    Clock,
    Decision,
    Player,
    Response,
    Timer,
    player_for_new_game,
    player_generators,
    request_decision,
)
from cc_env.players.specs import make_player

# Name of a seat taken by a person.
HUMAN = "human"
# A player accepts a draw if it expected at most MAX_DRAWISH_VALUE in each of its last turns.
MIN_DRAWISH_TURNS, MAX_DRAWISH_VALUE = 8, 0.05


@dataclass(frozen=True)
class Seat:
    """One side of the game: a person, or a player with its spec."""

    # Player spec, or HUMAN.
    name: str
    # None for a person.
    player: Player | None


class GameSession:
    """A game in progress between two seats, each taken by a person or a player.

    People's decisions are played by `play`, players' by `play_computer_decision`.
    """

    def __init__(
        self,
        game: Game,
        names: Sequence[str] = (HUMAN, "minimax"),
        *,
        start: Position | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        time_source: Callable[[], float] = time.monotonic,
        player_factory: Callable[[str, Game], Player] = make_player,
    ) -> None:
        """Start the game, with the clock of the player to move running.

        Each of the two `names` is HUMAN or a player spec for `player_factory`; `time_source`
        returns the time in seconds. Raises BadOption for an invalid seed or if a player cannot be
        created, BadPosition if `start` is no position of the game.
        """
        if len(names) != 2:
            raise BadOption(f"{len(names)} seats; expected: 2, each {HUMAN} or a player spec")
        random_streams.check_seed(seed)
        self.game, self.seed = game, seed
        self._rngs = player_generators(seed)
        self._now = time_source
        self.match = Match(game, start, limits)
        self._timer = Timer(self.match)
        self.decisions: list[Decision] = []
        # Description of the fault that ended the game, "" if none did.
        self.detail = ""
        self._draw_offered_by: int | None = None
        self.seats = tuple(_make_seat(name, game, player_factory) for name in names)
        # Time at which the clock of the player to move was started; None while clocks are paused.
        self._running_since: float | None = time_source()

    @property
    def position(self) -> Position:
        """The position, which may be in the middle of a turn."""
        return self.match.position

    @property
    def result(self) -> Result | None:
        """The result, None while the game is in progress."""
        return self.match.result

    @property
    def mover(self) -> int:
        """The player to move, 0 or 1."""
        return self.match.mover

    @property
    def draw_offered_by(self) -> int | None:
        """The player whose draw offer is open, None if there is none or the game is over."""
        return None if self.result else self._draw_offered_by

    @property
    def is_person_to_move(self) -> bool:
        """Whether the game is in progress and a person is to move."""
        return self.result is None and self.seats[self.mover].player is None

    @property
    def turn_seconds(self) -> tuple[float, ...]:
        """The duration of each turn in seconds, an unfinished last one included."""
        return tuple(self._timer.seconds)

    def clock(self) -> Clock:
        """Return the remaining time of the player to move, as of now."""
        clock, elapsed = self._timer.clock(), self.elapsed_seconds
        return Clock(clock.turn - elapsed, clock.game - elapsed)

    def seconds_left(self, player: int) -> float:
        """Return a player's remaining seconds for the game, infinity without a limit."""
        running = self.elapsed_seconds if self.result is None and player == self.mover else 0.0
        return self._timer.seconds_left(player) - running

    def play(self, action: int) -> None:
        """Play a person's decision; if the time is up, that person loses instead.

        Raises IllegalAction, before anything changes, for an illegal action and when no person is
        to move.
        """
        if self.result is None and not self.is_person_to_move:
            raise IllegalAction(f"{self.seats[self.mover].name} is to move, not a person")
        self._check_action(action)
        if not self._stop_clock():
            self._play_decision(Decision(int(action)))

    def play_turn(self, turn: Turn) -> None:
        """Play a whole turn of a person; if the time is up, that person loses instead.

        Raises IllegalAction, before anything changes, for an illegal turn and when no person is to
        move.
        """
        self.game.play_turn(self.position, turn)
        for action in turn:
            if self.result is None:
                self.play(action)

    def play_computer_decision(self) -> Decision | None:
        """Request a decision from the player to move and play it; None if a fault ends the game.

        Raises IllegalAction if a person is to move or the game is over.
        """
        self.check_in_progress()
        if self.is_person_to_move:
            raise IllegalAction("a person is to move, not a player")
        return self.finish_decision(self.decision_task()())

    def decision_task(self, max_seconds: float = math.inf) -> Callable[[], Response]:
        """Return a function that requests the decision of the player to move, in any thread.

        The player has `max_seconds`, or less if its clock runs out earlier. A forced action is
        returned at once, unless the player keeps state of its game. Pass the response to
        `finish_decision` unless the position has changed meanwhile.
        """
        mover, player, position = self.mover, self.seats[self.mover].player, self.position
        assert player is not None
        legal = self.match.legal_actions
        if len(legal) == 1 and not hasattr(player, "for_new_game"):
            return lambda: Response(Decision(legal[0]))
        remaining = self._timer.clock()
        clock = Clock(min(max_seconds, remaining.turn), remaining.game)
        rng = self._rngs[mover]
        return lambda: request_decision(player, position, rng, clock)

    def finish_decision(self, response: Response) -> Decision | None:
        """Play the response of `decision_task`; return None if a fault ends the game.

        The clock is not charged for the player's `compile_seconds`, if it has this attribute.
        """
        decision, fault = response
        compile_seconds = getattr(self.seats[self.mover].player, "compile_seconds", 0.0)
        if self._stop_clock(compile_seconds) or self._forfeit_on_fault(fault, decision):
            return None
        assert decision is not None
        self._play_decision(decision)
        return decision

    def start_clock(self) -> None:
        """Start the clock of the player to move; time before this call does not count."""
        self._running_since = self._now()

    def pause_clock(self) -> None:
        """Pause the clocks until `start_clock`."""
        self._running_since = None

    @property
    def is_paused(self) -> bool:
        """Whether the clocks are paused."""
        return self._running_since is None

    @property
    def elapsed_seconds(self) -> float:
        """The seconds since the clock of the player to move was started; 0 while it is paused."""
        return 0.0 if self._running_since is None else self._now() - self._running_since

    def _restart_clock(self) -> None:
        if self._running_since is not None:
            self._running_since = self._now()

    def replay_decision(self, decision: Decision, seconds: float) -> None:
        """Play a recorded decision that took `seconds`; raise IllegalAction if it is illegal."""
        self._check_action(decision.action)
        self._timer.add(seconds)
        self._play_decision(decision)
        self._restart_clock()

    def restore_result(self, result: Result, detail: str = "", seconds: float = 0.0) -> None:
        """End the game with a recorded result, `seconds` after the last decision.

        Raises IllegalAction if the game is over.
        """
        self.check_in_progress()
        if seconds:
            self._timer.add(seconds)
        self.match.result, self.detail = result, detail

    @property
    def last_turn(self) -> tuple[Position, Turn] | None:
        """The last turn, complete or not, with the position before it; None at the start."""
        history = self.match.history
        return self.match.partial_turn or (history[-1] if history else None)

    def forfeit_on_time(self) -> bool:
        """End the game if the time of the player to move is up; return whether it is over."""
        if self.result is None and min(self.clock()) < 0:
            self._stop_clock()
        return self.result is not None

    def take_back(self) -> int:
        """Return to a person's previous decision point; return the number of turns taken back.

        In the middle of a person's turn this takes back its decisions so far, which are 0 turns.
        The clock gets the time back. Raises IllegalAction if no person has moved.
        """
        match = self.match
        turns = len(match.turns)
        keep = turns
        if not (self.is_person_to_move and self.game.mid_turn(match.position)):
            keep = self._last_turn_of_person()
        dropped = sum(len(turn) for _, turn in match.history[keep:])
        dropped += len(match.partial_turn[1] if match.partial_turn else ())
        self._timer.take_back(keep)
        match.take_back(keep)
        del self.decisions[len(self.decisions) - dropped :]
        self.detail, self._draw_offered_by = "", None
        self.seats = tuple(
            Seat(seat.name, seat.player and player_for_new_game(seat.player)) for seat in self.seats
        )
        self._restart_clock()
        return turns - keep

    def _last_turn_of_person(self) -> int:
        """Return the index of a person's last complete turn; raise IllegalAction without one."""
        for index, (before, _) in reversed(list(enumerate(self.match.history))):
            if self.seats[self.game.to_move(before)].player is None:
                return index
        raise IllegalAction("nothing to take back: no person has moved yet")

    def resign(self, player: int) -> None:
        """End the game by resignation of `player`. Raises IllegalAction if it is over."""
        self.check_in_progress()
        self.match.forfeit(player, RESIGNED)

    def offer_draw(self, player: int) -> bool:
        """Offer a draw, or accept the opponent's offer; return whether the game is now drawn.

        An offer to a person stands until that person declines it or moves. A player declines at
        once, unless it expected at most a draw in each of its last MIN_DRAWISH_TURNS turns. Raises
        IllegalAction if the game is over.
        """
        self.check_in_progress()
        other = 1 - player
        if self.draw_offered_by == other or self._accepts_draw(other):
            self._timer.add(self.elapsed_seconds)
            self.match.agree_on_draw()
            return True
        if self.seats[other].player is None:
            self._draw_offered_by = player
        return False

    def decline_draw(self, player: int) -> None:
        """Decline the opponent's draw offer. Raises IllegalAction if there is none."""
        self.check_in_progress()
        if self.draw_offered_by != 1 - player:
            raise IllegalAction("no draw is offered")
        self._draw_offered_by = None

    def hint(self, name: str = "minimax") -> Decision:
        """Return the decision of another player in this position; no clock is charged for it.

        Raises BadOption if the player cannot be created, IllegalAction if the game is over.
        """
        self.check_in_progress()
        player = make_player(name, self.game)
        return player.choose(self.position, player_generators(self.seed)[0], Clock())

    def record(self) -> Record:
        """Return the record of all complete turns."""
        names = [seat.name for seat in self.seats]
        turns = len(self.match.turns) + (self.result is not None)
        return Record.from_match(
            self.match,
            players=names,
            seconds=self._timer.seconds[:turns],
            seed=self.seed,
            detail=self.detail,
        )

    @classmethod
    def from_record(cls, recorded: Record, names: Sequence[str] | None = None) -> "GameSession":
        """Return a session that continues a recorded game, by default with the same players.

        Raises BadRecord if the record breaks the rules of its game, BadOption if a player cannot be
        created.
        """
        match = record.replay(recorded)
        session = cls(
            match.game,
            names or recorded.players,
            start=match.start,
            limits=match.limits,
            seed=recorded.seed or 0,
        )
        seconds = recorded.seconds or (0.0,) * len(match.turns)
        for (_, turn), duration in zip(match.history, seconds, strict=False):
            session._timer.add(duration)
            for action in turn:
                session.match.play(action)
                session.decisions.append(Decision(action))
        session.match.result, session.detail = match.result, recorded.detail
        return session

    def _play_decision(self, decision: Decision) -> None:
        """Play a legal decision and store it."""
        # A move declines the opponent's draw offer.
        if self._draw_offered_by != self.mover:
            self._draw_offered_by = None
        self.match.play(decision.action)
        self.decisions.append(decision)

    def _stop_clock(self, excluded_seconds: float = 0.0) -> bool:
        """Charge the time since the last decision; return whether it ended the game."""
        overtime = self._timer.add(max(0.0, self.elapsed_seconds - excluded_seconds))
        self._restart_clock()
        return bool(overtime) and self._forfeit_on_fault(("time", overtime), None)

    def _forfeit_on_fault(self, fault: tuple[str, str] | None, decision: Decision | None) -> bool:
        """End the game on a fault (reason, detail) or illegal decision; return whether it ended."""
        if fault is None and decision:
            try:
                self._check_action(decision.action)
            except IllegalAction as error:
                fault = "illegal", str(error)
        if fault is not None:
            reason, self.detail = fault
            self.match.forfeit(self.mover, reason)
        return fault is not None

    def _accepts_draw(self, player: int) -> bool:
        """Return whether a computer player accepts a draw; always False for a person."""
        if self.seats[player].player is None:
            return False
        values = self._expected_values(player)[-MIN_DRAWISH_TURNS:]
        return len(values) == MIN_DRAWISH_TURNS and max(values) <= MAX_DRAWISH_VALUE

    def _expected_values(self, player: int) -> list[float]:
        """Return the last value that a player reported in each of its turns, -1 to 1."""
        values: list[float] = []
        first = 0
        for before, turn in self.match.history:
            decisions = self.decisions[first : first + len(turn)]
            reported = [decision.value for decision in decisions if decision.value is not None]
            if reported and self.game.to_move(before) == player:
                values.append(reported[-1])
            first += len(turn)
        return values

    def _check_action(self, action: int) -> None:
        """Raise IllegalAction if the game is over or the action is illegal."""
        self.check_in_progress()
        self.game.check_action(self.position, action, self.match.legal_actions)

    def check_in_progress(self) -> None:
        """Raise IllegalAction if the game is over."""
        if self.result is not None:
            raise IllegalAction(f"the game is over ({self.result.reason})")


def _make_seat(name: str, game: Game, player_factory: Callable[[str, Game], Player]) -> Seat:
    """Return the seat of a person, or of a new player."""
    return Seat(name, None if name == HUMAN else player_for_new_game(player_factory(name, game)))
