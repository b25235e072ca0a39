"""python -m benchmarks.threads: steps of vector environments by one and two threads, in turn.

Two processes, each pinned to a core, show what the machine can give at the time.
"""

import multiprocessing
import os
import statistics
import sys
from multiprocessing.connection import Connection
from typing import NamedTuple

from benchmarks import loops
from benchmarks.measure import TimedChunk
from cc_env.envs.vector import BoardGameVectorEnv

ROUNDS = 9


class Setting(NamedTuple):
    """Boards, their opponent, and the steps of one measurement."""

    boards: int
    opponent: str | None
    steps: int


SETTINGS = Setting(1024, None, 200), Setting(16384, None, 20), Setting(1024, "minimax:depth=1", 20)


def make_chunk(setting: Setting, threads: int) -> TimedChunk:
    """Return steps of random play with these threads, after those that compile."""
    envs = BoardGameVectorEnv(
        "capture_conquer", setting.boards, opponent=setting.opponent, copy=False, threads=threads
    )
    chunk = loops.vector(envs, steps=setting.steps)
    chunk()
    return chunk


def rate(chunk: TimedChunk) -> float:
    """Return the boards that a chunk steps in a second."""
    timing = chunk()
    return timing.units / timing.seconds


def step_pinned(core: int, setting: Setting, pipe: Connection) -> None:
    """Send the rate of one thread on a core for each message that arrives, until it is False."""
    os.sched_setaffinity(0, {core})
    chunk = make_chunk(setting, 1)
    while pipe.recv():
        pipe.send(rate(chunk))


def measure(setting: Setting) -> None:
    """Print the medians of the rates in turn: one thread, two threads, two processes."""
    context, cores = multiprocessing.get_context("spawn"), sorted(os.sched_getaffinity(0))[:2]
    one, two = (make_chunk(setting, threads) for threads in (1, 2))
    pipes = []
    for core in cores:
        pipe, other_end = context.Pipe()
        context.Process(target=step_pinned, args=(core, setting, other_end), daemon=True).start()
        pipes.append(pipe)
    ratios: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        alone, together = rate(one), rate(two)
        for pipe in pipes:
            pipe.send(True)
        processes = sum(pipe.recv() for pipe in pipes)
        ratios[0].append(together / alone)
        ratios[1].append(processes / alone)
    for pipe in pipes:
        pipe.send(False)
    threads, pinned = map(statistics.median, ratios)
    name = f"{setting.boards} boards, opponent {setting.opponent}"
    print(f"{name}: {threads:.2f} times with two threads, {pinned:.2f} with two processes")


def main() -> int:
    """Measure all settings on two cores; return the exit status."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        print("two cores and Linux are needed", file=sys.stderr)
        return 1
    for setting in SETTINGS:
        measure(setting)
    return 0


if __name__ == "__main__":
    sys.exit(main())
