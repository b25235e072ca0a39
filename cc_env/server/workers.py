"""Workers do what takes long: processes of low priority, or this process.

A thread of low priority that waits for a core may hold the interpreter's lock meanwhile, for which
the event loop then waits, too. A process has a lock of its own.
"""

import asyncio
import gc
import logging
import math
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cc_env.errors import CcEnvError, Forfeit
from cc_env.play.analysis import TimeBudget
from cc_env.server.jobs import Job
from cc_env.server.player_pool import PlayerPool

NICE = 15  # priority of worker processes, as Unix counts it
PRELOADED = [
    "cc_env.server.workers",
    "cc_env.players.specs",
]  # imported once for all, where one can fork
ATTEMPTS = 2  # workers that may end over one job
_log = logging.getLogger("cc_env.play")


class Worker(Protocol):
    """Does one job at a time: `start`, then `result`."""

    def start(self, job: Job, seconds: float) -> None:
        """Begin a job; raises ConnectionError if the worker has ended."""

    def result(self) -> Any:
        """Return what the job finds.

        Raises CcEnvError as the job does, EOFError or ConnectionError if the worker ends.
        """

    def stop(self) -> None:
        """End the current job with what it has found, from another thread."""

    def end(self) -> None:
        """End the worker, whatever it is doing."""


class LocalWorker:
    """A worker in this process: jobs run in the threads that wait for their results."""

    def __init__(self, max_bytes: int) -> None:
        """Keep idle players of at most some bytes."""
        self._pool = PlayerPool(max_bytes)
        self._job: Job
        self._time = TimeBudget(math.inf)

    def start(self, job: Job, seconds: float) -> None:
        """As `Worker.start`."""
        self._job, self._time = job, TimeBudget(seconds)

    def result(self) -> Any:
        """As `Worker.result`."""
        try:
            return self._job.run(self._pool, self._time)
        finally:
            self._time = TimeBudget(math.inf)  # which has no player

    def stop(self) -> None:
        """As `Worker.stop`."""
        self._time.cancel()

    end = stop


class ProcessWorker:
    """A worker in a process of its own, which ends with this one, however that ends."""

    def __init__(self, max_bytes: int) -> None:
        """Start the process; it keeps idle players of at most some bytes."""
        context = _context()
        self._ours, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, max_bytes), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of what can be read

    def start(self, job: Job, seconds: float) -> None:
        """As `Worker.start`."""
        self._ours.send((job, seconds))

    def result(self) -> Any:
        """As `Worker.result`."""
        result, error = self._ours.recv()
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """As `Worker.stop`."""
        with suppress(ConnectionError):
            self._ours.send(None)

    def end(self) -> None:
        """As `Worker.end`."""
        self.process.kill()
        self.process.join()


class Cancellation:
    """Ends a job early, from another thread, also before it has begun."""

    def __init__(self) -> None:
        """Let the job run."""
        self._lock, self.is_set = threading.Lock(), False
        self._worker: Worker | None = None

    def set(self) -> None:
        """End the job."""
        with self._lock:
            self.is_set = True
            if self._worker:
                self._worker.stop()

    def attach(self, worker: Worker | None) -> None:
        """Name the worker that has the job now."""
        with self._lock:
            self._worker = worker
            if worker and self.is_set:
                worker.stop()


class Workers:
    """As many workers as have jobs at once; safe to use from many threads.

    They start when they are needed, and stay.
    """

    def __init__(self, make: Callable[[], Worker]) -> None:
        """Begin with none; `make` starts one."""
        self._make, self._lock = make, threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._is_closed = False

    def run(
        self, job: Job, seconds: float = math.inf, cancellation: Cancellation | None = None
    ) -> Any:
        """Return what a job finds in its time; raise CcEnvError as it does.

        A worker that ends over it is replaced by another, which gets the job again; Forfeit is
        raised if that ends, too. Raises CancelledError after a cancellation, and once these are
        closed.
        """
        cancellation = cancellation or Cancellation()
        for _ in range(ATTEMPTS):
            if cancellation.is_set:
                raise asyncio.CancelledError
            worker = self._take()
            try:
                worker.start(job, seconds)
                cancellation.attach(worker)
                return worker.result()
            except (EOFError, ConnectionError):
                self._drop(worker)
            finally:
                cancellation.attach(None)
                self._give_back(worker)
        raise Forfeit("error", "the process in which it thinks has ended, again and again")

    @property
    def all(self) -> set[Worker]:
        """Return the workers that there are."""
        with self._lock:
            return set(self._all)

    def _take(self) -> Worker:
        with self._lock:
            if self._is_closed:
                raise asyncio.CancelledError
            worker = self._idle.pop() if self._idle else self._make()
            self._all.add(worker)
            return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._all:
                self._idle.append(worker)

    def _drop(self, worker: Worker) -> None:
        worker.end()
        with self._lock:
            self._all.discard(worker)
            if not self._is_closed:
                _log.warning("a process in which players think has ended; another replaces it")

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._is_closed = True
            for worker in self._all:
                worker.end()


def _context() -> Any:
    can_fork = "forkserver" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if can_fork else "spawn")


def prepare() -> None:
    """Import what worker processes need, in the background, where they can be forked."""
    context = _context()
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def _work(connection: Connection, max_bytes: int) -> None:
    """Do jobs until the process that sends them has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's matter
    if hasattr(os, "nice"):
        os.nice(NICE)
    gc.freeze()  # what is imported stays
    worker = LocalWorker(max_bytes)
    started: queue.SimpleQueue[None] = queue.SimpleQueue()
    threading.Thread(target=_answer, args=(connection, worker, started), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            message = connection.recv()
            if message is None:
                worker.stop()
            else:
                worker.start(*message)
                started.put(None)
    os._exit(0)  # also from the middle of a search


def _answer(
    connection: Connection, worker: LocalWorker, started: "queue.SimpleQueue[None]"
) -> None:
    """Send the result of every job that was started, or the error of its player."""
    try:
        while True:
            started.get()
            answer: tuple[Any, CcEnvError | None]
            try:
                answer = worker.result(), None
            except CcEnvError as error:
                answer = None, error
            except Exception as error:
                _log.exception("a job failed")
                answer = None, Forfeit("error", f"{type(error).__name__}: {error}")
            connection.send(answer)
    finally:
        os._exit(1)  # rather than never to answer
