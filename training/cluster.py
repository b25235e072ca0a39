"""Self-play and games of the arena on a Ray cluster, any node of which may be lost.

It is the cluster that `ray.init` finds: at RAY_ADDRESS if that is set, else one that runs on this
machine, else a new one of this machine alone. Every node has this checkout at the same path, or is
sent it: `ray job submit --working-dir . -- python -m training.alphazero --engine ray`. The node
with the head of the cluster, and this process, must stay; all others may come and go.

Workers have one CPU and one thread each, and play on the CPU.
"""

import itertools
import logging
import os
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from agents.network import Evaluator, Network, Size
from cc_env import games
from cc_env.errors import MissingExtra, UnknownOption
from cc_env.game import Game
from training.arena.workers import THREADS, Failure, answer
from training.engines import Found
from training.replay import Samples
from training.selfplay import SelfPlay, Settings, Tally

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as missing:
    raise MissingExtra("engine 'ray'", "ray", "ray") from missing

Task = TypeVar("Task")
Value = TypeVar("Value")

ADDRESS = "RAY_ADDRESS"
HELLO = 10.0  # seconds until a cluster must have answered
TICK = 1.0  # seconds between looks at who has not begun
PATIENCE = 60.0  # seconds until a worker that has not begun is spoken of
ATTEMPTS = 5  # deaths in a row before it has begun that a worker is allowed
LIVES = 2  # deaths of a process that a task of the arena is allowed
PART = 256  # samples that go together: an answer below 100 kB leaves its node at once
BURST = 4  # times as many samples as boards that a decision brings, at most, as a rule
OPTIONS: dict[str, Any] = {
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "runtime_env": {"env_vars": dict.fromkeys(THREADS, "1")},
}


