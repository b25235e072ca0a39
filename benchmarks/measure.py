"""Measurement: tasks, which are all timed in the same way, become rows of the table."""

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import NamedTuple

RUNS = 3  # per task; the result is their median


class Tally(NamedTuple):
    """The units of work that a chunk did, and the seconds that count for them."""

    done: int
    seconds: float


Chunk = Callable[[], Tally]  # some milliseconds of work; the next call continues it


@dataclass(frozen=True, kw_only=True)
class Task:
    """A row to be measured."""

    what: str
    package: str  # name on PyPI
    unit: str
    # Seconds per run -> value. Raises ImportError or FileNotFoundError if something is missing.
    measure: Callable[[float], float]
    needs: str = ""  # requirement to pip install, if it is not `package`
    note: str = ""


class Row(NamedTuple):
    """A measured row; if something is missing, `value` is None and `note` says what."""

    what: str
    who: str
    value: float | None
    unit: str
    note: str


def rate(chunk: Chunk, seconds: float) -> float:
    """Return the rate per second: the median of RUNS runs, after a first chunk that compiles."""
    chunk()
    return statistics.median(_run(chunk, seconds) for _ in range(RUNS))


def timed(prepare: Callable[[], Chunk]) -> Callable[[float], float]:
    """Return a `measure` for a Task; `prepare` makes the chunk."""
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
