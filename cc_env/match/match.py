"""A game in progress between two players, with the limits of a match."""

import operator
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cc_env.core.game import Game, Turn
from cc_env.core.rules import DRAW, ONGOING, Position
from cc_env.errors import (
    BadOption,
    BadPosition,
    IllegalAction,
    check_integer,
    check_number,
    is_number,
)

# Reasons for a loss other than the rules of the game.
FAULTS = "time", "illegal", "error"

# Reasons for a loss and a draw that players choose.
RESIGNED, AGREED = "resigned", "agreed"


@dataclass(frozen=True)
class Limits:
    """The limits of a match, in addition to the rules of the game; None for no limit.

    The game is a draw after `max_turns` turns, and when a position occurs for the `repetitions`-th
    time, except in games whose rules end repetition (`Game.repetition_limit`). A player that
    exceeds a time limit, in seconds per turn or for all of its turns, loses. After each turn of a
    player, `increment` seconds are added to its time for all turns.
    """

    max_turns: int | None = 200
    repetitions: int | None = 3
    seconds_per_turn: float | None = None
    seconds_per_game: float | None = None
    increment: float = 0.0

    def __post_init__(self) -> None:
        for name, minimum in (("max_turns", 1), ("repetitions", 2)):
            value = getattr(self, name)
            if value is not None:
                check_integer(name, value, minimum, note=", or None for no limit")
        check_time_limits(
            seconds_per_turn=self.seconds_per_turn, seconds_per_game=self.seconds_per_game
        )
        check_number("increment", self.increment, 0, 3600)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits by name, as records contain them; an increment of 0 is left out."""
        fields = asdict(self)
        if not self.increment:
            del fields["increment"]
        return fields


def check_time_limits(**limits: float | None) -> None:
    """Raise BadOption for a limit that is neither a positive number nor None."""
    for name, value in limits.items():
        if value is not None and not (is_number(value, 0) and value):
            raise BadOption(f"{name}={value!r}; expected: more than 0, or None for no limit")


def effective_repetition_limit(game: Game, limit: int | None) -> int | None:
    """Return the limit of repetitions in a game; None if its own rules end repetition."""
    return None if game.repetition_limit else limit


class Result(NamedTuple):
    """The result of a match.

    `outcome` is FIRST_WINS, SECOND_WINS or DRAW; `reason` is an ending of the game
    (`Game.ending`), "repetition", "max_turns", one of FAULTS, RESIGNED or AGREED.
    """

    outcome: int
    reason: str


class Match:
    """A game in progress: plays actions, and ends by the rules or by the limits.

    `position` is the current position, `mover` the player to move. `turns` are the finished turns
    in notation; `history` are the same turns, each with the position before it. `result` is None
    until the game is over.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.match.match import Match
        >>> match = Match(game)
        >>> for turn in ("0,0-2,2", "3,5-2,4"):
        ...     for action in game.parse_turn(match.position, turn):
        ...         match.play(action)
        >>> match.turns, match.mover, match.result
        (['0,0-2,2', '3,5-2,4'], 0, None)
    """

    def __init__(
        self, game: Game, start: Position | None = None, limits: Limits | None = None
    ) -> None:
        """Begin in `start`, by default the initial position; raise BadPosition if it is invalid."""
        if start is not None and not isinstance(start, type(game.initial)):
            expected = f"a position of {game.name}, as returned by from_text"
            raise BadPosition(f"start={start!r}; expected: {expected}")
        self.game = game
        self.limits = limits or Limits()
        self.start = game.initial if start is None else start
        self.position = self.start
        self.mover = game.to_move(self.start)
        self._legal: tuple[int, ...] | None = None
        self.turns: list[str] = []
        self.history: list[tuple[Position, Turn]] = []
        # Hashes of the start and of the positions after each turn.
        self._keys = [game.key(self.start)]
        self._occurrences = Counter(self._keys)
        self.result = self._by_rules()
        self._begin_turn()

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The legal actions, ascending; empty if the rules have ended the game."""
        if self._legal is None:
            self._legal = tuple(self.game.legal_actions(self.position).tolist())
        return self._legal

    def play(self, action: int) -> None:
        """Play an action; raise IllegalAction, before any change, if it is illegal."""
        if self.result is not None:
            raise IllegalAction(f"action {action!r}: the game is over ({self.result.reason})")
        after = self.game.apply(self.position, action, self.legal_actions)
        # NumPy integers and arrays of one element are valid, too.
        action = operator.index(action)
        self._text += self.game.action_text(self.position, action)
        self._turn += (action,)
        self.position, self._legal, self.mover = after, None, self.game.to_move(after)
        if not self.game.mid_turn(after):
            self.turns.append(self._text)
            self.history.append((self._before, self._turn))
            self._begin_turn()
            self._keys.append(self.game.key(after))
            self._occurrences[self._keys[-1]] += 1
            self.result = self._by_rules() or self._by_limits()

    def take_back(self, keep: int) -> None:
        """Return to the position after the first `keep` turns, dropping later ones.

        An unfinished turn and the result are dropped, too. Takes time in proportion to the number
        of dropped turns.
        """
        self.position = (*(before for before, _ in self.history[keep:]), self._before)[0]
        self.mover = self.game.to_move(self.position)
        self._occurrences.subtract(self._keys[keep + 1 :])
        del self.turns[keep:], self.history[keep:], self._keys[keep + 1 :]
        self._legal = self.result = None
        self._begin_turn()

    @property
    def score(self) -> tuple[float, float] | None:
        """The scores of both players by the rules; None if a limit ended the game.

        Also None after a fault or a resignation, if the rules of the game do not score it.
        """
        if self.result is None or self.result.reason in ("max_turns", "repetition", AGREED):
            return None
        if self.result.reason not in (*FAULTS, RESIGNED):
            return self.game.score(self.position)
        loser = 1 - self.result.outcome
        return self.game.score(self.position, loser) if self.game.has_scores else None

    @property
    def partial_turn(self) -> tuple[Position, Turn] | None:
        """The unfinished turn with the position before it; None between turns."""
        return (self._before, self._turn) if self._turn else None

    def forfeit(self, player: int, reason: str) -> None:
        """End the game: `player` loses for a reason, one of FAULTS or RESIGNED."""
        self.result = Result(1 - player, reason)

    def agree_on_draw(self) -> None:
        """End the game as a draw by agreement."""
        self.result = Result(DRAW, AGREED)

    def _begin_turn(self) -> None:
        self._text, self._before = "", self.position
        self._turn: Turn = ()

    def _by_rules(self) -> Result | None:
        game, outcome = self.game, self.game.outcome(self.position)
        if outcome == ONGOING and game.repetition_limit:
            # As `count_occurrences` of core/repetition.py, but in constant time.
            repeats = self._occurrences[self._keys[-1]] - (self._keys[-1] == self._keys[0])
            is_over = repeats >= game.repetition_limit
            outcome = game.repetition_outcome(self.position) if is_over else ONGOING
        return None if outcome == ONGOING else Result(outcome, self.game.ending(self.position))

    def _by_limits(self) -> Result | None:
        limits = self.limits
        repetitions = effective_repetition_limit(self.game, limits.repetitions)
        if repetitions and self._occurrences[self._keys[-1]] >= repetitions:
            return Result(DRAW, "repetition")
        if limits.max_turns and len(self.turns) >= limits.max_turns:
            return Result(DRAW, "max_turns")
        return None
