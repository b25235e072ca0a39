"""The tables of a game: exact values of positions, and the actions that keep them.

    tables = Tablebase(make_game("capture_conquer", size=5))
    solved = tables.probe(position)

Files are opened, and their blocks read, on demand. Of large tables, some blocks are in memory.

Shapes: A actions; E positions of a book.
"""

import bisect
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game
from cc_env.core.numbering import Material, Numbering, swap_sides
from cc_env.core.rules import Int, Position
from cc_env.errors import (
    BadOption,
    BadPosition,
    BadTable,
    InsufficientSpace,
    MissingTable,
    check_integer,
    format_count,
    format_list,
)
from cc_env.jit.compiler import jit, specialize
from cc_env.jit.raw_arrays import as_raw
from cc_env.registry.catalogue import file_stem, rules_id
from cc_env.space import available_memory, format_bytes
from cc_env.tablebase.book import Book, book_path, read_book, value_in_book
from cc_env.tablebase.cache import NOT_READ, BlockCache
from cc_env.tablebase.lookup import NO_TABLES, LoadedTables, NoTables, value_if_certain
from cc_env.tablebase.ranking import (
    BLOCK_SIZE,
    NO_INDEX,
    RankingTables,
    both_views,
    index_of,
    make_ranking_tables,
    material_size,
    material_start,
    position_fields,
)
from cc_env.tablebase.table_file import SUFFIX, ExactTable
from cc_env.tablebase.values import (
    DRAW_VALUE,
    UNKNOWN,
    margin_of,
    ordering,
    result_of,
    terminal_value,
    turns_of,
    value_before_turn,
)

SHIPPED = Path(__file__).parent / "shipped"

_BLOCK_BYTES = 2 * BLOCK_SIZE
_BLOCK_BITS, _WITHIN_BLOCK = BLOCK_SIZE.bit_length() - 1, BLOCK_SIZE - 1
# Limit of the blocks that one position requires.
_MAX_REQUIRED_BLOCKS = 4096
# Memory for the values that have been read.
MIN_CACHE_MEGABYTES, DEFAULT_CACHE_MEGABYTES = _MAX_REQUIRED_BLOCKS * _BLOCK_BYTES >> 20, 1024
_IMPOSSIBLE = -(1 << 62)
# Indices of `counts`.
_MISSING, _REQUIRED = range(2)
# Indices of `output`: fields of `ExactValue`, and the ends of its tuples, which start at _HEAD.
VALUE, _MARGIN, _TURNS, _ACTIONS_END, VALUES_END, KEEPING_END, _HEAD = range(7)


class ExactValue(NamedTuple):
    """The exact value of a position to the player to move."""

    # 1 won, 0 drawn, -1 lost.
    value: int
    # Margin of the win or loss; 0 for a draw.
    margin: int
    # Turns until the end of the game, including a turn in progress; 0 for a draw.
    turns: int
    # Legal actions, ascending; none in a finished game.
    actions: tuple[int, ...]
    # The least value that each action can have: 1 won, 0 drawn, -1 lost.
    values: tuple[int, ...]
    # Actions that certainly keep the value.
    value_keeping: tuple[int, ...]
    # Those that also keep the margin, and win soonest or lose latest.
    best: tuple[int, ...]


class Bounds(NamedTuple):
    """The least and the greatest value that a position can have, to the player to move.

    They differ if the rules may draw the game before the win or loss in the table. Both are UNKNOWN
    if no table has the value.
    """

    least: Int
    greatest: Int


class Probing(NamedTuple):
    """The tables, as far as they have been read, and buffers for compiled probes in one thread."""

    ranking: RankingTables
    values: NDArray[np.uint16]
    # Index in `values` of the first value of each block; NOT_READ if it is not in memory.
    places: NDArray[np.int64]
    # The positions of a book, by ascending indices beyond those of the tables.
    book_indices: NDArray[np.int64]  # [E]
    book_values: NDArray[np.uint16]  # [E]
    # Buffer for the actions of a turn.
    legal: NDArray[np.int32]
    # Blocks to be read before the probe is repeated.
    required: NDArray[np.int64]
    # Number of values that no table has, and of required blocks.
    counts: NDArray[np.int64]  # [2]
    output: NDArray[np.int64]  # [6 + 4 * A]


