"""Rows of alternative packages: random legal play with resets.

Packages are imported when their task is measured, so a missing one costs only its own row.
"""

import importlib
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from benchmarks import loops
from benchmarks.measure import Chunk, Tally, Task, timed

ALONE = "stepping alone, with observations and masks"
TOGETHER = "one compiled call chooses and steps"
SPIEL_GAMES = {  # what is played by OpenSpiel's interface: its own games, then ours there
    "checkers": "checkers",
    "nine men's morris": "nine_mens_morris",
    "connect four": "connect_four",
    "breakthrough 6×6": "breakthrough(rows=6,columns=6)",
    "tic-tac-toe in Python": "python_tic_tac_toe",
    "checkers in OpenSpiel": "python_cc_env_checkers",
    "nine men's morris in OpenSpiel": "python_cc_env_morris",
    "C&C 6×6 in OpenSpiel": "python_cc_env_capture_conquer",
    "mini checkers in OpenSpiel": "python_cc_env_mini_checkers",
    "Cannon 8×8 in OpenSpiel": "python_cc_env_cannon",
}


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    return [*_open_spiel(), *_pettingzoo(), *_pgx(), *_gymnasium()]


def _open_spiel() -> list[Task]:
    task = partial(Task, package="open_spiel", unit="decisions/s")
    return [
        *(_spiel(called, name) for called, name in SPIEL_GAMES.items()),
        task(
            what="rl_environment, checkers",
            note="observation and legal actions",
            measure=timed(lambda: _time_steps("checkers")),
        ),
        task(
            what="alpha-beta, checkers",
            unit="leaves/s",
            note="its Python search, the only one that it offers to Python; depth 6 from the start",
            measure=timed(lambda: _alpha_beta("checkers", 6)),
        ),
        *(_mcts(called, name) for called, name in SPIEL_GAMES.items()),
    ]


def _spiel(called: str, name: str) -> Task:
    """Return the task of playing a game of OpenSpiel's, or one of ours there, by name."""
    return Task(
        what=called,
        package=_owner(name),
        unit="decisions/s",
        needs="open_spiel",
        note="Python: legal_actions + apply_action, no observation",
        measure=timed(lambda: loops.states(_load(name))),
    )


def _mcts(called: str, name: str) -> Task:
    return Task(
        what=f"MCTS, {called}",
        package=_owner(name),
        unit="simulations/s",
        needs="open_spiel",
        note="its C++ search, from the start, random playouts",
        measure=timed(lambda: loops.playouts(_load(name))),
    )


def _owner(name: str) -> str:
    return "cc_env" if "cc_env" in name else "open_spiel"


def _load(name: str) -> Any:
    import pyspiel
    from open_spiel.python.games import tic_tac_toe  # noqa: F401  registers itself

    import cc_env.openspiel  # noqa: F401  registers ours

    return pyspiel.load_game(name)


def _pettingzoo() -> list[Task]:
    task = partial(Task, package="pettingzoo", unit="steps/s", note="last + sample(mask) + step")
    return [
        task(
            what="AEC, connect four",
            needs="'pettingzoo>=1.27' pygame",
            measure=timed(lambda: _classic("connect_four-v3", "pygame")),
        ),
        task(
            what="AEC, chess",
            needs="'pettingzoo>=1.27' pygame chess",
            measure=timed(lambda: _classic("chess-v6", "pygame", "chess")),
        ),
    ]


def _pgx() -> list[Task]:
    kinds = (
        (1, _pgx_together, TOGETHER),
        (1024, _pgx_together, TOGETHER),
        (1024, _pgx_alone, ALONE),
    )
    return [
        Task(
            what=f"{boards} × {game.replace('_', ' ')}",
            package="pgx",
            unit="decisions/s",
            needs="pgx jax",
            note=f"on the CPU; {note}",
            measure=timed(partial(play, game, boards)),
        )
        for game in ("connect_four", "othello")
        for boards, play, note in kinds
    ]


