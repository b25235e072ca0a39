"""What a measurement is: a task, timed the same way for everyone, becomes a row of the table."""

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import NamedTuple

RUNS = 3


class Tally(NamedTuple):
    """What a stretch of work got done, and the seconds that count for it."""

    done: int
    seconds: float


Chunk = Callable[[], Tally]  # a stretch of some milliseconds; the next call goes on from there


@dataclass(frozen=True, kw_only=True)
class Task:
    """One row to be measured."""

    what: str
    package: str  # whose it is, as pip calls it
    unit: str
    # From the seconds of a run to the value; raises ImportError, or FileNotFoundError: a program.
    measure: Callable[[float], float]
    needs: str = ""  # what to pip install for it, where that is more than `package`
    note: str = ""


class Row(NamedTuple):
    """One measured row; `value` is None where something is missing, and `note` says what."""

    what: str
    who: str
    value: float | None
    unit: str
    note: str


def rate(chunk: Chunk, seconds: float) -> float:
    """Return how many a second: the median of some runs, after a first chunk that compiles."""
    chunk()
    return statistics.median(_run(chunk, seconds) for _ in range(RUNS))


def timed(prepare: Callable[[], Chunk]) -> Callable[[float], float]:
    """Return the `measure` of a task whose chunk is made by `prepare`."""
    return lambda seconds: rate(prepare(), seconds)


def row(task: Task, seconds: float) -> Row:
    """Measure a task, in runs of at least `seconds`."""
    try:
        value, note = task.measure(seconds), task.note
    except ImportError as missing:
        value, note = None, f"not installed: pip install {task.needs or task.package} ({missing})"
    except FileNotFoundError as missing:
        value, note = None, f"not measured: {missing}"
    return Row(task.what, _with_version(task.package), value, task.unit, note)


@contextmanager
def all_cores() -> Iterator[None]:
    """Leave the one core that everything else is measured on."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run(chunk: Chunk, seconds: float) -> float:
    done, spent = 0, 0.0
    while spent < seconds or not done:
        tally = chunk()
        done += tally.done
        spent += tally.seconds
    return done / spent


def _with_version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
