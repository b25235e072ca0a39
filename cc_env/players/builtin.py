"""The built-in players, by the names that player specs give them.

Shapes: C planes, H rows and W columns of an observation.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from cc_env.search import limits
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.compare import Comparison, compare
from cc_env.search.greedy import score_actions
from cc_env.search.limits import check_limit
from cc_env.search.mcts import MCTS
from cc_env.search.scores import expected_result
from cc_env.search.workspace import MAX_DEPTH
from cc_env.tablebase.tablebase import Tablebase

PolicyFunction = Callable[[NDArray[np.int8], dict[str, Any]], Any]  # (observation, info) -> action


@dataclass(frozen=True)
class RandomPlayer:
    """Plays a uniformly random legal action."""

    game: Game

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return a random legal action."""
        return Decision(int(rng.choice(self.game.choices(position))))


@dataclass(frozen=True)
class FunctionPlayer:
    """Plays what a function chooses that is told what a learner in an environment is told.

    That is the observation, int8[C, H, W], and an info with the `action_mask`, int8[num_actions],
    and the `seat`, 0 or 1.
    """

    game: Game
    function: PolicyFunction

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the function's action."""
        mask, seat = self.game.action_mask(position), self.game.to_move(position)
        observation = self.game.observe(position)
        return Decision(self.function(observation, {"action_mask": mask, "seat": seat}))


class GreedyPlayer:
    """Looks one turn ahead: wins if it can, else maximizes the evaluation; breaks ties randomly."""

    def __init__(self, game: Game, *, evaluation: Any = None) -> None:
        """Use this evaluation, see `learned.files.evaluation_of`; by default the game's first.

        Raises UnknownOption for an evaluation that the game does not have.
        """
        self._game, self._evaluation = game, find_evaluation(game, evaluation)
        self.fingerprint = short_hash(self._evaluation)
        score_actions(game, game.initial, self._evaluation)  # compiles

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of one of the best turns."""
        actions, scores = score_actions(self._game, position, self._evaluation)
        highest = max(scores)
        best = [action for action, score in zip(actions, scores, strict=True) if score == highest]
        return Decision(int(rng.choice(best)), expected_result(highest), {"score": highest})


class MinimaxPlayer:
    """Alpha-beta search; deterministic unless a time limit interrupts it."""

    def __init__(
        self,
        game: Game,
        *,
        level: str | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        evaluation: Any = None,
        table_megabytes: float | None = None,
        tables: str | os.PathLike[str] | Tablebase | None = None,
        selective: bool = False,
    ) -> None:
        """Limit each decision to `depth` turns, `nodes` positions or `seconds`, whatever is first.

        A clock shortens `seconds`, see `time_budget`. A level is a name for limits; limits given
        here override it. The default level is "normal". The transposition table has 16 megabytes,
        unless the level or `table_megabytes` says otherwise. `evaluation` is the name of one of the
        game's evaluations; `tables` are exact values, or the folder that has them. `selective`
        searches late moves less deeply, see `cc_env.search.alphabeta`. Raises UnknownOption for an
        unknown level or evaluation, BadOption for a limit out of range or a folder that is not
        there, MissingTable for one without tables of the game, BadTable for a damaged one.
        """
        given: dict[str, Any] = {"depth": depth, "nodes": nodes, "seconds": seconds}
        given = {name: value for name, value in given.items() if value is not None}
        levels = {**DEFAULT_LEVELS, **game.levels}
        if level is not None and level not in list(levels):
            has = f"{suggest(level, levels)}it has: {format_list(levels)}"
            raise UnknownOption(f"minimax has no level {level!r}; {has}")
        if level is not None or not given:
            given = {**levels[level or "normal"], **given}
        self._depth, self._nodes, self._seconds = map(given.get, ("depth", "nodes", "seconds"))
        check_limit("depth", self._depth, MAX_DEPTH)
        check_limit("nodes", self._nodes)
        limits.check_seconds(self._seconds)
        chosen = find_evaluation(game, evaluation)
        self.fingerprint = short_hash(chosen)
        table = given.get("table_megabytes", 16) if table_megabytes is None else table_megabytes
        self._search = AlphaBeta(
            game,
            chosen,
            table_megabytes=table,
            tables=load_tables(game, tables),
            selective=selective,
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the first decision of the principal variation."""
        seconds = time_budget(self._seconds, clock)
        result = self._search.search(
            position, depth=self._depth, nodes=self._nodes, seconds=seconds
        )
        return Decision(result.action, result.value, result.details())

    def compare(
        self, position: Position, turns: Sequence[Turn], left: Callable[[], float]
    ) -> Comparison:
        """Return the values of these turns, see `cc_env.search.compare`."""
        depth = self._depth or MAX_DEPTH
        return compare(self._search, position, turns, left=left, depth=depth)

    def stop(self) -> None:
        """End a search that runs in another thread with what it has found."""
        self._search.stop()


