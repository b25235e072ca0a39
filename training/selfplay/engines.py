"""Engines of self-play: threads of this process, or processes on a Ray cluster."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from agents.evaluator import Evaluator
from agents.network import Network
from cc_env.core.game import Game
from training.parallel.tasks import check_engine
from training.selfplay.replay_buffer import Samples
from training.selfplay.worker import Results, SelfPlaySettings, SelfPlayTally, SelfPlayWorker

ENGINES = "threads", "ray"


class SelfPlayEngine(Protocol):
    """Workers that play self-play games in the background."""

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Start self-play with this network: `decisions` on each board of each worker."""

    def finish(self) -> Results:
        """Wait for the self-play begun by `start`; return each worker's samples and tally."""

    def close(self) -> None:
        """Stop the workers."""


class ThreadEngine:
    """Workers in threads of this process; search and network release the GIL."""

    def __init__(
        self,
        game: Game,
        settings: SelfPlaySettings,
        workers: int,
        seed: tuple[int, ...],
        device: str,
    ) -> None:
        """Start the games; each worker has its own seed."""
        self._device = device
        self._workers = [
            SelfPlayWorker(game, settings, (*seed, worker)) for worker in range(workers)
        ]
        self._pool = ThreadPoolExecutor(workers)
        self._futures: list[Future[tuple[Samples, SelfPlayTally]]] = []

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Start self-play in all threads."""
        evaluate = Evaluator(network, self._device)
        self._futures = [
            self._pool.submit(worker.play, evaluate, decisions, simulations)
            for worker in self._workers
        ]

    def finish(self) -> Results:
        """Wait for all workers; return each worker's samples and tally."""
        return [future.result() for future in self._futures]

    def close(self) -> None:
        """Stop the threads after their current decisions, and wait for them."""
        for worker in self._workers:
            worker.stop()
        self._pool.shutdown()


def make_engine(
    name: str,
    game: Game,
    settings: SelfPlaySettings,
    workers: int,
    seed: tuple[int, ...],
    device: str,
) -> SelfPlayEngine:
    """Return an engine by name; only threads use the `device`.

    Raises UnknownOption for another name, BadOption if the cluster is unreachable, MissingExtra
    without Ray.
    """
    check_engine(name, ENGINES)
    if name == "threads":
        return ThreadEngine(game, settings, workers, seed, device)
    from training.selfplay.actors import ClusterEngine

    return ClusterEngine(game, settings, workers, seed)
