"""Engines of self-play: threads of this process, or processes on a Ray cluster."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from agents.network import Evaluator, Network
from cc_env.core.game import Game
from cc_env.errors import UnknownOption
from training.selfplay.replay_buffer import Samples
from training.selfplay.worker import Results, SelfPlaySettings, SelfPlayTally, SelfPlayWorker

ENGINES = "threads", "ray"


class SelfPlayEngine(Protocol):
    """Workers that play self-play games in the background."""

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let all workers play with this network, `decisions` on each of their boards."""

    def finish(self) -> Results:
        """Wait for the work that `start` began; return its samples."""

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
        """Begin the games; each worker has its own seed."""
        self._device = device
        self._workers = [
            SelfPlayWorker(game, settings, (*seed, worker)) for worker in range(workers)
        ]
        self._pool = ThreadPoolExecutor(workers)
        self._playing: list[Future[tuple[Samples, SelfPlayTally]]] = []

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let all workers play."""
        evaluate = Evaluator(network, self._device)
        self._playing = [
            self._pool.submit(worker.play, evaluate, decisions, simulations)
            for worker in self._workers
        ]

    def finish(self) -> Results:
        """Wait for all workers; return their samples."""
        return [future.result() for future in self._playing]

    def close(self) -> None:
        """Stop the threads after their present decisions, and wait for them."""
        for worker in self._workers:
            worker.stop()
        self._pool.shutdown()


def check(name: str) -> None:
    """Raise UnknownOption if there is no such engine; BadOption or MissingExtra as `cluster`."""
    if name not in ENGINES:
        raise UnknownOption(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "ray":
        from training.parallel import cluster  # imported late: takes a second, and needs the extra

        cluster.check_address()


def make(
    name: str,
    game: Game,
    settings: SelfPlaySettings,
    workers: int,
    seed: tuple[int, ...],
    device: str,
) -> SelfPlayEngine:
    """Return an engine by its name; only threads use the `device`. Raises as `check`."""
    check(name)
    if name == "threads":
        return ThreadEngine(game, settings, workers, seed, device)
    from training.selfplay.actors import Cluster

    return Cluster(game, settings, workers, seed)
