"""Where self-play happens: in threads of this process, or on a cluster."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from agents.network import Evaluator, Network
from cc_env.game import Game
from training.replay import Samples
from training.selfplay import SelfPlay, Settings, Tally

Found = list[tuple[Samples, Tally]]


class Engine(Protocol):
    """Workers that play themselves while somebody learns."""

    def start(self, network: Network, decisions: int) -> None:
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

    def start(self, network: Network, decisions: int) -> None:
        """Let all workers play."""
        evaluate = Evaluator(network, self._device)
        play = self._pool.submit
        self._playing = [play(each.play, evaluate, decisions) for each in self._workers]

    def finish(self) -> Found:
        """Wait for all."""
        return [each.result() for each in self._playing]

    def close(self) -> None:
        """Wait for the threads to end."""
        self._pool.shutdown()
