"""Accuracy of a player: the share of its decisions that keep the exact value of the position.

    tables = Tablebase(make_game("capture_conquer", size=4))
    print(measure("greedy", tables, sample_uniform(tables, 1000, seed=0)).kept.value)

Three functions return positions. `sample_uniform` draws from all positions of the tables, which
requires a strong solution of the game. `sample_from_games` returns positions of games against an
opponent, and `enumerate_replies` those reached by every reply of an opponent, which requires a weak
solution; both are from Ahmad, Sturtevant and Bowling, "Measuring the Solution Strength of Learning
Agents in Adversarial Perfect Information Games" (2023). A player is a player spec, a player, or a
policy function `(observation, info) -> action`.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cc_env.core.game import Game
from cc_env.core.random_streams import check_seed
from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadPlayer, check_integer, format_count
from cc_env.match import referee
from cc_env.match.confidence import Interval, wilson_interval
from cc_env.match.openings import random_opening
from cc_env.match.referee import Clock, Player, check_decision, play_match, player_for_new_game
from cc_env.players.builtin import PolicyFunction
from cc_env.players.specs import as_player
from cc_env.tablebase.tablebase import ExactValue, Tablebase

# The greatest number of positions drawn per requested position.
_MAX_TRIES = 1000


class GradedDecision(NamedTuple):
    """A decision with the exact values before and after it, for its player."""

    position: Position
    action: int
    # 1 won, 0 drawn, -1 lost; before and after the action.
    value: int
    value_after: int
    # Turns to the end of the game; 0 for a draw.
    turns: int
    pieces: int
    # Whether every action keeps the value.
    is_forced: bool

    @property
    def keeps_value(self) -> bool:
        """Whether the decision keeps the value."""
        return self.value_after == self.value


@dataclass(frozen=True)
class Accuracy:
    """The graded decisions of a player."""

    graded_decisions: tuple[GradedDecision, ...]

    def __repr__(self) -> str:
        """Return a summary in one line, without the decisions."""
        share, low, high = (100 * part for part in self.kept)
        decisions = format_count(self.decisions, "decision")
        return f"<Accuracy: {share:.1f} % ({low:.1f} – {high:.1f}) of {decisions} kept the value>"

    @property
    def decisions(self) -> int:
        """The number of decisions."""
        return len(self.graded_decisions)

    @property
    def kept(self) -> Interval:
        """The share of decisions that kept the value, with its 95 % interval.

        The interval is valid if positions were drawn one by one. Without decisions the share is NaN
        and the interval 0 to 1.
        """
        return _share_kept(self.graded_decisions)

    @property
    def kept_with_choice(self) -> Interval:
        """As `kept`, among the decisions in which some action loses value."""
        return _share_kept([graded for graded in self.graded_decisions if not graded.is_forced])

    @property
    def misses(self) -> list[GradedDecision]:
        """The decisions that gave value away."""
        return [decision for decision in self.graded_decisions if not decision.keeps_value]

    def group_by(
        self, key_function: Callable[[GradedDecision], int | str]
    ) -> dict[int | str, "Accuracy"]:
        """Group the decisions by the result of a function: integers ascending, then strings."""
        parts: dict[int | str, list[GradedDecision]] = {}
        for decision in self.graded_decisions:
            parts.setdefault(key_function(decision), []).append(decision)
        keys = sorted(parts, key=lambda key: (isinstance(key, str), key))
        return {key: Accuracy(tuple(parts[key])) for key in keys}


def _share_kept(decisions: Sequence[GradedDecision]) -> Interval:
    if not decisions:
        return Interval(math.nan, 0.0, 1.0)
    share = sum(decision.keeps_value for decision in decisions) / len(decisions)
    return wilson_interval(share, len(decisions))


def measure(
    player: str | Player | PolicyFunction,
    tables: Tablebase,
    positions: Iterable[Position],
    *,
    seed: int = 0,
) -> Accuracy:
    """Grade the decisions of a player in these positions.

    Skips finished games and decisions for which `keeps_value` is None. Raises BadOption if `tables`
    is not a Tablebase, the seed is invalid, the player cannot be created, or there are no
    positions; MissingTable for a position that no table has; BadPosition for a position of another
    game; BadTable for a damaged file; IllegalAction if the player chooses an illegal action.
    """
    if not isinstance(tables, Tablebase):
        raise BadOption(f"tables={tables!r}; expected: Tablebase(game, FOLDER)")
    check_seed(seed)
    player = as_player(player, tables.game)
    rng = np.random.default_rng(seed)
    if not (positions := list(positions)):
        note = "an iterator has none after its first use"
        raise BadOption(f"there are no positions; expected: at least one ({note})")
    decisions = []
    for position in positions:
        solved = tables.probe(position)
        if solved.actions:
            action = _choose(player, position, rng)
            decision = grade(tables.game, position, action, solved)
            if keeps_value(tables, position, action, solved) is not None:
                decisions.append(decision)
    return Accuracy(tuple(decisions))


def _choose(player: Player, position: Position, rng: np.random.Generator) -> int:
    """Return the action of a player without limits of time; raise BadPlayer if it has none."""
    return check_decision(player_for_new_game(player).choose(position, rng, Clock())).action


def keeps_value(
    tables: Tablebase, position: Position, action: int, solved: ExactValue
) -> bool | None:
    """Return whether a legal action keeps the value of a position; None if that is uncertain.

    It is uncertain if the rules may draw the game before the win or the loss in the tables.
    """
    if action in solved.value_keeping:
        return True
    is_certain = tables.game.apply(position, action) in tables
    return False if is_certain else None


def grade(game: Game, position: Position, action: int, solved: ExactValue) -> GradedDecision:
    """Grade an action by its exact value; raise IllegalAction if it is illegal."""
    action = game.check_action(position, action, solved.actions)
    return GradedDecision(
        position=position,
        action=action,
        value=solved.value,
        value_after=solved.values[solved.actions.index(action)],
        turns=solved.turns,
        pieces=len(game.pieces(position)),
        is_forced=len(set(solved.values)) == 1,
    )


def sample_uniform(tables: Tablebase, count: int, *, seed: int = 0) -> list[Position]:
    """Return `count` positions of unfinished games, drawn uniformly from all entries of the tables.

    Positions that the rules may draw early are skipped, as their value is uncertain. Raises
    BadOption for a count below 1, or tables without unfinished games.
    """
    check_integer("count", count, 1)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    sizes = np.array(tables.sizes)
    if not sizes.sum():
        raise BadOption(f"{tables!r}: the tables have no positions")
    positions: list[Position] = []
    for _ in range(_MAX_TRIES * count):
        view = int(rng.choice(len(sizes), p=sizes / sizes.sum()))
        position = tables.position_at(view, int(rng.integers(sizes[view])))
        if len(tables.game.legal_actions(position)) and position in tables:
            positions.append(position)
            if len(positions) == count:
                return positions
    raise BadOption(f"{tables!r}: the tables have hardly any unfinished games")


def sample_from_games(
    tables: Tablebase,
    player: str | Player | PolicyFunction,
    opponent: str | Player | PolicyFunction,
    games: int,
    *,
    max_opening_turns: int = 0,
    seed: int = 0,
) -> list[Position]:
    """Return the positions in which the player decides, in games against an opponent.

    The player alternates between the seats. Games start after 0 to `max_opening_turns` random
    turns. Each position is returned once; positions without a table are skipped. Raises BadOption
    if `games` is below 1, `max_opening_turns` is negative or a player cannot be created; BadPlayer
    if a game ends by a fault.
    """
    check_integer("games", games, 1)
    check_seed(seed)
    check_integer("max_opening_turns", max_opening_turns, 0)
    rng = np.random.default_rng(seed)
    # A dict keeps the order.
    positions: dict[Position, None] = {}
    player, opponent = (as_player(seated, tables.game) for seated in (player, opponent))
    for number in range(games):
        seat = number % 2
        recorder = _RecordingPlayer(player_for_new_game(player), tables)
        pair = [recorder, opponent] if seat == 0 else [opponent, recorder]
        start = random_opening(tables.game, max_opening_turns, rng)
        record = play_match(tables.game, pair, start=start, seed=seed + number)
        if record.forfeit:
            raise BadPlayer(f"game {number + 1}: {record.forfeit}")
        positions |= dict.fromkeys(recorder.positions)
    return list(positions)


class _RecordingPlayer:
    """A player that records the positions in which it decides."""

    def __init__(self, player: Player, tables: Tablebase) -> None:
        self._player, self._tables = player, tables
        self.positions: list[Position] = []

    def choose(
        self, position: Position, rng: np.random.Generator, clock: Clock
    ) -> referee.Decision:
        if position in self._tables:
            self.positions.append(position)
        return self._player.choose(position, rng, clock)


def enumerate_replies(
    tables: Tablebase, player: str | Player | PolicyFunction, limit: int, *, seed: int = 0
) -> list[Position]:
    """Return up to `limit` positions in which the player decides, over all replies of opponents.

    Both seats are explored breadth-first from the start; each position is returned once. A random
    player decides once in each position. Raises BadOption for fewer than 1, or if the player cannot
    be created, MissingTable if no table has the start, since most replies would lead to unknown
    positions.
    """
    check_integer("limit", limit, 1)
    check_seed(seed)
    tables.probe(tables.game.initial)
    player = as_player(player, tables.game)
    game, rng = tables.game, np.random.default_rng(seed)
    visited: set[tuple[Position, int]] = {(game.initial, seat) for seat in (0, 1)}
    queue = deque((game.initial, seat) for seat in (0, 1))
    positions: list[Position] = []
    while queue and len(positions) < limit:
        position, seat = queue.popleft()
        actions: Sequence[int] = game.legal_actions(position).tolist()
        if actions and game.to_move(position) == seat:
            if position in tables:
                positions.append(position)
            action = _choose(player, position, rng)
            actions = [game.check_action(position, action, actions)]
        for action in actions:
            after = game.apply(position, action), seat
            if after not in visited:
                visited.add(after)
                queue.append(after)
    return positions
