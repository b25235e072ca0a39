"""Our own rows: compiled play, and every interface of the package."""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks import loops, worst_case
from benchmarks.measure import RUNS, Chunk, Tally, Task, all_cores, timed
from cc_env.accuracy.decisions import sample_uniform
from cc_env.core import random_streams, rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit, lowest_index, popcount
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.games.capture_conquer.chains import (
    Field,
    Word,
    double_takeoffs,
    ends_capturing,
    hop_landings,
    hop_middles,
    hops_over,
    reachable,
    remove_victim,
    takeoffs,
)
from cc_env.games.capture_conquer.rules import BOARD, is_won, play_jump, steps
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.match.random_games import play_random_games
from cc_env.match.referee import play_match
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import MCTS
from cc_env.search.result import SearchResult
from cc_env.tablebase.lookup import LoadedTables, exact_value
from cc_env.tablebase.tablebase import Tablebase

ENVIRONMENT = "cc_env/CaptureConquer-v0"
FIRST_USE = """
import gymnasium
env = gymnasium.make("{}")
env.reset(seed=0)
env.step(env.action_space.sample())
"""
OTHERS = {  # games besides C&C, and their names in the table
    "checkers": "checkers",
    "mini_checkers": "mini checkers",
    "morris": "nine men's morris",
    "cannon": "Cannon 8×8",
}
_FOUR, _END, _VICTIM, _CELL, _NOBODY = (np.uint64(n) for n in (4, 8, 16, 63, 64))
LISTED = "random play, every turn listed, C&C {}×{}"
MANY = 16384  # boards, for several threads
ALONE = "stepping alone, with observations and masks"


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    return [
        *(_compiled(f"C&C {size}×{size}", partial(_game, size)) for size in (6, 8)),
        *(_compiled(called, partial(make_game, name)) for name, called in OTHERS.items()),
        *(_listing(size) for size in (6, 8)),
        _task("Gymnasium, C&C 6×6", "steps/s", _single, note="opponent's answers included"),
        *(_vector(boards, ALONE, opponent=None) for boards in (1, 64, 1024)),
        _vector(1024, f"{ALONE}; copy=False", opponent=None, copy=False),
        _vector(1024, "stepping and sample()", alone=False, opponent=None),
        _vector(1024, f"{ALONE}; opponent's answers included", "steps/s", opponent="random"),
        *map(_threaded, _thread_counts()),
        _search(
            "alpha-beta", 6, lambda game: partial(AlphaBeta(game).search, depth=9), "to depth 9"
        ),
        _search(
            "alpha-beta",
            6,
            lambda game: partial(AlphaBeta(game, "learned").search, depth=9),
            "to depth 9, evaluation=learned",
        ),
        _search(
            "alpha-beta", 8, lambda game: partial(AlphaBeta(game).search, depth=7), "to depth 7"
        ),
        _search(
            "alpha-beta",
            8,
            lambda game: partial(AlphaBeta(game, "learned").search, depth=7),
            "to depth 7, evaluation=learned",
        ),
        _depth(6, 9),
        _depth(6, 12, once=True),
        _depth(8, 6),
        _search("MCTS", 6, _tree("random"), "random playouts"),
        _search("MCTS", 6, _tree("evaluation"), "the evaluation for a playout"),
        _probing(_probes, "from Python: value, turns, and the actions that keep it"),
        _probing(_lookups, "in a search: the value"),
        _task(
            "minimax:depth=3 against random, C&C 6×6", "games/s", _games, note="referee and records"
        ),
        _task("AEC, C&C 6×6", "steps/s", _agents, "pettingzoo>=1.27", "last + sample(mask) + step"),
        _start("import cc_env", "pass", "in a new process"),
        _first_use("capture_conquer", "C&C"),
        _first_use("capture_conquer", "C&C", warm=True),
        *(_first_use(name, called) for name, called in OTHERS.items()),
        _worst("legal", "legal actions"),
        _worst("slowest", "slowest decision"),
    ]


def _task(what: str, unit: str, prepare: Any, needs: str = "", note: str = "") -> Task:
    measure = timed(prepare)
    return Task(what=what, package="cc_env", unit=unit, measure=measure, needs=needs, note=note)


