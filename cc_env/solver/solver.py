"""Solving a game: its materials one after the other, in steps that can be killed and continued.

A material takes two bytes of memory for each of its positions and for each position that its turns
lead to. Its passes run in several threads; once in a while, and when they are interrupted, what is
known is written to a file beside the table (`.part`), from which the next run goes on. A finished
material is verified before its table is written, by values and rules alone.
"""

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.numbering import Material
from cc_env.errors import BadOption, BadTable, InsufficientSpace, is_integer, is_number
from cc_env.files import open_atomically
from cc_env.jit.threads import available_cores
from cc_env.registry.catalogue import file_stem, rules_id
from cc_env.solver import retrograde
from cc_env.solver.retrograde import (
    LOSSES,
    MISSING,
    WINS,
    Pass,
    Work,
    count_values,
    initialize,
    mark_draws,
    solve_acyclic,
    summarize,
)
from cc_env.tablebase.ranking import (
    BLOCK_SIZE,
    both_views,
    count_positions,
    make_ranking_tables,
    material_code,
    material_size,
    material_start,
    parse_pieces,
    position_fields,
)
from cc_env.tablebase.table_file import SUFFIX, TableHeader, TableView, write_table
from cc_env.tablebase.tablebase import open_table
from cc_env.tablebase.values import MAX_MARGIN, MAX_TURNS, UNKNOWN, turns_of

STATE_SUFFIX = ".part"
CHUNK_SIZE = 2**15  # numbers that a thread takes at once
SAVE_INTERVAL_SECONDS = 60.0  # seconds
_WAVE = 64  # chunks for each thread, after which what is known can be saved
_SAMPLES, _SAMPLE = 32, 256  # parts of the numbers, and how many of each, to measure speed by
# Estimated number of passes: best and worst case.
_MIN_PASSES, _MAX_PASSES = 3, 40
_NESTED, _LONGEST = 16, 256  # lists of actions: of the decisions of a turn, of the turns of a game
_LOOK = 0.5  # seconds; a signal that comes just before a wait begins does not end the wait
_VALUE = 2  # bytes
_LOST, _WON = 0, 1  # first index of a census


@dataclass(frozen=True)
class Step:
    """A material to solve."""

    material: Material
    label: str
    path: Path
    needed: tuple[Material, ...]  # the materials that its turns lead to
    numbers: int  # values, for both sides to move
    positions: int  # the same, symmetric ones included
    memory: int  # bytes
    is_done: bool  # its table is there

    @property
    def disk(self) -> int:
        """Bytes on the disk, beside the table, while it is saved and written: two copies."""
        return 4 * self.numbers


class Progress(NamedTuple):
    """Progress of a step."""

    label: str
    stage: str
    # Positions processed in this stage.
    done: int
    total: int
    # Time since the start of the stage.
    seconds: float


ProgressCallback = Callable[[Progress], None]


def plan(game: Game, folder: Path, pieces: str) -> list[Step]:
    """Plan how to solve all materials with at most `pieces` pieces, see `parse_pieces`.

    Raises BadOption for a game without numbering or if no position has these pieces,
    InsufficientSpace if the list of materials does not fit into memory, BadTable if an existing
    table has other rules.
    """
    numbering = game.numbering
    if numbering is None:
        raise BadOption(f"{game.name}: it cannot be solved, its positions have no numbers")
    sides, total = parse_pieces(pieces)
    materials = numbering.materials(sides, total)
    if not materials:
        most = min(numbering.max_pieces, numbering.num_cells - numbering.min_pieces)
        fewest = f"each side has {numbering.min_pieces} to {most} pieces"
        raise BadOption(f"pieces={pieces!r}: {game.name} has no such position, {fewest}")
    counts = {
        material: sum(count_positions(numbering, view) for view in both_views([material]))
        for material in materials
    }
    largest = max(counts, key=counts.__getitem__)
    least = _VALUE * counts[largest] // (1 + len(numbering.symmetries))
    available = available_memory()
    if available is not None and least > available:
        raise InsufficientSpace(
            f"pieces={pieces!r}: {numbering.label(largest)} has {counts[largest]:,} positions and "
            f"needs {format_bytes(least)} of memory or more; {format_bytes(available)} are free; "
            "solve fewer pieces"
        )
    return [_step(game, folder, material) for material in materials]


