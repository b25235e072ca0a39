"""Worker processes of players."""

import asyncio
import math
import multiprocessing
import os
import select
import signal
import sys
import threading
from functools import partial

import numpy as np
import pytest
from numba.core import event

from cc_env.errors import IllegalAction, UnknownOption
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import rungs
from cc_env.match.referee import Clock, Decision, player_for_new_game
from cc_env.play.analysis import TimeBudget, analyze
from cc_env.players.specs import make_player, temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.server import analysis_api, jobs, player_pool, workers
from cc_env.server.jobs import PlayerJob, decide_first_turn, make_pooled_player
from cc_env.server.player_pool import PlayerPool
from cc_env.server.preparation import weakest_opponent
from cc_env.server.workers import Cancellation, LocalWorker, ProcessWorker, WorkerPool

GAME = make_game("mini_checkers")
MEGABYTE = 2**20


def process_pool():
    return WorkerPool(lambda: ProcessWorker(32 * MEGABYTE))


def thread_pool():
    return WorkerPool(lambda: LocalWorker(32 * MEGABYTE))


@pytest.fixture(scope="module")
def pool():
    pool = process_pool()
    yield pool
    pool.close()


def choose(pool, name="minimax:depth=2", rng=None):
    rng = rng or np.random.default_rng(0)
    return make_pooled_player(name, GAME, pool.run).choose(GAME.initial, rng, Clock())


def worker_pids(pool):
    return {worker.process.pid for worker in pool._workers}


def test_decision_reports_the_time_of_compiling():
    """A player's clock excludes it."""

    class CompilingPlayer:
        def __init__(self, game):
            pass

        def choose(self, position, rng, clock):
            with event.trigger_event("numba:compile"):
                return Decision(int(GAME.legal_actions(position)[0]))

    with temporary_players(greedy=CompilingPlayer):
        player = make_pooled_player("greedy", GAME, thread_pool().run)
        player.choose(GAME.initial, np.random.default_rng(0), Clock())
    assert player.compile_seconds > 0
    player = make_pooled_player("random", GAME, thread_pool().run)
    for _ in range(2):
        player.choose(GAME.initial, np.random.default_rng(0), Clock())
    assert player.compile_seconds == 0


def test_worker_decides_as_the_local_player(pool):
    for name in ("minimax:depth=2", "mcts:simulations=20", "random"):
        ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
        player = make_player(name, GAME)
        for _ in range(2):
            decision = choose(pool, name, theirs)
            expected = player.choose(GAME.initial, ours, Clock())
            assert (decision.action, decision.value) == (expected.action, expected.value)
            assert list(decision.details) == list(expected.details)
    assert len(worker_pids(pool)) == 1


def test_workers_analyze(pool):
    spec = "minimax:depth=2"
    result = pool.run(PlayerJob(analyze, spec, GAME, GAME.initial), 5.0)
    assert {variation.actions[0] for variation in result.variations} == set(
        GAME.legal_actions(GAME.initial)
    )
    turn = next(GAME.turns(GAME.initial))
    assess = partial(analysis_api.assess_turn, turn=turn)
    assert pool.run(PlayerJob(assess, spec, GAME, GAME.initial), 5.0)["mark"]
    assess_illegal_turn = partial(analysis_api.assess_turn, turn=(0,))
    with pytest.raises(IllegalAction):
        pool.run(PlayerJob(assess_illegal_turn, spec, GAME, GAME.initial), 5.0)


def test_player_errors_are_raised_by_the_worker_pool(pool):
    with pytest.raises(ValueError, match="'nobody'"):
        choose(pool, "nobody")
    assert choose(pool).action in GAME.legal_actions(GAME.initial)


@pytest.mark.parametrize("kind", ["policy", "alphazero:simulations=2"])
def test_pooled_player_remembers_its_game(kind):
    """Games that share a learned player do not share its memory."""
    game, run = make_game("capture_conquer"), thread_pool().run
    alone = player_for_new_game(make_player(kind, game))
    pooled, other = (player_for_new_game(make_pooled_player(kind, game, run)) for _ in range(2))
    position, rng = game.initial, np.random.default_rng(0)
    for _ in range(4):
        action = pooled.choose(position, rng, Clock()).action
        assert action == alone.choose(position, rng, Clock()).action
        assert pooled._memory == alone.memory
        other.choose(game.initial, rng, Clock())
        position = game.apply(position, action)
        if game.outcome(position) == game.outcome(game.initial):
            position = game.apply(position, int(game.legal_actions(position)[0]))
    assert len(pooled._memory) > len(other._memory)


class Large:
    """A player that claims to have a large table."""

    count = bytes = 0

    def __init__(self, game, *, megabytes=40):
        type(self).count += 1
        type(self).bytes += megabytes * MEGABYTE
        self.megabytes = megabytes

    def __del__(self):
        type(self).bytes -= self.megabytes * MEGABYTE

    def choose(self, position, rng, clock):
        raise AssertionError


def test_idle_players_are_kept_within_a_memory_limit(monkeypatch):
    monkeypatch.setattr(PlayerPool, "_memory", lambda pool: Large.bytes)
    Large.count = Large.bytes = 0
    pool, highest = PlayerPool(100 * MEGABYTE), 0
    with temporary_players(large=Large):
        for spec in ("large", "large", "large:megabytes=41", "large"):
            with pool.borrow(spec, GAME):
                pass
        assert (Large.count, Large.bytes) == (2, 81 * MEGABYTE)
        for megabytes in range(50, 90, 8):
            with pool.borrow(f"large:megabytes={megabytes}", GAME):
                pass
            highest = max(highest, Large.bytes)
        with pool.borrow("large:megabytes=120", GAME):
            pass
    assert 0 < highest <= 100 * MEGABYTE
    assert Large.bytes == 0


