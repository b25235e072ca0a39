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
from benchmarks.measure import Chunk, Task, TimedChunk, Timing, make_measure, make_timed_measure
from benchmarks.ours import STEPPING_ALONE

# Games played by OpenSpiel's interface: its own, then ours.
SPIEL_GAMES = {
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
    return [*_open_spiel_tasks(), *_pettingzoo_tasks(), *_pgx_tasks(), *_gymnasium_tasks()]


def _open_spiel_tasks() -> list[Task]:
    """Return the tasks of OpenSpiel."""
    play = partial(_open_spiel_task, loops.states, "decisions/s")
    search = partial(_open_spiel_task, loops.playouts, "simulations/s")
    play_note = "Python: legal_actions + apply_action, no observation"
    search_note = "its C++ search, from the start, random playouts"
    task = partial(Task, package="open_spiel")
    steps_note = "observation and legal actions"
    alpha_beta_note = (
        "OpenSpiel's Python search; its C++ one is not exposed; depth 6 from the start"
    )
    return [
        *(play(title, name, play_note) for title, name in SPIEL_GAMES.items()),
        task("rl_environment, checkers", "decisions/s", make_measure(_make_time_steps), steps_note),
        task("alpha-beta, checkers", "leaves/s", make_measure(_make_alpha_beta), alpha_beta_note),
        *(search(f"MCTS, {title}", name, search_note) for title, name in SPIEL_GAMES.items()),
    ]


def _open_spiel_task(
    loop: Callable[[Any], Chunk], unit: str, label: str, name: str, note: str
) -> Task:
    """Return the task of a loop on an OpenSpiel game, or on one of ours in OpenSpiel."""
    package = "cc_env" if "cc_env" in name else "open_spiel"
    return Task(
        label,
        unit,
        make_measure(lambda: loop(_load_open_spiel_game(name))),
        note,
        package,
        "open_spiel",
    )


def _load_open_spiel_game(name: str) -> Any:
    """Return an OpenSpiel game; cc_env's games are registered first."""
    import pyspiel
    from open_spiel.python.games import tic_tac_toe  # noqa: F401  registers itself

    import cc_env.openspiel  # noqa: F401  registers ours

    return pyspiel.load_game(name)


def _pettingzoo_tasks() -> list[Task]:
    """Return the tasks of PettingZoo."""
    return [
        Task(
            f"AEC, {title}",
            "steps/s",
            make_measure(partial(_make_classic_play, name, *modules)),
            "last + sample(mask) + step",
            "pettingzoo",
            " ".join(["'pettingzoo>=1.27'", *modules]),
        )
        for title, name, *modules in (
            ("connect four", "connect_four-v3", "pygame"),
            ("chess", "chess-v6", "pygame", "chess"),
        )
    ]


def _pgx_tasks() -> list[Task]:
    """Return the tasks of Pgx."""
    return [*_pgx_game_tasks("connect_four"), *_pgx_game_tasks("othello")]


def _pgx_game_tasks(game: str) -> list[Task]:
    """Return the tasks of a game of Pgx, with one and with many boards."""
    title, together = game.replace("_", " "), "one compiled call chooses and steps"
    rows = (
        (1, make_measure(partial(_make_pgx_play, game, 1)), together),
        (1024, make_measure(partial(_make_pgx_play, game, 1024)), together),
        (1024, make_timed_measure(partial(_make_timed_pgx_play, game, 1024)), STEPPING_ALONE),
    )
    task = partial(Task, package="pgx", needs="pgx jax")
    return [
        task(f"{boards} × {title}", "decisions/s", measure, f"on the CPU; {note}")
        for boards, measure, note in rows
    ]


def _gymnasium_tasks() -> list[Task]:
    """Return the tasks of Gymnasium's CartPole, which costs little itself."""
    note = "the floor of API overhead"
    single = make_measure(lambda: loops.single(gymnasium.make("CartPole-v1")))
    vector = make_timed_measure(_make_cart_pole_play)
    return [
        Task("CartPole", "steps/s", single, note, "gymnasium"),
        Task("vector, 1024 × CartPole", "steps/s", vector, f"{note}; stepping alone", "gymnasium"),
    ]


def _make_time_steps() -> Chunk:
    """Return random play of checkers through OpenSpiel's RL environment."""
    from open_spiel.python import rl_environment

    env = rl_environment.Environment("checkers")
    rng, time_step = random.Random(0), env.reset()

    def chunk(steps: int = 500) -> int:
        nonlocal time_step
        for _ in range(steps):
            if time_step.last():
                time_step = env.reset()
            observations = time_step.observations
            actions = observations["legal_actions"][observations["current_player"]]
            time_step = env.step([actions[int(rng.random() * len(actions))]])
        return steps

    return chunk


def _make_alpha_beta() -> Chunk:
    """Return OpenSpiel's alpha-beta search of checkers; its units are evaluated leaves."""
    import pyspiel
    from open_spiel.python.algorithms import minimax

    game = pyspiel.load_game("checkers")

    def chunk() -> int:
        leaves = 0

        def evaluate(_: Any) -> float:
            """Return a cheap pseudo-random value, so that branches are cut off."""
            nonlocal leaves
            leaves += 1
            return float(leaves * 7919 % 100)

        minimax.alpha_beta_search(
            game, value_function=evaluate, maximum_depth=6, maximizing_player_id=0
        )
        return leaves

    return chunk


def _make_classic_play(name: str, *modules: str) -> Chunk:
    """Return random play in a classic game of PettingZoo; `modules` must be installed."""
    # PettingZoo's own error for a missing module is not an ImportError.
    for module in modules:
        importlib.import_module(module)
    from pettingzoo import make

    env = make("aec", f"classic/{name}")
    return loops.agents(env, lambda observation, info: observation["action_mask"])


def _make_pgx_play(name: str, boards: int) -> Chunk:
    """Return random play in Pgx; one compiled call chooses actions and steps."""
    import jax

    choose, step, state = _pgx_functions(name, boards)

    @jax.jit  # type: ignore[untyped-decorator]
    def play(state: Any, key: Any) -> tuple[Any, Any]:
        key, *keys = jax.random.split(key, 3)
        return step(state, choose(state.legal_action_mask, keys[0]), keys[1]), key

    key = jax.random.PRNGKey(1)

    def chunk(steps: int = 50) -> int:
        nonlocal state, key
        for _ in range(steps):
            state, key = play(state, key)
            jax.block_until_ready(state)
        return steps * boards

    return chunk


def _make_timed_pgx_play(name: str, boards: int) -> TimedChunk:
    """Return random play in Pgx; only the compiled call that steps is timed."""
    import jax

    choose, step, state = _pgx_functions(name, boards)
    choose, step, split = jax.jit(choose), jax.jit(step), jax.jit(partial(jax.random.split, num=3))
    key = jax.random.PRNGKey(1)

    def chunk(steps: int = 50) -> Timing:
        nonlocal state, key
        seconds = 0.0
        for _ in range(steps):
            key, first, second = split(key)
            actions = jax.block_until_ready(choose(state.legal_action_mask, first))
            start = time.perf_counter()
            state = jax.block_until_ready(step(state, actions, second))
            seconds += time.perf_counter() - start
        return Timing(steps * boards, seconds)

    return chunk


def _pgx_functions(name: str, boards: int) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return `choose`, which samples legal actions, `step`, with auto-reset, and the states."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)

    def choose(masks: Any, key: Any) -> Any:
        """Sample with one uniform number per board; `jax.random.categorical` is slower."""
        counts = jnp.cumsum(masks.astype(jnp.int32), axis=1)
        draws = jax.random.uniform(key, (boards, 1)) * counts[:, -1:]
        return jnp.argmax(counts > draws.astype(jnp.int32), axis=1)

    def step(state: Any, actions: Any, key: Any) -> Any:
        keys = jax.random.split(key, boards)
        return jax.vmap(auto_reset(env.step, env.init))(state, actions, keys)

    starts = jax.random.split(jax.random.PRNGKey(0), boards)
    return choose, step, jax.jit(jax.vmap(env.init))(starts)


def _make_cart_pole_play() -> TimedChunk:
    """Return random play on 1024 boards of CartPole."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=1024, vectorization_mode="vector_entry_point")
    return loops.vector(envs)
