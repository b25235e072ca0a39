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
from ray.exceptions import RayError, RayTaskError

from agents.evaluator import Evaluator
from agents.network import Network
from agents.network_weights import NetworkWeights
from cc_env.core.game import Game
from cc_env.games.factory import make_game
from cc_env.search.puct import Evaluate
from training.parallel.cluster import RAY_OPTIONS, connect
from training.selfplay.replay_buffer import Samples
from training.selfplay.worker import PlayedSamples, SelfPlaySettings, SelfPlayTally, SelfPlayWorker

# Seconds between checks for pending workers, and until the first warning.
POLL_SECONDS = 1.0
PENDING_WARNING_SECONDS = 60.0
# Consecutive failed starts of a worker before an error.
MAX_START_ATTEMPTS = 5
# Samples per returned object: Ray sends objects below 100 kB inline.
PART_SAMPLES = 256
# Typical maximum number of samples per board that one decision on all boards returns.
SAMPLES_PER_BOARD = 4


class ActorLocation(NamedTuple):
    """Ray's id of the node and the process id of an actor."""

    node: str
    pid: int


class SelfPlayActor:
    """A Ray actor: a self-play worker in a process on some node."""

    def __init__(
        self,
        game_name: str,
        options: dict[str, Any],
        settings: SelfPlaySettings,
        seed: tuple[int, ...],
    ) -> None:
        """Start the games."""
        torch.set_num_threads(1)
        self._game = make_game(game_name, **options)
        self._worker = SelfPlayWorker(self._game, settings, seed)
        # Function of the newest weights, and their number.
        self._evaluate: Evaluate | None = None
        self._weights_number: int | None = None

    def location(self) -> ActorLocation:
        """Return the location of this actor."""
        return ActorLocation(ray.get_runtime_context().get_node_id(), os.getpid())

    def play(
        self, weights: NetworkWeights, number: int, simulations: int | None, parts: int
    ) -> list[tuple[Samples, SelfPlayTally]]:
        """Take a decision on each board; return the samples, split into `parts` parts.

        `number` identifies the weights.
        """
        if self._evaluate is None or number != self._weights_number:
            self._evaluate, self._weights_number = Evaluator(weights).unchecked, number
        return split_samples(*self._worker.play(self._evaluate, 1, simulations), parts)


def split_samples(
    samples: Samples, tally: SelfPlayTally, parts: int
) -> list[tuple[Samples, SelfPlayTally]]:
    """Split the samples into `parts` parts, in order; the first one has the tally."""
    columns: Any = (np.array_split(column, parts) for column in samples)
    pieces = itertools.starmap(Samples, zip(*columns, strict=True))
    return list(zip(pieces, [tally, *(SelfPlayTally() for _ in range(parts - 1))], strict=True))


class _Request(NamedTuple):
    """A request to the workers; `weights` is a reference to the NetworkWeights `number`."""

    weights: Any
    number: int
    decisions: int
    simulations: int | None


@dataclass(eq=False)
class _Worker:
    """The handle of an actor and its pending work.

    `failed_starts` counts consecutive failures of its predecessors, `requested_at` is a monotonic
    time. `location` is None until the actor has started. `results` and `location_reference` are
    references to values on the cluster.
    """

    actor: Any
    seed: tuple[int, ...]
    failed_starts: int = 0
    requested_at: float = field(default_factory=time.monotonic)
    location: ActorLocation | None = None
    results: list[Any] = field(default_factory=list)
    location_reference: Any = field(init=False)

    def __post_init__(self) -> None:
        self.location_reference = self.actor.location.remote()

    def pending_reference(self) -> Any:
        """Return the reference to the last pending value; None if the actor is idle."""
        if self.location is None:
            return self.location_reference
        return self.results[-1] if self.results else None

    def send(self, request: _Request, parts: int) -> None:
        """Request decisions from the actor."""
        play = self.actor.play.options(num_returns=parts)
        arguments = request.weights, request.number, request.simulations, parts
        self.results = [
            reference for _ in range(request.decisions) for reference in play.remote(*arguments)
        ]

    def receive(self, results: PlayedSamples) -> bool:
        """Append the results; return whether all are there. Raises RayError if one is lost."""
        if self.location is None:
            self.location = ray.get(self.location_reference)
            return False
        loss: RayError | None = None
        for reference in self.results:
            try:
                results.append(ray.get(reference))
            except RayTaskError:
                raise
            except RayError as error:
                loss = error
        self.results = []
        if loss is not None:
            raise loss
        return True


