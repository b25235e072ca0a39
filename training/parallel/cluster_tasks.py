"""Tasks on a Ray cluster, such as games of the arena; nodes may be lost."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from training.parallel.cluster import RAY_OPTIONS, connected
from training.parallel.processes import Failure, run_task

Task = TypeVar("Task")
Value = TypeVar("Value")

# Attempts at a task whose process dies.
MAX_ATTEMPTS = 2


class _ProcessDied(Failure):
    """The Failure of a task whose process died."""


def map_unordered(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int | None = None
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with its value or a Failure, in the order of completion.

    `work` and the tasks are pickled and run on the cluster; `workers` is the number of tasks
    at once, None for one per CPU. A task whose process or node dies is run once more, on any node;
    then it is a Failure. Raises BadOption if RAY_ADDRESS is unreachable.
    """
    remote: Any = ray.remote(run_task)
    # Queued tasks with their remaining attempts, and tasks on the cluster by reference.
    queue = deque((task, MAX_ATTEMPTS) for task in tasks)
    running: dict[Any, tuple[Task, int]] = {}
    with connected():
        submit = partial(remote.options(**RAY_OPTIONS, max_retries=0).remote, ray.put(work))
        try:
            while queue or running:
                while queue and len(running) < (workers or _cpus()):
                    task, attempts = queue.popleft()
                    running[submit(task)] = task, attempts - 1
                (reference, *_), _ = ray.wait(list(running))
                task, attempts = running.pop(reference)
                value = _value(reference)
                if attempts and isinstance(value, _ProcessDied):
                    queue.appendleft((task, attempts))
                else:
                    yield task, value
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def _cpus() -> int:
    """Return the number of CPUs of the cluster, at least 1."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 0)))


def _value(reference: Any) -> Any:
    """Return the value of a finished task, or a Failure."""
    try:
        return ray.get(reference)
    # The task could not be unpickled.
    except RayTaskError as error:
        return Failure(f"{type(error.cause).__name__}: {error.cause}")
    except RayError as error:
        return _ProcessDied(f"the process died {MAX_ATTEMPTS} times ({type(error).__name__})")
