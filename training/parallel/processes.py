"""Tasks in worker processes; if a process dies, only its current task is lost."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, TypeVar

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


class ProcessDied(Failure):
    """The Failure of a task whose process died."""


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
    pool: dict[Any, _Worker] = {}
    running: dict[Any, Task] = {}
    try:
        for _ in range(min(workers, len(queue))):
            _add_worker(pool, work)
        for pipe, message in _messages(pool):
            results = [(running.pop(pipe), message)] if pipe in running else []
            has_died = isinstance(message, ProcessDied)
            if has_died and not results:
                raise ChildProcessError(f"a worker could not start: {message}")
            if queue and not has_died:
                running[pipe] = queue.popleft()
                # If the process died, the next message is a ProcessDied.
                with suppress(OSError):
                    pipe.send(running[pipe])
            else:
                pool.pop(pipe).stop()
                if queue:
                    _add_worker(pool, work)
            yield from results
    finally:
        for worker in pool.values():
            worker.stop()


class _Worker(NamedTuple):
    """A process with at most one task, and the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def stop(self) -> None:
        """Terminate the process and wait for its end."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _add_worker(pool: dict[Any, _Worker], work: Callable[[Task], Value]) -> None:
    """Start a process and add it to the workers by pipe."""
    pipe, child_pipe = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(work, child_pipe), daemon=True)
    with _spawn_environment():
        process.start()
    child_pipe.close()
    pool[pipe] = _Worker(process, pipe)


def _messages(pool: Mapping[Any, _Worker]) -> Iterator[tuple[Any, Any]]:
    """Yield each message of a worker with its pipe, as long as there are workers.

    The first message of a worker reports that it is ready, the others are the values of its tasks.
    The message of a process that has died is a ProcessDied.
    """
    while pool:
        for pipe in wait(list(pool)):
            worker = pool[pipe]
            try:
                message = worker.pipe.recv()
            except (EOFError, OSError):
                process = worker.process
                process.join()
                message = ProcessDied(f"the process died ({_exit_reason(process.exitcode or 0)})")
            yield pipe, message


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
