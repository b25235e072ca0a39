"""Precompilation: uses every compiled function of a game once to fill the disk cache."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from functools import partial
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.games.factory import make_game
from cc_env.jit.compiler import hidden_messages
from cc_env.jit.disk_cache import write_failures
from cc_env.jit.threads import available_cores
from cc_env.match.random_games import play_random_games
from cc_env.match.referee import Clock
from cc_env.players.specs import available_players, make_player
from cc_env.registry.catalogue import GAMES
from cc_env.search.puct import PUCT
from cc_env.verification import perft

# A player that evaluates a network.
NETWORK_PLAYER = "policy"
# Enough turns to reach captures and their notation.
MAX_TURNS = 100


class WarmupTask(NamedTuple):
    """A use of a game that compiles some functions."""

    label: str
    run: Callable[[], object]


class Compilation(NamedTuple):
    """What `compile_game` did."""

    game: str
    seconds: float
    # Name of each function whose code could not be written -> the reason.
    write_failures: dict[str, str]


def compile_games(names: Sequence[str]) -> Iterator[Compilation]:
    """Compile everything for these games, several of them in one process for each core."""
    if len(names) == 1:
        yield compile_game(names[0])
        return
    executor = ProcessPoolExecutor(
        min(len(names), available_cores()),
        multiprocessing.get_context("spawn"),
        # Ctrl+C ends the processes without a traceback.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    )
    with executor:
        for done in as_completed([executor.submit(compile_game, name) for name in names]):
            yield done.result()


def compile_game(name: str) -> Compilation:
    """Run all tasks of a game. Raises UnknownOption for an unknown game."""
    start_time = time.perf_counter()
    write_failures.clear()
    with hidden_messages():
        for task in warmup_tasks(name):
            task.run()
    return Compilation(name, time.perf_counter() - start_time, dict(write_failures))


def warmup_tasks(name: str) -> Iterator[WarmupTask]:
    """Yield tasks that together compile everything for a game.

    Raises UnknownOption for an unknown game.
    """
    game = make_game(name)
    yield WarmupTask("rules", lambda: _play_rules(game))
    yield WarmupTask("perft", lambda: perft.perft(game, game.initial, 1))
    yield WarmupTask("random play", lambda: play_random_games(game, 1))
    yield WarmupTask("environment", lambda: _play_environment(game, "random"))
    yield WarmupTask("environment with a player", lambda: _play_environment(game, "greedy"))
    for opponent in (None, "random", "greedy", "minimax:depth=1", "mcts:simulations=1"):
        # Steps in several threads are functions of their own.
        for threads in (1, 2):
            label = f"vector environment, opponent={opponent}, threads={threads}"
            task = partial(_play_vector_environment, game, opponent, threads)
            yield WarmupTask(label, task)
    for player in _players(game):
        yield WarmupTask(player, partial(_decide, game, player))
    yield WarmupTask("tree search by a network", lambda: _search_by_network(game))


def _players(game: Game) -> Iterator[str]:
    """Yield player specs that together use every search and, if available, the network."""
    for evaluation in game.evaluations:
        yield f"greedy:evaluation={evaluation}"
        yield f"minimax:depth=1,evaluation={evaluation}"
        yield f"mcts:simulations=1,evaluation={evaluation}"
    yield "mcts:simulations=1,playout=random"
    yield from game.bots
    if NETWORK_PLAYER in available_players(game):
        yield NETWORK_PLAYER


def _play_rules(game: Game) -> None:
    """Play a random game, using rules, observations and notation in each position."""
    rng = np.random.default_rng(0)
    position = game.initial
    for _ in range(MAX_TURNS):
        turns = list(game.turns(position))
        if not turns:
            break
        turn = turns[rng.integers(len(turns))]
        game.parse_turn(position, game.turn_text(position, turn))
        game.track(position, turn)
        game.action_mask(position)
        game.observe(position)
        game.key(position)
        game.repetition_outcome(position)
        position = game.play_turn(position, turn)
    rules.margin(position)
    game.ending(position)


def _play_environment(game: Game, opponent: str) -> None:
    env_id = GAMES[game.name].environment
    with closing(gymnasium.make(env_id, opponent=opponent, render_mode="ansi")) as env:
        _, info = env.reset(seed=0)
        env.step(int(info["action_mask"].argmax()))
        env.render()


def _play_vector_environment(game: Game, opponent: str | None, threads: int) -> None:
    env_id = GAMES[game.name].environment
    make = partial(gymnasium.make_vec, env_id, num_envs=2)
    with closing(make(opponent=opponent, threads=threads)) as envs:
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())


def _decide(game: Game, name: str) -> None:
    make_player(name, game).choose(game.initial, np.random.default_rng(0), Clock())


def _search_by_network(game: Game) -> None:
    def uniform_network(
        planes: NDArray[np.int8],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        logits = np.zeros((len(planes), game.num_actions), np.float32)
        return logits, np.zeros(len(planes), np.float32)

    PUCT(game, uniform_network)
