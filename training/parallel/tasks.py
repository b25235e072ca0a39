"""Where tasks run that need no other: in processes of this machine, or on a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from cc_env.errors import BadOption, UnknownOption, format_list, is_integer
from cc_env.jit.threads import available_cores
from training.parallel import processes

ENGINES = "processes", "ray"

Mapper = Callable[..., Iterator[tuple[Any, Any]]]  # called with the work and the tasks


def values(run: Mapper, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Return the value of each task, in their order.

    Raises ChildProcessError, and stops the others, as soon as one has none.
    """
    of_task = {}
    with closing(run(work, tasks)) as answers:  # type: ignore[type-var]
        for task, value in answers:
            if isinstance(value, processes.Failure):
                raise ChildProcessError(f"task {task} could not be done: {value}")
            of_task[task] = value
    return [of_task[task] for task in tasks]


def mapper(engine: str = "processes", workers: int | None = None) -> Mapper:
    """Return the engine's `map_unordered`, for so many tasks at once, None: one per core.

    With 0 workers, which only processes take, tasks run in this process. Raises UnknownOption if
    there is no such engine, BadOption for another number of workers, and BadOption or MissingExtra
    as `training.parallel.cluster`.
    """
    if engine not in ENGINES:
        raise UnknownOption(f"there is no engine {engine!r}; there are: {format_list(ENGINES)}")
    least, why = (0, "0: this process") if engine == "processes" else (1, "with engine 'ray'")
    if workers is not None and not is_integer(workers, least):
        raise BadOption(f"workers={workers!r}; it is a whole number from {least} ({why})")
    if engine == "processes":
        count = available_cores() if workers is None else workers
        return partial(processes.map_unordered, workers=count)
    from training.parallel import (  # imported late: a second, and needs the extra
        cluster,
        cluster_tasks,
    )

    cluster.check_address()
    return partial(cluster_tasks.map_unordered, workers=workers)
