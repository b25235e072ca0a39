"""Where self-play happens: in threads of this process, or on a cluster."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from agents.network import Evaluator, Network
from cc_env.errors import UnknownOption
from cc_env.game import Game
from training.replay import Samples
from training.selfplay import SelfPlay, Settings, Tally

ENGINES = "threads", "ray"

Found = list[tuple[Samples, Tally]]


class Engine(Protocol):
    """Workers that play themselves while somebody learns."""

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let all workers play by this network, so many decisions on each of their boards."""

    def finish(self) -> Found:
        """Wait for what `start` began, and return what it brought."""

    def close(self) -> None:
        """Stop the workers."""


class Threads:
    """Workers in this process: search and network leave Python to the others while they run."""

    def __init__(
        self, game: Game, settings: Settings, workers: int, seed: tuple[int, ...], device: str
    ) -> None:
        """Begin the games of each worker, by its own seed."""
        self._device = device
        self._workers = [SelfPlay(game, settings, (*seed, worker)) for worker in range(workers)]
        self._pool = ThreadPoolExecutor(workers)
        self._playing: list[Future[tuple[Samples, Tally]]] = []

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let all workers play."""
        evaluate = Evaluator(network, self._device)
        play = self._pool.submit
        self._playing = [
            play(each.play, evaluate, decisions, simulations) for each in self._workers
        ]

    def finish(self) -> Found:
        """Wait for all."""
        return [each.result() for each in self._playing]

    def close(self) -> None:
        """Wait for the threads to end, which they do after the decisions of now."""
        for each in self._workers:
            each.stop()
        self._pool.shutdown()


def check(name: str) -> None:
    """Raise UnknownOption where there is no such engine or no cluster, MissingExtra without Ray."""
    if name not in ENGINES:
        raise UnknownOption(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "ray":
        from training import cluster  # not above: it takes a second, and an extra

        cluster.knock()


def make(
    name: str, game: Game, settings: Settings, workers: int, seed: tuple[int, ...], device: str
) -> Engine:
    """Return an engine by its name; `device` is that of threads, clusters play on their CPUs.

    Raises as `check`.
    """
    check(name)
    if name == "threads":
        return Threads(game, settings, workers, seed, device)
    from training.cluster import Cluster

    return Cluster(game, settings, workers, seed)
