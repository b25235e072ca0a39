"""Measurement: tasks, which are all timed in the same way, become rows of the table."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import NamedTuple

# Runs per task; the result is their median.
RUNS = 3

# Some milliseconds of work; returns the units done. The next call continues the work.
Chunk = Callable[[], int]


class Timing(NamedTuple):
    """The units of work that a chunk did, and the seconds that count for them."""

    units: int
    seconds: float


TimedChunk = Callable[[], Timing]
# Returns seconds.
Clock = Callable[[], float]


@dataclass(frozen=True)
class Task:
    """A row to be measured.

    `measure` returns the value for the seconds per run; it raises ImportError or FileNotFoundError
    if something is missing. `package` is a name on PyPI; `needs` is the requirement to install, if
    it is not `package`.
    """

    label: str
    unit: str
    measure: Callable[[float], float]
    note: str = ""
    package: str = "cc_env"
    needs: str = ""


class Row(NamedTuple):
    """A measured row; if something is missing, `value` is None and `note` names it."""

    label: str
    program: str
    value: float | None
    unit: str
    note: str


def add_clock(chunk: Chunk, clock: Clock = time.perf_counter) -> TimedChunk:
    """Return a chunk that measures its own duration."""

    def timed_chunk() -> Timing:
        start = clock()
        units = chunk()
        return Timing(units, clock() - start)

    return timed_chunk


def rate(chunk: TimedChunk, seconds: float) -> float:
    """Return the rate per second: the median of RUNS runs, after a first chunk that compiles."""
    chunk()
    return statistics.median(_run(chunk, seconds) for _ in range(RUNS))


def compare(chunks: Sequence[TimedChunk], seconds: float) -> list[float]:
    """Call the chunks in turn until they took `seconds` together; return their rates per second.

    A first call of each, which compiles, does not count. A rate is the median over all rounds.
    """
    for chunk in chunks:
        chunk()
    rates: list[list[float]] = []
    spent = 0.0
    while spent < seconds or not rates:
        timings = [chunk() for chunk in chunks]
        rates.append([timing.units / timing.seconds for timing in timings])
        spent += sum(timing.seconds for timing in timings)
    return list(map(statistics.median, zip(*rates, strict=True)))


def make_measure(prepare: Callable[[], Chunk]) -> Callable[[float], float]:
    """Return a `measure` for a Task; `prepare` returns the chunk."""
    return lambda seconds: rate(add_clock(prepare()), seconds)


def make_timed_measure(prepare: Callable[[], TimedChunk]) -> Callable[[float], float]:
    """Return a `measure` for a Task; only a part of the chunk's work counts."""
    return lambda seconds: rate(prepare(), seconds)


def measure_row(task: Task, seconds: float) -> Row:
    """Measure a task, in runs of at least `seconds`."""
    try:
        value, note = task.measure(seconds), task.note
    except ImportError as missing:
        value, note = None, f"not installed: pip install {task.needs or task.package} ({missing})"
    except FileNotFoundError as missing:
        value, note = None, f"not measured: {missing}"
    return Row(task.label, _with_version(task.package), value, task.unit, note)


@contextmanager
def all_cores() -> Iterator[None]:
    """Use all cores in the block, instead of the one core of the other measurements."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run(chunk: TimedChunk, seconds: float) -> float:
    """Repeat a chunk for at least `seconds`; return the units per second."""
    units, spent = 0, 0.0
    while spent < seconds or not units:
        timing = chunk()
        units += timing.units
        spent += timing.seconds
    return units / spent


def _with_version(package: str) -> str:
    """Return the name of a package with its version, if it is installed."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
