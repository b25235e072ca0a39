"""Work on a cluster whose nodes may be lost; finished work is not."""

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
from worker_tasks import (
    check_closing_stops_tasks,
    check_values_and_failures,
    check_worker_environment,
    work,
)

from agents.evaluator import Evaluator
from agents.network import Network
from agents.network_weights import Size
from cc_env.errors import BadOption, MissingExtra, UnknownOption
from cc_env.games.factory import make_game
from cc_env.match.record import read_records
from training import alphazero, arena
from training.arena.folder import GAMES, RESULTS
from training.selfplay.actors import ClusterEngine
from training.selfplay.learner import LearnerSettings
from training.selfplay.replay_buffer import Samples
from training.selfplay.training import EvaluationOpponents
from training.selfplay.worker import SelfPlaySettings, SelfPlayTally, SelfPlayWorker

FOLDERS = Path(__file__).parent, Path(__file__).parents[1]
SETTINGS = SelfPlaySettings(boards=8, simulations=4, considered=4, max_turns=6)
SMALL = Size(blocks=1, channels=8)
SEED = 3, 2
# Decisions per board that take about a second.
LONG = 300

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """A cluster with one node of two CPUs, which this process joins."""
    from ray.cluster_utils import Cluster

    from training.parallel.cluster import connect

    with pytest.MonkeyPatch.context() as patch:
        # A busy machine must not cause warnings.
        patch.setattr("training.selfplay.actors.PENDING_WARNING_SECONDS", math.inf)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, FOLDERS)))
        # Lost nodes, which refuse connections, are noticed soon; a node that answers late is alive.
        patch.setenv("RAY_health_check_period_ms", "500")
        patch.setenv("RAY_health_check_timeout_ms", "600000")
        # With Ray's niceness of 15 workers starve on a busy machine.
        patch.setenv("RAY_worker_niceness", "0")
        nodes = Cluster(True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        patch.setenv("RAY_ADDRESS", nodes.address)
        try:
            with connect():
                yield nodes
        finally:
            nodes.shutdown()


@pytest.fixture
def node(cluster):
    """A second node of two CPUs, which tests may remove."""
    extra = cluster.add_node(num_cpus=2)
    yield extra
    if extra in cluster.worker_nodes:
        cluster.remove_node(extra)


def remove_node(cluster, node):
    cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def game():
    """C&C on 4×4."""
    return make_game("capture_conquer", size=4)


@pytest.fixture(scope="module")
def network(game):
    torch.manual_seed(0)
    return Network(game, SMALL)


# Self-play


class RecordingEngine:
    """An engine that records the results of each worker."""

    def __init__(self, game, network, workers):
        self.game, self.network = game, network
        self.engine = ClusterEngine(game, SETTINGS, workers, SEED)
        self.first_workers, self.results_by_worker = list(self.engine._workers), defaultdict(list)

    def play_round(self, decisions):
        self.engine.start(self.network, decisions)
        return self.engine.finish()

    def started_workers(self):
        return [worker for worker in self.engine._workers if worker.location is not None]

    def start_workers(self, workers):
        """Play rounds until this number of workers has started."""
        while len(self.started_workers()) < workers:
            ray.wait(
                [
                    worker.location_reference
                    for worker in self.engine._workers
                    if worker.location is None
                ]
            )
            self.play_round(10)

    def finish_all(self):
        """Play until all workers are idle."""
        self.engine.start(self.network, 10)
        for worker in self.engine._workers:
            ray.wait([worker.pending_reference()])
        self.engine.finish()
        assert not any(worker.results for worker in self.engine._workers)

    def decisions(self, worker):
        return (
            sum(tally.decisions for _, tally in self.results_by_worker[worker]) // SETTINGS.boards
        )

    def check(self, worker):
        """Check that a worker's results are the first samples of its games, each once."""
        reference = SelfPlayWorker(self.game, SETTINGS, worker.seed)
        samples, tally = reference.play(Evaluator(self.network), self.decisions(worker))
        for name, column in samples._asdict().items():
            parts = [getattr(samples, name) for samples, _ in self.results_by_worker[worker]]
            assert np.array_equal(np.concatenate(parts), column), name
        assert (
            sum(counted.games for _, counted in self.results_by_worker[worker]) == tally.games > 0
        )


@pytest.fixture
def create_engine(cluster, game, network, monkeypatch):
    from training.selfplay.actors import _Worker

    engines = []
    receive = _Worker.receive

    def record(worker, results):
        before = len(results)
        try:
            return receive(worker, results)
        finally:
            for engine in engines:
                engine.results_by_worker[worker] += results[before:]

    monkeypatch.setattr(_Worker, "receive", record)

    def create(workers):
        engines.append(RecordingEngine(game, network, workers))
        return engines[-1]

    yield create
    for engine in engines:
        engine.engine.close()


def kill_process(cluster, node, worker):
    os.kill(worker.location.pid, signal.SIGKILL)


def kill_node(cluster, node, worker):
    remove_node(cluster, node)


@pytest.mark.parametrize("kill", [kill_process, kill_node])
def test_lost_worker_is_replaced_without_losing_finished_samples(
    cluster, node, create_engine, kill
):
    engine = create_engine(2)
    engine.start_workers(2)
    doomed, survivor = sorted(
        engine.first_workers, key=lambda worker: worker.location.node != node.node_id
    )
    assert survivor.location.node != node.node_id
    engine.finish_all()
    before = engine.decisions(doomed)
    engine.engine.start(engine.network, LONG)
    ray.wait([doomed.results[0]])
    kill(cluster, node, doomed)
    # The round could end before the loss is noticed.
    ray.wait([doomed.results[-1]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine.engine.finish()
        engine.start_workers(2)
    first, *rest = (str(warning.message) for warning in caught)
    assert "a self-play worker and its unfinished games were lost" in first
    assert "it is replaced" in first
    # Replacements may have been started on the lost node.
    assert all("could not start" in message for message in rest)
    engine.finish_all()
    (heir,) = set(engine.engine._workers) - set(engine.first_workers)
    assert heir.location.pid != doomed.location.pid
    if kill is kill_node:
        assert heir.location.node == survivor.location.node
    assert 0 < engine.decisions(doomed) - before < LONG
    assert engine.decisions(survivor) > before + LONG
    for worker in (*engine.first_workers, heir):
        engine.check(worker)
    assert set(engine.results_by_worker) >= {*engine.first_workers, heir}


def test_pending_workers_warn_once_and_join_later(cluster, create_engine, monkeypatch):
    engine = create_engine(3)
    engine.start_workers(2)
    monkeypatch.setattr("training.selfplay.actors.PENDING_WARNING_SECONDS", 0.0)
    with pytest.warns(RuntimeWarning, match=r"1 of 3 self-play workers have not started .* 2 do"):
        results = engine.play_round(10)
    assert sum((tally.decisions for _, tally in results), 0) >= 3 * 10 * SETTINGS.boards
    # The warning is not repeated.
    engine.play_round(10)
    node = cluster.add_node(num_cpus=1)
    engine.start_workers(3)
    assert [worker.location.node for worker in engine.started_workers()].count(node.node_id) == 1
    engine.engine.close()
    cluster.remove_node(node)


def test_workers_that_cannot_start_raise(cluster, game, monkeypatch):
    monkeypatch.setattr("training.selfplay.actors.MAX_START_ATTEMPTS", 1)
    unknown = game.replace(name="chess")
    engine = ClusterEngine(unknown, SETTINGS, 1, SEED)
    with pytest.raises(ChildProcessError, match=r"cannot start: .* no game 'chess'"):
        engine.finish()
    engine.close()


def test_samples_are_split_into_small_parts():
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
def test_alphazero_moves_from_cluster_to_threads(cluster, tmp_path):
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


def test_cluster_tasks_return_the_values_of_processes(cluster):
    from training.parallel.cluster import map_unordered

    death = "the process died 2 times (WorkerCrashedError)"
    check_values_and_failures(map_unordered, death)
    check_worker_environment(map_unordered)


def test_closing_the_iterator_stops_the_tasks(cluster):
    from training.parallel.cluster import map_unordered

    check_closing_stops_tasks(map_unordered)
    # The cluster has room for further tasks.
    assert list(map_unordered(work, [1, 2])) in ([(1, 1), (2, 4)], [(2, 4), (1, 1)])


def test_lost_node_does_not_change_tournament_results(cluster, node, tmp_path):
    config = arena.Config(players=("random", "arena_players.Stopping"), games=40, seed=5)
    arena.run_tournament(config, tmp_path / "local", workers=0)
    finished_at_loss = []

    def remove_after_five_games(done, total):
        if done > 5 and not finished_at_loss:
            finished_at_loss.append(done)
            remove_node(cluster, node)

    tournament = arena.run_tournament(
        config, tmp_path / "cluster", engine="ray", on_progress=remove_after_five_games
    )
    assert finished_at_loss
    assert finished_at_loss[0] < len(tournament.schedule)
    assert not tournament.unplayed
    games, results = [], []
    for name in ("local", "cluster"):
        records = read_records(tmp_path / name / GAMES)
        games.append({game.seed: replace(game, seconds=()) for _, game in records})
        results.append((tmp_path / name / RESULTS).read_bytes())
    assert games[0] == games[1]
    assert results[0] == results[1]


def test_match_runs_on_the_cluster(cluster):
    tournament = arena.play_tournament(
        ("random", "arena_players.Lowest"), games=2, workers=1, engine="ray"
    )
    assert len(tournament.records) == 2


def test_ray_does_not_patch_print(cluster, monkeypatch):
    from ray.experimental import tqdm_ray

    monkeypatch.setattr(tqdm_ray, "_manager", None)
    before = builtins.print
    tqdm_ray.instance()
    assert builtins.print is before


# Invalid engines and addresses


def test_missing_ray_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "training.parallel.cluster", raising=False)
    monkeypatch.delattr("training.parallel.cluster", raising=False)
    message = r"engine 'ray' needs ray: pip install 'PATH\[ray\]', where"
    with pytest.raises(MissingExtra, match=message):
        alphazero.Config(engine="ray")
    with pytest.raises(MissingExtra, match=message):
        arena.play_tournament(("random", "greedy"), engine="ray", workers=1)


@pytest.mark.parametrize("address", ["nonsense", "localhost:9"])
def test_unreachable_cluster_is_rejected_before_writing(monkeypatch, tmp_path, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    message = f"RAY_ADDRESS='{address}': no cluster responds"
    with pytest.raises(BadOption, match=message):
        alphazero.Config(engine="ray")
    config = arena.Config(players=("random", "greedy"))
    with pytest.raises(BadOption, match=message):
        arena.run_tournament(config, tmp_path / "new", engine="ray")
    assert not (tmp_path / "new").exists()


def test_unknown_engine_is_rejected():
    with pytest.raises(UnknownOption, match="unknown engine 'spark'; expected: threads, ray"):
        alphazero.Config(engine="spark")
    with pytest.raises(UnknownOption, match="unknown engine 'spark'; expected: processes, ray"):
        arena.play_tournament(("random", "greedy"), engine="spark")


@pytest.mark.parametrize("workers", [0, 1.5, 1025])
def test_invalid_number_of_workers_is_rejected(workers):
    message = rf"^workers={workers}; expected: an integer, 1 to 1,024 \(with engine 'ray'\)$"
    with pytest.raises(BadOption, match=message):
        arena.play_tournament(("random", "greedy"), engine="ray", workers=workers)
