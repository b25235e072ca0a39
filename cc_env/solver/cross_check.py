"""Cross-check of tables: values that alpha-beta proves in random positions, a few turns ahead.

The solver works backwards from the ends of games; the search works forwards, using only the rules.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from cc_env.core.rules import Position
from cc_env.errors import BadTable, check_integer
from cc_env.jit.threads import available_cores
from cc_env.search.alphabeta import AlphaBeta
from cc_env.tablebase.tablebase import ExactValue, Tablebase

# Turns that alpha-beta searches.
DEFAULT_DEPTH = 4
# Positions in a task of a thread.
_TASK_POSITIONS = 500


class ComparisonCounts(NamedTuple):
    """The number of positions compared, and of those whose value the search proved."""

    positions: int = 0
    proven: int = 0


class _Task(NamedTuple):
    """Positions to compare: random numbers of a view."""

    view: int
    size: int
    seed: np.random.SeedSequence


def cross_check(
    tables: Tablebase,
    count: int,
    *,
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
    threads: int | None = None,
) -> Iterator[ComparisonCounts]:
    """Compare random positions of each table with alpha-beta at `depth` turns; yield the counts.

    From each view of a table, its part with one side to move, up to `count` positions are drawn.
    Finished games and positions with a single legal action are skipped. Counts so far are yielded
    after every few hundred positions. The default number of threads is one per core. Raises
    BadOption for values out of range, BadTable if the search proves another value, or, in games
    without margins, if it does not prove an end within `depth` turns.
    """
    check_integer("count", count, 1)
    check_integer("depth", depth, 1)
    parts = [
        (view, min(_TASK_POSITIONS, total - begin))
        for view, total in enumerate(min(count, size) for size in tables.sizes)
        for begin in range(0, total, _TASK_POSITIONS)
    ]
    seeds = np.random.SeedSequence(seed).spawn(len(parts))
    tasks = [_Task(*part, seed) for part, seed in zip(parts, seeds, strict=True)]
    local = threading.local()

    def create_search() -> None:
        local.search = AlphaBeta(tables.game, table_megabytes=1)

    def compare(task: _Task) -> ComparisonCounts:
        return _compare(tables, task, depth, local.search)

    total = ComparisonCounts()
    with ThreadPoolExecutor(threads or available_cores(), initializer=create_search) as executor:
        for counts in executor.map(compare, tasks):
            total = ComparisonCounts(*map(sum, zip(total, counts, strict=True)))
            yield total


def _compare(tables: Tablebase, task: _Task, depth: int, search: AlphaBeta) -> ComparisonCounts:
    """Compare the positions of a task that have a choice; raise BadTable for a difference."""
    rng = np.random.default_rng(task.seed)
    positions = proven = 0
    for number in rng.integers(tables.sizes[task.view], size=task.size).tolist():
        position = tables.position_at(task.view, number)
        solved = tables.get(position)
        if solved is None or len(solved.actions) < 2:
            continue
        positions += 1
        proven += _is_proven(tables, position, solved, depth, search)
    return ComparisonCounts(positions, proven)


def _is_proven(
    tables: Tablebase, position: Position, solved: ExactValue, depth: int, search: AlphaBeta
) -> bool:
    """Return whether the search proves the value; raise BadTable if it proves another.

    In games with margins, a proven win may be a greater one beyond the depth, and a quick loss may
    be avoided by a greater one that ends beyond the depth.
    """
    result = search.search(position, depth=depth)
    margin = solved.value * solved.margin
    is_late = tables.game.max_margin > 1 or not solved.value or solved.turns > depth
    agrees = result.margin == margin
    if result.margin and not result.is_exact:
        # At least as great, and for the same side.
        agrees = margin * result.margin >= result.margin**2
    is_proven = result.is_exact or bool(result.margin)
    if is_proven and not agrees:
        proof = f"alpha-beta proves {result.margin}"
    elif not is_proven and not is_late:
        proof = f"alpha-beta proves nothing in {depth} turns"
    else:
        return is_proven and result.margin == margin
    raise BadTable(
        f"'{tables.game.to_text(position)}': the table has the value {margin}, "
        f"in {solved.turns} turns; {proof}"
    )
