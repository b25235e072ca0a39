"""Tasks in worker processes; if a process dies, only its current task is lost."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Value = TypeVar("Value")

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


def map_unordered(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with its value or a Failure, in the order of completion.

    `work` and the tasks are pickled. With 0 workers everything runs in this process, in order, and
    an exception of `work` is raised instead of yielding a Failure. Raises ChildProcessError if a
    process dies before it is ready. Closing the iterator or an exception in the loop over it stops
    all processes at once.
    """
    if workers == 0:
        yield from ((task, work(task)) for task in tasks)
        return
    queue = deque(tasks)
    pool: list[_Worker[Task, Value]] = []
    try:
        for _ in range(min(workers, len(queue))):
            pool.append(_Worker(work))
        while pool:
            workers_by_pipe = {worker.pipe: worker for worker in pool}
            for pipe in wait(list(workers_by_pipe)):
                yield from _handle_message(workers_by_pipe[pipe], pool, queue)  # type: ignore[index]
    finally:
        for worker in pool:
            worker.stop()


def _handle_message(
    worker: "_Worker[Task, Value]", pool: "list[_Worker[Task, Value]]", queue: deque[Task]
) -> Iterator[tuple[Task, Value | Failure]]:
    """Send a worker the next task; yield its last result, if it has one.

    A dead worker is replaced if tasks are left; a worker without a next task is stopped.
    """
    results = worker.receive()
    if not worker.alive:
        pool.remove(worker)
        worker.stop()
        if queue:
            pool.append(_Worker(worker.work))
    elif queue:
        worker.send(queue.popleft())
    else:
        pool.remove(worker)
        worker.stop()
    yield from results


class _Worker(Generic[Task, Value]):
    """A process with at most one task, and the pipe to it."""

    def __init__(self, work: Callable[[Task], Value]) -> None:
        self.work = work
        self.alive = True
        self.tasks: list[Task] = []
        self.pipe, child_pipe = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(work, child_pipe), daemon=True)
        with _spawn_environment():
            self.process.start()
        child_pipe.close()

    def send(self, task: Task) -> None:
        """Send a task to the process."""
        self.tasks.append(task)
        # If the process died, `receive` reports it.
        with suppress(OSError):
            self.pipe.send(task)

    def receive(self) -> list[tuple[Task, Value | Failure]]:
        """Return the finished task with its value, or a Failure if the process died.

        Returns [] if the worker has just started. Raises ChildProcessError if it cannot start.
        """
        try:
            result = self.pipe.recv()
        except (EOFError, OSError):
            self.alive = False
            self.process.join()
            result = Failure(f"the process died ({_exit_reason(self.process.exitcode or 0)})")
            if not self.tasks:
                raise ChildProcessError(f"a worker could not start: {result}") from None
        return [(self.tasks.pop(), result)] if self.tasks else []

    def stop(self) -> None:
        """Terminate the process and wait for its end."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


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