def _compiled(called: str, make: Callable[[], Game]) -> Task:
    what = f"compiled random play, {called}"
    return _task(what, "decisions/s", lambda: _playouts(make()), note="start to end")


def _listing(size: int) -> Task:
    return _task(
        LISTED.format(size, size),
        "turns/s",
        lambda: listing(_game(size)),
        note="every (start, end, capture) at every turn, one chosen",
    )


def _vector(
    boards: int, note: str, unit: str = "decisions/s", *, alone: bool = True, **options: Any
) -> Task:
    def prepare() -> Chunk:
        envs = gymnasium.make_vec(
            ENVIRONMENT, num_envs=boards, vectorization_mode="vector_entry_point", **options
        )
        return loops.vector(envs, alone=alone)

    return _task(f"vector, {boards} × C&C 6×6", unit, prepare, note=note)


def _thread_counts() -> list[int]:
    """Return 1, 2, 4 and so on, as far as there are cores, two of them at least."""
    cores = max(os.cpu_count() or 1, 2)
    return [2**power for power in range(cores.bit_length())]


def _threaded(threads: int) -> Task:
    """Return the task of stepping many boards by a number of threads, on all cores."""

    def prepare() -> Chunk:
        with all_cores():  # which the threads inherit
            envs = gymnasium.make_vec(
                ENVIRONMENT,
                num_envs=MANY,
                vectorization_mode="vector_entry_point",
                opponent=None,
                copy=False,
                threads=threads,
            )
            stepping = loops.vector(envs, steps=5)

        def chunk() -> Tally:
            with all_cores():
                return stepping()

        return chunk

    note = f"{ALONE}; copy=False; threads={threads}, on all cores"
    return _task(f"vector, {MANY} × C&C 6×6", "decisions/s", prepare, note=note)


def _search(
    kind: str, size: int, prepare: Callable[[Game], Callable[[Position], SearchResult]], note: str
) -> Task:
    """Return the task of searching from the initial position, with a new search each time."""

    def chunks() -> Chunk:
        game = _game(size)
        search = prepare(game)

        def chunk() -> Tally:
            report = search(game.initial)
            return Tally(report.nodes, report.seconds)

        return chunk

    unit = "nodes/s" if kind == "alpha-beta" else "simulations/s"
    return _task(f"{kind}, C&C {size}×{size}", unit, chunks, note=f"from the start, {note}")


def _tree(playout: str) -> Callable[[Game], Callable[[Position], SearchResult]]:
    def prepare(game: Game) -> Callable[[Position], SearchResult]:
        search = MCTS(game, playout=playout)
        return lambda position: search.search(
            position, np.random.default_rng(0), simulations=20_000
        )

    return prepare


def _probing(prepare: Callable[[], Chunk], note: str) -> Task:
    return _task("exact values, C&C 5×5", "positions/s", prepare, note=f"{note}; all in memory")


def _solved_positions() -> tuple[Tablebase, tuple[Position, ...]]:
    """Return the tables that ship for 5×5, and random positions that they have."""
    tables = Tablebase(make_game("capture_conquer", size=5, corner=2))
    return tables, tuple(sample_uniform(tables, 1000))


def _probes() -> Chunk:
    """Return probes of these positions from Python."""
    tables, positions = _solved_positions()

    def chunk() -> Tally:
        began = time.perf_counter()
        for position in positions:
            tables.probe(position)
        return Tally(len(positions), time.perf_counter() - began)

    return chunk


def _lookups() -> Chunk:
    """Return what a search does in each of its positions, for the same ones."""
    tables, positions = _solved_positions()
    rows = np.array(positions, np.uint64)
    known, start, times = tables.load_all(), tables.game.initial, 100

    def chunk() -> Tally:
        began = time.perf_counter()
        _look_up(start, rows, known, times)
        return Tally(times * len(rows), time.perf_counter() - began)

    return chunk


