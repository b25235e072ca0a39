"""The built-in players.

Shapes: C planes, H rows and W columns of an observation.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadPlayer, UnknownOption, format_list, suggest
from cc_env.learned_evaluation.network_file import find_evaluation, short_hash
from cc_env.match.referee import Clock, Decision, Player
from cc_env.players.perfect import PerfectPlayer
from cc_env.registry.catalogue import GAMES
from cc_env.search import limits, policies
from cc_env.search.alphabeta import AlphaBeta, make_context
from cc_env.search.compare import Comparison, compare
from cc_env.search.greedy import score_actions
from cc_env.search.limits import check_limit
from cc_env.search.mcts import MCTS
from cc_env.search.sampling import check_temperature, sample
from cc_env.search.scores import expected_result
from cc_env.search.workspace import MAX_DEPTH
from cc_env.tablebase.tablebase import Tablebase

# (observation int8[C, H, W], info) -> action
PolicyFunction = Callable[[NDArray[np.int8], dict[str, Any]], Any]


@dataclass(frozen=True)
class RandomPlayer:
    """Plays a uniformly random legal action."""

    game: Game

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a random legal action."""
        return Decision(int(rng.choice(self.game.choices(position))))

    def make_policy(self) -> policies.RandomPolicy:
        """Return a compiled policy that decides as this player."""
        return policies.RandomPolicy.make(self.game)


@dataclass(frozen=True)
class FunctionPlayer:
    """Wraps a policy function `(observation, info) -> action`.

    Its arguments are those of a learner in an environment: the observation, int8[C, H, W], and an
    info with the `action_mask`, int8[num_actions], and the `seat`, 0 or 1.
    """

    game: Game
    function: PolicyFunction

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the function's action."""
        mask, seat = self.game.action_mask(position), self.game.to_move(position)
        observation = self.game.observe(position)
        return Decision(self.function(observation, {"action_mask": mask, "seat": seat}))


