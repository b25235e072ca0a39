"""A hand-written C program, random_play.c, timed side by side with `ours.play_listed`.

It is compiled by the C compiler of this machine and runs in this process. Both programs are timed
alike: they alternate in chunks of a few milliseconds, measured in CPU time.
"""

import ctypes
import itertools
import shutil
import statistics
import subprocess
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import ours
from benchmarks.measure import RUNS, Chunk, Tally, Task
from cc_env.games.factory import make_game

COMPILERS = "cc", "gcc", "clang"
OPTIONS = "-O3", "-march=native", "-shared", "-fPIC"
SOURCE = Path(__file__).with_name("random_play.c")
GAMES = 200  # per chunk


class Race(NamedTuple):
    """The result of alternating chunks."""

    rate: float  # turns per second of the C program
    ratio: float  # our rate divided by it


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    return [task for size in (6, 8) for task in _tasks(size)]


def _tasks(size: int) -> list[Task]:
    task = partial(Task, what=ours.LISTED.format(size, size), package="C, by hand")
    return [
        task(
            unit="turns/s",
            measure=lambda seconds: race(size, seconds).rate,
            note=f"{SOURCE.name}: bitboards, chains depth first; -O3 -march=native",
        ),
        task(
            unit="times",
            measure=lambda seconds: race(size, seconds).ratio,
            note="cc_env's speed over that of the C program, both in turn",
        ),
    ]


@cache
def race(size: int, seconds: float) -> Race:
    """Alternate both programs for the time of two rows; return medians over all chunks."""
    chunks = ours.listing(make_game("capture_conquer", size=size), GAMES), _listing(size)
    for chunk in chunks:
        chunk()
    rates: tuple[list[float], list[float]] = [], []
    began = time.process_time()
    while not rates[0] or time.process_time() - began < 2 * RUNS * seconds:
        for chunk, mine in zip(chunks, rates, strict=True):
            tally = chunk()
            mine.append(tally.done / tally.seconds)
    our_rate, rate = map(statistics.median, rates)
    return Race(rate, our_rate / rate)


@cache
def program() -> ctypes.CDLL:
    """Compile and load the C program; raise FileNotFoundError if there is no compiler."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise FileNotFoundError(f"there is no C compiler: {', '.join(COMPILERS)}")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "random_play.so")
        subprocess.run([compiler, *OPTIONS, "-o", library, SOURCE], check=True)
        loaded = ctypes.CDLL(str(library))
    counter = ctypes.POINTER(ctypes.c_int64)
    loaded.play.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_uint64, counter
    loaded.perft.argtypes = ctypes.c_int, ctypes.c_int
    loaded.play.restype = loaded.perft.restype = ctypes.c_int64
    return loaded


def _listing(size: int) -> Chunk:
    play, listed = program().play, ctypes.c_int64()
    seeds = itertools.count()

    def chunk() -> Tally:
        began = time.process_time()
        done = play(size, GAMES, next(seeds), ctypes.byref(listed))
        return Tally(done, time.process_time() - began)

    return chunk
