"""A session: a game in progress between two seats, each taken by a person or by a player.

It goes decision by decision, by the same rules, limits, clock and checks as
`cc_env.match.referee.play`. The terminal and every other front end show it and hand it what people
choose; they know no rules.
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

HUMAN = "human"  # the name of a seat that a person has
# A player accepts a draw if it expected at most MAX_LEVEL_VALUE in each of its last turns.
MIN_LEVEL_TURNS, MAX_LEVEL_VALUE = 8, 0.05


@dataclass(frozen=True)
class Seat:
    """Who plays."""

    name: str  # a spoken name, or HUMAN
    player: Player | None  # None for a person


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
        returns the time in seconds. Raises BadOption for bad names or a bad seed, BadPosition as
        `Match`.
        """
        if len(names) != 2:
            raise BadOption(f"{len(names)} seats; wanted: 2, each {HUMAN} or a player's name")
        random_streams.check_seed(seed)
        self.game, self.seed = game, seed
        self._rngs = player_generators(seed)
        self._now = time_source
        self._begin(Match(game, start, limits))
        self.seats = tuple(_seat(name, game, player_factory) for name in names)
        self._since: float | None = time_source()  # None: the clocks stand still

    def _begin(self, match: Match) -> None:
        self.match, self._timer = match, Timer(match)
        self.decisions: list[Decision] = []  # all, in the order in which they were played
        self.detail = ""  # of a fault that ended it
        self.draw_offered_by: int | None = None  # the player who offers a draw

    @property
    def position(self) -> Position:
        """Return the position, which may be in the middle of a turn."""
        return self.match.position

    @property
    def result(self) -> Result | None:
        """Return how it ended, None while it goes on."""
        return self.match.result

    @property
    def mover(self) -> int:
        """Return the player who is to move, 0 or 1."""
        return self.match.mover

    @property
    def is_person_to_move(self) -> bool:
        """Return whether a person has to choose now."""
        return self.result is None and self.seats[self.mover].player is None

    @property
    def turn_seconds(self) -> tuple[float, ...]:
        """Return how long each turn took, an unfinished last one included."""
        return tuple(self._timer.seconds)

    def clock(self) -> Clock:
        """Return what is left to the player who is to move, less what has passed since."""
        left, passed = self._timer.clock(), self._passed()
        return Clock(left.turn - passed, left.game - passed)

    def seconds_left(self, player: int) -> float:
        """Return how many seconds a player has left for the game, infinity without a limit."""
        limit = self.match.limits.seconds_per_game
        if limit is None:
            return float("inf")
        running = self._passed() if self.result is None and player == self.mover else 0.0
        return limit - self._timer.seconds_spent(player) - running

    def play(self, action: int) -> None:
        """Play a person's decision; one that comes too late loses the game instead.

        Raises IllegalAction, and changes nothing, where it is illegal or a player is to move.
        """
        if self.result is None and not self.is_person_to_move:
            raise IllegalAction(f"{self.seats[self.mover].name} is to move, not a person")
        if self.result is not None or action not in self.match.legal_actions:
            self.match.play(action)  # refuses
        if not self._stop_clock():
            self._accept(Decision(int(action)))

    def play_turn(self, turn: Turn) -> None:
        """Play a whole turn of a person; raises as `play`, before anything is played."""
        self.game.play_turn(self.position, turn)
        for action in turn:
            if self.result is None:
                self.play(action)

    def play_computer_decision(self) -> Decision | None:
        """Let the player who is to move decide, and play it; None where a fault ends the game.

        A decision without a choice is played at once, unless the player keeps something of its
        game and so has to see it. Raises IllegalAction where a person is to move, or nobody.
        """
        if self.result is not None or self.is_person_to_move:
            raise IllegalAction("no player is to move" if self.result is None else "it is over")
        return self.finish_decision(self.decision_task()())

    def decision_task(self, max_seconds: float = math.inf) -> Callable[[], Response]:
        """Return what asks the player who is to move; it may be called in another thread.

        The player has `max_seconds` seconds, or less if its clock leaves less. Pass the answer to
        `finish_decision` unless the position has changed meanwhile.
        """
        mover, player, position = self.mover, self.seats[self.mover].player, self.position
        assert player is not None
        legal = self.match.legal_actions
        if len(legal) == 1 and not hasattr(player, "for_new_game"):
            return lambda: Response(Decision(legal[0]))
        left = self._timer.clock()
        clock, rng = Clock(min(max_seconds, left.turn), left.game), self._rngs[mover]
        return lambda: request_decision(player, position, rng, clock)

    def finish_decision(self, answer: Response) -> Decision | None:
        """Play a player's answer to `decision_task`; return None where a fault ends the game."""
        mover, (decision, fault) = self.mover, answer
        if self._stop_clock() or self._is_fault(mover, fault, decision):
            return None
        assert decision is not None
        self._accept(decision)
        return decision

    def start_clock(self) -> None:
        """Let the clock of who is to move run from now on; what passed since does not count."""
        self._since = self._now()

    def pause_clock(self) -> None:
        """Let the clocks stand still until `start_clock`."""
        self._since = None

    @property
    def is_paused(self) -> bool:
        """Return whether the clocks stand still."""
        return self._since is None

    def _passed(self) -> float:
        """Return how many seconds have passed since the clock of who is to move began to run."""
        return 0.0 if self._since is None else self._now() - self._since

    def _restart_clock(self) -> None:
        if self._since is not None:
            self._since = self._now()

    def replay_decision(self, decision: Decision, seconds: float) -> None:
        """Play what was decided before, in so many seconds; raises IllegalAction."""
        if self.result is not None or decision.action not in self.match.legal_actions:
            self.match.play(decision.action)  # refuses
        self._timer.add(seconds)
        self._accept(decision)
        self._restart_clock()

    def restore_result(self, result: Result, detail: str = "") -> None:
        """End the game as it was ended before. Raises IllegalAction where it is over."""
        self._check_goes_on()
        self.match.result, self.detail = result, detail

    @property
    def last_turn(self) -> tuple[Position, Turn] | None:
        """Return the last turn, finished or not, with the position before it; None at the start."""
        course = self.match.history
        return self.match.partial_turn or (course[-1] if course else None)

    def forfeit_on_time(self) -> bool:
        """End the game if the time of who is to move is up; return whether it is over."""
        if self.result is None and min(self.clock()) < 0:
            self._stop_clock()
        return self.result is not None

    def take_back(self) -> int:
        """Take back what was decided since a person last had to choose; return how many turns.

        In the middle of a person's turn that is its decisions so far. The clock has the time again.
        Raises IllegalAction where nothing was decided by a person.
        """
        match, done = self.match, len(self.match.turns)
        keep = done
        if not (self.is_person_to_move and self.game.mid_turn(match.position)):
            keep = self._last_turn_of_a_person()
        dropped = sum(len(turn) for _, turn in match.history[keep:])
        dropped += len(match.partial_turn[1] if match.partial_turn else ())
        self._timer.take_back(keep)
        match.take_back(keep)
        del self.decisions[len(self.decisions) - dropped :]
        self.detail, self.draw_offered_by = "", None
        self.seats = tuple(
            Seat(seat.name, seat.player and player_for_new_game(seat.player)) for seat in self.seats
        )
        self._restart_clock()
        return done - keep

    def _last_turn_of_a_person(self) -> int:
        """Return the index of the last finished turn that a person played."""
        movers = self.match.movers
        for index in reversed(range(len(movers))):
            if self.seats[movers[index]].player is None:
                return index
        raise IllegalAction("there is nothing to take back: no person has moved yet")

    def resign(self, player: int) -> None:
        """End the game: `player` gives up. Raises IllegalAction where it is over."""
        self._check_goes_on()
        self.match.forfeit(player, RESIGNED)

    def offer_draw(self, player: int) -> bool:
        """Offer a draw, or accept the other's offer; return whether the game is drawn now.

        The offer to a person stands until that person declines it or has moved. A player declines
        at once, unless it expected no more than a draw in each of its last MIN_LEVEL_TURNS turns.
        Raises IllegalAction where the game is over.
        """
        self._check_goes_on()
        other = 1 - player
        if self.draw_offered_by == other or self._accepts_draw(other):
            self.match.agree_on_draw()
            return True
        if self.seats[other].player is None:
            self.draw_offered_by = player
        return False

    def decline_draw(self, player: int) -> None:
        """Decline the other's offer of a draw. Raises IllegalAction where there is none."""
        self._check_goes_on()
        if self.draw_offered_by != 1 - player:
            raise IllegalAction("no draw is offered")
        self.draw_offered_by = None

    def hint(self, name: str = "minimax") -> Decision:
        """Return what a player would decide here; its clock does not run.

        Raises UnknownOption as `players.make`, IllegalAction where the game is over.
        """
        self._check_goes_on()
        player = make_player(name, self.game)
        return player.choose(self.position, player_generators(self.seed)[0], Clock())

    def record(self) -> Record:
        """Return the record of all finished turns."""
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
    def from_record(cls, kept: Record, names: Sequence[str] | None = None) -> "GameSession":
        """Return a session that goes on where a record ends; its players may have other names.

        Raises BadRecord as `record.replay`, BadOption as a session.
        """
        match = record.replay(kept)
        session = cls(
            match.game,
            names or kept.players,
            start=match.start,
            limits=match.limits,
            seed=kept.seed or 0,
        )
        seconds = kept.seconds or (0.0,) * len(match.turns)
        for (_, turn), spent in zip(match.history, seconds, strict=False):
            session._timer.add(spent)
            for action in turn:
                session.match.play(action)
                session.decisions.append(Decision(action))
        session.match.result, session.detail = match.result, kept.detail
        return session

    def _accept(self, decision: Decision) -> None:
        if self.draw_offered_by != self.mover:  # who moves instead of accepting declines
            self.draw_offered_by = None
        self.match.play(decision.action)
        self.decisions.append(decision)

    def _stop_clock(self) -> bool:
        """Count the time since the last decision; return whether it was too long, and ends it."""
        late = self._timer.add(self._passed())
        self._restart_clock()
        return bool(late) and self._is_fault(self.mover, ("time", late), None)

    def _is_fault(
        self, player: int, fault: tuple[str, str] | None, decision: Decision | None
    ) -> bool:
        """Return whether a player is at fault, by what is known or by its decision; end it then."""
        if fault is None and decision and decision.action not in self.match.legal_actions:
            fault = "illegal", str(self.game.illegal_action(self.position, decision.action))
        if fault is not None:
            reason, self.detail = fault
            self.match.forfeit(player, reason)
        return fault is not None

    def _accepts_draw(self, player: int) -> bool:
        """Return whether a computer player has expected no more than a draw for several turns."""
        if self.seats[player].player is None:
            return False
        values = self._expected_values(player)[-MIN_LEVEL_TURNS:]
        return len(values) == MIN_LEVEL_TURNS and max(values) <= MAX_LEVEL_VALUE

    def _expected_values(self, player: int) -> list[float]:
        """Return the value that a player expected last in each of its turns, -1 to 1."""
        values, first = [], 0
        for before, turn in self.match.history:
            decisions = self.decisions[first : first + len(turn)]
            given = [decision.value for decision in decisions if decision.value is not None]
            if given and self.game.to_move(before) == player:
                values.append(given[-1])
            first += len(turn)
        return values

    def _check_goes_on(self) -> None:
        if self.result is not None:
            raise IllegalAction(f"the game is over ({self.result.reason})")


def _seat(name: str, game: Game, make: Callable[[str, Game], Player]) -> Seat:
    return Seat(name, None if name == HUMAN else player_for_new_game(make(name, game)))