class GreedyPlayer:
    """Wins in one turn or maximizes the evaluation after it; breaks ties randomly."""

    def __init__(self, game: Game, *, evaluation: object = None) -> None:
        """Use an evaluation of the game, by default the first.

        `evaluation` is its name or the path of a network file, which ends in `.network`. Raises
        UnknownOption if the game has none, or none with this name, OSError or BadNetwork if the
        file cannot be used.
        """
        self._game, self._evaluation = game, find_evaluation(game, evaluation)
        self.fingerprint = short_hash(self._evaluation)
        # Compile before the first decision.
        score_actions(game, game.initial, self._evaluation)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of a best turn."""
        actions, scores = score_actions(self._game, position, self._evaluation)
        highest = max(scores)
        best = [action for action, score in zip(actions, scores, strict=True) if score == highest]
        return Decision(int(rng.choice(best)), expected_result(highest), {"score": highest})

    def make_policy(self) -> policies.GreedyPolicy:
        """Return a compiled policy that decides as this player."""
        return policies.GreedyPolicy.make(self._game, self._evaluation)


class MinimaxPlayer:
    """Plays by alpha-beta search.

    Deterministic unless a time limit interrupts it or it has a temperature.
    """

    def __init__(
        self,
        game: Game,
        *,
        level: str | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        evaluation: object = None,
        table_megabytes: float | None = None,
        tables: str | os.PathLike[str] | Tablebase | None = None,
        selective: bool = False,
        temperature: float = 0,
    ) -> None:
        """Limit each decision to `depth` turns, `nodes` positions and `seconds`.

        A clock with little time left shortens `seconds`. A level is a name for limits, by default
        "normal"; explicit limits override it. The transposition table has `table_megabytes`, by
        default those of the level or 16. `evaluation` names an evaluation of the game, or the path
        of a network file; `tables` are exact values or their folder. `selective` searches late
        moves less deeply. With a positive `temperature`, in the units of scores, all actions are
        compared and one is drawn with a probability proportional to exp(score / temperature); see
        `cc_env.search.sampling`. Raises UnknownOption for an unknown level or evaluation,
        BadOption for a number out of range or a missing folder, MissingTable for a folder without
        tables of the game, BadTable or BadNetwork for a damaged file.
        """
        options: dict[str, Any] = {"depth": depth, "nodes": nodes, "seconds": seconds}
        options = {name: value for name, value in options.items() if value is not None}
        levels = {**DEFAULT_LEVELS, **game.levels}
        if level is not None and level not in list(levels):
            hint = f"{suggest(level, levels)}it has: {format_list(levels)}"
            raise UnknownOption(f"minimax has no level {level!r}; {hint}")
        if level is not None or not options:
            options = {**levels[level or "normal"], **options}
        self._depth, self._nodes, self._seconds = map(options.get, ("depth", "nodes", "seconds"))
        check_limit("depth", self._depth, MAX_DEPTH)
        check_limit("nodes", self._nodes)
        limits.check_seconds(self._seconds)
        check_temperature(temperature)
        self._game, self._temperature = game, float(temperature)
        function = find_evaluation(game, evaluation)
        self.fingerprint = short_hash(function)
        table = options.get("table_megabytes", 16) if table_megabytes is None else table_megabytes
        search: dict[str, Any] = {"tables": as_tables(game, tables), "selective": selective}
        self._search = AlphaBeta(game, function, table_megabytes=table, **search)
        self._make_context = partial(make_context, game, function, **search)
        self._policy_megabytes = min(table, policies.TABLE_MEGABYTES)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of the principal variation, or a sampled action."""
        seconds = thinking_seconds(self._seconds, clock)
        if self._temperature:
            return self._sample(position, rng, seconds)
        result = self._search.search(
            position, depth=self._depth, nodes=self._nodes, seconds=seconds
        )
        return Decision(result.action, result.value, result.details())

    def _sample(
        self, position: Position, rng: np.random.Generator, seconds: float | None
    ) -> Decision:
        """Return an action drawn by the scores of all actions."""
        actions = self._game.choices(position)
        if len(actions) == 1:
            return Decision(int(actions[0]))
        result = self._search.score_actions(
            position, depth=self._depth, nodes=self._nodes, seconds=seconds
        )
        state = rng.integers(2**64, dtype=np.uint64)
        index = int(sample(result.scores, self._temperature, state))
        score = int(result.scores[index])
        details = {"score": score, "depth": result.depth, "nodes": result.nodes}
        return Decision(int(result.actions[index]), expected_result(score), details)

    def make_policy(self) -> policies.AlphaBetaPolicy | policies.SampledAlphaBetaPolicy | None:
        """Return a compiled policy that decides as this player; None with a time limit.

        Its transposition table has at most `policies.TABLE_MEGABYTES`, so that it may decide
        differently in deep searches.
        """
        if self._seconds is not None:
            return None
        depth, nodes = (
            check_limit("depth", self._depth, MAX_DEPTH),
            check_limit("nodes", self._nodes),
        )
        context = self._make_context(table_megabytes=self._policy_megabytes)
        if self._temperature:
            make = policies.SampledAlphaBetaPolicy.make
            return make(self._game, context, depth, nodes, self._temperature)
        return policies.AlphaBetaPolicy.make(context, depth, nodes)

    def compare(
        self, position: Position, turns: Sequence[Turn], seconds_left: Callable[[], float]
    ) -> Comparison:
        """Return the values of `turns`, all searched to the same depth, which is at least 2.

        `seconds_left` returns the remaining time in seconds.
        """
        depth = self._depth or MAX_DEPTH
        return compare(self._search, position, turns, seconds_left=seconds_left, depth=depth)

    def stop(self) -> None:
        """Stop a search in another thread; it returns its best result so far."""
        self._search.stop()


