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

from cc_env import games
from cc_env.errors import Forfeit
from cc_env.play import bench, workers
from cc_env.play.workers import Workers
from cc_env.referee import Clock

GAME = games.make("mini_checkers")


@pytest.fixture(scope="module")
def there():
    made = Workers()
    yield made
    made.close()


def choose(there, name="minimax:depth=2", rng=None):
    rng = rng or np.random.default_rng(0)
    return there.choose(name, GAME, GAME.initial, rng, Clock())


def test_a_worker_decides_as_the_player_does_here(there):
    here = bench.Bench()
    for name in ("minimax:depth=2", "mcts:simulations=20", "random"):
        ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
        for _ in range(2):  # the generator goes on where the worker left it
            decision = choose(there, name, theirs)
            known = here.choose(name, GAME, GAME.initial, ours, Clock())
            assert (decision.action, decision.value) == (known.action, known.value)
            assert list(decision.details) == list(known.details)
    assert len(there.processes) == 1


def test_a_player_of_a_bench_decides_there(there):
    player = bench.Bench(there).make("random", GAME)
    rng = np.random.default_rng(2)
    assert player.choose(GAME.initial, rng, Clock()).action in GAME.legal_actions(GAME.initial)


def test_a_player_that_fails_has_forfeited_as_it_would_here(there):
    with pytest.raises(Forfeit, match="there is no player 'nobody'"):
        choose(there, "nobody")
    assert choose(there).action in GAME.legal_actions(GAME.initial)


def test_a_worker_that_dies_is_told_and_replaced(there, caplog):
    choose(there)
    (old,) = there.processes
    os.kill(old, signal.SIGKILL)
    assert choose(there).action in GAME.legal_actions(GAME.initial)
    assert "another replaces it" in caplog.text
    (new,) = there.processes
    assert new != old


def test_nobody_waits_for_workers_that_are_closed(monkeypatch):
    there, asked, ended = Workers(), threading.Event(), []
    ask = workers._Worker.ask

    def told(*given):
        asked.set()
        return ask(*given)

    def wait():
        try:
            choose(there, "minimax:seconds=60")
        except asyncio.CancelledError as error:
            ended.append(error)

    monkeypatch.setattr(workers._Worker, "ask", told)
    waiting = threading.Thread(target=wait)
    waiting.start()
    asked.wait()
    there.close()
    waiting.join()
    assert len(ended) == 1


def think_until_killed(connection):
    there = Workers()
    choose(there)
    connection.send(there.processes)
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
