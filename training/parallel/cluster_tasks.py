"""Tasks on a Ray cluster, such as games of the arena; nodes may be lost."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Generic, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from training.parallel.cluster import OPTIONS, connected
from training.parallel.processes import Failure, answer

Task = TypeVar("Task")
Value = TypeVar("Value")

TRIES = 2  # runs of a task whose process dies


class _Lost(Failure):
    """The Failure of a task whose process died."""


def map_unordered(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int | None = None
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with its value or a Failure, in the order of completion.

    As `training.parallel.processes.map_unordered`, on the cluster; `workers` is the number of tasks
    at once, None for one per CPU. A task whose process or node dies is run once more, on any node;
    if it dies again, it has no value. Raises BadOption as
    `training.parallel.cluster.check_address`.
    """
    with connected(), closing(_TaskPool(work, tasks)) as pool:
        while pool.waiting or pool.running:
            pool.fill(workers or _cpus())
            yield from pool.receive()


class _TaskPool(Generic[Task, Value]):
    """Waiting tasks, each with the number of its remaining tries, and those on the cluster."""

    def __init__(self, work: Callable[[Task], Value], tasks: Iterable[Task]) -> None:
        remote: Any = ray.remote(answer)
        self._begin = partial(remote.options(**OPTIONS, max_retries=0).remote, ray.put(work))
        self.waiting = deque((task, TRIES) for task in tasks)
        self.running: dict[Any, tuple[Task, int]] = {}  # by references to their values

    def fill(self, count: int) -> None:
        """Submit tasks until `count` are on the cluster."""
        while self.waiting and len(self.running) < count:
            task, tries = self.waiting.popleft()
            self.running[self._begin(task)] = task, tries - 1

    def receive(self) -> Iterator[tuple[Task, Value | Failure]]:
        """Wait for a task; yield it with its value, or put it back if its process died."""
        (done, *_), _ = ray.wait(list(self.running))
        (task, tries), value = self.running.pop(done), _value(done)
        if tries and isinstance(value, _Lost):
            self.waiting.appendleft((task, tries))
        else:
            yield task, value

    def close(self) -> None:
        """Cancel the tasks on the cluster."""
        for reference in self.running:
            ray.cancel(reference, force=True)


def _cpus() -> int:
    """Return the number of CPUs of the cluster, at least 1."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 0)))


def _value(done: Any) -> Any:
    """Return the value of a finished task, or a Failure."""
    try:
        return ray.get(done)
    except RayTaskError as error:  # the task could not be unpickled
        return Failure(f"{type(error.cause).__name__}: {error.cause}")
    except RayError as error:
        return _Lost(f"its process died {TRIES} times ({type(error).__name__})")
