"""Our own rows: compiled play, and every interface of the package."""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks import listed_moves, loops, policy_games, worst_case
from benchmarks.measure import (
    RUNS,
    Chunk,
    Task,
    TimedChunk,
    all_cores,
    make_measure,
    make_timed_measure,
)
from cc_env.accuracy.decisions import sample_uniform
from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.match.openings import exact_opening
from cc_env.match.random_games import play_random_games
from cc_env.match.referee import play_match
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import MCTS
from cc_env.tablebase.lookup import LoadedTables, exact_value
from cc_env.tablebase.tablebase import Tablebase

ENVIRONMENT = "cc_env/CaptureConquer-v0"
FIRST_USE = """
import gymnasium
env = gymnasium.make("{}")
env.reset(seed=0)
env.step(env.action_space.sample())
"""
# Titles of the games besides C&C.
OTHER_GAMES = {
    "checkers": "checkers",
    "mini_checkers": "mini checkers",
    "morris": "nine men's morris",
    "cannon": "Cannon 8×8",
}
LISTED = "random play, every turn listed, C&C {}×{}"
# Boards for several threads.
MANY_BOARDS = 16384
STEPPING_ALONE = "stepping alone, with observations and masks"
LOOKUP_REPEATS = 100
PLAIN_STEPS = 1000
# Opponents that decide in compiled code.
OPPONENTS = "greedy", "minimax:depth=1", "minimax:depth=3"


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    return [
        *(_random_play_task(f"C&C {size}×{size}", partial(_game, size)) for size in (6, 8)),
        *(
            _random_play_task(title, partial(make_game, name))
            for name, title in OTHER_GAMES.items()
        ),
        *map(_listing_task, (6, 8)),
        Task(
            "Gymnasium, C&C 6×6",
            "steps/s",
            make_measure(_make_single_play),
            "opponent's replies included",
        ),
        Task(
            "in words, C&C 6×6",
            "steps/s",
            make_measure(_make_replies),
            "the legal turns in every observation; replies of greedy included",
        ),
        *(_vector_task(boards, STEPPING_ALONE) for boards in (1, 64, 1024)),
        _vector_task(1024, f"{STEPPING_ALONE}; copy=False", copy=False),
        _vector_task(1024, "stepping and sample()", with_sampling=True),
        *(
            _vector_task(
                1024, f"{STEPPING_ALONE}; replies of {opponent} included", opponent=opponent
            )
            for opponent in ("random", *OPPONENTS)
        ),
        *map(_plain_loop_task, OPPONENTS),
        _vector_task(
            1024, f"{STEPPING_ALONE}; replies of perfect included", size=4, opponent="perfect"
        ),
        _plain_loop_task("perfect", size=4),
        *map(_threads_task, _thread_counts()),
        *(
            _alpha_beta_task(size, depth, evaluation, random_turns)
            for size, depth, random_turns in ((6, 9, 0), (6, 5, 12), (8, 7, 0), (8, 5, 12))
            for evaluation in (None, "learned")
        ),
        _depth_task(6, 9),
        _depth_task(6, 12, once=True),
        _depth_task(8, 6),
        _mcts_task("random", "random playouts"),
        _mcts_task("evaluation", "the evaluation for a playout"),
        _probing_task(_make_probes, "from Python: value, turns, and the actions that keep it"),
        _probing_task(_make_lookups, "in a search: the value"),
        Task(
            "minimax:depth=3 against random, C&C 6×6",
            "games/s",
            make_measure(_make_games),
            "referee and records",
        ),
        Task(
            "AEC, C&C 6×6",
            "steps/s",
            make_measure(_make_agents_play),
            "last + sample(mask) + step",
            needs="pettingzoo>=1.27",
        ),
        _start_task("import cc_env", "pass", "in a new process"),
        _first_use_task("capture_conquer", "C&C"),
        _first_use_task("capture_conquer", "C&C", warm=True),
        *(_first_use_task(name, title) for name, title in OTHER_GAMES.items()),
        _worst_case_task(worst_case.legal_microseconds, "legal actions"),
        _worst_case_task(worst_case.slowest_microseconds, "slowest decision"),
    ]


def _game(size: int) -> Game:
    """Return C&C of this size."""
    return make_game("capture_conquer", size=size)


