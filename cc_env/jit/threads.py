"""Threads for compiled code that releases the GIL."""

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

# Seconds between looks at work that other threads have not finished.
_POLL_INTERVAL = 1e-4


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThreadPool:
    """A pool of threads that includes the caller's; the others start at the first use.

    Copies, unpickled pools and forked processes start threads of their own.
    """

    def __init__(self, thread_count: int) -> None:
        self.thread_count = thread_count
        self._executor: ThreadPoolExecutor | None = None
        # A fork does not inherit the threads of its parent.
        self._executor_pid = 0
        # Threads that `share` may call.
        self._idle: set[int] = set()

    def run_slices(self, function: Callable[[int, slice], object], length: int) -> None:
        """Call `function` with 0, 1, … and slices that divide `length` items; wait for all calls.

        `length` is at least 1; the lengths of the slices differ by at most 1. Raises the first
        exception of the calls.
        """
        slice_count = min(self.thread_count, length)
        bounds = [length * index // slice_count for index in range(slice_count + 1)]
        slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        submit = self._started_executor().submit
        futures = [submit(function, index, slices[index]) for index in range(1, slice_count)]
        try:
            function(0, slices[0])
        finally:
            wait(futures)
        for future in futures:
            future.result()

    def call_helpers(self, work: Callable[[int], bool]) -> None:
        """Call work(1), … in the other threads that are idle, without waiting for them.

        Called before `share`, this hides the time in which they wake up.
        """
        executor = self._started_executor()
        for _ in range(len(self._idle)):
            executor.submit(self._help, work, self._idle.pop())

    def share(self, work: Callable[[int], bool]) -> None:
        """Call work(0), again until it returns True; meanwhile call work(1), … in other threads.

        These calls may go on when this one returns: then the next one does not repeat them. Work
        that is divided by `cc_env.jit.shares` is finished even if the caller is interrupted.
        """
        self.call_helpers(work)
        try:
            while not work(0):
                time.sleep(_POLL_INTERVAL)
        except BaseException:
            while not work(0):
                pass
            raise

    def _help(self, work: Callable[[int], bool], thread: int) -> None:
        try:
            work(thread)
        finally:
            self._idle.add(thread)

    def _started_executor(self) -> ThreadPoolExecutor:
        if self._executor is None or self._executor_pid != os.getpid():
            self._executor = ThreadPoolExecutor(self.thread_count)
            self._executor_pid = os.getpid()
            self._idle = set(range(1, self.thread_count))
        return self._executor

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._executor and self._executor_pid == os.getpid():
            self._executor.shutdown()
        self._executor = None

    def __reduce__(self) -> tuple[type["ThreadPool"], tuple[int]]:
        return ThreadPool, (self.thread_count,)
