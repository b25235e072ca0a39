"""Work in several processes, any of which may die without taking more than its own task along."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Value = TypeVar("Value")

# Workers fill the cores by being many, so each has one thread.
THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"
_SPAWN = multiprocessing.get_context("spawn")
_READY = "ready"


class Failure(str):
    """Why a task has no value."""


def cores() -> int:
    """Return how many processes this one may keep busy."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(
    work: Callable[[Task], Value], tasks: Iterable[Task], workers: int
) -> Iterator[tuple[Task, Value | Failure]]:
    """Yield each task with what `work` makes of it, or with why not, in the order of completion.

    `work` and its tasks are pickled; with 0 workers all happens here instead, in order. Raises
    ChildProcessError where a process dies before it could begin. Whoever stops iterating, closes
    the iterator, or is interrupted, stops all processes at once.
    """
    if workers == 0:
        yield from ((task, work(task)) for task in tasks)
        return
    waiting = deque(tasks)
    crew: list[_Worker[Task, Value]] = []
    try:
        for _ in range(min(workers, len(waiting))):
            crew.append(_Worker(work))
        while crew:
            of_pipe = {worker.pipe: worker for worker in crew}
            for pipe in wait(list(of_pipe)):
                yield from _serve(of_pipe[pipe], crew, waiting)  # type: ignore[index]
    finally:
        for worker in crew:
            worker.stop()


def _serve(
    worker: "_Worker[Task, Value]", crew: "list[_Worker[Task, Value]]", waiting: deque[Task]
) -> Iterator[tuple[Task, Value | Failure]]:
    """Take what a worker has to say, then give it, or who replaces it, something to do."""
    done = worker.hear()
    if not worker.alive:
        crew.remove(worker)
        worker.stop()
        if waiting:
            crew.append(_Worker(worker.work))
    elif waiting:
        worker.give(waiting.popleft())
    else:
        crew.remove(worker)
        worker.stop()
    yield from done


class _Worker(Generic[Task, Value]):
    """A process with one task at most, and the pipe to it."""

    def __init__(self, work: Callable[[Task], Value]) -> None:
        self.work = work
        self.alive = True
        self.tasks: list[Task] = []
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(work, theirs), daemon=True)
        with _one_thread_deaf_to_interrupts():
            self.process.start()
        theirs.close()

    def give(self, task: Task) -> None:
        self.tasks.append(task)
        with suppress(OSError):  # it died; `hear` will say so
            self.pipe.send(task)

    def hear(self) -> list[tuple[Task, Value | Failure]]:
        """Return the finished task with its value, or no task of a worker that is just ready."""
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.alive = False
            self.process.join()
            answer = Failure(f"its process died ({_ending(self.process.exitcode or 0)})")
            if not self.tasks:
                raise ChildProcessError(f"a worker could not begin: {answer}") from None
        return [(self.tasks.pop(), answer)] if self.tasks else []

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


@contextmanager
def _one_thread_deaf_to_interrupts() -> Iterator[None]:
    """Let a process that starts inherit one thread, and leave Ctrl-C to this one."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
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
    """Answer tasks until the other end is closed."""
    pipe.send(_READY)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(answer(work, task))


def answer(work: Callable[[Task], Value], task: Task) -> Value | Failure:
    """Return what `work` makes of a task, whatever it raises."""
    try:
        return work(task)
    except BaseException as error:
        return Failure(f"{type(error).__name__}: {error}")