class ClusterEngine:
    """Workers on the cluster; each gets the newest network as soon as it is idle.

    Fast workers never wait for slow ones. A lost worker is replaced, on any node with a free CPU,
    by one with another seed; only its unfinished games are lost. The distribution of work and
    the order of results depend on timing: the same seed does not give the same run.
    """

    def __init__(
        self, game: Game, settings: SelfPlaySettings, workers: int, seed: tuple[int, ...]
    ) -> None:
        """Request the workers; raise BadOption as `training.parallel.cluster.check_address`.

        Workers create the game from its name and options.
        """
        self._arguments = game.name, dict(game.options), settings
        self._seeds = ((*seed, number) for number in itertools.count())
        self._connection = ExitStack()
        self._connection.enter_context(connect())
        self._workers = [self._create_worker() for _ in range(workers)]
        self._parts = 2 + SAMPLES_PER_BOARD * settings.boards // PART_SAMPLES
        self._request = _Request(None, 0, 0, None)
        self._warned_workers: set[_Worker] = set()

    def _create_worker(self, failed_starts: int = 0) -> _Worker:
        """Start an actor with the next seed."""
        remote: Any = ray.remote(SelfPlayActor)
        seed = next(self._seeds)
        actor = remote.options(**RAY_OPTIONS, max_restarts=0).remote(*self._arguments, seed)
        return _Worker(actor, seed, failed_starts)

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Send this network to idle workers; busy ones get it when they become idle."""
        reference, number = ray.put(network.to_weights()), self._request.number + 1
        self._request = _Request(reference, number, decisions, simulations)
        self._send()

    def finish(self) -> PlayedSamples:
        """Wait for one completed request per worker; return the samples.

        Fast workers do the work of slow, lost and missing ones. Results may belong to an earlier
        `start`, and include those of workers that were lost later. Warns about workers that are
        lost or have no CPU; without any worker, it waits. Raises ChildProcessError if a worker
        cannot start.
        """
        results: PlayedSamples = []
        finished = 0
        while finished < len(self._workers):
            self._send()
            for worker in self._wait_for_workers():
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
        """Send the current request to all idle workers."""
        for worker in self._workers:
            if worker.pending_reference() is None:
                worker.send(self._request, self._parts)

    def _wait_for_workers(self) -> list[_Worker]:
        """Wait at most POLL_SECONDS for a finished worker; return all finished ones."""
        pending = {worker.pending_reference(): worker for worker in self._workers}
        ray.wait(list(pending), timeout=POLL_SECONDS)
        ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=0)
        return [pending[reference] for reference in ready]

    def _replace(self, worker: _Worker, error: RayError) -> None:
        """Replace a lost worker and warn; raise ChildProcessError if it never starts."""
        failed_starts = worker.failed_starts + 1 if worker.location is None else 0
        if failed_starts == MAX_START_ATTEMPTS:
            last_line = str(error).strip().splitlines()[-1]
            raise ChildProcessError(f"self-play workers cannot start: {last_line}") from error
        _kill(worker)
        self._workers[self._workers.index(worker)] = self._create_worker(failed_starts)
        event = "could not start" if failed_starts else "and its unfinished games were lost"
        warnings.warn(
            f"a self-play worker {event} ({type(error).__name__}); it is replaced",
            RuntimeWarning,
            stacklevel=3,
        )

    def _warn_of_pending(self) -> None:
        """Warn when another worker has not started in time; the warning counts all such workers."""
        pending = [worker for worker in self._workers if worker.location is None]
        latest_request_time = time.monotonic() - PENDING_WARNING_SECONDS
        late = {worker for worker in pending if worker.requested_at < latest_request_time}
        if late - self._warned_workers:
            self._warned_workers = late
            count = len(self._workers)
            warnings.warn(
                f"{len(late)} of {count} self-play workers have not started in "
                f"{PENDING_WARNING_SECONDS:.0f} s: either no node has a free CPU or starting is "
                f"slow; the other {count - len(pending)} do their work",
                RuntimeWarning,
                stacklevel=3,
            )


def _kill(worker: _Worker) -> None:
    """Kill the actor of a worker, if it is alive."""
    with suppress(RayError):
        ray.kill(worker.actor)