def test_cancellation_ends_an_analysis(pool):
    has_started, results = threading.Event(), []
    cancellation = Cancellation()
    attach = cancellation.attach

    def report(worker):
        attach(worker)
        has_started.set()

    cancellation.attach = report
    job = PlayerJob(analyze, "minimax:seconds=60", GAME, GAME.initial)
    analysis = threading.Thread(target=lambda: results.append(pool.run(job, 60.0, cancellation)))
    analysis.start()
    has_started.wait()
    cancellation.set()
    analysis.join(30)
    assert results
    with pytest.raises(asyncio.CancelledError):
        pool.run(job, 60.0, cancellation)


def test_dead_worker_is_reported_and_replaced(pool, caplog):
    choose(pool)
    (old,) = worker_pids(pool)
    os.kill(old, signal.SIGKILL)
    assert choose(pool).action in GAME.legal_actions(GAME.initial)
    assert "a player process died" in caplog.text
    (new,) = worker_pids(pool)
    assert new != old


def test_closing_the_pool_ends_its_jobs(monkeypatch):
    pool, has_started, ended = process_pool(), threading.Event(), []
    result = workers.ProcessWorker.result

    def report(worker):
        has_started.set()
        return result(worker)

    def wait():
        try:
            choose(pool, "minimax:seconds=60")
        except asyncio.CancelledError as error:
            ended.append(error)

    monkeypatch.setattr(workers.ProcessWorker, "result", report)
    job_thread = threading.Thread(target=wait)
    job_thread.start()
    has_started.wait()
    pool.close()
    job_thread.join()
    assert len(ended) == 1


def think_until_killed(connection):
    pool = process_pool()
    choose(pool)
    connection.send(worker_pids(pool))
    choose(pool, "minimax:seconds=60")


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")
def test_workers_end_when_the_server_is_killed():
    spawned = multiprocessing.get_context("spawn")
    ours, theirs = spawned.Pipe()
    server = spawned.Process(target=think_until_killed, args=(theirs,))
    server.start()
    theirs.close()
    (worker,) = ours.recv()
    ending = os.pidfd_open(worker)
    server.kill()
    server.join()
    assert select.select([ending], [], [], 60)[0]
    os.close(ending)


SETTINGS = [
    *((name, {}) for name in GAMES),
    *(("capture_conquer", {"size": size}) for size in (4, 5, 7, 8)),
    ("cannon", {"rows": 10, "columns": 10}),
    ("morris", {"flying": True}),
]


@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_every_allowed_player_can_be_made(name, options):
    game = make_game(name, **options)
    specs = [
        *(kind for kind in player_pool.allowed_players(game)),
        *(f"minimax:{level}" for level in player_pool.allowed_players(game)["minimax"]),
        *(f"minimax:evaluation={evaluation}" for evaluation in game.evaluations),
    ]
    for spec in specs:
        assert make_player(player_pool.normalize_spec(spec, game), game)


def test_ladder_has_its_levels_only():
    levels = player_pool.allowed_players(GAME)["ladder"]
    assert levels == [str(level) for level in range(1, len(levels) + 1)]
    for level in ("0", str(len(levels) + 1), "pebble", "1.0", "[1]"):
        with pytest.raises(UnknownOption, match="level"):
            player_pool.normalize_spec(f"ladder:{level}", GAME)
    assert "ladder" not in player_pool.allowed_players(make_game("capture_conquer", size=4))


def test_opponent_of_the_ladder_decides_in_the_pool():
    pool = WorkerPool(lambda: LocalWorker(0))
    for rung in (rungs(GAME)[0], rungs(GAME)[-1]):
        pooled = make_pooled_player(f"ladder:{rung.level}", GAME, pool.run)
        decisions = [
            player.choose(GAME.initial, np.random.default_rng(5), Clock())
            for player in (pooled, make_player(rung.spec, GAME))
        ]
        assert decisions[0].action == decisions[1].action


@pytest.mark.parametrize("name", ["capture_conquer", "mini_checkers"])
def test_warm_up_lets_the_first_opponent_decide(name, monkeypatch):
    pool, game = PlayerPool(2**30), make_game(name)
    decide_first_turn(name, weakest_opponent(name), pool, TimeBudget(math.inf))
    monkeypatch.setattr(player_pool, "make_player", None)
    with pool.borrow(rungs(game)[0].spec, game) as player:
        assert player.choose(game.initial, np.random.default_rng(0), Clock())


def test_warm_up_solves_the_first_puzzle(monkeypatch):
    solved = []
    monkeypatch.setattr(jobs.Attempt, "solutions", lambda attempt: solved.append(attempt.puzzle))
    pool, time = PlayerPool(2**30), TimeBudget(math.inf)
    jobs.solve_first_puzzle("mini_checkers", pool, time)
    assert [puzzle.number for puzzle in solved] == [1]
    monkeypatch.setattr(jobs, "shipped_puzzles", lambda game: [])
    jobs.solve_first_puzzle("mini_checkers", pool, time)
    assert len(solved) == 1


def test_specs_have_a_normal_form():
    for spec, normal in (
        ("minimax:seconds=2.003,hard", "minimax:hard,seconds=2"),
        ("minimax:hard,seconds=2.0", "minimax:hard,seconds=2"),
        ("minimax:nodes=1000,depth=3", "minimax:depth=3,nodes=1000"),
        ("mcts:playout=random,simulations=20", "mcts:playout=random,simulations=20"),
        ("random", "random"),
        ("random:", "random"),
        ("ladder:3", "ladder:3"),
    ):
        assert player_pool.normalize_spec(spec, GAME) == normal
        assert player_pool.normalize_spec(normal, GAME) == normal
        make_player(normal, GAME)
