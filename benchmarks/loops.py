"""Random play through standard interfaces, so that all packages are timed alike."""

import random
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Chunk, TimedChunk, Timing


def single(env: gymnasium.Env[Any, Any], steps: int = 1000) -> Chunk:
    """Return the loop of tutorials: `action_space.sample()`, `step`, `reset` at the end."""
    env.reset(seed=0)

    def chunk() -> int:
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        return steps

    return chunk


def replies(env: gymnasium.Env[str, str], steps: int = 200) -> Chunk:
    """Return play in words: each reply is one of the turns at the end of the observation."""
    rng, (observation, _) = random.Random(0), env.reset(seed=0)

    def chunk() -> int:
        nonlocal observation
        for _ in range(steps):
            turns = observation.rpartition("Legal turns: ")[2].split(", ")
            reply = f"<turn>{turns[int(rng.random() * len(turns))]}</turn>"
            observation, _, terminated, truncated, _ = env.step(reply)
            if terminated or truncated:
                observation, _ = env.reset()
        return steps

    return chunk


def vector(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any],
    *,
    with_sampling: bool = False,
    steps: int = 50,
) -> TimedChunk:
    """Return a function that times random play on boards that reset in the next step (NEXT_STEP).

    `action_space.sample()` is timed only `with_sampling`. Resets do not count as steps.
    """
    envs.reset(seed=0)
    has_ended: NDArray[np.bool_] = np.zeros(envs.num_envs, np.bool_)

    def chunk() -> Timing:
        units, seconds = 0, 0.0
        for _ in range(steps):
            sampling_start = time.perf_counter()
            actions = envs.action_space.sample()
            step_start = time.perf_counter()
            _, _, terminated, truncated, _ = envs.step(actions)
            seconds += time.perf_counter() - (sampling_start if with_sampling else step_start)
            units += envs.num_envs - int(has_ended.sum())
            np.logical_or(terminated, truncated, out=has_ended)
        return Timing(units, seconds)

    return chunk


def agents(env: Any, get_mask: Callable[[Any, Any], Any], steps: int = 200) -> Chunk:
    """Return PettingZoo's AEC loop: `last`, a sample under the mask, `step`; `reset` at the end.

    `get_mask(observation, info)` returns the mask of the agent to move.
    """
    env.reset(seed=0)

    def chunk() -> int:
        for _ in range(steps):
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.reset()
                observation, _, _, _, info = env.last()
            space = env.action_space(env.agent_selection)
            env.step(space.sample(get_mask(observation, info)))
        return steps

    return chunk


def states(game: Any, steps: int = 1000) -> Chunk:
    """Return random play of an OpenSpiel game, from Python."""
    rng, state = random.Random(0), game.new_initial_state()

    def chunk() -> int:
        nonlocal state
        for _ in range(steps):
            if state.is_terminal():
                state = game.new_initial_state()
            actions = state.legal_actions()
            state.apply_action(actions[int(rng.random() * len(actions))])
        return steps

    return chunk


def playouts(game: Any, simulations: int = 500) -> Chunk:
    """Return OpenSpiel's tree search from the start of a game, each simulation a random playout."""
    import pyspiel

    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    bot = pyspiel.MCTSBot(game, evaluator, 1.4, simulations, 100, False, 0, False)
    state = game.new_initial_state()

    def chunk() -> int:
        bot.mcts_search(state)
        return simulations

    return chunk