@contextmanager
def connected() -> Iterator[None]:
    """Join the cluster, and leave it at the end, unless this process has joined one before.

    Raises UnknownOption as `knock`.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")  # numba knows no other print than Python's
    knock()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def knock() -> None:
    """Raise UnknownOption where nobody answers at RAY_ADDRESS: Ray itself would try for minutes."""
    address = os.environ.get(ADDRESS, "")
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), HELLO).close()
        elif address not in ("", "auto", "local"):
            raise ValueError("wanted HOST:PORT")
    except (OSError, ValueError) as error:
        raise UnknownOption(
            f"{ADDRESS}={address!r}: no cluster there ({error}); without it, one is begun here"
        ) from error


# Self-play


class Weights(NamedTuple):
    """A network, as it travels."""

    number: int  # how many came before
    size: Size
    arrays: dict[str, NDArray[Any]]


class Home(NamedTuple):
    """Where a worker lives."""

    node: str  # Ray's name of it
    process: int


class SelfPlayer:
    """Games that go on, in a process of their own on some node."""

    def __init__(self, game: str, options: dict[str, Any], settings: Settings, seed: Any) -> None:
        """Begin the games."""
        torch.set_num_threads(1)
        self._game = games.make(game, **options)
        self._self_play = SelfPlay(self._game, settings, seed)
        self._number = -1  # of the weights that it plays by

    def home(self) -> Home:
        """Return where this is."""
        return Home(ray.get_runtime_context().get_node_id(), os.getpid())

    def play(
        self, weights: Weights, simulations: int | None, parts: int
    ) -> list[tuple[Samples, Tally]]:
        """Take a decision on each board; return what it brought, in so many parts."""
        if weights.number != self._number:
            network = Network(self._game, weights.size)
            tensors = {name: torch.from_numpy(one.copy()) for name, one in weights.arrays.items()}
            network.load_state_dict(tensors)
            self._evaluate, self._number = Evaluator(network), weights.number
        return split(*self._self_play.play(self._evaluate, 1, simulations), parts)


def split(samples: Samples, tally: Tally, parts: int) -> list[tuple[Samples, Tally]]:
    """Return it in so many parts, in order; the tally goes with the first."""
    columns: Any = (np.array_split(each, parts) for each in samples)
    pieces = itertools.starmap(Samples, zip(*columns, strict=True))
    return list(zip(pieces, [tally, *(Tally() for _ in range(parts - 1))], strict=True))


class _Work(NamedTuple):
    """What workers are told to do."""

    weights: Any  # a reference
    decisions: int
    simulations: int | None


@dataclass(eq=False)
class _Worker:
    """A player on the cluster, and what it was told to do."""

    player: Any  # the handle of a remote SelfPlayer
    seed: tuple[int, ...]
    failed: int = 0  # players in its place that died before they had begun
    since: float = field(default_factory=time.monotonic)  # it was asked for
    home: Home | None = None  # where it has begun
    playing: list[Any] = field(default_factory=list)  # references to what comes of its work
    beginning: Any = field(init=False)  # a reference to its home

    def __post_init__(self) -> None:
        self.beginning = self.player.home.remote()

    def busy(self) -> Any:
        """Return the reference that is ready when it has done what it was told; None: it has."""
        if self.home is None:
            return self.beginning
        return self.playing[-1] if self.playing else None

    def give(self, work: "_Work", parts: int) -> None:
        """Let it play."""
        play = self.player.play.options(num_returns=parts)
        asked = work.weights, work.simulations, parts
        self.playing = [one for _ in range(work.decisions) for one in play.remote(*asked)]

    def hear(self, found: Found) -> bool:
        """Add what it brought; return whether that was all of its work. Raises RayError if lost."""
        if self.home is None:
            self.home = ray.get(self.beginning)
            return False
        lost: RayError | None = None
        for brought in self.playing:
            try:
                found.append(ray.get(brought))
            except RayTaskError:
                raise
            except RayError as error:
                lost = error
        self.playing = []
        if lost is not None:
            raise lost
        return True


class Cluster:
    """Workers on the cluster; whoever is ready is given the newest network at once.

    So nobody waits for a slow worker. A lost one is replaced, wherever there is room, by one with
    another seed; its games that were not over are lost, nothing else. Who is given how much work,
    and what comes first, is up to the cluster: the same seed is not the same run.
    """

    def __init__(self, game: Game, settings: Settings, workers: int, seed: tuple[int, ...]) -> None:
        """Ask for the workers; raise UnknownOption as `knock`.

        They make the game by its name and options.
        """
        self._plays = game.name, dict(game.options), settings
        self._seeds = ((*seed, number) for number in itertools.count())
        self._connection = ExitStack()
        self._connection.enter_context(connected())
        self._workers = [self._hire() for _ in range(workers)]
        self._parts = 2 + BURST * settings.boards // PART
        self._work = _Work(None, 0, None)
        self._numbers = itertools.count()
        self._spoken_of: set[_Worker] = set()

    def _hire(self, failed: int = 0) -> _Worker:
        remote: Any = ray.remote(SelfPlayer)
        seed = next(self._seeds)
        player = remote.options(**OPTIONS, max_restarts=0).remote(*self._plays, seed)
        return _Worker(player, seed, failed)

    def start(self, network: Network, decisions: int, simulations: int | None = None) -> None:
        """Let all who are idle play by this network; it is what others get when they are."""
        arrays = {name: each.detach().cpu().numpy() for name, each in network.state_dict().items()}
        weights = Weights(next(self._numbers), network.size, arrays)
        self._work = _Work(ray.put(weights), decisions, simulations)
        self._give()

    def finish(self) -> Found:
        """Wait until work came back as often as there should be workers; return what it brought.

        Quick workers do the work of slow, lost and missing ones; some may be what an earlier
        `start` began. What lost workers had brought comes on top. Warns of workers that are lost or
        find no room; where all are, it waits. Raises ChildProcessError where one cannot begin.
        """
        found: Found = []
        finished = 0
        while finished < len(self._workers):
            self._give()
            for worker in self._ready():
                try:
                    finished += worker.hear(found)
                except RayTaskError:
                    raise
                except RayError as error:
                    self._replace(worker, error)
            self._speak_of_waiting()
        return found

    def close(self) -> None:
        """Stop the workers, and leave the cluster."""
        for worker in self._workers:
            _kill(worker)
        self._connection.close()

    def _give(self) -> None:
        """Let all who are idle play."""
        for worker in self._workers:
            if worker.busy() is None:
                worker.give(self._work, self._parts)

    def _ready(self) -> list[_Worker]:
        """Wait for someone who has done what it was told, a while at most; return all who have."""
        busy = {worker.busy(): worker for worker in self._workers}
        ray.wait(list(busy), timeout=TICK)
        ready, _ = ray.wait(list(busy), num_returns=len(busy), timeout=0)
        return [busy[each] for each in ready]

    def _replace(self, worker: _Worker, why: RayError) -> None:
        failed = worker.failed + 1 if worker.home is None else 0
        if failed == ATTEMPTS:
            last = str(why).strip().splitlines()[-1]
            raise ChildProcessError(f"self-play workers cannot begin: {last}") from why
        _kill(worker)
        self._workers[self._workers.index(worker)] = self._hire(failed)
        what = "could not begin" if failed else "and its unfinished games were lost"
        warnings.warn(
            f"a self-play worker {what} ({type(why).__name__}); another takes its place",
            RuntimeWarning,
            stacklevel=3,
        )

    def _speak_of_waiting(self) -> None:
        """Warn, once, of workers that wait for room."""
        waiting = [each for each in self._workers if each.home is None]
        late = {each for each in waiting if time.monotonic() - each.since > PATIENCE}
        if late <= self._spoken_of:
            return
        self._spoken_of = late
        everyone = len(self._workers)
        warnings.warn(
            f"{len(late)} of {everyone} self-play workers have not begun in {PATIENCE:.0f} s: no "
            f"node has a free CPU, or it is slow; {everyone - len(waiting)} do their work",
            RuntimeWarning,
            stacklevel=3,
        )


def _kill(worker: _Worker) -> None:
    with suppress(RayError):
        ray.kill(worker.player)


# Games of the arena


class _Lost(Failure):
    """Why a task has no value: its process died."""


def each(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int | None = None
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with what `work` makes of it, or with why not, in the order of completion.

    As `training.arena.workers.each`, on the cluster: so many at once, None for one a CPU. A task
    whose process or node dies is tried once more, wherever there is room; if it dies there too, it
    has no value. Raises UnknownOption as `knock`.
    """
    with connected(), closing(_Crowd(work, tasks)) as crowd:
        while crowd.waiting or crowd.playing:
            crowd.fill(workers or _cpus())
            yield from crowd.hear()


