"""A game in progress between two players, and the limits that a match sets to it."""

import operator
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.errors import BadOption, BadPosition, IllegalAction, is_integer, is_number

FAULTS = "time", "illegal", "error"  # reasons for a loss that are not in the rules
RESIGNED, AGREED = "resigned", "agreed"  # reasons for a loss and for a draw that players choose


@dataclass(frozen=True)
class Limits:
    """The limits of a match, which are not part of any game's rules; None: no limit.

    Games whose own rules end repetition (`Game.repetition_limit`) have no limit of repetitions.
    """

    max_turns: int | None = 200  # a draw after this number of turns
    repetitions: int | None = 3  # a draw at the Nth occurrence of a position
    seconds_per_turn: float | None = None  # a player who takes longer loses
    seconds_per_game: float | None = None  # for all turns of a player; who takes longer loses

    def __post_init__(self) -> None:
        for name, least in (("max_turns", 1), ("repetitions", 2)):
            value = getattr(self, name)
            if value is not None and not is_integer(value, least):
                raise BadOption(f"{name}={value!r}; it is {least} or more, or None for no limit")
        for name in ("seconds_per_turn", "seconds_per_game"):
            value = getattr(self, name)
            if value is not None and not (is_number(value, 0) and value):
                raise BadOption(f"{name}={value!r}; it is more than 0, or None for no limit")


def effective_repetition_limit(game: Game, limit: int | None) -> int | None:
    """Return the limit that holds in a game: none where its own rules end repetition."""
    return None if game.repetition_limit else limit


class Result(NamedTuple):
    """How a match ended."""

    outcome: int  # FIRST_WINS, SECOND_WINS or DRAW
    reason: str  # `Game.ending`, repetition, max_turns, one of FAULTS, RESIGNED or AGREED


class Match:
    """A game in progress: it takes legal actions, counts turns and repetitions, knows the end."""

    def __init__(
        self, game: Game, start: Position | None = None, limits: Limits | None = None
    ) -> None:
        """Begin at `start`, None for the game's own; raise BadPosition if it is not a position."""
        if start is not None and not isinstance(start, type(game.initial)):
            would_do = f"a position of {game.name}, as from_text makes them of texts"
            raise BadPosition(f"start={start!r}; wanted: {would_do}")
        self.game = game
        self.limits = limits or Limits()
        self.start = game.initial if start is None else start
        self.position = self.start
        self.mover = game.to_move(self.start)  # the player who is to move, 0 or 1
        self._legal: tuple[int, ...] | None = None  # what `legal` found
        self.turns: list[str] = []  # finished ones, in notation
        self.history: list[tuple[Position, Turn]] = []  # the same, where each was played
        self.movers: list[int] = []  # the players of the same turns
        self._keys = [game.key(self.start)]  # of the start, and of the position after each turn
        self._seen = Counter(self._keys)
        self.result = self._by_rules()
        self._begin_turn()

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions, ascending; empty where the rules have ended the game."""
        if self._legal is None:
            self._legal = tuple(self.game.legal_actions(self.position).tolist())
        return self._legal

    def play(self, action: int) -> None:
        """Play an action; raise IllegalAction, and change nothing, where it is illegal."""
        if self.result is not None:
            raise IllegalAction(f"action {action!r}: the game is over ({self.result.reason})")
        after, mover = self.game.apply(self.position, action, self.legal_actions), self.mover
        action = operator.index(action)  # of NumPy's integers and arrays, too
        self._text += self.game.action_text(self.position, action)
        self._turn += (action,)
        self.position, self._legal, self.mover = after, None, self.game.to_move(after)
        if not self.game.mid_turn(after):
            self.turns.append(self._text)
            self.history.append((self._before, self._turn))
            self.movers.append(mover)
            self._begin_turn()
            self._keys.append(self.game.key(after))
            self._seen[self._keys[-1]] += 1
            self.result = self._by_rules() or self._by_limits()

    def take_back(self, keep: int) -> None:
        """Return to the position after `keep` finished turns; an unfinished turn is dropped, too.

        The game continues from there, however it had ended. Takes time only for what is dropped.
        """
        self.position = (*(before for before, _ in self.history[keep:]), self._before)[0]
        self.mover = (*self.movers[keep:], self.mover)[0]
        self._seen.subtract(self._keys[keep + 1 :])
        del self.turns[keep:], self.history[keep:], self.movers[keep:], self._keys[keep + 1 :]
        self._legal = self.result = None
        self._begin_turn()

    @property
    def score(self) -> tuple[float, float] | None:
        """The scores of both players by the rules, None where a limit ended the game.

        None also after a fault or a resignation, in games whose rules do not say what that costs.
        """
        if self.result is None or self.result.reason in ("max_turns", "repetition", AGREED):
            return None
        if self.result.reason not in (*FAULTS, RESIGNED):
            return self.game.score(self.position)
        loser = 1 - self.result.outcome
        return self.game.score(self.position, loser) if self.game.has_scores else None

    @property
    def partial_turn(self) -> tuple[Position, Turn] | None:
        """Return the turn that has begun, with the position before it; None between turns."""
        return (self._before, self._turn) if self._turn else None

    def forfeit(self, player: int, fault: str) -> None:
        """End the game: `player` has lost by one of FAULTS, or has RESIGNED."""
        self.result = Result(1 - player, fault)

    def agree_on_draw(self) -> None:
        """End the game: the players agree on a draw."""
        self.result = Result(DRAW, AGREED)

    def _begin_turn(self) -> None:
        self._text, self._before = "", self.position
        self._turn: Turn = ()

    def _by_rules(self) -> Result | None:
        game, outcome = self.game, self.game.outcome(self.position)
        if outcome == ONGOING and game.repetition_limit:
            led_here = self._seen[self._keys[-1]] - (self._keys[-1] == self._keys[0])
            is_over = led_here >= game.repetition_limit
            outcome = game.repetition_outcome(self.position) if is_over else ONGOING
        return None if outcome == ONGOING else Result(outcome, self.game.ending(self.position))

    def _by_limits(self) -> Result | None:
        limits = self.limits
        repetitions = effective_repetition_limit(self.game, limits.repetitions)
        if repetitions and self._seen[self._keys[-1]] >= repetitions:
            return Result(DRAW, "repetition")
        if limits.max_turns and len(self.turns) >= limits.max_turns:
            return Result(DRAW, "max_turns")
        return None