def _random_play_task(title: str, make: Callable[[], Game]) -> Task:
    """Return the task of compiled random play in the game that `make` returns."""

    def prepare() -> Chunk:
        game, seeds = make(), itertools.count()
        return lambda: play_random_games(game, 500, next(seeds)).decisions

    label = f"compiled random play, {title}"
    return Task(label, "decisions/s", make_measure(prepare), "start to end")


def _listing_task(size: int) -> Task:
    """Return the task of random play with all moves listed at every turn."""
    note = "every (start, end, capture) at every turn, one chosen"
    return Task(
        LISTED.format(size, size),
        "turns/s",
        make_measure(lambda: listed_moves.play(_game(size))),
        note,
    )


def _make_single_play() -> Chunk:
    """Return random play in one environment."""
    return loops.single(gymnasium.make(ENVIRONMENT))


def _make_replies() -> Chunk:
    """Return random play in one environment in words."""
    return loops.replies(gymnasium.make("cc_env/TextGame-v0", opponent="greedy"))


def _make_boards(boards: int, **options: Any) -> Any:
    """Return a vector environment of C&C, by default 6×6."""
    return gymnasium.make_vec(
        ENVIRONMENT, num_envs=boards, vectorization_mode="vector_entry_point", **options
    )


def _vector_task(
    boards: int,
    note: str,
    *,
    size: int = 6,
    opponent: str | None = None,
    with_sampling: bool = False,
    copy: bool = True,
) -> Task:
    """Return the task of stepping a vector environment, with or without an opponent."""

    def prepare() -> TimedChunk:
        envs = _make_boards(boards, size=size, opponent=opponent, copy=copy)
        return loops.vector(envs, with_sampling=with_sampling)

    unit = "steps/s" if opponent else "decisions/s"
    return Task(f"vector, {boards} × C&C {size}×{size}", unit, make_timed_measure(prepare), note)


def _plain_loop_task(opponent: str, size: int = 6) -> Task:
    """Return the task of a random player's decisions and the replies, without an environment."""

    def prepare() -> Chunk:
        game = _game(size)
        policy = make_player(opponent, game).make_policy()  # type: ignore[attr-defined]
        legal, seeds = np.empty(game.num_actions, np.int32), itertools.count()

        def chunk() -> int:
            policy_games.play(game.initial, policy, PLAIN_STEPS, legal, np.uint64(next(seeds)))
            return PLAIN_STEPS

        return chunk

    note = f"the same decisions in a compiled loop; replies of {opponent} included"
    return Task(f"without environment, C&C {size}×{size}", "steps/s", make_measure(prepare), note)


def _thread_counts() -> list[int]:
    """Return the powers of 2 up to the number of cores, at least 1 and 2."""
    cores = max(os.cpu_count() or 1, 2)
    return [2**power for power in range(cores.bit_length())]


def _threads_task(threads: int) -> Task:
    """Return the task of stepping many boards by a number of threads, on all cores."""

    def prepare() -> TimedChunk:
        # Threads inherit the cores of the thread that starts them.
        with all_cores():
            envs = _make_boards(MANY_BOARDS, opponent=None, copy=False, threads=threads)
            chunk = loops.vector(envs, steps=5)
        return all_cores()(chunk)

    note = f"{STEPPING_ALONE}; copy=False; threads={threads}, on all cores"
    return Task(
        f"vector, {MANY_BOARDS} × C&C 6×6", "decisions/s", make_timed_measure(prepare), note
    )


def _alpha_beta_task(size: int, depth: int, evaluation: str | None, random_turns: int) -> Task:
    """Return the task of counting alpha-beta's nodes per second.

    Without `random_turns` it searches the initial position, otherwise ten positions after as many.
    """

    def prepare() -> Chunk:
        game, rng = _game(size), np.random.default_rng(0)
        search = AlphaBeta(game, evaluation)
        openings = range(10 if random_turns else 1)
        positions = [exact_opening(game, random_turns, rng) for _ in openings]
        return lambda: sum(search.search(position, depth=depth).nodes for position in positions)

    suffix = f", evaluation={evaluation}" if evaluation else ""
    source = f"ten positions after {random_turns} random turns" if random_turns else "the start"
    note = f"from {source}, to depth {depth}{suffix}"
    return Task(f"alpha-beta, C&C {size}×{size}", "nodes/s", make_measure(prepare), note)


def _mcts_task(playout: str, note: str) -> Task:
    """Return the task of counting the simulations of MCTS per second, from the start."""

    def prepare() -> Chunk:
        game, rng = _game(6), np.random.default_rng(0)
        search = MCTS(game, playout=playout)
        return lambda: search.search(game.initial, rng, simulations=20_000).nodes

    return Task("MCTS, C&C 6×6", "simulations/s", make_measure(prepare), f"from the start, {note}")