class _Crowd(Generic[Task, Value]):
    """Tasks that wait, each with the lives that it has left, and those that are on the cluster."""

    def __init__(self, work: Callable[[Task], Value], tasks: Iterable[Task]) -> None:
        remote: Any = ray.remote(answer)
        self._begin = partial(remote.options(**OPTIONS, max_retries=0).remote, ray.put(work))
        self.waiting = deque((task, LIVES) for task in tasks)
        self.playing: dict[Any, tuple[Task, int]] = {}  # by references to what comes of them

    def fill(self, count: int) -> None:
        """Put tasks on the cluster until so many are."""
        while self.waiting and len(self.playing) < count:
            task, lives = self.waiting.popleft()
            self.playing[self._begin(task)] = task, lives - 1

    def hear(self) -> Iterator[tuple[Task, Value | Failure]]:
        """Wait for a task; yield it with what came of it, or let it wait if it has lives left."""
        (done, *_), _ = ray.wait(list(self.playing))
        (task, lives), value = self.playing.pop(done), _value(done)
        if lives and isinstance(value, _Lost):
            self.waiting.appendleft((task, lives))
        else:
            yield task, value

    def close(self) -> None:
        """Stop what is on the cluster."""
        for reference in self.playing:
            ray.cancel(reference, force=True)


def _cpus() -> int:
    """Return how many CPUs the cluster has, at least 1."""
    there: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(there.get("CPU", 0)))


def _value(done: Any) -> Any:
    """Return what came of a task, or a Failure."""
    try:
        return ray.get(done)
    except RayTaskError as error:  # it could not even be read there
        return Failure(f"{type(error.cause).__name__}: {error.cause}")
    except RayError as error:
        return _Lost(f"its process died {LIVES} times ({type(error).__name__})")