def _step(game: Game, folder: Path, material: Material) -> Step:
    numbering = game.numbering
    assert numbering is not None
    needed = tuple(numbering.prerequisites(material))
    numbers = make_ranking_tables(numbering, (*needed, material))
    shown = both_views([material])
    own = [material_size(view, numbers) for view in shown]
    end = material_start(shown[-1], numbers) + own[-1]  # with the gaps between materials
    label = numbering.label(material)
    path = folder / f"{file_stem(game.name, numbering.options, label)}{SUFFIX}"
    is_done = path.exists()
    if is_done:
        try:
            open_table(path, game, material, numbers).close()
        except BadTable as error:
            raise BadTable(f"{error}. Delete it, and it is made again") from None
    tables = sum(part.nbytes for part in numbers[:-1])
    return Step(
        material=material,
        label=label,
        path=path,
        needed=needed,
        numbers=sum(own),
        positions=sum(count_positions(numbering, view) for view in shown),
        memory=_VALUE * end + tables + 8 * BLOCK_SIZE,
        is_done=is_done,
    )


def check_space(steps: Sequence[Step], folder: Path) -> None:
    """Raise InsufficientSpace unless the steps fit into memory and their tables on the disk."""
    if not steps:
        return
    largest = max(steps, key=lambda step: step.memory)
    available = available_memory()
    if available is not None and largest.memory > available:
        raise InsufficientSpace(
            f"{largest.label} needs {format_bytes(largest.memory)} of memory; "
            f"{format_bytes(available)} are free{'' if largest.is_done else '; solve fewer pieces'}"
        )
    disk = required_disk([step for step in steps if not step.is_done])
    free = shutil.disk_usage(_existing(folder)).free
    if disk > free:
        raise InsufficientSpace(
            f"{folder}: the tables need up to {format_bytes(disk)}; "
            f"{format_bytes(free)} are free on that disk"
        )


def required_disk(steps: Sequence[Step]) -> int:
    """Return the bytes on the disk that steps need at most, while the largest is being written."""
    return sum(2 * step.numbers for step in steps) + max((step.disk for step in steps), default=0)


