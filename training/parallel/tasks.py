"""Independent tasks, in processes of this machine or on a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from cc_env import processes
from cc_env.errors import check_integer, check_name
from cc_env.jit.threads import available_cores

ENGINES = "processes", "ray"

# Called with the function and the tasks.
Mapper = Callable[..., Iterator[tuple[Any, Any]]]


def run_tasks(run: Mapper, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Return the value of each task, in the order of the tasks.

    Raises ChildProcessError and stops all tasks when one fails.
    """
    return processes.in_order(run(work, tasks), tasks)


def check_engine(engine: str, engines: Sequence[str] = ENGINES) -> None:
    """Raise UnknownOption unless the engine is one of `engines`.

    For the engine "ray", raises BadOption if the cluster is unreachable, MissingExtra without Ray.
    """
    if check_name("engine", engine, engines) == "ray":
        # Imported late: it takes a second, and needs the extra.
        from training.parallel import cluster

        cluster.check_address()


def check_workers(engine: str, workers: int | None) -> None:
    """Raise UnknownOption for an unknown engine, BadOption for an invalid number of workers.

    For the engine "ray", raises BadOption if the cluster is unreachable, MissingExtra without Ray.
    """
    check_engine(engine)
    minimum, note = (0, "0: this process") if engine == "processes" else (1, "with engine 'ray'")
    if workers is not None:
        check_integer("workers", workers, minimum, processes.MAX_WORKERS, f" ({note})")


def task_mapper(engine: str = "processes", workers: int | None = None) -> Mapper:
    """Return the engine's `map_unordered` for at most `workers` tasks at once, None: one per core.

    With 0 workers, tasks run in this process. Raises UnknownOption for an unknown engine, BadOption
    for an invalid number of workers or an unreachable cluster, and MissingExtra without Ray.
    """
    check_workers(engine, workers)
    if engine == "processes":
        count = available_cores() if workers is None else workers
        return partial(processes.map_unordered, workers=count)
    from training.parallel import cluster

    return partial(cluster.map_unordered, workers=workers)
