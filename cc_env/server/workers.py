"""Workers run long jobs in processes of low priority, or in this process.

A low-priority thread may hold the interpreter lock while it waits for a core, which would block the
event loop. A process has its own lock.
"""

import asyncio
import gc
import logging
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from typing import TypeVar

from cc_env.errors import CcEnvError, Forfeit
from cc_env.play.analysis import TimeBudget
from cc_env.server.jobs import Job
from cc_env.server.player_pool import PlayerPool

WORKER_NICENESS = 15
# Modules that the fork server imports once for all workers.
PRELOADED_MODULES = ["cc_env.server.workers", "cc_env.players.specs"]
# A job fails if this number of workers die while they run it.
MAX_ATTEMPTS = 2
_log = logging.getLogger("cc_env.server")

T = TypeVar("T")


class LocalWorker:
    """A worker in this process; `result` runs the job in the calling thread.

    A worker runs one job at a time: `start`, then `result`.
    """

    def __init__(self, max_bytes: int) -> None:
        """Keep idle players of at most `max_bytes`."""
        self._pool = PlayerPool(max_bytes)
        self._job: Job[object]
        self._time = TimeBudget(math.inf)

    def start(self, job: Job[object], seconds: float) -> None:
        """Set the job for `result`, with a time limit."""
        self._job, self._time = job, TimeBudget(seconds)

    def result(self) -> object:
        """Run the job; its exceptions propagate."""
        try:
            return self._job(self._pool, self._time)
        finally:
            # Release the reference to the player.
            self._time = TimeBudget(math.inf)

    def stop(self) -> None:
        """End the current job early, from any thread; it returns what it has found."""
        self._time.cancel()

    kill = stop


class ProcessWorker:
    """A worker process, which ends with this one even if this one is killed."""

    def __init__(self, max_bytes: int) -> None:
        """Start the process; it keeps idle players of at most `max_bytes`."""
        context = _context()
        self._connection, worker_end = context.Pipe()
        self.process = context.Process(
            target=_run_worker, args=(worker_end, max_bytes), daemon=True
        )
        self.process.start()
        # Reading ends when the process ends, since no other process has this end open.
        worker_end.close()

    def start(self, job: Job[object], seconds: float) -> None:
        """Send the job to the process; raise ConnectionError if it has died."""
        self._connection.send((job, seconds))

    def result(self) -> object:
        """Receive the result, or raise the job's exception; EOFError if the process has died."""
        result, error = self._connection.recv()
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """End the current job early."""
        with suppress(ConnectionError):
            self._connection.send(None)

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.join()


Worker = LocalWorker | ProcessWorker


class Cancellation:
    """Ends a job early from another thread, even before the job has started."""

    def __init__(self) -> None:
        """Start without a worker."""
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self.is_set = False

    def set(self) -> None:
        """End the job."""
        with self._lock:
            self.is_set = True
            if self._worker:
                self._worker.stop()

    def attach(self, worker: Worker | None) -> None:
        """Set the worker that runs the job now, None after the job."""
        with self._lock:
            self._worker = worker
            if worker and self.is_set:
                worker.stop()


class WorkerPool:
    """Workers for concurrent jobs, started on demand and reused; thread-safe."""

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        """Start without workers."""
        self._make_worker, self._lock = make_worker, threading.Lock()
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._is_closed = False

    def run(
        self,
        job: Job[T],
        seconds: float = math.inf,
        cancellation: Cancellation | None = None,
    ) -> T:
        """Return the result of a job with a time limit in seconds; its CcEnvErrors propagate.

        If the worker dies, another one runs the job again; if that dies too, Forfeit is raised.
        Raises CancelledError after a cancellation or after `close`.
        """
        cancellation = cancellation or Cancellation()
        for _ in range(MAX_ATTEMPTS):
            if cancellation.is_set:
                raise asyncio.CancelledError
            worker = self._acquire()
            try:
                worker.start(job, seconds)
                cancellation.attach(worker)
                return worker.result()  # type: ignore[return-value]
            except (EOFError, ConnectionError):
                self._discard(worker)
            finally:
                cancellation.attach(None)
                self._release(worker)
        raise Forfeit("error", "the player process died repeatedly")

    def _acquire(self) -> Worker:
        with self._lock:
            if self._is_closed:
                raise asyncio.CancelledError
            worker = self._idle.pop() if self._idle else self._make_worker()
            self._workers.add(worker)
            return worker

    def _release(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._workers:
                self._idle.append(worker)

    def _discard(self, worker: Worker) -> None:
        worker.kill()
        with self._lock:
            self._workers.discard(worker)
            if not self._is_closed:
                _log.warning("a player process died; a new one will be started")

    def close(self) -> None:
        """Kill all workers."""
        with self._lock:
            self._is_closed = True
            for worker in self._workers:
                worker.kill()


def _context() -> ForkServerContext | SpawnContext:
    if "forkserver" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("forkserver")
    return multiprocessing.get_context("spawn")


def start_fork_server() -> None:
    """Start importing the modules of workers in the background, where the system can fork."""
    context = _context()
    if isinstance(context, ForkServerContext):
        context.set_forkserver_preload(PRELOADED_MODULES)
        forkserver.ensure_running()


def _run_worker(connection: Connection, max_bytes: int) -> None:
    """Run jobs until the server process has ended; an unexpected error ends this process."""
    # Ctrl+C is handled by the server.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(WORKER_NICENESS)
    # Exclude imported modules from garbage collection.
    gc.freeze()
    worker = LocalWorker(max_bytes)
    started_jobs = threading.Semaphore(0)
    arguments = connection, worker, started_jobs
    threading.Thread(target=_send_results, args=arguments, daemon=True).start()
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            # The server has ended: exit even in the middle of a search.
            os._exit(0)
        if message is None:
            worker.stop()
        else:
            worker.start(*message)
            started_jobs.release()


def _send_results(
    connection: Connection, worker: LocalWorker, started_jobs: threading.Semaphore
) -> None:
    """Send a (result, error) pair for every started job; end the process if that fails."""
    try:
        while True:
            started_jobs.acquire()
            response: tuple[object, CcEnvError | None]
            try:
                response = worker.result(), None
            except CcEnvError as error:
                response = None, error
            except Exception as error:
                _log.exception("a job failed")
                response = None, Forfeit("error", f"{type(error).__name__}: {error}")
            connection.send(response)
    finally:
        # End the process, so that the server does not wait for a result.
        os._exit(1)
