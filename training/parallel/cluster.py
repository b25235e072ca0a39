"""A Ray cluster, to which nodes may be added and lost at any time: connection, and tasks on it.

`ray.init` chooses the cluster: the one at RAY_ADDRESS if that is set, else one that runs on this
machine, else a new one on this machine alone. Every node needs this checkout at the same path, or
gets it by `ray job submit --working-dir . -- python -m training.alphazero --engine ray`. Only this
process and the head node must stay alive. `training.selfplay.actors` runs self-play on the cluster.
"""

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from cc_env.errors import BadOption, MissingExtra
from cc_env.processes import THREAD_VARIABLES, Failure, ProcessDied, run_task

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as missing:
    raise MissingExtra("engine 'ray'", "ray", "ray") from missing

Task = TypeVar("Task")
Value = TypeVar("Value")

# Attempts at a task whose process dies.
MAX_ATTEMPTS = 2
ADDRESS_VARIABLE = "RAY_ADDRESS"
CONNECT_TIMEOUT_SECONDS = 10.0
# Each task or actor has one CPU and one thread.
RAY_OPTIONS: dict[str, Any] = {
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "runtime_env": {"env_vars": dict.fromkeys(THREAD_VARIABLES, "1")},
}


@contextmanager
def connect() -> Iterator[None]:
    """Connect to the cluster during the block, unless this process is already connected.

    Raises BadOption if RAY_ADDRESS is unreachable.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # numba supports only Python's own print.
    os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")
    check_address()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def check_address() -> None:
    """Raise BadOption if RAY_ADDRESS is unreachable; Ray itself would retry for minutes."""
    address = os.environ.get(ADDRESS_VARIABLE, "")
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_SECONDS).close()
        elif address not in ("", "auto", "local"):
            raise ValueError("expected: HOST:PORT")
    except (OSError, ValueError, OverflowError) as error:
        raise BadOption(
            f"{ADDRESS_VARIABLE}={address!r}: no cluster responds ({error}); "
            "unset it to start one here"
        ) from error


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
    with connect():
        submit = partial(remote.options(**RAY_OPTIONS, max_retries=0).remote, ray.put(work))
        try:
            while queue or running:
                while queue and len(running) < (workers or _cpus()):
                    task, attempts = queue.popleft()
                    running[submit(task)] = task, attempts - 1
                (reference, *_), _ = ray.wait(list(running))
                task, attempts = running.pop(reference)
                value = _value(reference)
                if attempts and isinstance(value, ProcessDied):
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
        return ProcessDied(f"the process died {MAX_ATTEMPTS} times ({type(error).__name__})")