class MCTSPlayer:
    """Plays by Monte-Carlo tree search."""

    def __init__(
        self,
        game: Game,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        playout: str = "evaluation",
        exploration: float = 1.0,
        evaluation: object = None,
        tables: str | os.PathLike[str] | Tablebase | None = None,
    ) -> None:
        """Limit each decision to `simulations` or `seconds`, by default to 1000 simulations.

        `playout`, "random" or "evaluation", is how leaves are evaluated; `exploration` is the
        constant of UCB1; `evaluation` is that of leaves, as in `GreedyPlayer`; `tables` are exact
        values or their folder. Raises UnknownOption for an unknown playout or evaluation, BadOption
        for a number out of range or a missing folder, MissingTable for a folder without tables of
        the game, BadTable or BadNetwork for a damaged file, OSError for an unreadable one.
        """
        self._simulations, self._seconds = simulations, seconds
        if simulations is None and seconds is None:
            self._simulations = 1000
        check_limit("simulations", simulations)
        limits.check_seconds(seconds)
        function = find_evaluation(game, evaluation)
        self.fingerprint = short_hash(function)
        self._game, self._has_tables = game, tables is not None
        self._search = MCTS(
            game,
            function,
            playout=playout,
            exploration=exploration,
            tables=as_tables(game, tables),
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the most visited action."""
        seconds = thinking_seconds(self._seconds, clock)
        result = self._search.search(position, rng, simulations=self._simulations, seconds=seconds)
        return Decision(result.action, result.value, result.details())

    def make_policy(self) -> policies.UCTPolicy | None:
        """Return a compiled policy that decides as this player.

        None with a time limit or tables.
        """
        if self._simulations is None or self._seconds is not None or self._has_tables:
            return None
        return policies.UCTPolicy.make(self._game, self._search.settings(self._simulations))

    def stop(self) -> None:
        """Stop a search in another thread; it returns its best result so far."""
        self._search.stop()


def as_tables(game: Game, tables: str | os.PathLike[str] | Tablebase | None) -> Tablebase | None:
    """Return the tables, or those in a folder.

    Raises BadOption for a game without numbering or a missing folder, MissingTable for a folder
    without tables of the game.
    """
    if tables is None or isinstance(tables, Tablebase):
        return tables
    return Tablebase(game, tables).require_any()


def make_perfect_player(
    game: Game,
    *,
    level: str | None = None,
    tables: str | None = None,
    depth: int | None = None,
    seconds: float | None = None,
) -> Player:
    """Return a perfect player with the tables of a folder, by default the shipped ones.

    In positions that no table covers, a `MinimaxPlayer` with the same tables plays. Raises
    UnknownOption for a level other than "delay", BadOption for a limit out of range, a missing
    folder or a game without numbering, MissingTable for a folder without tables of the game,
    BadTable for a damaged one.
    """
    if level not in (None, "delay"):
        raise UnknownOption(f"perfect has no level {level!r}; it has: delay")
    tablebase = as_tables(game, tables) or Tablebase(game)
    search = MinimaxPlayer(game, depth=depth, seconds=seconds, tables=tablebase)
    return PerfectPlayer(game, tablebase, search, delay=level is not None)


class BotPlayer:
    """Plays as one of the game's own bots."""

    def __init__(self, game: Game, bot: str) -> None:
        """Use the bot named `bot`; raise BadPlayer if the game does not have it."""
        if bot not in game.bots:
            games = format_list(name for name, entry in GAMES.items() if bot in entry.bots)
            raise BadPlayer(f"{bot} does not play {game.name}, only: {games}")
        self._game, self._name = game, bot
        self._bot = game.bots[bot](game)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the bot's decision; raise IllegalAction if the game is over."""
        # Bots do not check whether the game is over.
        self._game.choices(position)
        return Decision(self._bot(position, rng))

    def for_new_game(self) -> "BotPlayer":
        """Return a bot without the state of this one."""
        return BotPlayer(self._game, self._name)


# Levels of minimax; a game may define its own.
DEFAULT_LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"depth": 1},
    "normal": {"depth": 3},
    "hard": {"depth": 6},
    "extreme": {"seconds": 2},
}

# A player thinks for this share of the time for a turn, less a reserve.
_TURN_SHARE, _RESERVE_SECONDS = 0.75, 0.02


def thinking_seconds(seconds: float | None, clock: Clock) -> float | None:
    """Return the thinking time in seconds: `seconds`, or a safe share of the clock if less."""
    bound = max(0.0, min(_TURN_SHARE * clock.turn - _RESERVE_SECONDS, clock.game / 25))
    if bound == math.inf:
        return seconds
    return bound if seconds is None else min(seconds, bound)


def clock_for_seconds(seconds: float) -> Clock:
    """Return the clock whose `thinking_seconds` is `seconds`."""
    return Clock(turn=(seconds + _RESERVE_SECONDS) / _TURN_SHARE)
