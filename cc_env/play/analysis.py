"""What a player thinks of a position, of every decision in it, and of the turns that were played.

Players are asked in one of two ways: those that have `compare`, as minimax has, say at once what
several turns are worth, all looked at equally far; others are asked in the position after each.
"""

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import ONGOING, Position, reward
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play import descriptions
from cc_env.play.descriptions import choose_with_line, winning_chances
from cc_env.search.compare import Comparison, Variation, play_forced


class Mark(NamedTuple):
    """What a turn is called by what it loses of the winning chances."""

    name: str
    sign: str
    below: float  # per cent lost


MARKS = (
    Mark("best", "★", 2.0),
    Mark("good", "", 10.0),
    Mark("doubtful", "?!", 20.0),
    Mark("blunder", "??", math.inf),
)
MAX_MOVES, MOVES_SECONDS = 5, 1.0  # moves, and turns of each, in the terminal; time for them
ONLY_MOVE = Mark("only move", "□", 0.0)  # of a turn that was not chosen


class TimeBudget:
    """How long to think; somebody else may end it."""

    def __init__(self, seconds: float) -> None:
        """Allow so many seconds from `start` on."""
        self._seconds, self._until = seconds, math.inf
        self._player: Player | None = None

    def start(self, player: Player) -> None:
        """Let the time run for this player."""
        self._player = player
        self._until = min(self._until, time.perf_counter() + self._seconds)

    def seconds_left(self) -> float:
        """Return how many seconds are left."""
        return max(0.0, self._until - time.perf_counter())

    def cancel(self) -> None:
        """Let no time be left, from another thread."""
        self._until = -math.inf
        if stop := getattr(self._player, "stop", None):
            stop()


@runtime_checkable
class ComparingPlayer(Protocol):
    """A player that compares turns, see `cc_env.players.builtin.MinimaxPlayer.compare`."""

    def compare(self, position: Position, turns: Sequence[Turn], left: object) -> Comparison:
        """Return what each of these turns is worth."""


@dataclass(frozen=True)
class Analysis:
    """What a player thinks of a position."""

    line: Turn  # what it would play and expects then
    value: float | None  # to the player to move, -1 to 1; None if it does not say
    lines: tuple[Variation, ...] = ()  # of all decisions, the best first; () if it does not say
    depth: int | None = None
    nodes: int | None = None
    policy: Mapping[int, float] = field(default_factory=dict)  # how much it likes each action


@dataclass(frozen=True)
class TurnAssessment:
    """What a player thinks of a turn."""

    value: float | None  # of the position before, to the player to move
    line: Turn = ()  # what it would play instead, or the same, and expects then
    loss: float | None = None  # of winning chances, per cent; None where nothing was chosen
    mark: Mark | None = None


def mark_for_loss(loss: float) -> Mark:
    """Return what a turn is called that loses so much of the winning chances, per cent."""
    return next(mark for mark in MARKS if loss < mark.below)


def describe_analysis(game: Game, position: Position, player: Player) -> Iterator[tuple[str, str]]:
    """Yield what a player says of a position, as names and texts: its decision, the best moves."""
    decision, line = choose_with_line(game, position, player)
    yield from descriptions.describe_decision(game, position, decision, line)
    if not isinstance(player, ComparingPlayer):
        return
    time = TimeBudget(MOVES_SECONDS)
    time.start(player)
    for best in analyze(game, position, player, time).lines[:MAX_MOVES]:
        texts = "  ".join(game.turn_texts(position, best.actions)[:MAX_MOVES])
        yield "best", f"{winning_chances(best.value):.0f} % {texts}"


