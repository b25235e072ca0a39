"""Self-play by actors on a Ray cluster, which evaluate networks on CPUs."""

import itertools
import os
import time
import warnings
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import ray
import torch
from numpy.typing import NDArray
from ray.exceptions import RayError, RayTaskError

from agents.network import Evaluator, Network, Size
from cc_env.core.game import Game
from cc_env.games.factory import make_game
from training.parallel.cluster import OPTIONS, connected
from training.selfplay.replay_buffer import Samples
from training.selfplay.worker import Results, SelfPlaySettings, SelfPlayTally, SelfPlayWorker

TICK = 1.0  # seconds between checks for pending workers
PATIENCE = 60.0  # seconds until there is a warning of a pending worker
ATTEMPTS = 5  # failed starts in a row after which a worker is given up
PART = 256  # samples per returned object: Ray sends objects below 100 kB at once
BURST = 4  # samples that a decision on all boards returns, usually at most, per board


class Weights(NamedTuple):
    """The weights of a network, as they are sent."""

    number: int  # counts up from 0
    size: Size
    arrays: dict[str, NDArray[Any]]  # of its state_dict


class Home(NamedTuple):
    """The place where an actor runs."""

    node: str  # Ray's id of the node
    process: int  # its id


class SelfPlayActor:
    """A Ray actor: a self-play worker in a process on some node."""

    def __init__(
        self, game: str, options: dict[str, Any], settings: SelfPlaySettings, seed: Any
    ) -> None:
        """Begin the games."""
        torch.set_num_threads(1)
        self._game = make_game(game, **options)
        self._self_play = SelfPlayWorker(self._game, settings, seed)
        self._number = -1  # of the weights in use

    def home(self) -> Home:
        """Return where this actor runs."""
        return Home(ray.get_runtime_context().get_node_id(), os.getpid())

    def play(
        self, weights: Weights, simulations: int | None, parts: int
    ) -> list[tuple[Samples, SelfPlayTally]]:
        """Take a decision on each board; return the samples in `parts` parts."""
        if weights.number != self._number:
            network = Network(self._game, weights.size)
            tensors = {
                name: torch.from_numpy(array.copy()) for name, array in weights.arrays.items()
            }
            network.load_state_dict(tensors)
            self._evaluate, self._number = Evaluator(network), weights.number
        return split(*self._self_play.play(self._evaluate, 1, simulations), parts)


def split(
    samples: Samples, tally: SelfPlayTally, parts: int
) -> list[tuple[Samples, SelfPlayTally]]:
    """Return the samples in `parts` parts, in order; the first one has the tally."""
    columns: Any = (np.array_split(column, parts) for column in samples)
    pieces = itertools.starmap(Samples, zip(*columns, strict=True))
    return list(zip(pieces, [tally, *(SelfPlayTally() for _ in range(parts - 1))], strict=True))


class _Work(NamedTuple):
    """A request to the workers."""

    weights: Any  # reference to Weights
    decisions: int
    simulations: int | None


@dataclass(eq=False)
class _Worker:
    """An actor, from this side, and its pending work."""

    actor: Any  # handle of a SelfPlayActor
    seed: tuple[int, ...]
    failed: int = 0  # failed starts in a row in its place
    since: float = field(default_factory=time.monotonic)  # when it was requested
    home: Home | None = None  # where it runs; None: it has not started
    playing: list[Any] = field(default_factory=list)  # references to its results
    beginning: Any = field(init=False)  # reference to its home

    def __post_init__(self) -> None:
        self.beginning = self.actor.home.remote()

    def busy(self) -> Any:
        """Return the last reference that it is working on; None if it is idle."""
        if self.home is None:
            return self.beginning
        return self.playing[-1] if self.playing else None

    def send(self, work: "_Work", parts: int) -> None:
        """Request decisions from the actor."""
        play = self.actor.play.options(num_returns=parts)
        arguments = work.weights, work.simulations, parts
        self.playing = [
            reference for _ in range(work.decisions) for reference in play.remote(*arguments)
        ]

    def receive(self, results: Results) -> bool:
        """Add its results; return whether its work is complete. Raises RayError if it was lost."""
        if self.home is None:
            self.home = ray.get(self.beginning)
            return False
        lost: RayError | None = None
        for reference in self.playing:
            try:
                results.append(ray.get(reference))
            except RayTaskError:
                raise
            except RayError as error:
                lost = error
        self.playing = []
        if lost is not None:
            raise lost
        return True