def _depth_task(size: int, depth: int, *, once: bool = False) -> Task:
    """Return the task of searching to `depth` turns from the initial position."""

    def measure(_: float) -> float:
        game = _game(size)
        search = AlphaBeta(game)
        runs = range(1 if once else RUNS)
        return statistics.median(search.search(game.initial, depth=depth).seconds for _ in runs)

    label = f"alpha-beta, C&C {size}×{size}, depth {depth} from the start"
    return Task(label, "s", measure, "less is better; depth in turns" + ("; once" if once else ""))


def _probing_task(prepare: Callable[[], Chunk], note: str) -> Task:
    """Return the task of looking up exact values."""
    return Task(
        "exact values, C&C 5×5", "positions/s", make_measure(prepare), f"{note}; all in memory"
    )


def _solved_positions() -> tuple[Tablebase, tuple[Position, ...]]:
    """Return the packaged 5×5 tables, and random positions that they contain."""
    tables = Tablebase(make_game("capture_conquer", size=5, corner=2))
    return tables, tuple(sample_uniform(tables, 1000))


def _make_probes() -> Chunk:
    """Return probes of these positions from Python."""
    tables, positions = _solved_positions()
    return lambda: len([tables.probe(position) for position in positions])


def _make_lookups() -> Chunk:
    """Return the lookups that a search does in these positions."""
    tables, positions = _solved_positions()
    rows, loaded = np.array(positions, np.uint64), tables.load_all()

    def chunk() -> int:
        _look_up(tables.game.initial, rows, loaded, LOOKUP_REPEATS)
        return LOOKUP_REPEATS * len(rows)

    return chunk


@jit
def _look_up(
    start: Position, rows: NDArray[np.uint64], tables: LoadedTables, repeats: int
) -> rules.Int:
    """Look up the exact value of each position, uint64[N, F], `repeats` times; return the sum."""
    raw_tables = as_raw(tables)
    total = np.int64(0)
    for _ in range(repeats):
        for row in range(len(rows)):
            total += exact_value(rules.load(rows[row], start), raw_tables)
    return total


def _make_games() -> Chunk:
    """Return ten games of minimax against random."""
    game, seeds = _game(6), itertools.count()
    players = make_player("minimax:depth=3", game), make_player("random", game)
    return lambda: len([play_match(game, players, seed=next(seeds)) for _ in range(10)])


def _make_agents_play() -> Chunk:
    """Return random play through the AEC environment."""
    from pettingzoo import make

    return loops.agents(make("aec", ENVIRONMENT), lambda observation, info: info["action_mask"])


def _start_task(label: str, code: str, note: str, *, warm: bool = False) -> Task:
    """Return the task of running `code` in a new process, with an empty or a warm disk cache."""

    def measure(_: float) -> float:
        with tempfile.TemporaryDirectory() as cache:
            if warm:
                _seconds_to_run(code, cache)
            return _seconds_to_run(code, cache)

    return Task(label, "s", measure, f"{note}; once")


def _first_use_task(name: str, title: str, *, warm: bool = False) -> Task:
    """Return the task of the first use of a game in a new process."""
    label = f"first use of {title}, {'warm' if warm else 'cold'} cache"
    note = "make, reset, step" + ("" if warm else "; compiles")
    return _start_task(label, FIRST_USE.format(GAMES[name].environment), note, warm=warm)


def _seconds_to_run(code: str, cache: str) -> float:
    """Return the seconds that a new process takes for `import cc_env` and `code`."""
    timed_code = "import time; start = time.perf_counter(); import cc_env\n" + code
    timed_code += "\nprint(time.perf_counter() - start)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    return float(
        subprocess.check_output([sys.executable, "-c", timed_code], env=environment, text=True)
    )


def _worst_case_task(cost: Callable[[Game, Position], float], name: str) -> Task:
    """Return the task of measuring a cost in microseconds in the worst known positions."""

    def measure(_: float) -> float:
        game = _game(8)
        positions = [game.from_text(text) for text in worst_case.WORST]
        return statistics.median(
            max(cost(game, position) for position in positions) for _ in range(RUNS)
        )

    note = "less is better; each the best of 5 repeats"
    return Task(f"worst known 8×8 positions: {name}", "µs", measure, note)