@jit
def _look_up(
    start: Position, rows: NDArray[np.uint64], tables: LoadedTables, times: int
) -> rules.Int:
    known, total = as_raw(tables), np.int64(0)
    for _ in range(times):
        for row in range(len(rows)):
            total += exact_value(rules.load(rows[row], start), known)
    return total


def _depth(size: int, depth: int, *, once: bool = False) -> Task:
    """Return the task of searching to `depth` turns from the initial position."""

    def measure(_: float) -> float:
        game = _game(size)
        search = AlphaBeta(game)
        search.search(game.initial, depth=1)
        runs = range(1 if once else RUNS)
        return statistics.median(search.search(game.initial, depth=depth).seconds for _ in runs)

    return Task(
        what=f"alpha-beta, C&C {size}×{size}, depth {depth} from the start",
        package="cc_env",
        unit="s",
        measure=measure,
        note="less is better; depth in turns" + ("; once" if once else ""),
    )


def _games() -> Chunk:
    game, seeds = _game(6), itertools.count()
    pair = make_player("minimax:depth=3", game), make_player("random", game)

    def chunk() -> Tally:
        began = time.perf_counter()
        for _ in range(10):
            play_match(game, pair, seed=next(seeds))
        return Tally(10, time.perf_counter() - began)

    return chunk


def _worst(field: str, name: str) -> Task:
    def measure(_: float) -> float:
        game = _game(8)
        positions = [game.from_text(text) for text in worst_case.WORST]

        def slowest() -> float:
            costs = (worst_case.cost(game, position) for position in positions)
            return max(float(getattr(cost, field)) for cost in costs)

        return statistics.median(slowest() for _ in range(RUNS))

    return Task(
        what=f"worst known 8×8 positions: {name}",
        package="cc_env",
        unit="µs",
        measure=measure,
        note="less is better; each the best of 5 repeats",
    )


def _start(what: str, code: str, note: str, *, warm: bool = False) -> Task:
    def measure(_: float) -> float:
        with tempfile.TemporaryDirectory() as cache:
            if warm:
                _seconds_to_run(code, cache)
            return _seconds_to_run(code, cache)

    return Task(what=what, package="cc_env", unit="s", measure=measure, note=f"{note}; once")


def _first_use(name: str, called: str, *, warm: bool = False) -> Task:
    what = f"first use of {called}, {'warm' if warm else 'cold'} cache"
    note = "make, reset, step" + ("" if warm else "; compiles")
    return _start(what, FIRST_USE.format(GAMES[name].environment), note, warm=warm)


def _seconds_to_run(code: str, cache: str) -> float:
    """Return the seconds that a new process takes for `import cc_env` and `code`."""
    timed_code = "import time; began = time.perf_counter(); import cc_env\n" + code
    timed_code += "\nprint(time.perf_counter() - began)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    run = [sys.executable, "-c", timed_code]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _game(size: int) -> Game:
    return make_game("capture_conquer", size=size)


def _single() -> Chunk:
    return loops.single(gymnasium.make(ENVIRONMENT))


def _agents() -> Chunk:
    from pettingzoo import make

    return loops.agents(make("aec", ENVIRONMENT), lambda observation, info: info["action_mask"])


def _playouts(game: Game) -> Chunk:
    seeds = itertools.count()

    def chunk() -> Tally:
        began = time.perf_counter()
        played = play_random_games(game, 500, next(seeds))
        return Tally(played.decisions, time.perf_counter() - began)

    return chunk


def listing(game: Game, count: int = 500) -> Chunk:
    """Return random play, `count` games per chunk, with all moves listed at every turn."""
    moves, listed = np.empty(game.num_actions * 64, np.uint32), np.zeros(1, np.int64)
    seeds = itertools.count()

    def chunk() -> Tally:
        state = random_streams.streams(next(seeds), 1)[0]
        began = time.process_time()
        done = play_listed(game.initial, count, state, moves, listed)
        return Tally(int(done), time.process_time() - began)

    return chunk


