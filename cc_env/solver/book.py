"""Making a book of exact values from tables: the first turns of all games worth playing.

A book of N turns has the positions after at most N turns of a game, unless both players gave value
away before the last of them. So the actions in a position after fewer than N turns have values,
too, as long as one player has always kept the value.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.numbering import Material, swap_sides
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption, check_integer
from cc_env.registry.catalogue import rules_id
from cc_env.tablebase.book import MAX_POSITIONS, Book, BookHeader
from cc_env.tablebase.ranking import index_of, make_ranking_tables
from cc_env.tablebase.tablebase import ExactValue, Tablebase
from cc_env.tablebase.values import DRAW_VALUE, loss_value, win_value

MAX_TURNS = 100
# Both players, as bits.
_BOTH = 0b11
# Results of probes in memory; most positions are probed twice, after a turn and before the next.
_MAX_CACHED_PROBES = 2**18
_Probe = Callable[[Position], ExactValue]


def make_book(
    tables: Tablebase, turns: int, report: Callable[[int, int], None] = lambda turn, size: None
) -> tuple[BookHeader, Book]:
    """Return a book of the first turns of a game, 1 to 100, given its tables.

    `report` is called after each turn with its number and that of the positions so far. Raises
    BadOption for another number of turns or if there are more than 16 million positions,
    MissingTable if no table has one of them.
    """
    check_integer("turns", turns, 1, MAX_TURNS)
    start = tables.game.initial
    probe = lru_cache(_MAX_CACHED_PROBES)(tables.probe)
    values = {start: _encode(probe(start))}
    # For positions after the last turn, and for all earlier ones, the players that may have kept
    # the value so far, as bits.
    latest, earlier = {start: _BOTH}, dict[Position, int]()
    for turn in range(1, turns + 1):
        following: dict[Position, int] = {}
        for position, keepers in latest.items():
            # Those with whom the turns from here have been followed already need no second visit.
            keepers &= ~earlier.get(position, 0)
            earlier[position] = earlier.get(position, 0) | keepers
            for after, remaining in (
                _follow(tables.game, probe, position, keepers) if keepers else ()
            ):
                following[after] = following.get(after, 0) | remaining
        for position in following.keys() - values.keys():
            values[position] = _encode(probe(position))
        if len(values) > MAX_POSITIONS:
            raise BadOption(f"turns={turns}: more than {MAX_POSITIONS:,} positions; choose fewer")
        report(turn, len(values))
        latest = following
    return _pack(tables, turns, values)


def _follow(
    game: Game, probe: _Probe, position: Position, keepers: int
) -> Iterator[tuple[Position, int]]:
    """Yield the unfinished positions after a turn, and the players that still keep the value."""
    solved, mover = probe(position), 1 << game.to_move(position)
    for action in solved.actions:
        after = game.apply(position, action, solved.actions)
        remaining = keepers if action in solved.value_keeping else keepers & ~mover
        if game.mid_turn(after):
            yield from _follow(game, probe, after, remaining)
        elif game.outcome(after) == ONGOING:
            yield after, remaining


def _encode(solved: ExactValue) -> int:
    """Return the 16-bit value."""
    if not solved.value:
        return DRAW_VALUE
    encode = win_value if solved.value > 0 else loss_value
    return int(encode(solved.margin, solved.turns))


def _pack(tables: Tablebase, turns: int, values: dict[Position, int]) -> tuple[BookHeader, Book]:
    """Return a book of positions and their values."""
    game, numbering = tables.game, tables.game.numbering
    assert numbering is not None
    found = {max(material, swap_sides(material)) for material in map(_material, values)}
    materials = sorted(found, key=lambda material: (numbering.weight(material), material))
    ranking = make_ranking_tables(numbering, materials)
    # Symmetric positions have one index.
    by_index = {int(index_of(position, ranking)): value for position, value in values.items()}
    indices = np.array(sorted(by_index), np.int64)
    book = Book(
        materials, ranking, indices, np.array([by_index[i] for i in indices.tolist()], np.uint16)
    )
    header = BookHeader(
        game=game.name,
        options=dict(numbering.options),
        rules=rules_id(game.name),
        labels=tuple(map(numbering.label, materials)),
        start=game.to_text(game.initial),
        turns=turns,
        positions=len(indices),
    )
    return header, book


def _material(position: Position) -> Material:
    return tuple(int(cells).bit_count() for cells in rules.to_sets(position))
