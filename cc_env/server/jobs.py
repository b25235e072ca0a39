"""The jobs of workers: decisions of players, analyses of positions and turns, other calls.

A job is sent to a worker, which may be another process, so it consists of data alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from cc_env.core.game import Game, Turn
from cc_env.core.rules import Position
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play import analysis
from cc_env.play.analysis import Analysis, TimeBudget, TurnAssessment
from cc_env.players.specs import make_player
from cc_env.server.player_pool import PlayerPool

# Players that remember their game. What they remember is their attribute `memory`.
REMEMBERING = "policy", "alphazero", "ppo"


class Job(Protocol):
    """Something that a worker does, such as with a borrowed player."""

    def run(self, pool: PlayerPool, time: TimeBudget) -> Any:
        """Return what is found; `time` may be ended from another thread."""


class GameKey(NamedTuple):
    """A game of the catalogue, with its options."""

    name: str
    options: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, game: Game) -> "GameKey":
        """Return the key of a game."""
        return cls(game.name, tuple(game.options.items()))


@lru_cache(maxsize=16)
def game_of(key: GameKey) -> Game:
    """Return the game of a key."""
    return make_game(key.name, **dict(key.options))


@dataclass(frozen=True)
class Call:
    """A call of a function, which can be imported, with data."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def run(self, pool: PlayerPool, time: TimeBudget) -> Any:
        """Return what the function returns; raises as it does."""
        return self.function(*self.arguments)


class Choice(NamedTuple):
    """A decision, with the states of the random generator and of the player after it."""

    decision: Decision
    generator: Any
    memory: Any


@dataclass(frozen=True)
class Choose:
    """A decision in a game."""

    spec: str
    game: GameKey
    position: Position
    rng: np.random.Generator
    clock: Clock
    memory: Any = None

    def run(self, pool: PlayerPool, time: TimeBudget) -> Choice:
        """Return the decision; raises as the player does."""
        with pool.borrow(self.spec, game_of(self.game)) as pooled:
            time.start(pooled)
            player: Any = player_for_new_game(pooled)
            if self.memory is not None:
                player.memory = self.memory
            decision = player.choose(self.position, self.rng, self.clock)
            memory = getattr(player, "memory", None)
            return Choice(decision, self.rng.bit_generator.state, memory)


@dataclass(frozen=True)
class Analyze:
    """What a player thinks of all moves in a position."""

    spec: str
    game: GameKey
    position: Position

    def run(self, pool: PlayerPool, time: TimeBudget) -> Analysis:
        """Return the analysis; raises as `study.analyse`."""
        game = game_of(self.game)
        with pool.borrow(self.spec, game) as player:
            time.start(player)
            return analysis.analyze(game, self.position, player, time)


@dataclass(frozen=True)
class Judge:
    """What a player thinks of a turn."""

    spec: str
    game: GameKey
    position: Position
    turn: Turn

    def run(self, pool: PlayerPool, time: TimeBudget) -> TurnAssessment:
        """Return the judgement; raises as `analysis.assess_turn`."""
        game = game_of(self.game)
        with pool.borrow(self.spec, game) as player:
            time.start(player)
            return analysis.assess_turn(game, self.position, self.turn, player, time)


RunJob = Callable[[Job], Any]


class PooledPlayer:
    """A player whose search, with its trees and tables, is borrowed for each decision."""

    def __init__(self, spec: str, game: Game, run: RunJob) -> None:
        """Let `run` do the jobs of this player."""
        self._spec, self._game, self._run = spec, game, run
        self._memory: Any = None

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the player's decision; raises as it does."""
        key = GameKey.of(self._game)
        job = Choose(self._spec, key, position, rng, clock, self._memory)
        choice: Choice = self._run(job)
        rng.bit_generator.state, self._memory = choice.generator, choice.memory
        return choice.decision


class RememberingPlayer(PooledPlayer):
    """A pooled player that remembers its game."""

    def for_new_game(self) -> "RememberingPlayer":
        """Return the player for another game."""
        return RememberingPlayer(self._spec, self._game, self._run)


def pooled_player(spec: str, game: Game, run: RunJob) -> Player:
    """Return the player of a spec; no trees or tables are allocated before it decides."""
    kind = spec.partition(":")[0]
    if kind in game.search.bots:  # they have none
        return make_player(spec, game)
    return (RememberingPlayer if kind in REMEMBERING else PooledPlayer)(spec, game, run)