def _gymnasium() -> list[Task]:
    task = partial(Task, package="gymnasium", unit="steps/s")
    return [
        task(
            what="CartPole",
            note="the floor of API overhead",
            measure=timed(lambda: loops.single(gymnasium.make("CartPole-v1"))),
        ),
        task(
            what="vector, 1024 × CartPole",
            note="the floor of API overhead; stepping alone",
            measure=timed(_cart_poles),
        ),
    ]


def _time_steps(name: str) -> Chunk:
    from open_spiel.python import rl_environment

    env = rl_environment.Environment(name)
    rng, now = random.Random(0), env.reset()

    def chunk(steps: int = 500) -> Tally:
        nonlocal now
        began = time.perf_counter()
        for _ in range(steps):
            if now.last():
                now = env.reset()
            actions = now.observations["legal_actions"][now.observations["current_player"]]
            now = env.step([actions[int(rng.random() * len(actions))]])
        return Tally(steps, time.perf_counter() - began)

    return chunk


def _alpha_beta(name: str, depth: int) -> Chunk:
    import pyspiel
    from open_spiel.python.algorithms import minimax

    game = pyspiel.load_game(name)

    def chunk() -> Tally:
        leaves = 0

        def evaluate(_: Any) -> float:
            nonlocal leaves
            leaves += 1
            return float(leaves * 7919 % 100)  # any evaluation will do: the search is timed

        began = time.perf_counter()
        minimax.alpha_beta_search(
            game, value_function=evaluate, maximum_depth=depth, maximizing_player_id=0
        )
        return Tally(leaves, time.perf_counter() - began)

    return chunk


def _classic(name: str, *modules: str) -> Chunk:
    for module in modules:  # PettingZoo's own error is not an ImportError
        importlib.import_module(module)
    from pettingzoo import make

    env = make("aec", f"classic/{name}")
    return loops.agents(env, lambda observation, info: observation["action_mask"])


def _pgx_together(name: str, boards: int) -> Chunk:
    import jax

    choose, step, state = _pgx_functions(name, boards)

    @jax.jit  # type: ignore[untyped-decorator]
    def play(state: Any, key: Any) -> tuple[Any, Any]:
        key, *keys = jax.random.split(key, 3)
        return step(state, choose(state.legal_action_mask, keys[0]), keys[1]), key

    key = jax.random.PRNGKey(1)

    def chunk(steps: int = 50) -> Tally:
        nonlocal state, key
        began = time.perf_counter()
        for _ in range(steps):
            state, key = play(state, key)
            jax.block_until_ready(state)
        return Tally(steps * boards, time.perf_counter() - began)

    return chunk


def _pgx_alone(name: str, boards: int) -> Chunk:
    import jax

    choose, step, state = _pgx_functions(name, boards)
    choose, step, split = jax.jit(choose), jax.jit(step), jax.jit(partial(jax.random.split, num=3))
    key = jax.random.PRNGKey(1)

    def chunk(steps: int = 50) -> Tally:
        nonlocal state, key
        spent = 0.0
        for _ in range(steps):
            key, first, second = split(key)
            actions = jax.block_until_ready(choose(state.legal_action_mask, first))
            began = time.perf_counter()
            state = jax.block_until_ready(step(state, actions, second))
            spent += time.perf_counter() - began
        return Tally(steps * boards, spent)

    return chunk


def _pgx_functions(name: str, boards: int) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return functions that choose and that step with auto-reset, and the initial states."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)

    def choose(masks: Any, key: Any) -> Any:
        """Draw once per board: several times faster than `jax.random.categorical`."""
        counts = jnp.cumsum(masks.astype(jnp.int32), axis=1)
        draws = jax.random.uniform(key, (boards, 1)) * counts[:, -1:]
        return jnp.argmax(counts > draws.astype(jnp.int32), axis=1)

    def step(state: Any, actions: Any, key: Any) -> Any:
        keys = jax.random.split(key, boards)
        return jax.vmap(auto_reset(env.step, env.init))(state, actions, keys)

    starts = jax.random.split(jax.random.PRNGKey(0), boards)
    return choose, step, jax.jit(jax.vmap(env.init))(starts)


def _cart_poles() -> Chunk:
    envs = gymnasium.make_vec("CartPole-v1", num_envs=1024, vectorization_mode="vector_entry_point")
    return loops.vector(envs)
