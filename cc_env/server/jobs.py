"""Jobs of workers: decisions of players, analyses of positions, function calls.

A job is sent to a worker, which may be another process, so it contains only picklable data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play.analysis import TimeBudget
from cc_env.players.specs import make_player
from cc_env.server.player_pool import PlayerPool

# Players with a memory of their game, in their attribute `memory`.
STATEFUL_PLAYERS = "policy", "alphazero", "ppo"

Result = TypeVar("Result")
JobResult = TypeVar("JobResult", covariant=True)


class Job(Protocol[JobResult]):
    """A unit of work of a worker."""

    def run(self, pool: PlayerPool, time: TimeBudget) -> JobResult:
        """Return the result; another thread may end `time` early."""


@runtime_checkable
class StatefulPlayer(Protocol):
    """A player with a memory of its game."""

    memory: object


class GameKey(NamedTuple):
    """The name of a game in the catalogue, and its options."""

    name: str
    options: tuple[tuple[str, object], ...]

    @classmethod
    def from_game(cls, game: Game) -> "GameKey":
        """Return the key of a game."""
        return cls(game.name, tuple(game.options.items()))


@lru_cache(maxsize=16)
def cached_game(key: GameKey) -> Game:
    """Return the game of a key."""
    return make_game(key.name, **dict(key.options))


@dataclass(frozen=True)
class FunctionCall(Generic[Result]):
    """A call of an importable function with picklable arguments."""

    function: Callable[..., Result]
    arguments: tuple[object, ...]

    def run(self, pool: PlayerPool, time: TimeBudget) -> Result:
        """Return the function's result; its exceptions propagate."""
        return self.function(*self.arguments)


class DecisionResult(NamedTuple):
    """A decision, and the states of the random generator and of the player after it."""

    decision: Decision
    generator: Mapping[str, object]
    memory: object


@dataclass(frozen=True)
class DecisionJob:
    """The decision of a player in a position."""

    spec: str
    game: GameKey
    position: Position
    rng: np.random.Generator
    clock: Clock
    memory: object = None

    def run(self, pool: PlayerPool, time: TimeBudget) -> DecisionResult:
        """Return the decision; exceptions of the player propagate."""
        with pool.borrow(self.spec, cached_game(self.game)) as pooled:
            time.start(pooled)
            player = player_for_new_game(pooled)
            if self.memory is not None and isinstance(player, StatefulPlayer):
                player.memory = self.memory
            decision = player.choose(self.position, self.rng, self.clock)
            memory = player.memory if isinstance(player, StatefulPlayer) else None
            return DecisionResult(decision, self.rng.bit_generator.state, memory)


@dataclass(frozen=True)
class AnalysisJob(Generic[Result]):
    """A player's analysis of a position.

    `analyze` is an importable function of the game, the position, the player and its time.
    """

    analyze: Callable[[Game, Position, Player, TimeBudget], Result]
    spec: str
    game: GameKey
    position: Position

    def run(self, pool: PlayerPool, time: TimeBudget) -> Result:
        """Return the analysis; exceptions of `analyze` propagate."""
        game = cached_game(self.game)
        with pool.borrow(self.spec, game) as player:
            time.start(player)
            return self.analyze(game, self.position, player, time)


class DecisionRunner(Protocol):
    """A function that runs decision jobs, such as `WorkerPool.run`."""

    def __call__(self, job: Job[DecisionResult], /) -> DecisionResult:
        """Return the result of a job."""


class PooledPlayer:
    """A player whose search, with its trees and tables, is borrowed for each decision."""

    def __init__(self, spec: str, game: Game, run: DecisionRunner) -> None:
        """Create the player of a spec; `run` runs its jobs."""
        self._spec, self._game, self._run = spec, game, run
        self._memory: object = None

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the player's decision; exceptions of the player propagate."""
        key = GameKey.from_game(self._game)
        result = self._run(DecisionJob(self._spec, key, position, rng, clock, self._memory))
        rng.bit_generator.state, self._memory = result.generator, result.memory
        return result.decision


class StatefulPooledPlayer(PooledPlayer):
    """A pooled player with a memory of its game."""

    def for_new_game(self) -> "StatefulPooledPlayer":
        """Return the player for another game."""
        return StatefulPooledPlayer(self._spec, self._game, self._run)


def make_pooled_player(spec: str, game: Game, run: DecisionRunner) -> Player:
    """Return the player of a spec; trees and tables are allocated for its first decision."""
    name = spec.partition(":")[0]
    # A game's own bots have no trees or tables.
    if name in game.bots:
        return make_player(spec, game)
    player_class = StatefulPooledPlayer if name in STATEFUL_PLAYERS else PooledPlayer
    return player_class(spec, game, run)
