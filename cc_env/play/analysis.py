"""Analysis by a player: values of a position, of all its decisions, and of the turns played.

Players with a method `compare`, such as minimax, evaluate several turns to the same depth. Other
players decide in the position after each turn, with a share of the time for each.
"""

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position, reward
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play import descriptions
from cc_env.play.descriptions import choose_with_line, winning_chances
from cc_env.players.builtin import clock_for_seconds
from cc_env.search.compare import ComparingPlayer, Variation, play_forced


class Mark(NamedTuple):
    """A grade of a turn, given by the winning chances that it loses."""

    name: str
    sign: str
    # Loss below which the grade applies, in percent.
    below: float


MARKS = (
    Mark("best", "★", 2.0),
    Mark("good", "", 10.0),
    Mark("doubtful", "?!", 20.0),
    Mark("mistake", "?", 30.0),
    Mark("blunder", "??", math.inf),
)
# Grade of a forced turn.
ONLY_MOVE = Mark("only move", "□", 0.0)
# Limits of an analysis in the terminal: best moves, turns of each line, time.
MAX_BEST_MOVES = 5
MAX_LINE_TURNS = 5
BEST_MOVES_SECONDS = 1.0


class TimeBudget:
    """Thinking time of a player, which another thread may cancel."""

    def __init__(self, seconds: float) -> None:
        """Allow `seconds` from the call of `start`."""
        self._seconds, self._until = seconds, math.inf
        self._player: Player | None = None

    def start(self, player: Player) -> None:
        """Start the time of this player; a budget that was cancelled before stays used up."""
        self._player = player
        self._until = min(self._until, time.perf_counter() + self._seconds)

    def seconds_left(self) -> float:
        """Return the remaining seconds, at least 0."""
        return max(0.0, self._until - time.perf_counter())

    def cancel(self) -> None:
        """Use up the time and stop the player; may be called from another thread."""
        self._until = -math.inf
        if stop := getattr(self._player, "stop", None):
            stop()


@dataclass(frozen=True)
class Analysis:
    """A player's evaluation of a position. Values are the player to move's, -1 to 1."""

    # Principal variation.
    line: Turn
    # None if the player reports no value.
    value: float | None
    # Variations of all decisions, best first; () if the player reports no values.
    variations: tuple[Variation, ...] = ()
    depth: int | None = None
    nodes: int | None = None
    # Probability or share of visits of each action.
    policy: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TurnAssessment:
    """A player's assessment of a turn."""

    # Value of the position before the turn to the player to move.
    value: float | None
    # The player's own principal variation.
    line: Turn = ()
    # Winning chances lost, in percent; None for a forced turn.
    loss: float | None = None
    mark: Mark | None = None
    # Variations that begin with the turn, and with the best one; None if they were not compared.
    played: Variation | None = None
    best: Variation | None = None


def mark_for_loss(loss: float) -> Mark:
    """Return the grade of a turn that loses `loss` percent of the winning chances."""
    return next(mark for mark in MARKS if loss < mark.below)


def describe_analysis(game: Game, position: Position, player: Player) -> Iterator[tuple[str, str]]:
    """Yield a player's decision, its statistics and the best moves, as (name, text) pairs."""
    decision, line = choose_with_line(game, position, player)
    yield from descriptions.describe_decision(game, position, decision, line)
    if not isinstance(player, ComparingPlayer):
        return
    time = TimeBudget(BEST_MOVES_SECONDS)
    time.start(player)
    for best in analyze(game, position, player, time).variations[:MAX_BEST_MOVES]:
        texts = "  ".join(game.readable_turn_texts(position, best.actions)[:MAX_LINE_TURNS])
        yield "best", f"{winning_chances(best.value):.0f} % {texts}"