class MCTSPlayer:
    """Monte-Carlo tree search."""

    def __init__(
        self,
        game: Game,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        playout: str = "evaluation",
        exploration: float = 1.0,
        evaluation: Any = None,
        tables: str | os.PathLike[str] | Tablebase | None = None,
    ) -> None:
        """Limit each decision to `simulations` or `seconds`; the default is 1000 simulations.

        `playout`, "random" or "evaluation", is how leaves are evaluated; `exploration` is the
        constant of UCB1; `tables` are exact values, or the folder that has them. Raises
        UnknownOption for an unknown playout or evaluation, BadOption for a number out of range or
        a folder that is not there, MissingTable for one without tables of the game, BadTable for a
        damaged one.
        """
        self._simulations, self._seconds = simulations, seconds
        if simulations is None and seconds is None:
            self._simulations = 1000
        check_limit("simulations", simulations)
        limits.check_seconds(seconds)
        chosen = find_evaluation(game, evaluation)
        self.fingerprint = short_hash(chosen)
        self._search = MCTS(
            game,
            chosen,
            playout=playout,
            exploration=exploration,
            tables=load_tables(game, tables),
        )

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the most visited decision."""
        seconds = time_budget(self._seconds, clock)
        result = self._search.search(position, rng, simulations=self._simulations, seconds=seconds)
        return Decision(result.action, result.value, result.details())

    def stop(self) -> None:
        """End a search that runs in another thread with what it has found."""
        self._search.stop()


def load_tables(game: Game, tables: str | os.PathLike[str] | Tablebase | None) -> Tablebase | None:
    """Return exact values, or those in a folder; raise BadOption as `Tablebase`, MissingTable."""
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
    """Return a player that keeps the exact value, by the tables that ship if no folder is given.

    Where no table has a position it searches with the tables in memory, see `MinimaxPlayer`. Raises
    UnknownOption for a level other than "delay", else as `MinimaxPlayer`.
    """
    if level not in (None, "delay"):
        raise UnknownOption(f"perfect has no level {level!r}; it has: delay")
    known = load_tables(game, tables) or Tablebase(game)
    search = MinimaxPlayer(game, depth=depth, seconds=seconds, tables=known)
    return PerfectPlayer(game, known, search, delay=level is not None)


class BotPlayer:
    """Plays like one of the game's own bots."""

    def __init__(self, game: Game, bot: str) -> None:
        """Use the bot with this name; raise BadPlayer if the game does not have it."""
        if bot not in game.bots:
            played = format_list(name for name, entry in GAMES.items() if bot in entry.bots)
            raise BadPlayer(f"{bot} does not play {game.name}, only: {played}")
        self._game, self._name = game, bot
        self._bot = game.bots[bot](game)

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the bot's decision."""
        self._game.choices(position)
        return Decision(self._bot(position, rng))

    def for_new_game(self) -> "BotPlayer":
        """See `cc_env.match.referee.Player.for_new_game`."""
        return BotPlayer(self._game, self._name)


def make_program_player(
    game: Game,
    *,
    command: str | None = None,
    protocol: str = "ugi",
    seconds: float | None = None,
    budget: float | None = None,
    start: float = 60,
) -> Player:
    from cc_env.protocols.program import ProgramPlayer  # imported only where it is used

    return ProgramPlayer(
        game, command=command, protocol=protocol, seconds=seconds, budget=budget, start=start
    )


DEFAULT_LEVELS: dict[str, dict[str, Any]] = {  # unless the game defines its own
    "easy": {"depth": 1},
    "normal": {"depth": 3},
    "hard": {"depth": 6},
    "extreme": {"seconds": 2},
}


def time_budget(seconds: float | None, clock: Clock) -> float | None:
    """Return the thinking time in seconds: as asked, within a safe share of the clock's time."""
    bound = max(0.0, min(0.75 * clock.turn - 0.02, clock.game / 25))
    if bound == math.inf:
        return seconds
    return bound if seconds is None else min(seconds, bound)