class Tablebase:
    """The tables of a game in some folders; thread-safe.

    Copies are the same object. Another process reads the same folders.
    """

    def __init__(
        self,
        game: Game,
        *folders: str | os.PathLike[str],
        cache_megabytes: int = DEFAULT_CACHE_MEGABYTES,
    ) -> None:
        """Find the tables in the folders, by default those shipped with the package.

        Of the values that have been read, those read last stay in memory, `cache_megabytes` at
        most. Raises BadOption if the positions of the game are not numbered, if a folder does not
        exist, or for arguments of other types or out of range.
        """
        numbering = _check_arguments(game, folders)
        check_integer("cache_megabytes", cache_megabytes, MIN_CACHE_MEGABYTES)
        self.game, self._numbering = game, numbering
        self._folders = [Path(folder) for folder in folders] or [SHIPPED]
        self.paths = _find_tables(game, numbering, self._folders)
        book = _find_book(game, self._folders)
        self._open: dict[Material, ExactTable] = {}
        # Protects what has been read, and the buffers.
        self._lock = threading.RLock()
        # The materials of the book come last, so that they take no room among the values.
        in_book = [] if book is None else [m for m in book.materials if m not in self.paths]
        ranking = make_ranking_tables(numbering, [*self.paths, *in_book])
        indices, values = np.empty(0, np.int64), np.empty(0, np.uint16)
        if book is not None:
            indices, values = book.for_ranking(ranking, in_book)
        self.book_size = len(indices)
        """The number of positions in the book that no table has."""
        self._views = both_views(self.paths)
        self.sizes = [material_size(view, ranking) for view in self._views]
        """The number of positions of each view: of each material in the frame of either side."""
        self._first_blocks = [material_start(view, ranking) // BLOCK_SIZE for view in self._views]
        num_blocks = 0
        if self._views:
            num_blocks = self._first_blocks[-1] + -(-self.sizes[-1] // BLOCK_SIZE)
        self._cache_megabytes = cache_megabytes
        self._blocks = BlockCache(num_blocks, (cache_megabytes << 20) // _BLOCK_BYTES)
        self._probing = Probing(
            ranking=ranking,
            values=self._blocks.values,
            places=self._blocks.places,
            book_indices=indices,
            book_values=values,
            legal=np.empty(16 * game.num_actions, np.int32),
            required=np.empty(_MAX_REQUIRED_BLOCKS, np.int64),
            counts=np.zeros(2, np.int64),
            output=np.empty(_HEAD + 4 * game.num_actions, np.int64),
        )

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(Tablebase, cache_megabytes=self._cache_megabytes)
        return make, (self.game, *self._folders)

    @property
    def labels(self) -> list[str]:
        """The labels of the materials with a table."""
        return [self._numbering.label(material) for material in self.paths]

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a table nor a position of a book."""
        return not self.paths and not self.book_size

    def require_any(self) -> Self:
        """Return these tables; raise MissingTable if no table exists."""
        if self.is_empty:
            places = ", ".join("the package" if f == SHIPPED else str(f) for f in self._folders)
            raise MissingTable(
                f"{places}: no tables of {self.game!r}; python -m cc_env solve creates them"
            )
        return self

    def has_table(self, position: Position) -> bool:
        """Return whether a table, not only the book, has the positions with the same pieces."""
        material = tuple(int(cells).bit_count() for cells in rules.to_sets(position))
        return max(material, swap_sides(material)) in self.paths

    def position_at(self, view: int, number: int) -> Position:
        """Return the position with a number in a view, an index of `sizes`.

        The first player is to move; the game may be over.
        """
        like, ranking = self.game.initial, self._probing.ranking
        return self.game.make_position(position_fields(number, self._views[view], ranking, like))

    def __repr__(self) -> str:
        book = f", book of {format_count(self.book_size, 'position')}" if self.book_size else ""
        return f"Tablebase({self.game!r}: {format_list(self.labels) or 'none'}{book})"

    def check_game(self, game: Game) -> None:
        """Raise BadOption unless a game has the same rules, so that the values hold in it."""
        other = game.numbering
        has_same_options = other is not None and other.options == self._numbering.options
        if not has_same_options or game.name != self.game.name:
            raise BadOption(f"tables={self!r} belong to another game; expected: {game!r}")

    def __contains__(self, position: Position) -> bool:
        """Return whether the value of a position is known; raise BadTable for a damaged file."""
        return self.get(position) is not None

    def probe(self, position: Position) -> ExactValue:
        """Return the exact value of a position, which may be within a turn or of a finished game.

        Raises MissingTable if no table has it, BadTable for a damaged or unsuitable file,
        BadPosition for a position of another game or of other rules, such as another size, or with
        two pieces on one cell.

        Examples:

            >>> import cc_env
            >>> from cc_env.tablebase import Tablebase
            >>> game = cc_env.make_game("capture_conquer", size=4)
            >>> position = game.from_text("brrb/b3/2r1/4 b")
            >>> exact = Tablebase(game).probe(position)
            >>> exact.value, exact.turns
            (1, 9)
            >>> [game.turn_text(position, (action,)) for action in exact.best]
            ['1,0-2,0']
        """
        solved = self.get(position)
        if solved is None:
            labels = format_list(self.labels) or "none"
            raise MissingTable(
                f"no table has the value of '{self.game.to_text(position)}'; available: {labels}"
            )
        return solved

    def get(self, position: Position) -> ExactValue | None:
        """Return the result of `probe`, or None if no table has the value."""
        if not self._numbering.has_same_rules(position):
            raise BadPosition(f"{position} is not a position of {self.game!r}")
        probing = self._probing
        with self._lock:
            while (length := self._probe_into(position, probing)) < 0:
                if length == _IMPOSSIBLE:
                    raise BadPosition(f"{position}: two pieces stand on one cell")
                for block in probing.required[:-length].tolist():
                    self._read_block(block)
            output = probing.output[:length].tolist()
        return _exact_value(output) if output else None

    @cached_property
    def _probe_into(self) -> Callable[[Position, Probing], Int]:
        """`probe_into` for positions of the game; the lookup of types would take half the time."""
        # The first call reports errors of the game's rules better.
        probe_into(self.game.initial, self._probing)
        return specialize(probe_into, self.game.initial, self._probing)

    def load_all(self) -> LoadedTables:
        """Read all tables into memory, for searches.

        Raises BadTable if a file is damaged, InsufficientSpace if there is too little memory.
        """
        with self._lock:
            if not self._blocks.is_complete:
                self._enlarge_cache()
            self._read_all()
        return LoadedTables(self._tables_ranking, self._probing.values)

    @cached_property
    def _tables_ranking(self) -> RankingTables:
        """The ranking tables without the materials of the book."""
        if not self.book_size:
            return self._probing.ranking
        return make_ranking_tables(self._numbering, self.paths)

    def _enlarge_cache(self) -> None:
        """Make room in memory for all blocks; raise InsufficientSpace."""
        num_blocks = len(self._probing.places)
        required, available = num_blocks * _BLOCK_BYTES, available_memory()
        if available is not None and required > available:
            raise InsufficientSpace(
                f"{self!r}: searches need all tables in memory, {format_bytes(required)}; "
                f"{format_bytes(available)} are free; the player perfect reads only what it needs"
            )
        self._blocks = BlockCache(num_blocks, num_blocks)
        values, places = self._blocks.values, self._blocks.places
        self._probing = self._probing._replace(values=values, places=places)

    def make_probing(self) -> Probing | None:
        """Return the complete tables, and new buffers; raise BadTable if a file is damaged.

        None if the tables are too large to be kept in memory.
        """
        if not self._blocks.is_complete:
            return None
        with self._lock:
            self._read_all()
        names = "legal", "required", "counts", "output"
        buffers = {name: np.zeros_like(getattr(self._probing, name)) for name in names}
        return self._probing._replace(**buffers)

    def table(self, material: Material) -> ExactTable:
        """Return the open table of a material; raise BadTable, MissingTable."""
        material = max(material, swap_sides(material))
        if material not in self.paths:
            raise MissingTable(f"there is no table {self._numbering.label(material)}")
        if material not in self._open:
            path, ranking = self.paths[material], self._probing.ranking
            try:
                self._open[material] = open_table(path, self.game, material, ranking)
            except OSError as error:
                raise BadTable(f"{path}: can no longer be read: {error.strerror}") from None
        return self._open[material]

    def close(self) -> None:
        """Close all files; blocks in memory stay."""
        for table in self._open.values():
            table.close()
        self._open.clear()

    def _read_all(self) -> None:
        """Read the blocks that are not in memory; raise BadTable."""
        for block in np.flatnonzero(self._probing.places == NOT_READ).tolist():
            self._read_block(block)

    def _read_block(self, block: int) -> None:
        """Read a block of values; raise BadTable."""
        if self._probing.places[block] != NOT_READ:
            return
        view = bisect.bisect_right(self._first_blocks, block) - 1
        table = self.table(self._views[view])
        number = block - self._first_blocks[view]
        values = table.block(table.index_of_view(self._views[view]), number)
        self._blocks.add(block, values)


def load_tables(tables: Tablebase | None, game: Game) -> LoadedTables | NoTables:
    """Load tables for a search of `game`.

    Raises BadOption if they are of another game, BadTable if one is damaged.
    """
    if tables is None:
        return NO_TABLES
    tables.check_game(game)
    return tables.load_all()


def _check_arguments(game: object, folders: Iterable[object]) -> Numbering:
    """Return the numbering of a game's positions; raise BadOption as `Tablebase`."""
    if not isinstance(game, Game):
        raise BadOption(f"{game!r} is not a game; expected: make_game(NAME)")
    for folder in folders:
        if not isinstance(folder, str | os.PathLike):
            raise BadOption(f"folder {folder!r}; expected: a path, str or os.PathLike")
    if game.numbering is None:
        raise BadOption(f"{game.name}: there are no exact values, its positions have no numbers")
    return game.numbering


def _find_tables(
    game: Game, numbering: Numbering, folders: Iterable[Path]
) -> Mapping[Material, Path]:
    """Return the files of the game's tables by material, in the order of solving."""
    paths: dict[Material, Path] = {}
    prefix = file_stem(game.name, numbering.options) + "-"
    for folder in folders:
        if not folder.is_dir():
            raise BadOption(f"{folder}: there is no such folder of tables")
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            label = path.name.removesuffix(SUFFIX).removeprefix(prefix)
            material = numbering.parse_label(label)
            if material is not None and path.stem == file_stem(game.name, numbering.options, label):
                paths.setdefault(material, path)
    return dict(sorted(paths.items(), key=lambda item: (numbering.weight(item[0]), item[0])))


def _find_book(game: Game, folders: Iterable[Path]) -> Book | None:
    """Return the game's first book in the folders, or None."""
    paths = [book_path(folder, game) for folder in folders]
    found = next((path for path in paths if path.is_file()), None)
    return read_book(found, game) if found else None


def open_table(path: Path, game: Game, material: Material, ranking: RankingTables) -> ExactTable:
    """Return the open table of a material.

    Raises OSError if the file cannot be opened, BadTable if it is damaged, or of
    another game, other rules or another material.
    """
    assert game.numbering is not None
    table = ExactTable(path)
    label = game.numbering.label(material)
    table.check(game.name, game.numbering.options, rules_id(game.name), label)
    actual = [(view.numbers, view.material) for view in table.header.views]
    expected = [(material_size(view, ranking), view) for view in both_views([material])]
    if actual != expected:
        raise BadTable(f"{path}: numbers and materials {actual}; expected: {expected}")
    return table


def _exact_value(output: list[int]) -> ExactValue:
    """Return the exact value in the output of a probe; slices are faster than single items."""
    actions_end, values_end, keeping_end = output[_ACTIONS_END : KEEPING_END + 1]
    return ExactValue(
        output[VALUE],
        output[_MARGIN],
        output[_TURNS],
        tuple(output[_HEAD:actions_end]),
        tuple(output[actions_end:values_end]),
        tuple(output[values_end:keeping_end]),
        tuple(output[keeping_end:]),
    )


@jit
def probe_into(position: Position, probing: Probing) -> Int:
    """Write the value of a position and of its actions to `output`; return the length written.

    output[VALUE] is 1, 0 or -1. The actions that keep the value extend from output[VALUES_END] to
    output[KEEPING_END], the best actions from there to the end.

    The length is 0 if no table has the value, -N if N blocks, now in `required`, have to be read
    first, and _IMPOSSIBLE if two pieces stand on one cell.
    """
    probing = as_raw(probing)
    sets = rules.to_sets(position)
    occupied = ZERO
    for index in range(len(sets)):
        if sets[index] & occupied:
            return np.int64(_IMPOSSIBLE)
        occupied |= sets[index]
    probing.counts[_MISSING] = probing.counts[_REQUIRED] = 0
    value: Int = np.int64(UNKNOWN) if rules.mid_turn(position) else terminal_value(position)
    bounds = Bounds(value, value)
    count = np.int64(0)
    if value == UNKNOWN:
        count = np.int64(rules.legal_actions(position, probing.legal))
        for index in range(count):
            after = rules.apply(position, np.int64(probing.legal[index]))
            action_bounds = _action_bounds(after, probing, probing.legal[count:])
            probing.output[_HEAD + count + index] = action_bounds.least
            bounds = _better_of(bounds, action_bounds)
    if probing.counts[_REQUIRED]:
        return np.int64(-probing.counts[_REQUIRED])
    is_certain = bounds.least == bounds.greatest and bounds.least != UNKNOWN
    if probing.counts[_MISSING] or not is_certain:
        return np.int64(0)
    return _complete_output(bounds.least, count, probing)


@jit
def _complete_output(value: Int, count: Int, probing: Probing) -> Int:
    """Complete `output`, which has the values of the actions; return its length."""
    output, actions = probing.output, probing.legal[:count]
    values = output[_HEAD + count : _HEAD + 2 * count]
    output[VALUE], output[_MARGIN] = result_of(value), margin_of(value)
    output[_TURNS] = turns_of(value)
    output[_ACTIONS_END], output[VALUES_END] = _HEAD + count, _HEAD + 2 * count
    end = np.int64(_HEAD + 2 * count)
    for index in range(count):
        output[_HEAD + index] = actions[index]
        if result_of(values[index]) == output[VALUE]:
            output[end] = actions[index]
            end += 1
    output[KEEPING_END] = end
    for index in range(count):
        if values[index] == value:
            output[end] = actions[index]
            end += 1
        values[index] = result_of(values[index])
    return end


@jit
def _better_of(best: Bounds, other: Bounds) -> Bounds:
    """Return the bounds of a choice between two actions."""
    return Bounds(_better(best.least, other.least), _better(best.greatest, other.greatest))


@jit
def _better(best: Int, value: Int) -> Int:
    """Return the better of two values to the player to move; either may be UNKNOWN."""
    if best == UNKNOWN or (value != UNKNOWN and ordering(value) > ordering(best)):
        return value
    return best


@jit
def _action_bounds(position: Position, probing: Probing, legal: NDArray[np.int32]) -> Bounds:
    """Return the bounds of an action that leads to `position`, to the player who takes it.

    `legal` is a buffer for the remaining decisions of the turn.
    """
    if not rules.mid_turn(position):
        bounds = _position_bounds(position, probing)
        if bounds.least == UNKNOWN:
            return bounds
        return Bounds(value_before_turn(bounds.greatest), value_before_turn(bounds.least))
    best = Bounds(np.int64(UNKNOWN), np.int64(UNKNOWN))
    count = rules.legal_actions(position, legal)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        best = _better_of(best, _action_bounds(after, probing, legal[count:]))
    return best


@jit
def _position_bounds(position: Position, probing: Probing) -> Bounds:
    """Return the bounds of a position between turns; UNKNOWN if missing, or in a required block.

    Adds the position to the number of missing ones, or the block to those required.
    """
    index = index_of(position, probing.ranking)
    block = index >> _BLOCK_BITS
    if index == NO_INDEX or block >= len(probing.places):
        value = terminal_value(position)
        if value == UNKNOWN:
            value = value_in_book(index, probing.book_indices, probing.book_values)
        if value == UNKNOWN:
            probing.counts[_MISSING] += 1
            return Bounds(value, value)
    elif probing.places[block] == NOT_READ:
        if probing.counts[_REQUIRED] < len(probing.required):
            probing.required[probing.counts[_REQUIRED]] = block
            probing.counts[_REQUIRED] += 1
        return Bounds(np.int64(UNKNOWN), np.int64(UNKNOWN))
    else:
        value = np.int64(probing.values[probing.places[block] + (index & _WITHIN_BLOCK)])
    if value_if_certain(position, value) != UNKNOWN:
        return Bounds(value, value)
    draw = np.int64(DRAW_VALUE)
    return Bounds(value, draw) if result_of(value) < 0 else Bounds(draw, value)