def _existing(folder: Path) -> Path:
    """Return the folder, or the closest one above it that is there."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def available_memory() -> int | None:
    """Return how many bytes of memory can be used; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) * 1024, _left_to_container())
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_to_container() -> int:
    """Return how many bytes a container may still use; a great number where nothing limits it.

    Files that the system keeps in memory make room for what is needed.
    """
    folder = Path("/sys/fs/cgroup")
    try:
        most, used = (int((folder / f"memory.{n}").read_text()) for n in ("max", "current"))
        cached = re.search(r"^inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.M)
    except (OSError, ValueError):  # the file is missing, or contains "max": no limit
        return 1 << 62
    return max(0, most - used + (int(cached[1]) if cached else 0))


def format_bytes(size: float) -> str:
    """Return a number of bytes with a binary unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def estimate_seconds(game: Game, steps: Iterable[Step]) -> tuple[float, float]:
    """Return a lower and an upper estimate of the CPU seconds of the unfinished steps.

    The estimate extrapolates from a sample of positions. It is rough because the number of passes
    depends on the length of the longest win.
    """
    left = [step for step in steps if not step.is_done]
    numbering = game.numbering
    if numbering is None or not left:
        return 0.0, 0.0
    largest = max(left, key=lambda step: step.numbers)
    numbers = make_ranking_tables(numbering, (*largest.needed, largest.material))
    view = both_views([largest.material])[-1]
    start, size = material_start(view, numbers), material_size(view, numbers)
    values = np.zeros(start + size, np.uint16)  # read only, so that it takes no memory
    work = Work(numbers, values, np.array(view, np.int64), np.int64(start))
    legal, faults = np.empty(_NESTED * game.num_actions, np.int32), np.zeros(3, np.int64)
    retrograde.verify(work, numbering.like, 0, 1, legal, faults)  # compiles
    parts = np.linspace(0, max(size - _SAMPLE, 0), _SAMPLES, dtype=np.int64)
    began = time.process_time()
    for low in parts.tolist():
        retrograde.verify(work, numbering.like, low, min(low + _SAMPLE, size), legal, faults)
    looked_at = sum(min(low + _SAMPLE, size) - low for low in parts.tolist())
    cost = (time.process_time() - began) / max(looked_at, 1)
    once: float = cost * sum(step.numbers for step in left)
    return _MIN_PASSES * once, _MAX_PASSES * once


class Solver:
    """Solves one material."""

    def __init__(self, game: Game, step: Step, *, threads: int | None = None) -> None:
        """Read the tables that are needed; raise BadTable where one is missing or damaged.

        `threads` run at once, by default one for each core. Raises BadOption for fewer than one.
        """
        if threads is not None and not is_integer(threads, 1, 1024):
            raise BadOption(f"threads={threads!r}; it is 1 to 1024")
        assert game.numbering is not None
        self.game, self.step, self._numbering = game, step, game.numbering
        self.report: ProgressCallback = lambda progress: None  # called once in a while
        self._threads = threads or available_cores()
        self._numbers = make_ranking_tables(self._numbering, (*step.needed, step.material))
        self._views = both_views([step.material])
        last = self._views[-1]
        end = material_start(last, self._numbers) + material_size(last, self._numbers)
        self._values = np.full(end, UNKNOWN, np.uint16)
        self._census = np.zeros((2, MAX_MARGIN + 1, MAX_TURNS + 2), np.int64)  # by margin, turns
        for material in step.needed:
            self._read(material)
        self._state = _State(game, step)
        self._saved = time.monotonic()
        self._cpu = time.process_time()

    def _read(self, material: Material) -> TableHeader:
        """Read the values of a material that turns lead to; return the header of its table."""
        options, label = self._numbering.options, self._numbering.label(material)
        path = self.step.path.parent / f"{file_stem(self.game.name, options, label)}{SUFFIX}"
        try:
            table = open_table(path, self.game, material, self._numbers)
        except FileNotFoundError:
            raise BadTable(f"{path}: it is needed first, and missing") from None
        for part in table.read([self._part(view) for view in both_views([material])]):
            count_values(part, self._census)
        table.close()
        return table.header

    def _part(self, view: Material) -> NDArray[np.uint16]:
        """Return the values of a material as one side sees it."""
        start = material_start(view, self._numbers)
        return self._values[start : start + material_size(view, self._numbers)]

    def solve(self) -> TableHeader:
        """Solve, verify and write the table; return its header.

        An interrupted run is resumed by the next one. Raises BadTable where turns lead to
        positions without a value, or where verification finds a fault; OSError.
        """
        try:
            if not self._state.load([self._part(view) for view in self._views]):
                self._sum("first pass", initialize)
                self._state.has_begun = True
            if self._numbering.is_acyclic:
                self._settle()
            else:
                self._passes()
        except BaseException:
            self._save()
            raise
        for view in self._views:
            mark_draws(self._part(view))
        self._verify()
        header = self._header()
        write_table(self.step.path, header, [self._part(view) for view in self._views])
        self._state.remove()
        return header

    def verify(self) -> TableHeader:
        """Verify the existing table; return its header.

        Raises BadTable where a value does not follow from those that its turns lead to, or where
        the counts in the header are not those of the values; OSError.
        """
        header = self._read(self.step.material)
        self._verify()
        table_views = tuple(map(self._view, self._views))
        if table_views != header.views:
            raise BadTable(
                f"{self.step.path}: it has {table_views}; its header says {header.views}"
            )
        return header

    def _settle(self) -> None:
        legal = _LONGEST * self.game.num_actions
        self._complain_of_missing(self._sum("settling", solve_acyclic, legal=legal))

    def _passes(self) -> None:
        """Do the passes, for the greatest margin first."""
        state, census = self._state, self._census
        for view in self._views:
            count_values(self._part(view), census)
        census[:, :, 0] += 1  # finished games that are in no table, such as those without pieces
        while state.margin:
            if census[:, state.margin, state.turns :].any():
                self._pass()
                state.turns += 1
            else:
                state.margin, state.turns = state.margin - 1, 0

    def _pass(self) -> None:
        """Find what is won or lost in one turn more than `turns`."""
        margin, turns = self._state.margin, self._state.turns
        losses, wins = self._census[:, margin, turns] > 0
        if turns == MAX_TURNS:
            raise BadTable(f"{self.step.label}: an end in more than {MAX_TURNS} turns")
        if not (losses or wins):
            return
        sought = Pass(np.int64(margin), np.int64(turns + 1), losses, wins)
        legal = _NESTED * self.game.num_actions
        changed = self._sum(f"turn {sought.turns}", retrograde.advance, sought, legal=legal)
        self._complain_of_missing(changed)
        self._census[_WON, sought.margin, sought.turns] += changed[WINS]
        self._census[_LOST, sought.margin, sought.turns] += changed[LOSSES]

    def _complain_of_missing(self, changed: NDArray[np.int64]) -> None:
        if changed[MISSING]:
            raise BadTable(f"{self.step.label}: {changed[MISSING]:,} turns lead to no table")

    def _verify(self) -> None:
        """Raise BadTable where a value does not follow from those that its turns lead to."""
        faults = 0
        legal = _NESTED * self.game.num_actions
        for work, wrong in self._run("verifying", retrograde.verify, legal=legal):
            if wrong[0] and not faults:
                position = self._position(work.material, int(wrong[1]))
            faults += int(wrong[0])
        if faults:
            text = self.game.to_text(position)
            self._state.remove()  # whatever is wrong, the next run does not begin with it
            raise BadTable(f"{self.step.label}: {faults:,} wrong values, the first of '{text}'")

    def _position(self, material: NDArray[np.int64], number: int) -> Any:
        fields = position_fields(number, material.tolist(), self._numbers, self._numbering.like)
        return self.game.make_position(fields)

    def _sum(self, stage: str, function: Any, *more: Any, legal: int = 0) -> NDArray[np.int64]:
        """Run a function over all numbers; return the sum of its counts, int64[3]."""
        counts = np.zeros(3, np.int64)
        for _, part in self._run(stage, function, *more, legal=legal):
            counts += part
        return counts

    def _run(
        self, stage: str, function: Any, *more: Any, legal: int = 0
    ) -> Iterator[tuple[Work, NDArray[np.int64]]]:
        """Run a function over all numbers, in threads; yield its counts, int64[3], by chunk.

        `legal` is the size of its scratch space for actions. What is known is saved meanwhile.
        """
        tasks = list(self._tasks())
        total, done = sum(high - low for _, low, high in tasks), 0
        like, began = self._numbering.like, time.perf_counter()
        waves = range(0, len(tasks), self._threads * _WAVE)
        for first in waves:
            wave = tasks[first : first + waves.step]
            yield from _counted(function, wave, ((like, *more), legal), self._threads)
            done += sum(high - low for _, low, high in wave)
            seconds = time.perf_counter() - began
            self.report(Progress(self.step.label, stage, done, total, seconds))
            if time.monotonic() - self._saved > SAVE_INTERVAL_SECONDS and stage != "verifying":
                self._save()

    def _tasks(self) -> Iterator[tuple[Work, int, int]]:
        for view in self._views:
            start, size = material_start(view, self._numbers), len(self._part(view))
            work = Work(self._numbers, self._values, np.array(view, np.int64), np.int64(start))
            for low in range(0, size, CHUNK_SIZE):
                yield work, low, min(size, low + CHUNK_SIZE)

    def _seconds(self) -> float:
        """Return the seconds of CPU so far, those of runs that were stopped included."""
        return self._state.seconds + time.process_time() - self._cpu

    def _save(self) -> None:
        """Save what is known, once the first pass is done."""
        if self._state.has_begun:
            self._state.save([self._part(view) for view in self._views], self._seconds())
        self._saved = time.monotonic()

    def _header(self) -> TableHeader:
        return TableHeader(
            game=self.game.name,
            options=dict(self._numbering.options),
            rules=rules_id(self.game.name),
            label=self.step.label,
            views=tuple(map(self._view, self._views)),
            seconds=round(self._seconds(), 1),
        )

    def _view(self, view: Material) -> TableView:
        values, numbers = self._part(view), self._numbers
        low, high = numbers.own_at[view[0] : view[0] + 2]
        first, last = numbers.first[view[0] : view[0] + 2]
        weights = np.bincount(numbers.orbit[first:last], minlength=high - low)
        at = numbers.before_at[material_code(view, numbers)]
        befores = numbers.before[at : at + high - low + 1]
        counts = np.zeros(4, np.int64)  # lost, drawn, won, the number with the most turns
        summarize(values, befores, weights, counts)
        longest = int(counts[3])
        turns = int(turns_of(int(values[longest]))) if len(values) else 0
        position = self._position(np.array(view, np.int64), longest) if turns else None
        return TableView(
            material=view,
            numbers=len(values),
            won=int(counts[2]),
            drawn=int(counts[1]),
            lost=int(counts[0]),
            turns=turns,
            longest=self.game.to_text(position) if turns else "",
        )


def _counted(
    function: Any, tasks: Sequence[tuple[Work, int, int]], given: tuple[Any, int], threads: int
) -> list[tuple[Work, NDArray[np.int64]]]:
    """Run a compiled function that releases the GIL in threads; return the counts of each task.

    `given` are its further arguments, and the length of the scratch array of legal actions.
    """
    more, legal = given
    waiting, gate = iter(tasks), _Gate()
    results: list[tuple[Work, NDArray[np.int64]]] = []
    errors: list[BaseException] = []

    def lane() -> None:
        scratch = [np.empty(legal, np.int32)] if legal else []
        for work, low, high in waiting:
            counts = np.zeros(3, np.int64)
            if not gate.enter():
                break
            try:
                function(work, *more, low, high, *scratch, counts)
                results.append((work, counts))
            except BaseException as error:
                errors.append(error)
                break
            finally:
                gate.leave()

    lanes = [threading.Thread(target=lane, daemon=True) for _ in range(threads)]
    try:
        for thread in lanes:
            thread.start()
        for thread in lanes:
            while thread.is_alive():
                thread.join(_LOOK)
    finally:
        gate.close()
    if errors:
        raise errors[0]
    return results


class _Gate:
    """Gate that threads pass before they write values; none passes after it is closed."""

    def __init__(self) -> None:
        self._at_work, self._is_closed = 0, False
        self._changed = threading.Condition()

    def enter(self) -> bool:
        """Enter unless the gate is closed; return whether the thread entered."""
        with self._changed:
            self._at_work += not self._is_closed
            return not self._is_closed

    def leave(self) -> None:
        """Leave; a closing thread waits for this."""
        with self._changed:
            self._at_work -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Close the gate and wait for the threads inside, even if Ctrl+C is pressed."""
        while True:
            with suppress(KeyboardInterrupt):
                self._wait()
                return

    def _wait(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._at_work)


class _State:
    """The file with the intermediate values of an unfinished material."""

    def __init__(self, game: Game, step: Step) -> None:
        assert game.numbering is not None
        self.has_begun = False  # the first pass is done
        self.margin, self.turns = game.max_margin, 0  # the passes done, see `Solver._passes`
        self.seconds = 0.0  # of CPU, of earlier runs
        self._path = step.path.with_name(step.path.name + STATE_SUFFIX)
        options, rules = dict(game.numbering.options), rules_id(game.name)
        told = {"game": game.name, "options": options, "rules": rules, "label": step.label}
        self._of, self._most = told, game.max_margin

    def save(self, parts: Sequence[NDArray[np.uint16]], seconds: float) -> None:
        """Write the file atomically; raise OSError."""
        told = {**self._of, "margin": self.margin, "turns": self.turns, "seconds": seconds}
        told["hash"] = _hash(told, parts)
        with open_atomically(self._path, exclusive=False) as file:
            file.write(json.dumps(told).encode() + b"\n")
            for part in parts:
                part.tofile(file)

    def load(self, parts: Sequence[NDArray[np.uint16]]) -> bool:
        """Read the file into `parts`, which are UNKNOWN; return False if it is not whole.

        Then nothing is changed.
        """
        try:
            with self._path.open("rb") as file:
                told = json.loads(file.readline(10_000))
                is_filled = _read_parts(file, parts)
            digest, margin, turns = told.pop("hash"), told["margin"], told["turns"]
            seconds = told["seconds"]
            is_ours = told == {**self._of, "margin": margin, "turns": turns, "seconds": seconds}
            in_range = is_integer(margin, 1, self._most) and is_integer(turns, 0, MAX_TURNS)
            in_range = in_range and is_number(seconds)
            self.has_begun = is_ours and in_range and is_filled and digest == _hash(told, parts)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        if self.has_begun:
            self.margin, self.turns, self.seconds = margin, turns, float(seconds)
            return True
        for part in parts:
            part[:] = UNKNOWN
        return False

    def remove(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)


def _read_parts(file: BinaryIO, parts: Sequence[NDArray[np.uint16]]) -> bool:
    """Read the rest of a file into `parts`; return whether it held exactly that many values."""
    counts = [file.readinto(part.data) for part in parts]  # type: ignore[attr-defined]
    return counts == [part.nbytes for part in parts] and not file.read(1)


def _hash(told: Mapping[str, Any], parts: Sequence[NDArray[np.uint16]]) -> str:
    """Return the hash of the header and the values of a state."""
    digest = hashlib.sha256(json.dumps(told).encode())
    for part in parts:
        digest.update(part.data)
    return digest.hexdigest()
