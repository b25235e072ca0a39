"""A hand-written C program, random_play.c, timed side by side with `listed_moves.play`.

It is compiled by the C compiler of this machine and runs in this process. Both programs are timed
alike: they alternate in chunks of a few milliseconds, measured in CPU time.
"""

import ctypes
import itertools
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks import listed_moves, measure, ours
from benchmarks.measure import RUNS, Chunk, Task, add_clock
from cc_env.games.factory import make_game

COMPILERS = "cc", "gcc", "clang"
OPTIONS = "-O3", "-march=native", "-shared", "-fPIC"
SOURCE = Path(__file__).with_name("random_play.c")
GAMES_PER_CHUNK = 200


class Comparison(NamedTuple):
    """The rate of the C program in turns per second, and our rate divided by it."""

    rate: float
    ratio: float


def tasks() -> list[Task]:
    """Return the tasks, in the order of the table."""
    return [task for size in (6, 8) for task in _tasks_of_size(size)]


def _tasks_of_size(size: int) -> list[Task]:
    """Return the tasks of a board size: the rate of the C program, and our rate divided by it."""
    label, program_name = ours.LISTED.format(size, size), "C, by hand"
    note = f"{SOURCE.name}: bitboards, chains depth first; -O3 -march=native"
    ratio_note = "cc_env's speed over that of the C program, both in turn"
    return [
        Task(label, "turns/s", lambda time: compare(size, time).rate, note, program_name),
        Task(label, "times", lambda time: compare(size, time).ratio, ratio_note, program_name),
    ]


@cache
def compare(size: int, seconds: float) -> Comparison:
    """Alternate both programs for the time of two rows; return medians over all chunks."""
    game = make_game("capture_conquer", size=size)
    programs = listed_moves.play(game, GAMES_PER_CHUNK), _listing(size)
    chunks = [add_clock(program, time.process_time) for program in programs]
    our_rate, rate = measure.compare(chunks, 2 * RUNS * seconds)
    return Comparison(rate, our_rate / rate)


@cache
def load_program() -> ctypes.CDLL:
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
    """Return random play by the C program."""
    play, listed = load_program().play, ctypes.c_int64()
    seeds = itertools.count()
    return lambda: play(size, GAMES_PER_CHUNK, next(seeds), ctypes.byref(listed))