def analyze(game: Game, position: Position, player: Player, time: TimeBudget) -> Analysis:
    """Return what a player thinks of a position; raises IllegalAction where the game is over."""
    turns = [(int(action),) for action in game.choices(position)]
    if isinstance(player, ComparingPlayer):
        comparison = player.compare(position, turns, time.seconds_left)
        lines = tuple(sorted(comparison.lines, key=lambda line: -line.score))
        return Analysis(lines[0].actions, lines[0].value, lines, comparison.depth, comparison.nodes)
    decision, line = choose_with_line(
        game, position, player_for_new_game(player), _clock(time.seconds_left() / 2)
    )
    lines = compare_turns(game, position, turns, player, time)
    lines = tuple(sorted(lines, key=lambda other: (other.actions[0] != line[0], -other.value)))
    value = lines[0].value if decision.value is None and lines else decision.value
    return Analysis(
        line,
        value,
        (Variation(line, value), *lines[1:]) if lines and value is not None else (),
        decision.details.get("depth"),
        decision.details.get("nodes"),
        _shares(decision),
    )


def assess_turn(
    game: Game, position: Position, turn: Turn, player: Player, time: TimeBudget
) -> TurnAssessment:
    """Return what a player thinks of a turn, or with an empty one of the position alone.

    What it would play itself is best; of another it is asked what both are worth. Raises
    IllegalAction.
    """
    after = game.play_turn(position, turn)
    decision, line = choose_with_line(
        game, position, player_for_new_game(player), _clock(time.seconds_left() / 2)
    )
    best = _first_turn(game, position, line)
    if decision.value is None:  # where it had no choice, if it ever says
        lines = compare_turns(game, position, [best], player, time)
        decision = replace(decision, value=lines[0].value if lines else None)
    if turn and len(list(itertools.islice(game.turns(position), 2))) == 1:
        return TurnAssessment(decision.value, line, None, ONLY_MOVE)
    if not turn or decision.value is None:
        return TurnAssessment(decision.value, line)
    if game.play_turn(position, best) == after:
        return TurnAssessment(decision.value, line, 0.0, MARKS[0])
    lines = compare_turns(game, position, [best, turn], player, time)
    if not lines:
        return TurnAssessment(decision.value, line)
    expected, played = (winning_chances(compared.value) for compared in lines)
    loss = max(0.0, expected - played)
    return TurnAssessment(
        max(compared.value for compared in lines), line, loss, mark_for_loss(loss)
    )


def compare_turns(
    game: Game, position: Position, turns: Sequence[Turn], player: Player, time: TimeBudget
) -> tuple[Variation, ...]:
    """Return what a player thinks that turns are worth; nothing where it does not say."""
    if isinstance(player, ComparingPlayer):
        return player.compare(position, turns, time.seconds_left).lines
    lines = []
    for number, turn in enumerate(turns):
        share = time.seconds_left() / (len(turns) - number)
        line = _ask_after(game, position, turn, player, _clock(share))
        if line is None:
            return ()
        lines.append(line)
    return tuple(lines)


def _ask_after(
    game: Game, position: Position, turn: Turn, player: Player, clock: Clock
) -> Variation | None:
    after, actions, _ = play_forced(game, position, turn)
    mover, outcome = game.to_move(position), game.outcome(after)
    if outcome != ONGOING:
        return Variation(actions, float(reward(outcome, mover)))
    decision = player_for_new_game(player).choose(after, np.random.default_rng(0), clock)
    if decision.value is None:
        return Variation(actions, 0.0) if len(game.legal_actions(after)) == 1 else None
    sign = 1 if game.to_move(after) == mover else -1
    return Variation((*actions, int(decision.action)), sign * float(decision.value))


def _clock(seconds: float) -> Clock:
    """Return the clock by which players think so long, see `cc_env.players.builtin.time_budget`."""
    return Clock(turn=(seconds + 0.02) / 0.75)


def _shares(decision: Decision) -> dict[int, float]:
    """Return how much of its policy, or of its visits, a player gave to each action."""
    policy = decision.details.get("policy") or decision.details.get("visits", ())
    total = sum(share for _, share in policy) or 1
    return {int(action): share / total for action, share in cast(Sequence[tuple[Any, Any]], policy)}


def _first_turn(game: Game, position: Position, line: Turn) -> Turn:
    """Return the turn that a line begins with."""
    for count, action in enumerate(line, 1):
        position = game.apply(position, action)
        if not game.mid_turn(position):
            return line[:count]
    return line
