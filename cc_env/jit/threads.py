"""Threads for compiled code that releases the GIL."""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


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

    def run_slices(self, function: Callable[[int, slice], object], length: int) -> None:
        """Call `function` with 0, 1, … and slices that divide `length` items; wait for all calls.

        `length` is at least 1; the lengths of the slices differ by at most 1. Raises the first
        exception of the calls.
        """
        slice_count = min(self.thread_count, length)
        bounds = [length * index // slice_count for index in range(slice_count + 1)]
        slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        if self._executor_pid != os.getpid():
            self._executor = ThreadPoolExecutor(self.thread_count)
            self._executor_pid = os.getpid()
        assert self._executor
        submit = self._executor.submit
        futures = [submit(function, index, slices[index]) for index in range(1, slice_count)]
        try:
            function(0, slices[0])
        finally:
            wait(futures)
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._executor and self._executor_pid == os.getpid():
            self._executor.shutdown()
        self._executor = None
        self._executor_pid = 0

    def __reduce__(self) -> tuple[type["ThreadPool"], tuple[int]]:
        return ThreadPool, (self.thread_count,)
