"""Threads, which compiled code lets run beside each other, and the cores for them."""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """A number of threads, the caller's among them; the others start when they are first needed.

    Copies, pickles and forked processes start threads of their own.
    """

    def __init__(self, count: int) -> None:
        """Take `count` threads, 1 or more."""
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # that the pool is of

    def run(self, function: Callable[[slice], object], length: int) -> None:
        """Call `function` with slices that share out `length` items evenly; return when all end.

        Raises what the first of them raises.
        """
        parts = min(self.count, length)
        ends = [length * part // parts for part in range(parts + 1)]
        first, *others = (slice(*pair) for pair in itertools.pairwise(ends))
        if self._process != os.getpid():  # a fork has none of its parent's threads
            self._pool, self._process = ThreadPoolExecutor(self.count), os.getpid()
        assert self._pool
        waiting = [self._pool.submit(function, part) for part in others]
        try:
            function(first)
        finally:
            wait(waiting)
        for future in waiting:
            future.result()

    def close(self) -> None:
        """End the threads; the next `run` starts others."""
        if self._pool and self._process == os.getpid():
            self._pool.shutdown()
        self._pool, self._process = None, 0

    def __reduce__(self) -> tuple[type["Threads"], tuple[int]]:
        return Threads, (self.count,)