def analyze(game: Game, position: Position, player: Player, time: TimeBudget) -> Analysis:
    """Return a player's evaluation of a position; raise IllegalAction if the game is over."""
    turns = [(int(action),) for action in game.choices(position)]
    if isinstance(player, ComparingPlayer):
        comparison = player.compare(position, turns, time.seconds_left)
        variations = tuple(sorted(comparison.variations, key=lambda variation: -variation.score))
        best = variations[0]
        return Analysis(best.actions, best.value, variations, comparison.depth, comparison.nodes)
    decision, line = _choose(game, position, player, time)
    variations = compare_turns(game, position, turns, player, time)
    variations = tuple(
        sorted(variations, key=lambda other: (other.actions[0] != line[0], -other.value))
    )
    value = variations[0].value if decision.value is None and variations else decision.value
    return Analysis(
        line,
        value,
        (Variation(line, value), *variations[1:]) if variations and value is not None else (),
        decision.details.get("depth"),
        decision.details.get("nodes"),
        _action_shares(decision),
    )


def assess_turn(
    game: Game, position: Position, turn: Turn, player: Player, time: TimeBudget
) -> TurnAssessment:
    """Return a player's assessment of a turn, or of the position alone if `turn` is empty.

    The turn that the player would choose loses nothing; another one is compared with it. Raises
    IllegalAction if the game is over or the turn is illegal.
    """
    after = game.play_turn(position, turn)
    decision, line = _choose(game, position, player, time)
    best = first_turn(game, position, line)
    value = decision.value
    # Players report no value for forced decisions.
    if value is None:
        variations = compare_turns(game, position, [best], player, time)
        value = variations[0].value if variations else None
    if turn and len(list(itertools.islice(game.turns(position), 2))) == 1:
        return TurnAssessment(value, line, None, ONLY_MOVE)
    if not turn or value is None:
        return TurnAssessment(value, line)
    if game.play_turn(position, best) == after:
        return TurnAssessment(value, line, 0.0, mark_for_loss(0.0))
    variations = compare_turns(game, position, [best, turn], player, time)
    if not variations:
        return TurnAssessment(value, line)
    better, played = variations
    loss = max(0.0, winning_chances(better.value) - winning_chances(played.value))
    value = max(better.value, played.value)
    return TurnAssessment(value, line, loss, mark_for_loss(loss), played, better)


def _choose(
    game: Game, position: Position, player: Player, time: TimeBudget
) -> tuple[Decision, Turn]:
    """Return a player's decision and its line, in at most half of the remaining time."""
    clock = clock_for_seconds(time.seconds_left() / 2)
    return choose_with_line(game, position, player_for_new_game(player), clock)


def compare_turns(
    game: Game, position: Position, turns: Sequence[Turn], player: Player, time: TimeBudget
) -> tuple[Variation, ...]:
    """Return the values of turns, in their order; () if the player reports no values."""
    if isinstance(player, ComparingPlayer):
        return player.compare(position, turns, time.seconds_left).variations
    variations = []
    for index, turn in enumerate(turns):
        share = time.seconds_left() / (len(turns) - index)
        variation = _evaluate_turn(game, position, turn, player, clock_for_seconds(share))
        if variation is None:
            return ()
        variations.append(variation)
    return tuple(variations)


def _evaluate_turn(
    game: Game, position: Position, turn: Turn, player: Player, clock: Clock
) -> Variation | None:
    """Return the value of a turn with the reply to it; None if the player reports no value."""
    after, actions, _ = play_forced(game, position, turn)
    mover, outcome = game.to_move(position), game.outcome(after)
    if outcome != ONGOING:
        return Variation(actions, float(reward(outcome, mover)), is_exact=True)
    decision = player_for_new_game(player).choose(after, np.random.default_rng(0), clock)
    if decision.value is None:
        return Variation(actions, 0.0) if len(game.legal_actions(after)) == 1 else None
    sign = 1 if game.to_move(after) == mover else -1
    return Variation((*actions, int(decision.action)), sign * float(decision.value))


def _action_shares(decision: Decision) -> dict[int, float]:
    """Return the share of the policy, or else of the visits, of each action."""
    policy = decision.details.get("policy") or decision.details.get("visits", ())
    total = sum(share for _, share in policy) or 1
    return {int(action): share / total for action, share in cast(Sequence[tuple[Any, Any]], policy)}


def first_turn(game: Game, position: Position, line: Turn) -> Turn:
    """Return the first turn of a line."""
    for count, action in enumerate(line, 1):
        position = game.apply(position, action)
        if not game.mid_turn(position):
            return line[:count]
    return line
