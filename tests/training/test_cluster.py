"""Workers on a cluster of two nodes, any of which may be lost: nothing finished is."""

import builtins
import math
import os
import pickle
import signal
import sys
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import ray
import torch
from tasks import (
    check_that_a_worker_is_another_process_of_one_thread,
    check_that_all_tasks_are_answered,
    check_that_who_stops_iterating_stops_the_tasks,
    work,
)

from agents.network import Evaluator, Network, Size
from cc_env.errors import BadOption, MissingExtra, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.record import read_records
from training import alphazero, arena
from training.arena.folder import GAMES, RESULTS
from training.selfplay import engines
from training.selfplay.learner import LearnerSettings
from training.selfplay.promotion import EvaluationOpponents
from training.selfplay.replay_buffer import Samples
from training.selfplay.worker import SelfPlaySettings, SelfPlayTally, SelfPlayWorker

HERE = Path(__file__).parent
SETTINGS = SelfPlaySettings(boards=8, simulations=4, considered=4, max_turns=6)
SMALL = Size(blocks=1, channels=8)
SEED = 3, 2
LONG = 300  # decisions on each board: a second

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """A cluster that has one node, of two CPUs, for this process to join."""
    from ray.cluster_utils import Cluster

    from training.parallel.cluster import connected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "training.selfplay.actors.PENDING_WARNING_SECONDS", math.inf
        )  # a busy machine is not a fault here
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(HERE))  # has arena_players
        patch.setenv("RAY_health_check_period_ms", "500")  # to hear of lost nodes soon
        patch.setenv("RAY_worker_niceness", "0")  # Ray's 15 starves beside anything else
        nodes = Cluster(True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        patch.setenv("RAY_ADDRESS", nodes.address)
        try:
            with connected():
                yield nodes
        finally:
            nodes.shutdown()


@pytest.fixture
def node(cluster):
    """Another node of two CPUs, to be lost."""
    extra = cluster.add_node(num_cpus=2)
    yield extra
    if extra in cluster.worker_nodes:
        cluster.remove_node(extra)


def lose(cluster, node):
    cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def little():
    """C&C on 4×4."""
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def network(little):
    torch.manual_seed(0)
    return Network(little, SMALL)


# Self-play


class Listener:
    """An engine, and who of its workers brought what."""

    def __init__(self, game, network, workers):
        self.game, self.network = game, network
        self.engine = engines.make_engine("ray", game, SETTINGS, workers, SEED, "cpu")
        self.crew, self.brought = list(self.engine._workers), defaultdict(list)

    def round(self, decisions):
        self.engine.start(self.network, decisions)
        return self.engine.finish()

    def begun(self):
        return [worker for worker in self.engine._workers if worker.location is not None]

    def until_begun(self, workers):
        """Play a round whenever another has begun, or could not, until so many have."""
        while len(self.begun()) < workers:
            ray.wait(
                [
                    worker.location_reference
                    for worker in self.engine._workers
                    if worker.location is None
                ]
            )
            self.round(10)

    def settle(self):
        """Play until nobody does."""
        self.engine.start(self.network, 10)
        for worker in self.engine._workers:
            ray.wait([worker.pending_reference()])
        self.engine.finish()
        assert not any(worker.playing for worker in self.engine._workers)

    def decided(self, worker):
        return sum(tally.decisions for _, tally in self.brought[worker]) // SETTINGS.boards

    def check(self, worker):
        """Check that what a worker brought is the beginning of its games, each sample once."""
        alone = SelfPlayWorker(self.game, SETTINGS, worker.seed)
        samples, tally = alone.play(Evaluator(self.network), self.decided(worker))
        for name, column in samples._asdict().items():
            brought = [getattr(samples, name) for samples, _ in self.brought[worker]]
            assert np.array_equal(np.concatenate(brought), column), name
        assert sum(counted.games for _, counted in self.brought[worker]) == tally.games > 0


@pytest.fixture
def listener(cluster, little, network, monkeypatch):
    from training.selfplay.actors import _Worker

    made = []
    receive = _Worker.receive

    def listen(worker, results):
        before = len(results)
        try:
            return receive(worker, results)
        finally:
            for playing in made:
                playing.brought[worker] += results[before:]

    monkeypatch.setattr(_Worker, "receive", listen)

    def make(workers):
        made.append(Listener(little, network, workers))
        return made[-1]

    yield make
    for listening in made:
        listening.engine.close()


def kill_process(cluster, node, worker):
    os.kill(worker.location.pid, signal.SIGKILL)


def kill_node(cluster, node, worker):
    lose(cluster, node)


@pytest.mark.parametrize("kill", [kill_process, kill_node])
def test_a_lost_worker_is_replaced_and_nothing_finished_is_lost_or_there_twice(
    cluster, node, listener, kill
):
    playing = listener(2)
    playing.until_begun(2)
    doomed, survivor = sorted(playing.crew, key=lambda worker: worker.location.node != node.node_id)
    assert survivor.location.node != node.node_id, "one on each node"
    playing.settle()
    before = playing.decided(doomed)
    playing.engine.start(playing.network, LONG)
    ray.wait([doomed.playing[0]])
    kill(cluster, node, doomed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        playing.engine.finish()
        playing.until_begun(2)
    first, *others = (str(warning.message) for warning in told)
    assert "a self-play worker and its unfinished games were lost" in first
    assert "it is replaced" in first
    assert all("could not start" in message for message in others), (
        "on the node that is lost already"
    )
    playing.settle()
    (heir,) = set(playing.engine._workers) - set(playing.crew)
    assert heir.location.pid != doomed.location.pid
    if kill is kill_node:
        assert heir.location.node == survivor.location.node
    assert 0 < playing.decided(doomed) - before < LONG, "killed in the middle"
    assert playing.decided(survivor) > before + LONG
    for worker in (*playing.crew, heir):
        playing.check(worker)
    assert set(playing.brought) >= {*playing.crew, heir}


def test_workers_without_room_are_warned_of_once_and_join_when_there_is(
    cluster, listener, monkeypatch
):
    playing = listener(3)
    playing.until_begun(2)
    monkeypatch.setattr("training.selfplay.actors.PENDING_WARNING_SECONDS", 0.0)
    with pytest.warns(RuntimeWarning, match=r"1 of 3 self-play workers have not started .* 2 do"):
        results = playing.round(10)
    assert sum((tally.decisions for _, tally in results), 0) >= 3 * 10 * SETTINGS.boards
    playing.round(10)  # says nothing more
    node = cluster.add_node(num_cpus=1)
    playing.until_begun(3)
    assert [worker.location.node for worker in playing.begun()].count(node.node_id) == 1
    playing.engine.close()
    cluster.remove_node(node)


def test_workers_that_cannot_begin_are_an_error(cluster, little, monkeypatch):
    monkeypatch.setattr("training.selfplay.actors.MAX_START_ATTEMPTS", 1)
    unknown = replace(little, name="chess")
    engine = engines.make_engine("ray", unknown, SETTINGS, 1, SEED, "cpu")
    with pytest.raises(ChildProcessError, match=r"cannot start: .* no game 'chess'"):
        engine.finish()
    engine.close()


def test_samples_go_in_parts_that_are_small_enough_to_leave_their_node_at_once():
    from training.selfplay.actors import PART_SAMPLES, split_samples

    game = make_game("capture_conquer", size=8)
    rng = np.random.default_rng(0)
    count = 3 * PART_SAMPLES - 1
    samples = Samples(
        rng.integers(2**63, size=(count, len(game.initial)), dtype=np.uint64),
        rng.integers(400, size=(count, 64)).astype(np.int16),
        rng.random((count, 64)).astype(np.float16),
        rng.random(count).astype(np.float32),
    )
    parts = split_samples(samples, SelfPlayTally(decisions=8), 3)
    assert [len(part.values) for part, _ in parts] == [PART_SAMPLES, PART_SAMPLES, PART_SAMPLES - 1]
    assert [tally.decisions for _, tally in parts] == [8, 0, 0]
    assert all(len(pickle.dumps(part)) < 100_000 for part in parts)
    for whole, *pieces in zip(samples, *(part for part, _ in parts), strict=True):
        assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.usefixtures("without_curves")
def test_a_run_of_alphazero_learns_from_the_cluster_and_goes_on_in_threads(cluster, tmp_path):
    config = alphazero.Config(
        options={"size": 4},
        minutes=None,
        rounds=2,
        network=SMALL,
        play=SETTINGS,
        learn=LearnerSettings(batch_size=32),
        decisions=20,
        replay=2_000,
        warm_up=1,
        evaluate_every=2,
        evaluation_opponents=EvaluationOpponents(
            names=("random", "minimax:depth=1"), anchor="random", games=2
        ),
        engine="ray",
    )
    last = alphazero.main(config, tmp_path / "run")
    assert last["games"] > 0
    assert last["policy_loss"] > 0
    longer = replace(config, engine="threads", rounds=3)
    assert alphazero.main(longer, tmp_path / "run", resume=True)["samples"] > last["samples"]


# The arena


def test_tasks_are_answered_as_by_processes(cluster):
    from training.parallel.cluster_tasks import map_unordered

    death = "its process died 2 times (WorkerCrashedError)"
    check_that_all_tasks_are_answered(map_unordered, death)
    check_that_a_worker_is_another_process_of_one_thread(map_unordered)


def test_who_stops_iterating_stops_the_tasks(cluster):
    from training.parallel.cluster_tasks import map_unordered

    check_that_who_stops_iterating_stops_the_tasks(map_unordered)
    # Otherwise there were no room for others.
    assert list(map_unordered(work, [1, 2])) in ([(1, 1), (2, 4)], [(2, 4), (1, 1)])


def test_a_tournament_has_the_results_of_one_process_though_a_node_dies(cluster, node, tmp_path):
    config = arena.Config(players=("random", "arena_players.Stopping"), games=40, seed=5)
    arena.run_tournament(config, tmp_path / "here", workers=0)
    killed = []

    def watch(done, total):
        if done > 5 and not killed:
            killed.append(done)
            lose(cluster, node)

    tournament = arena.run_tournament(config, tmp_path / "there", engine="ray", on_progress=watch)
    assert killed
    assert killed[0] < len(tournament.schedule)
    assert not tournament.unplayed
    games_here, games_there = (
        {game.seed: replace(game, seconds=()) for _, game in read_records(tmp_path / name / GAMES)}
        for name in ("here", "there")
    )
    assert games_here == games_there
    here, there = ((tmp_path / name / RESULTS).read_bytes() for name in ("here", "there"))
    assert here == there


def test_a_match_is_held_on_the_cluster(cluster):
    tournament = arena.play_tournament(
        ("random", "arena_players.Lowest"), games=2, workers=1, engine="ray"
    )
    assert len(tournament.records) == 2


def test_ray_leaves_print_as_it_is(cluster, monkeypatch):
    from ray.experimental import tqdm_ray

    monkeypatch.setattr(tqdm_ray, "_manager", None)
    before = builtins.print
    tqdm_ray.instance()
    assert builtins.print is before


# What is refused


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "training.parallel.cluster", raising=False)
    monkeypatch.delattr("training.parallel.cluster", raising=False)
    wanted = r"engine 'ray' needs ray: pip install '.\[ray\]' in the"
    with pytest.raises(MissingExtra, match=wanted):
        alphazero.Config(engine="ray")
    with pytest.raises(MissingExtra, match=wanted):
        arena.play_tournament(("random", "greedy"), engine="ray", workers=1)


@pytest.mark.parametrize("address", ["nonsense", "localhost:9"])
def test_an_address_where_no_cluster_is_is_refused_before_anything_is_written(
    monkeypatch, tmp_path, address
):
    monkeypatch.setenv("RAY_ADDRESS", address)
    why = f"RAY_ADDRESS='{address}': no cluster responds"
    with pytest.raises(BadOption, match=why):
        alphazero.Config(engine="ray")
    config = arena.Config(players=("random", "greedy"))
    with pytest.raises(BadOption, match=why):
        arena.run_tournament(config, tmp_path / "new", engine="ray")
    assert not (tmp_path / "new").exists()


def test_an_engine_that_there_is_not_is_refused():
    with pytest.raises(UnknownOption, match="no engine 'spark'; there are: threads, ray"):
        alphazero.Config(engine="spark")
    with pytest.raises(UnknownOption, match="no engine 'spark'; there are: processes, ray"):
        arena.play_tournament(("random", "greedy"), engine="spark")


@pytest.mark.parametrize("workers", [0, 1.5])
def test_a_wrong_number_of_workers_is_refused(workers):
    with pytest.raises(BadOption, match=f"workers={workers}; .* from 1"):
        arena.play_tournament(("random", "greedy"), engine="ray", workers=workers)
