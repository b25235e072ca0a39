"""Players that think in processes of their own."""

import asyncio
import multiprocessing
import os
import select
import signal
import sys
import threading

import numpy as np
import pytest

from cc_env.errors import IllegalAction
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock, player_for_new_game
from cc_env.players.specs import make_player, temporary_players
from cc_env.registry.catalogue import GAMES
from cc_env.server import player_pool, workers
from cc_env.server.jobs import Analyze, GameKey, Judge, pooled_player
from cc_env.server.player_pool import PlayerPool
from cc_env.server.workers import Cancellation, LocalWorker, ProcessWorker, Workers

GAME = make_game("mini_checkers")
KEY = GameKey.of(GAME)
MEGABYTE = 2**20


def in_processes():
    return Workers(lambda: ProcessWorker(32 * MEGABYTE))


def in_threads():
    return Workers(lambda: LocalWorker(32 * MEGABYTE))


@pytest.fixture(scope="module")
def there():
    made = in_processes()
    yield made
    made.close()


def choose(there, name="minimax:depth=2", rng=None):
    rng = rng or np.random.default_rng(0)
    return pooled_player(name, GAME, there.run).choose(GAME.initial, rng, Clock())


def processes(there):
    return {worker.process.pid for worker in there.all}


def test_a_worker_decides_as_the_player_does_here(there):
    for name in ("minimax:depth=2", "mcts:simulations=20", "random"):
        ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
        player = make_player(name, GAME)
        for _ in range(2):  # the generator goes on where the worker left it
            decision = choose(there, name, theirs)
            known = player.choose(GAME.initial, ours, Clock())
            assert (decision.action, decision.value) == (known.action, known.value)
            assert list(decision.details) == list(known.details)
    assert len(processes(there)) == 1


def test_analyses_are_done_by_workers(there):
    spec = "minimax:depth=2"
    analysis = there.run(Analyze(spec, KEY, GAME.initial), 5.0)
    assert {line.actions[0] for line in analysis.lines} == set(GAME.legal_actions(GAME.initial))
    turn = next(GAME.turns(GAME.initial))
    assert there.run(Judge(spec, KEY, GAME.initial, turn), 5.0).mark
    with pytest.raises(IllegalAction):
        there.run(Judge(spec, KEY, GAME.initial, (0,)), 5.0)


def test_a_player_that_fails_has_forfeited_as_it_would_here(there):
    with pytest.raises(ValueError, match="there is no player 'nobody'"):
        choose(there, "nobody")
    assert choose(there).action in GAME.legal_actions(GAME.initial)


@pytest.mark.parametrize("kind", ["policy", "alphazero:simulations=2"])
def test_a_pooled_player_remembers_its_game(kind):
    """A learned player avoids positions of its game; games that share its search do not mix."""
    game, run = make_game("capture_conquer"), in_threads().run
    alone = player_for_new_game(make_player(kind, game))
    pooled, other = (player_for_new_game(pooled_player(kind, game, run)) for _ in range(2))
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
    """A player with a table, of which only the size is real."""

    made = bytes = 0

    def __init__(self, game, *, megabytes=40):
        type(self).made += 1
        type(self).bytes += megabytes * MEGABYTE
        self.megabytes = megabytes

    def __del__(self):
        type(self).bytes -= self.megabytes * MEGABYTE

    def choose(self, position, rng, clock):
        raise AssertionError


def test_idle_players_are_kept_up_to_some_bytes(monkeypatch):
    """Row A3: a hundred analyses with different options kept a table each."""
    monkeypatch.setattr(PlayerPool, "_memory", lambda pool: Large.bytes)
    Large.made = Large.bytes = 0
    pool, highest = PlayerPool(100 * MEGABYTE), 0
    with temporary_players(large=Large):
        for spec in ("large", "large", "large:megabytes=41", "large"):
            with pool.borrow(spec, GAME):
                pass
        assert (Large.made, Large.bytes) == (2, 81 * MEGABYTE)
        for megabytes in range(50, 90, 8):
            with pool.borrow(f"large:megabytes={megabytes}", GAME):
                pass
            highest = max(highest, Large.bytes)
        with pool.borrow("large:megabytes=120", GAME):
            pass
    assert 0 < highest <= 100 * MEGABYTE
    assert Large.bytes == 0


def test_an_analysis_is_ended_in_its_process(there):
    began, actual = threading.Event(), []
    cancellation = Cancellation()
    attach = cancellation.attach

    def note(worker):
        attach(worker)
        began.set()

    cancellation.attach = note
    job = Analyze("minimax:seconds=60", KEY, GAME.initial)
    analysing = threading.Thread(target=lambda: actual.append(there.run(job, 60.0, cancellation)))
    analysing.start()
    began.wait()
    cancellation.set()
    analysing.join(30)  # far less than the search would take
    assert actual
    with pytest.raises(asyncio.CancelledError):
        there.run(job, 60.0, cancellation)


def test_a_worker_that_dies_is_reported_and_replaced(there, caplog):
    choose(there)
    (old,) = processes(there)
    os.kill(old, signal.SIGKILL)
    assert choose(there).action in GAME.legal_actions(GAME.initial)
    assert "another replaces it" in caplog.text
    (new,) = processes(there)
    assert new != old


def test_jobs_end_when_the_workers_are_closed(monkeypatch):
    there, asked, ended = in_processes(), threading.Event(), []
    result = workers.ProcessWorker.result

    def report(worker):
        asked.set()
        return result(worker)

    def wait():
        try:
            choose(there, "minimax:seconds=60")
        except asyncio.CancelledError as error:
            ended.append(error)

    monkeypatch.setattr(workers.ProcessWorker, "result", report)
    waiting = threading.Thread(target=wait)
    waiting.start()
    asked.wait()
    there.close()
    waiting.join()
    assert len(ended) == 1


def think_until_killed(connection):
    there = in_processes()
    choose(there)
    connection.send(processes(there))
    choose(there, "minimax:seconds=60")


@pytest.mark.skipif(sys.platform != "linux", reason="waits for processes of others")
def test_workers_end_with_a_server_that_is_killed():
    spawned = multiprocessing.get_context("spawn")
    ours, theirs = spawned.Pipe()
    server = spawned.Process(target=think_until_killed, args=(theirs,))
    server.start()
    theirs.close()  # so that a server that fails is not waited for
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
def test_a_player_that_may_be_seated_can_be_made(name, options):
    game = make_game(name, **options)
    specs = [
        *(kind for kind in player_pool.listed_players(game)),
        *(f"minimax:{level}" for level in player_pool.listed_players(game)["minimax"]),
        *(f"minimax:evaluation={evaluation}" for evaluation in game.search.evaluations),
    ]
    for spec in specs:
        assert make_player(player_pool.check(spec, game), game)


def test_specs_have_a_normal_form():
    for spec, normal in (
        ("minimax:seconds=2.003,hard", "minimax:hard,seconds=2"),
        ("minimax:hard,seconds=2.0", "minimax:hard,seconds=2"),
        ("minimax:nodes=1000,depth=3", "minimax:depth=3,nodes=1000"),
        ("mcts:playout=random,simulations=20", "mcts:playout=random,simulations=20"),
        ("random", "random"),
        ("random:", "random"),
    ):
        assert player_pool.check(spec, GAME) == normal
        assert player_pool.check(normal, GAME) == normal
        make_player(normal, GAME)