@jit
def play_listed(
    start: Position,
    games: int,
    state: np.uint64,
    moves: NDArray[np.uint32],
    listed: NDArray[np.int64],
) -> rules.Int:
    """Play games in which all distinct moves are equally likely; return the turns played.

    `moves` uint32[num_actions * 64] is a buffer; the lengths of all lists are added to `listed`,
    int64[1].
    """
    moves = as_raw(moves)
    played = 0
    for _ in range(games):
        position = start
        while not is_won(position):
            count = list_moves(position, moves)
            if not count:
                break
            chosen = moves[np.uint64(random_streams.below(state, np.int64(count)))]
            state = random_streams.advance(state)
            position = _made(position, np.uint64(chosen))
            listed[0] += np.int64(count)
            played += 1
    return played


@jit
def _made(position: Position, move: np.uint64) -> Position:
    start, end, captured = move & _CELL, move >> _END & _CELL, move >> _VICTIM
    victim = ZERO if captured == _NOBODY else ONE << captured
    return play_jump(position, ONE << start, ONE << end, victim)


@jit
def list_moves(position: Position, moves: NDArray[np.uint32]) -> np.uint64:
    """Write all distinct moves into `moves` uint32[num_actions * 64]; return how many.

    Bits 0-7 of a move are the start cell, bits 8-15 the end cell, bits 16-23 the captured cell or
    64.
    """
    own, occupied = position.own, position.own | position.enemy
    empty = BOARD[position.size] & ~occupied
    field = Field(own, occupied, empty, hops_over(occupied, empty))
    chains = own & double_takeoffs(field.hops)
    count = _list_short(own ^ chains, position.enemy, own, empty, moves)
    over_own, going = hops_over(own, empty), takeoffs(field.hops)
    hunting = takeoffs(hops_over(position.enemy, empty))
    while chains:
        start = lowest_bit(chains)
        chains ^= start
        before = reachable(start, over_own, own, empty)
        count = _write(start, before ^ start | steps(start, empty), ZERO, moves, count)
        if not before & hunting:
            continue
        victims = hop_middles(before, field.hops) & position.enemy
        later = hop_middles(before ^ start, field.hops)
        while victims:
            victim = lowest_bit(victims)
            victims ^= victim
            ends = _behind(start, victim)
            if victim & later:
                ends = ends_capturing(start, before, victim, empty, remove_victim(victim, field))
            elif ends & going:
                left = remove_victim(victim, field)
                ends = reachable(ends, left.hops, left.occupied, empty)
            count = _write(start, ends, victim, moves, count)
    return count


@jit
def _list_short(
    pieces: Word, enemy: Word, own: Word, empty: Word, moves: NDArray[np.uint32]
) -> np.uint64:
    """Write the moves of pieces that can hop at most once."""
    over_own, over_enemy = hops_over(own, empty), hops_over(enemy, empty)
    hunters = pieces & takeoffs(over_enemy)
    count = ZERO
    while pieces:
        start = lowest_bit(pieces)
        pieces ^= start
        ends = steps(start, empty) | hop_landings(start, over_own)
        count = _write(start, ends, ZERO, moves, count)
    while hunters:
        start = lowest_bit(hunters)
        hunters ^= start
        victims = hop_middles(start, over_enemy)
        while victims:
            victim = lowest_bit(victims)
            victims ^= victim
            moves[count] = _move(start, victim) | lowest_index(_behind(start, victim)) << _END
            count += ONE
    return count


@jit
def _behind(start: Word, middle: Word) -> Word:
    """Return the cell that a hop from `start` over `middle` lands on; the hop must exist."""
    return ONE << ((lowest_index(middle) << ONE) - lowest_index(start))


@jit
def _move(start: Word, victim: Word) -> np.uint64:
    return lowest_index(start) | lowest_index(victim) << _VICTIM


@jit
def _write(
    start: Word, ends: Word, victim: Word, moves: NDArray[np.uint32], count: np.uint64
) -> np.uint64:
    """Append moves in groups of four (fewer branch misses); surplus ones are overwritten later."""
    move = _move(start, victim)
    total = count + np.uint64(popcount(ends))
    while count < total:
        for offset in range(_FOUR):
            moves[count + np.uint64(offset)] = move | lowest_index(ends) << _END
            ends &= ends - ONE
        count += _FOUR
    return total
