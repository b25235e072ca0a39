"""Jobs of workers: function calls, some of them with a player from the worker's pool.

A job is sent to a worker, which may be another process, so it contains only picklable data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numba.core import event

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import find_rung
from cc_env.match.referee import Clock, Decision, Player, player_for_new_game
from cc_env.play import view
from cc_env.play.analysis import TimeBudget
from cc_env.play.session import HUMAN, GameSession
from cc_env.players.specs import make_player
from cc_env.puzzles.attempt import Attempt
from cc_env.puzzles.puzzle import shipped_puzzles
from cc_env.server.player_pool import PlayerPool

# Players with a memory of their game, in their attribute `memory`.
STATEFUL_PLAYERS = "policy", "alphazero", "ppo"

T = TypeVar("T", covariant=True)

# A unit of work of a worker; its arguments are the worker's players, and its time, which another
# thread may end early.
Job = Callable[[PlayerPool, TimeBudget], T]


def call_function(
    function: Callable[..., T], arguments: tuple[object, ...], pool: PlayerPool, time: TimeBudget
) -> T:
    """Call an importable function with picklable arguments; `pool` and `time` are not used."""
    return function(*arguments)


@dataclass(frozen=True)
class PlayerJob(Generic[T]):
    """A call of an importable function with a pooled player.

    The arguments of `function` are the game, the position, the player and its time.
    """

    function: Callable[[Game, Position, Player, TimeBudget], T]
    spec: str
    game: Game
    position: Position

    def __call__(self, pool: PlayerPool, time: TimeBudget) -> T:
        """Return the function's result; its exceptions propagate."""
        with pool.borrow(self.spec, self.game) as player:
            time.start(player)
            return self.function(self.game, self.position, player, time)


class DecisionResult(NamedTuple):
    """A decision, the state of the random generator after it, and the player's memory.

    The `memory` is None if the player has no attribute of this name.
    """

    decision: Decision
    generator: Mapping[str, object]
    memory: object
    # Part of the decision's time in which code was compiled.
    compile_seconds: float


def _decide(
    game: Game,
    position: Position,
    pooled: Player,
    time: TimeBudget,
    *,
    rng: np.random.Generator,
    clock: Clock,
    memory: object,
) -> DecisionResult:
    """Return the decision of a pooled player, after setting its memory of the game if it has one.

    The `memory` is that of the result of the previous decision, None before the first one.
    """
    player = player_for_new_game(pooled)
    if memory is not None:
        player.memory = memory  # type: ignore[attr-defined]
    compiling = event.TimingListener()
    with event.install_listener("numba:compile", compiling):
        decision = player.choose(position, rng, clock)
    compile_seconds = compiling.duration if compiling.done else 0.0
    memory = getattr(player, "memory", None)
    return DecisionResult(decision, rng.bit_generator.state, memory, compile_seconds)


# Runs a job, as `WorkerPool.run` does.
DecisionRunner = Callable[[Job[DecisionResult]], DecisionResult]


class PooledPlayer:
    """A player whose search, with its trees and tables, is borrowed for each decision."""

    def __init__(self, spec: str, game: Game, run: DecisionRunner) -> None:
        """Create the player of a spec; `run` runs its jobs."""
        self._spec, self._game, self._run = spec, game, run
        self._memory: object = None
        # Time spent on compiling during the last decision.
        self.compile_seconds = 0.0

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the player's decision; exceptions of the player propagate."""
        decide = partial(_decide, rng=rng, clock=clock, memory=self._memory)
        result = self._run(PlayerJob(decide, self._spec, self._game, position))
        rng.bit_generator.state = result.generator
        self._memory, self.compile_seconds = result.memory, result.compile_seconds
        return result.decision


class StatefulPooledPlayer(PooledPlayer):
    """A pooled player with a memory of its game."""

    def for_new_game(self) -> "StatefulPooledPlayer":
        """Return the player for another game."""
        return StatefulPooledPlayer(self._spec, self._game, self._run)


def play_random_game(name: str) -> None:
    """Play a game at random; what a session needs is compiled or loaded."""
    session = GameSession(make_game(name), (HUMAN, HUMAN))
    rng = np.random.default_rng(0)
    while session.result is None:
        session.play(rng.choice(session.match.legal_actions))
        if len(session.decisions) == 1:
            view.session_state(session)
    view.session_state(session)


def decide_first_turn(name: str, spec: str, pool: PlayerPool, time: TimeBudget) -> None:
    """Play a game, and let a player decide on its first turn; so what both need is compiled."""
    play_random_game(name)
    game = make_game(name)
    with pool.borrow(spec, game) as player:
        player.choose(game.initial, np.random.default_rng(0), Clock())


def solve_first_puzzle(name: str, pool: PlayerPool, time: TimeBudget) -> None:
    """Solve a game's first puzzle at the start, so that what judges of puzzles need is compiled."""
    game = make_game(name)
    for puzzle in shipped_puzzles(game)[:1]:
        Attempt(game, puzzle).solutions()


def resolve_rung(spec: str, game: Game) -> str:
    """Return the spec of a rung of the ladder, such as `ladder:3`; other specs as they are."""
    name, _, level = spec.partition(":")
    return find_rung(game, level or "1").spec if name == "ladder" else spec


def make_pooled_player(spec: str, game: Game, run: DecisionRunner) -> Player:
    """Return the player of a spec; trees and tables are allocated for its first decision."""
    spec = resolve_rung(spec, game)
    name = spec.partition(":")[0]
    # A game's own bots have no trees or tables.
    if name in game.bots:
        return make_player(spec, game)
    player_class = StatefulPooledPlayer if name in STATEFUL_PLAYERS else PooledPlayer
    return player_class(spec, game, run)
