"""Checking tables by another way: what alpha-beta proves in random positions, a few turns ahead.

The solver works backwards from the ends of games; the search looks forward, by the rules alone.
"""

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from cc_env.core.rules import Position
from cc_env.errors import BadOption, BadTable, is_integer
from cc_env.jit.threads import available_cores
from cc_env.search.alphabeta import AlphaBeta
from cc_env.tablebase.tablebase import ExactValue, Tablebase

DEFAULT_DEPTH = 4  # turns that alpha-beta looks ahead, by default
_PART = 500  # positions that a thread compares before it takes others
_LOOK = 0.5  # seconds between looks for Ctrl-C


class ComparisonCounts(NamedTuple):
    """How many positions were compared."""

    positions: int = 0
    proven: int = 0  # of those, in which the search proved a value: the one in the table


def cross_check(
    tables: Tablebase,
    count: int,
    *,
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
    threads: int | None = None,
) -> Iterator[ComparisonCounts]:
    """Compare random positions of each table with alpha-beta to `depth` turns; yield how many.

    `count` positions are drawn of each view of a table (see `Tablebase.position`), or as many as it
    has; those in which the game is over or one action alone is legal are left out. It yields sums
    so far, after each few hundred positions; `threads` compare at once, by default one for each
    core. Raises BadOption for values out of range, BadTable where a value is not what the search
    proves, or, in games without margins, where it does not prove what is to be over within `depth`
    turns.
    """
    for name, value in {"count": count, "depth": depth}.items():
        if not is_integer(value, 1):
            raise BadOption(f"{name}={value!r}; wanted: a whole number from 1")
    parts = [
        (view, min(_PART, most - begin))
        for view, most in enumerate(min(count, size) for size in tables.sizes)
        for begin in range(0, most, _PART)
    ]
    seeds = np.random.SeedSequence(seed).spawn(len(parts))
    tasks = list(zip(parts, seeds, strict=True))[::-1]
    searches = [
        AlphaBeta(tables.game, table_megabytes=1) for _ in range(threads or available_cores())
    ]
    total, running = ComparisonCounts(), dict[Future[ComparisonCounts], AlphaBeta]()
    with ThreadPoolExecutor(len(searches)) as pool:
        while tasks or running:
            while tasks and searches:
                (view, number), seeded = tasks.pop()
                search, rng = searches.pop(), np.random.default_rng(seeded)
                running[pool.submit(_compare, tables, view, number, depth, rng, search)] = search
            done, _ = wait(running, _LOOK, FIRST_COMPLETED)
            for future in done:
                searches.append(running.pop(future))
                total = ComparisonCounts(*map(sum, zip(total, future.result(), strict=True)))
            if done:
                yield total


def _compare(
    tables: Tablebase,
    view: int,
    count: int,
    depth: int,
    rng: np.random.Generator,
    search: AlphaBeta,
) -> ComparisonCounts:
    """Compare so many positions of a view, less those without a choice; raise BadTable."""
    positions = proven = 0
    for number in rng.integers(tables.sizes[view], size=count).tolist():
        position = tables.position_at(view, number)
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

    In games with margins a win that the search proves may be a greater one beyond its depth, and a
    loss that is soon over may be avoided by a greater one that it does not see the end of.
    """
    result = search.search(position, depth=depth)
    margin = solved.value * solved.margin
    is_late = tables.game.max_margin > 1 or not solved.value or solved.turns > depth
    agrees = result.margin == margin
    if result.margin and not result.is_exact:
        agrees = margin * result.margin >= result.margin**2  # as great, and on the same side
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