class Cluster:
    """Workers on the cluster; each gets the newest network as soon as it is idle.

    So fast workers never wait for slow ones. A lost worker is replaced, on any node with a free
    CPU, by one with another seed; only its unfinished games are lost. The distribution of work and
    the order of results depend on timing: the same seed does not give the same run.
    """

    def __init__(
        self, game: Game, settings: SelfPlaySettings, workers: int, seed: tuple[int, ...]
    ) -> None:
        """Request the workers; raise BadOption as `training.parallel.cluster.check_address`.

        They make the game by its name and options.
        """
        self._arguments = game.name, dict(game.options), settings
        self._seeds = ((*seed, number) for number in itertools.count())
        self._connection = ExitStack()
        self._connection.enter_context(connected())
        self._workers = [self._hire() for _ in range(workers)]
        self._parts = 2 + BURST * settings.boards // PART
        self._work = _Work(None, 0, None)
        self._numbers = itertools.count()
        self._warned_of: set[_Worker] = set()

    def _hire(self, failed: int = 0) -> _Worker:
        remote: Any = ray.remote(SelfPlayActor)
        seed = next(self._seeds)
        actor = remote.options(**OPTIONS, max_restarts=0).remote(*self._arguments, seed)
        return _Worker(actor, seed, failed)

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let idle workers play with this network; busy ones get it when they become idle."""
        arrays = {
            name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()
        }
        weights = Weights(next(self._numbers), network.size, arrays)
        self._work = _Work(ray.put(weights), decisions, simulations)
        self._send()

    def finish(self) -> Results:
        """Wait until as many requests as there are workers are complete; return their samples.

        Fast workers do the work of slow, lost and missing ones. Results may belong to an earlier
        `start`, and include those of workers that were lost later. Warns of workers that are lost
        or find no free CPU; if that is all of them, it waits. Raises ChildProcessError if a worker
        cannot start.
        """
        results: Results = []
        finished = 0
        while finished < len(self._workers):
            self._send()
            for worker in self._ready():
                try:
                    finished += worker.receive(results)
                except RayTaskError:
                    raise
                except RayError as error:
                    self._replace(worker, error)
            self._warn_of_pending()
        return results

    def close(self) -> None:
        """Stop the workers, and disconnect from the cluster."""
        for worker in self._workers:
            _kill(worker)
        self._connection.close()

    def _send(self) -> None:
        """Send the present request to all idle workers."""
        for worker in self._workers:
            if worker.busy() is None:
                worker.send(self._work, self._parts)

    def _ready(self) -> list[_Worker]:
        """Wait at most TICK for a worker that is done; return all that are."""
        busy = {worker.busy(): worker for worker in self._workers}
        ray.wait(list(busy), timeout=TICK)
        ready, _ = ray.wait(list(busy), num_returns=len(busy), timeout=0)
        return [busy[reference] for reference in ready]

    def _replace(self, worker: _Worker, why: RayError) -> None:
        failed = worker.failed + 1 if worker.home is None else 0
        if failed == ATTEMPTS:
            last = str(why).strip().splitlines()[-1]
            raise ChildProcessError(f"self-play workers cannot start: {last}") from why
        _kill(worker)
        self._workers[self._workers.index(worker)] = self._hire(failed)
        what = "could not start" if failed else "and its unfinished games were lost"
        warnings.warn(
            f"a self-play worker {what} ({type(why).__name__}); it is replaced",
            RuntimeWarning,
            stacklevel=3,
        )

    def _warn_of_pending(self) -> None:
        """Warn once of workers that have not started."""
        pending = [worker for worker in self._workers if worker.home is None]
        late = {worker for worker in pending if time.monotonic() - worker.since > PATIENCE}
        if late <= self._warned_of:
            return
        self._warned_of = late
        count = len(self._workers)
        warnings.warn(
            f"{len(late)} of {count} self-play workers have not started in {PATIENCE:.0f} s: no "
            f"node has a free CPU, or it is slow; {count - len(pending)} do their work",
            RuntimeWarning,
            stacklevel=3,
        )


def _kill(worker: _Worker) -> None:
    with suppress(RayError):
        ray.kill(worker.actor)
