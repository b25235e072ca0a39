"""Solving a game: one material after the other, in steps that can be interrupted and resumed.

A material takes two bytes of memory for each of its positions and for each position that its turns
lead to, and another one for each of its positions if it is solved by predecessors. The work runs in
several threads. At intervals, and when it is interrupted, the intermediate values are written to a
file next to the table (`.part`), from which the next run resumes. A solved material is verified,
using only values and rules, before its table is written.
"""

import hashlib
import itertools
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.numbering import Material, Numbering
from cc_env.errors import (
    BadOption,
    BadTable,
    InsufficientSpace,
    check_integer,
    is_integer,
    is_number,
)
from cc_env.files import open_atomically
from cc_env.jit.threads import available_cores
from cc_env.registry.catalogue import file_stem, rules_id
from cc_env.solver import predecessors, retrograde
from cc_env.solver.predecessors import MAX_QUIET_TURNS, PROVISIONAL
from cc_env.solver.retrograde import (
    LOSSES,
    MAX_PENDING,
    MAX_TURNS_OF_POSITION,
    MISSING,
    WINS,
    Pass,
    Scratch,
    Work,
    count_values,
    mark_draws,
    solve_acyclic,
    summarize,
    verify_after_pass,
)
from cc_env.space import available_memory, format_bytes
from cc_env.tablebase.ranking import (
    BLOCK_SIZE,
    FIRST_SETS,
    NO_INDEX,
    RankingTables,
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
from cc_env.tablebase.values import MAX_MARGIN, MAX_TURNS, loss_value, margin_of, turns_of

STATE_SUFFIX = ".part"
# Positions in a task of a thread.
CHUNK_SIZE = 2**15
SAVE_INTERVAL_SECONDS = 60.0
# Limit of the share of time for saving.
_MAX_SAVE_SHARE = 0.05
SIGNAL_POLL_SECONDS = 0.5
# Chunks per thread between two opportunities to save.
_CHUNKS_PER_WAVE = 64
# Samples, and positions in each, to measure speed with.
_SAMPLES, _SAMPLE_SIZE = 32, 256
# Estimated number of passes, least and most; by predecessors, of stages that take as long as one.
_PASSES, _STAGES = (3, 40), (1, 3)
# Limit of the number of decisions in a line of play.
_MAX_LINE = 256
_VALUE_BYTES = 2
# Names of stages; the others are "turn N".
_FIRST_PASS, _SETTLING, _VERIFYING = "first pass", "settling", "verifying"
_NO_OPEN_TURNS = np.empty(0, np.uint8)
# First indices of a census.
_LOST, _WON = 0, 1


@dataclass(frozen=True)
class Step:
    """A material to solve."""

    material: Material
    label: str
    path: Path
    # Materials that its turns lead to.
    needed: tuple[Material, ...]
    # Values in the table; positions include symmetric ones.
    numbers: int
    positions: int
    # Memory in bytes, with one thread.
    memory: int
    # Whether the table exists.
    is_done: bool


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
    """Plan how to solve all materials with at most `pieces` pieces: N in all, or AvB by side.

    Raises BadOption for a game without numbering or if no position has these pieces,
    InsufficientSpace if the list of materials does not fit into memory, BadTable if an existing
    table has other rules.
    """
    numbering = game.numbering
    if numbering is None:
        raise BadOption(f"{game.name}: it cannot be solved, its positions are not numbered")
    sides, total = parse_pieces(pieces)
    materials = numbering.materials(sides, total)
    if not materials:
        max_pieces = min(numbering.max_pieces, numbering.num_cells - numbering.min_pieces)
        bounds = f"each side has {numbering.min_pieces} to {max_pieces} pieces"
        raise BadOption(f"pieces={pieces!r}: {game.name} has no such position, {bounds}")
    counts = {
        material: sum(count_positions(numbering, view) for view in both_views([material]))
        for material in materials
    }
    largest = max(counts, key=counts.__getitem__)
    min_memory = _VALUE_BYTES * counts[largest] // (1 + len(numbering.symmetries))
    available = available_memory()
    if available is not None and min_memory > available:
        raise InsufficientSpace(
            f"pieces={pieces!r}: {numbering.label(largest)} has {counts[largest]:,} positions and "
            f"needs {format_bytes(min_memory)} of memory or more; "
            f"{format_bytes(available)} are free; choose fewer pieces"
        )
    return [_plan_step(game, folder, material) for material in materials]


def _plan_step(game: Game, folder: Path, material: Material) -> Step:
    numbering = game.numbering
    assert numbering is not None
    needed = tuple(numbering.prerequisites(material))
    ranking = _make_tables(numbering, material)
    views = both_views([material])
    sizes = [material_size(view, ranking) for view in views]
    label = numbering.label(material)
    path = folder / f"{file_stem(game.name, numbering.options, label)}{SUFFIX}"
    is_done = path.exists()
    if is_done:
        try:
            open_table(path, game, material, ranking).close()
        except BadTable as error:
            raise BadTable(f"{error}. Delete it to solve it again") from None
    tables = sum(part.nbytes for part in ranking[:-1])
    memory = _VALUE_BYTES * _num_values(material, ranking) + tables + 8 * BLOCK_SIZE
    memory += sum(part.nbytes for part in _make_scratch(game, ranking))
    if _has_predecessors(game, material):
        memory += sum(sizes)
    return Step(
        material=material,
        label=label,
        path=path,
        needed=needed,
        numbers=sum(sizes),
        positions=sum(count_positions(numbering, view) for view in views),
        memory=memory,
        is_done=is_done,
    )


def _has_predecessors(game: Game, material: Material) -> bool:
    """Return whether a material is solved by predecessors."""
    numbering = game.numbering
    if numbering is None or numbering.unmoves is None:
        return False
    own, enemy = sum(material[::2]), sum(material[1::2])
    max_turns = max(own, enemy) * (numbering.num_cells - own - enemy)
    return max_turns <= MAX_QUIET_TURNS and game.max_margin == 1


def _make_tables(numbering: Numbering, material: Material) -> RankingTables:
    """Return the ranking tables of a material, the last one, and of those that turns lead to."""
    needed = numbering.prerequisites(material)
    unreachable = {
        view
        for view in both_views(needed)
        if not any(numbering.leads_to(before, view) for before in both_views([material]))
    }
    return make_ranking_tables(numbering, (*needed, material), without_values=unreachable)


def _num_values(material: Material, ranking: RankingTables) -> int:
    """Return the length of the array of values up to those of `material`, the last one."""
    last = both_views([material])[-1]
    return material_start(last, ranking) + material_size(last, ranking)


def _make_work(
    game: Game,
    view: Material,
    ranking: RankingTables,
    values: NDArray[np.uint16],
    open_turns: NDArray[np.uint8] = _NO_OPEN_TURNS,
) -> Work:
    start, scratch = np.int64(material_start(view, ranking)), _make_scratch(game, ranking)
    return Work(ranking, values, np.array(view, np.int64), start, open_turns, scratch)


def _make_scratch(game: Game, ranking: RankingTables) -> Scratch:
    assert game.numbering is not None
    return Scratch(
        first_sets=np.zeros((FIRST_SETS, 5), np.uint64),
        sets=np.empty(len(ranking.cells), np.uint64),
        legal=np.empty(_MAX_LINE * game.num_actions, np.int32),
        after=np.empty((MAX_TURNS_OF_POSITION, len(game.numbering.like)), np.uint64),
        pending=np.empty(MAX_PENDING + len(ranking.cell_maps), np.int64),
    )


def check_space(steps: Sequence[Step], folder: Path) -> None:
    """Raise InsufficientSpace unless the steps fit into memory and their tables on the disk."""
    if not steps:
        return
    largest = max(steps, key=lambda step: step.memory)
    available = available_memory()
    if available is not None and largest.memory > available:
        hint = "" if largest.is_done else "; choose fewer pieces"
        raise InsufficientSpace(
            f"{largest.label} needs {format_bytes(largest.memory)} of memory; "
            f"{format_bytes(available)} are free{hint}"
        )
    disk = required_disk([step for step in steps if not step.is_done])
    free = shutil.disk_usage(_existing_parent(folder)).free
    if disk > free:
        raise InsufficientSpace(
            f"{folder}: the tables need up to {format_bytes(disk)}; "
            f"{format_bytes(free)} are free on that disk"
        )


def required_disk(steps: Sequence[Step]) -> int:
    """Return the maximum disk space of steps in bytes.

    There are two more copies of the largest: the intermediate values, with numbers of open turns,
    and either its blocks while the table is written, or the next intermediate values.
    """
    return sum(2 * step.numbers for step in steps) + max(
        (6 * step.numbers for step in steps), default=0
    )


def _existing_parent(folder: Path) -> Path:
    """Return the folder, or its closest existing parent."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def estimate_seconds(game: Game, steps: Iterable[Step]) -> tuple[float, float]:
    """Return a lower and an upper estimate of the CPU seconds of the unfinished steps.

    The estimate extrapolates from a sample of positions. It is rough because the number of passes
    depends on the length of the longest win.
    """
    remaining = [step for step in steps if not step.is_done]
    numbering = game.numbering
    if numbering is None or not remaining:
        return 0.0, 0.0
    largest = max(remaining, key=lambda step: step.numbers)
    ranking = _make_tables(numbering, largest.material)
    view = both_views([largest.material])[-1]
    size = material_size(view, ranking)
    # Only read, so no memory pages are allocated.
    values = np.zeros(_num_values(largest.material, ranking), np.uint16)
    work, faults = _make_work(game, view, ranking, values), np.zeros(3, np.int64)
    has_predecessors = _has_predecessors(game, largest.material)
    verify = verify_after_pass if has_predecessors else retrograde.verify
    # The first call compiles.
    verify(work, numbering.like, 0, 1, faults)
    starts = np.linspace(0, max(size - _SAMPLE_SIZE, 0), _SAMPLES, dtype=np.int64).tolist()
    samples = [(low, min(low + _SAMPLE_SIZE, size)) for low in starts]
    began = time.process_time()
    for low, high in samples:
        verify(work, numbering.like, low, high, faults)
    cost = (time.process_time() - began) / max(sum(high - low for low, high in samples), 1)
    seconds_per_pass: float = cost * sum(step.numbers for step in remaining)
    least, most = _STAGES if has_predecessors else _PASSES
    return least * seconds_per_pass, most * seconds_per_pass


class Solver:
    """Solves one material."""

    def __init__(self, game: Game, step: Step, *, threads: int | None = None) -> None:
        """Read the required tables; raise BadTable if one is missing or damaged.

        The default number of threads is one per core. Raises BadOption unless it is 1 to 1024.
        """
        if threads is not None:
            check_integer("threads", threads, 1, 1024)
        assert game.numbering is not None
        self.game, self.step, self._numbering = game, step, game.numbering
        # Called after each wave of chunks.
        self.report: ProgressCallback = lambda progress: None
        self._threads = threads or available_cores()
        self._ranking = _make_tables(self._numbering, step.material)
        self._views = both_views([step.material])
        self._has_predecessors = _has_predecessors(game, step.material)
        self._open_turns = {
            view: np.zeros(
                material_size(view, self._ranking) if self._has_predecessors else 0, np.uint8
            )
            for view in self._views
        }
        self._values = np.empty(_num_values(step.material, self._ranking), np.uint16)
        # Number of losses and wins by margin and turns.
        self._census = np.zeros((2, MAX_MARGIN + 1, MAX_TURNS + 2), np.int64)
        for material in step.needed:
            self._read_table(material)
        self._state = _State(game, step)
        self._next_save = math.inf
        self._cpu_start = time.process_time()

    def _read_table(self, material: Material) -> TableHeader:
        """Read the table of a material; return its header."""
        options, label = self._numbering.options, self._numbering.label(material)
        path = self.step.path.parent / f"{file_stem(self.game.name, options, label)}{SUFFIX}"
        try:
            table = open_table(path, self.game, material, self._ranking)
        except FileNotFoundError:
            raise BadTable(f"{path}: this table is required and missing") from None
        for index, view in enumerate(both_views([material])):
            if material_start(view, self._ranking) != NO_INDEX:
                table.read_view(index, self._part(view))
                count_values(self._part(view), self._census)
        table.close()
        return table.header

    def _part(self, view: Material) -> NDArray[np.uint16]:
        """Return the values of a view of a material."""
        start = material_start(view, self._ranking)
        return self._values[start : start + material_size(view, self._ranking)]

    def solve(self) -> TableHeader:
        """Solve, verify and write the table; return its header.

        An interrupted run is resumed by the next one. Raises OSError, BadTable if turns lead to
        positions without a value, or if the verification fails.
        """
        self._state.load(self._parts())
        self._next_save = time.monotonic() + SAVE_INTERVAL_SECONDS
        try:
            if self._state.stage != _VERIFYING:
                self._find_values()
            self._verify_values(verify_after_pass if self._has_predecessors else retrograde.verify)
        except BadTable:
            # The next run must not resume from wrong values.
            self._state.remove()
            raise
        except BaseException:
            self._save()
            raise
        header = self._header()
        write_table(self.step.path, header, [self._part(view) for view in self._views])
        self._state.remove()
        return header

    def _parts(self) -> list[NDArray[Any]]:
        """Return the intermediate results: the values of each view, and its open turns."""
        return [*map(self._part, self._views), *self._open_turns.values()]

    def _find_values(self) -> None:
        """Find all values of the material."""
        if self._state.stage in ("", _FIRST_PASS):
            is_counting = self._has_predecessors
            first = predecessors.count_turns if is_counting else retrograde.initialize
            self._sum_counts(_FIRST_PASS, first)
        if self._numbering.is_acyclic:
            self._sum_counts(_SETTLING, solve_acyclic)
        else:
            self._run_passes()
        for view in self._views:
            if self._has_predecessors:
                predecessors.drop_provisional(self._part(view))
            mark_draws(self._part(view))

    def verify(self) -> TableHeader:
        """Verify the existing table; return its header.

        Raises OSError, BadTable if a value does not follow from the values after the position's
        turns, or if the counts in the header differ from those of the values.
        """
        header = self._read_table(self.step.material)
        self._verify_values(retrograde.verify)
        table_views = tuple(map(self._view, self._views))
        if table_views != header.views:
            raise BadTable(
                f"{self.step.path}: the counts in the header do not follow from the values: "
                f"{header.views}; expected: {table_views}"
            )
        return header

    def _run_passes(self) -> None:
        """Do the passes, for the greatest margin first."""
        state, census = self._state, self._census
        for view in self._views:
            count_values(self._part(view), census)
        # Finished games outside of all tables, such as those without pieces.
        census[:, :, 0] += 1
        if self._has_predecessors:
            census[:, 1] += census[:, margin_of(loss_value(1, 0) | PROVISIONAL)]
        while state.margin:
            if census[:, state.margin, state.turns :].any():
                self._run_pass()
                state.turns += 1
            else:
                state.margin, state.turns, state.done = state.margin - 1, 0, 0

    def _run_pass(self) -> None:
        """Find the wins and losses in one turn more than `turns`."""
        margin, turns = self._state.margin, self._state.turns
        losses, wins = self._census[:, margin, turns] > 0
        if turns == MAX_TURNS:
            raise BadTable(f"{self.step.label}: a win or loss takes more than {MAX_TURNS} turns")
        if not (losses or wins):
            return
        stage = f"turn {turns + 1}"
        if self._has_predecessors:
            changed = self._sum_counts(stage, predecessors.spread, np.int64(turns + 1))
        else:
            sought = Pass(np.int64(margin), np.int64(turns + 1), losses, wins)
            changed = self._sum_counts(stage, retrograde.advance, sought)
        self._census[_WON, margin, turns + 1] += changed[WINS]
        self._census[_LOST, margin, turns + 1] += changed[LOSSES]

    def _verify_values(self, function: Any) -> None:
        """Raise BadTable if a function finds values that do not follow from those after a turn."""
        faults = 0
        for counts in self._run_chunks(_VERIFYING, function):
            if counts[0] and not faults:
                position = self._position_at(int(counts[1]))
            faults += int(counts[0])
        if faults:
            text = self.game.to_text(position)
            raise BadTable(f"{self.step.label}: {faults:,} wrong values, the first of '{text}'")

    def _position_at(self, index: int) -> Any:
        """Return the position whose value has an index."""
        starts = [(material_start(view, self._ranking), view) for view in self._views]
        start, view = max(pair for pair in starts if pair[0] <= index)
        return self._position(view, index - start)

    def _position(self, view: Material, number: int) -> Any:
        fields = position_fields(number, view, self._ranking, self._numbering.like)
        return self.game.make_position(fields)

    def _sum_counts(self, stage: str, function: Any, *arguments: Any) -> NDArray[np.int64]:
        """Run a function over all numbers; return the sum of its counts, int64[3].

        Raises BadTable if turns lead to positions without a value.
        """
        total = np.zeros(3, np.int64)
        for counts in self._run_chunks(stage, function, *arguments):
            total += counts
            if counts[MISSING]:
                raise BadTable(
                    f"{self.step.label}: {counts[MISSING]:,} turns lead to positions "
                    "without a table; solve their materials first"
                )
        return total

    def _run_chunks(
        self, stage: str, function: Any, *arguments: Any
    ) -> Iterator[NDArray[np.int64]]:
        """Run a compiled function over all numbers; yield its counts, int64[3], by chunk.

        A stage that an earlier run began is resumed. The state is saved at intervals.
        """
        state = self._state
        if state.stage != stage:
            state.stage, state.done = stage, 0
        tasks = list(self._tasks())
        ends = np.cumsum([task.high - task.low for task in tasks]).tolist()
        began = time.perf_counter()
        while state.done < len(tasks):
            wave = tasks[state.done : state.done + self._threads * _CHUNKS_PER_WAVE]
            finished: list[NDArray[np.int64]] = []
            try:
                _run_threads(
                    partial(self._run_task, function, arguments), wave, finished, self._threads
                )
            finally:
                state.done += len(finished)
            yield from finished
            seconds = time.perf_counter() - began
            self.report(Progress(self.step.label, stage, ends[state.done - 1], ends[-1], seconds))
            if time.monotonic() > self._next_save:
                self._save()

    def _run_task(
        self, function: Any, arguments: tuple[Any, ...], task: "_Task"
    ) -> NDArray[np.int64]:
        """Run a compiled function over a chunk; return its counts, int64[3]."""
        counts = np.zeros(3, np.int64)
        open_turns = self._open_turns[task.view]
        work = _make_work(self.game, task.view, self._ranking, self._values, open_turns)
        function(work, self._numbering.like, *arguments, task.low, task.high, counts)
        return counts

    def _tasks(self) -> Iterator["_Task"]:
        """Yield the chunks of all views; with predecessors, chunks consist of whole first sets."""
        for view in self._views:
            size = len(self._part(view))
            bounds = np.append(np.arange(0, size, CHUNK_SIZE), size)
            if self._has_predecessors:
                befores = self._befores(view)
                bounds = np.unique(befores[np.searchsorted(befores, bounds)])
            for low, high in itertools.pairwise(bounds.tolist()):
                yield _Task(view, low, high)

    def _befores(self, view: Material) -> NDArray[np.int64]:
        """Return the number of positions before each representative of a view, and their total."""
        ranking = self._ranking
        low, high = ranking.representatives_at[view[0] : view[0] + 2]
        at = ranking.before_at[material_code(view, ranking)]
        return ranking.before[at : at + high - low + 1]

    def _seconds(self) -> float:
        """Return the CPU seconds so far, including those of interrupted runs."""
        return self._state.seconds + time.process_time() - self._cpu_start

    def _save(self) -> None:
        """Save the intermediate results if there are any."""
        began = time.monotonic()
        if self._state.done or self._state.stage not in ("", _FIRST_PASS):
            self._state.save(self._parts(), self._seconds())
        ended = time.monotonic()
        pause = max(SAVE_INTERVAL_SECONDS, (ended - began) / _MAX_SAVE_SHARE)
        self._next_save = ended + pause

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
        values, ranking = self._part(view), self._ranking
        first, last = ranking.first[view[0] : view[0] + 2]
        befores = self._befores(view)
        weights = np.bincount(ranking.orbits[first:last], minlength=len(befores) - 1)
        summary = np.zeros(4, np.int64)
        summarize(values, befores, weights, summary)
        lost, drawn, won, longest = summary.tolist()
        turns = int(turns_of(int(values[longest]))) if len(values) else 0
        position = self._position(view, longest) if turns else None
        return TableView(
            material=view,
            numbers=len(values),
            won=won,
            drawn=drawn,
            lost=lost,
            turns=turns,
            longest=self.game.to_text(position) if turns else "",
        )


class _Task(NamedTuple):
    """A chunk of the numbers of a view."""

    view: Material
    low: int
    high: int


def _run_threads(
    function: Callable[["_Task"], Any], tasks: Sequence[_Task], results: list[Any], threads: int
) -> None:
    """Run a function that releases the GIL in threads; append its results to `results`.

    Tasks begin in their order. If this raises, `results` are those of the first tasks.
    No thread is running when this returns or raises, however often Ctrl+C is pressed, unless it is
    pressed in the moment in which the executor starts a thread: that thread is not waited for.
    """

    def run(task: _Task) -> None:
        results.append(function(task))

    executor = ThreadPoolExecutor(threads)
    try:
        futures = [executor.submit(run, task) for task in tasks]
        # A signal that arrives just before a wait does not end it, hence the timeout.
        for future in futures:
            while wait([future], SIGNAL_POLL_SECONDS).not_done:
                pass
            future.result()
    finally:
        _shut_down(executor)


def _shut_down(executor: Executor) -> None:
    """Cancel waiting tasks and wait for the running ones, ignoring further presses of Ctrl+C."""
    while True:
        with suppress(KeyboardInterrupt):
            executor.shutdown(cancel_futures=True)
            return


class _State:
    """The file with the intermediate values of an unfinished material."""

    def __init__(self, game: Game, step: Step) -> None:
        assert game.numbering is not None
        # The current stage, and the number of its finished tasks.
        self.stage, self.done = "", 0
        # The current margin, 0 after the last pass, and the number of its completed passes.
        self.margin, self.turns = game.max_margin, 0
        # CPU time of earlier runs.
        self.seconds = 0.0
        self._path = step.path.with_name(step.path.name + STATE_SUFFIX)
        options, rules = dict(game.numbering.options), rules_id(game.name)
        self._identity = {
            "game": game.name,
            "options": options,
            "rules": rules,
            "label": step.label,
        }
        self._max_margin = game.max_margin

    def save(self, parts: Sequence[NDArray[Any]], seconds: float) -> None:
        """Write the file atomically; raise OSError."""
        progress = {
            "stage": self.stage,
            "done": self.done,
            "margin": self.margin,
            "turns": self.turns,
            "seconds": seconds,
        }
        header = {**self._identity, **progress}
        header["hash"] = _hash(header, parts)
        with open_atomically(self._path, exclusive=False) as file:
            file.write(json.dumps(header).encode() + b"\n")
            for part in parts:
                part.tofile(file)

    def load(self, parts: Sequence[NDArray[Any]]) -> None:
        """Read the file into `parts`; if it is invalid, set the stage to "" and `parts` to UNKNOWN.

        Elements of one byte are set to 255.
        """
        try:
            with self._path.open("rb") as file:
                header = json.loads(file.readline(10_000))
                is_complete = _read_parts(file, parts)
            digest = header.pop("hash")
            is_valid = is_complete and digest == _hash(header, parts) and self._is_valid(header)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_valid = False
        if is_valid:
            self.stage, self.done = header["stage"], header["done"]
            self.margin, self.turns = header["margin"], header["turns"]
            self.seconds = float(header["seconds"])
        else:
            for part in parts:
                part.fill(np.iinfo(part.dtype).max)

    def _is_valid(self, header: Mapping[str, Any]) -> bool:
        """Return whether a header is of this material, with progress in range."""
        names = "stage", "done", "margin", "turns", "seconds"
        return (
            header == {**self._identity, **{name: header[name] for name in names}}
            and isinstance(header["stage"], str)
            and is_integer(header["done"], 0)
            and is_integer(header["margin"], 0, self._max_margin)
            and is_integer(header["turns"], 0, MAX_TURNS)
            and is_number(header["seconds"])
        )

    def remove(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)


def _read_parts(file: BinaryIO, parts: Sequence[NDArray[Any]]) -> bool:
    """Read the rest of a file into `parts`; return whether it held exactly that many values."""
    counts = [file.readinto(part.data) for part in parts]  # type: ignore[attr-defined]
    return counts == [part.nbytes for part in parts] and not file.read(1)


def _hash(header: Mapping[str, Any], parts: Sequence[NDArray[Any]]) -> str:
    """Return the hash of the header and the values of a state."""
    digest = hashlib.sha256(json.dumps(header).encode())
    for part in parts:
        digest.update(part.data)
    return digest.hexdigest()
