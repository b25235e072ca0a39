"""Tasks in worker processes; if a process dies, only its current task is lost.

Tournaments, ratings, and solve rates use them to play or to wait for servers at once.
"""

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, TypeVar

from cc_env.errors import BadOption, check_integer

Task = TypeVar("Task")
Value = TypeVar("Value")

# Above every sensible number, since configs may be untrusted.
MAX_WORKERS = 1024
# Each worker has one thread, because there is one worker per core.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_SPAWN = multiprocessing.get_context("spawn")
_READY = "ready"


class Failure(str):
    """The reason why a task has no value."""


class ProcessDied(Failure):
    """The Failure of a task whose process died."""


def map_unordered(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with its value or a Failure, as `ProcessPool.map_unordered`.

    Closing the iterator or an exception in the loop over it stops all processes at once.
    """
    with ProcessPool(work, workers) as pool:
        yield from pool.map_unordered(tasks)


def in_order(results: Iterator[tuple[Task, Value | Failure]], tasks: Iterable[Task]) -> list[Value]:
    """Return the value of each task, in the order of the tasks, which are distinct.

    Raises ChildProcessError and stops all tasks when one fails.
    """
    values: dict[Task, Value] = {}
    with closing(results):  # type: ignore[type-var]
        for task, value in results:
            if isinstance(value, Failure):
                raise ChildProcessError(f"task {task} failed: {value}")
            values[task] = value
    return [values[task] for task in tasks]


class ProcessPool(Generic[Task, Value]):
    """Processes that run tasks, in a `with` block, at whose end they stop at once.

    They start when they are needed, and wait for tasks in between.
    """

    def __init__(self, work: Callable[[Task], Value], workers: int) -> None:
        """Use at most `workers` processes; with 0 workers everything runs in this process.

        Raises BadOption for another number, or if `work` cannot be pickled.
        """
        check_integer("workers", workers, 0, MAX_WORKERS)
        if workers:
            _check_pickle(work, workers)
        self._work, self._max_workers = work, workers
        self._workers: dict[Any, _Worker] = {}
        # Those that are ready and have no task.
        self._idle: list[Any] = []

    def __enter__(self) -> "ProcessPool[Task, Value]":
        return self

    def __exit__(self, *exception: object) -> None:
        while self._workers:
            self._workers.popitem()[1].stop()

    def map_unordered(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Value | Failure]]:
        """Yield each task with its value or a Failure, in the order of completion.

        `work` and the tasks are pickled. With 0 workers everything runs in order, and an exception
        of `work` is raised instead of yielding a Failure. Raises ChildProcessError if a process
        dies before it is ready. Closing the iterator or an exception in the loop over it stops the
        processes of unfinished tasks at once.
        """
        if self._max_workers == 0:
            yield from ((task, self._work(task)) for task in tasks)
            return
        queue = deque(tasks)
        running: dict[Any, Task] = {}
        try:
            self._assign(queue, running)
            while queue or running:
                for pipe in wait([pipe for pipe in self._workers if pipe not in self._idle]):
                    message = self._receive(pipe)
                    results = [(running.pop(pipe), message)] if pipe in running else []
                    if isinstance(message, ProcessDied):
                        self._workers.pop(pipe).stop()
                        if not results:
                            raise ChildProcessError(f"a worker could not start: {message}")
                    else:
                        self._idle.append(pipe)
                    self._assign(queue, running)
                    yield from results
        finally:
            for pipe in running:
                self._workers.pop(pipe).stop()

    def _assign(self, queue: deque[Task], running: dict[Any, Task]) -> None:
        """Send tasks to idle processes, and start as many as the other tasks need."""
        while queue and self._idle:
            pipe = self._idle.pop()
            running[pipe] = queue.popleft()
            # If the process died, the next message is a ProcessDied.
            with suppress(OSError):
                pipe.send(running[pipe])
        needed = min(self._max_workers, len(running) + len(queue)) - len(self._workers)
        for _ in range(needed):
            worker = _start_worker(self._work)
            self._workers[worker.pipe] = worker

    def _receive(self, pipe: Any) -> Any:
        """Return the message of a process; a ProcessDied if it has died.

        The first message reports that it is ready, the others are the values of its tasks.
        """
        try:
            return pipe.recv()
        except (EOFError, OSError):
            process = self._workers[pipe].process
            process.join()
            return ProcessDied(f"the process died ({_exit_reason(process.exitcode or 0)})")


class _Worker(NamedTuple):
    """A process with at most one task, and the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def stop(self) -> None:
        """Terminate the process and wait for its end."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _check_pickle(work: object, workers: int) -> None:
    """Raise BadOption if something cannot be pickled."""
    try:
        pickle.dumps(work)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadOption(f"workers={workers}; expected: 0, as pickling failed ({reason})") from error


def _start_worker(work: Callable[[Task], Value]) -> _Worker:
    """Start a process."""
    pipe, child_pipe = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(work, child_pipe), daemon=True)
    with _spawn_environment():
        process.start()
    child_pipe.close()
    return _Worker(process, pipe)


def _exit_reason(code: int) -> str:
    """Return the signal or the exit status of a process; a negative code is a signal."""
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


@contextmanager
def _spawn_environment() -> Iterator[None]:
    """Let processes started in the block have one thread each and ignore Ctrl-C."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    # Up to Python 3.11, the start of the resource tracker unblocks Ctrl-C.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _work(work: Callable[[Any], Any], pipe: Connection) -> None:
    """Run tasks until the pipe is closed; exit silently if the parent process was killed."""
    with suppress(EOFError, OSError):
        pipe.send(_READY)
        while True:
            pipe.send(run_task(work, pipe.recv()))


def run_task(work: Callable[[Task], Value], task: Task) -> Value | Failure:
    """Return the value of a task, or a Failure with its exception."""
    try:
        return work(task)
    except BaseException as error:
        return Failure(f"{type(error).__name__}: {error}")
