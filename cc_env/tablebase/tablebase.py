"""All tables of a game in some folders: what a position is worth, and which actions keep that.

    tables = Tablebase(make_game("capture_conquer", size=5))
    solved = tables.probe(position)

Files are opened, and their blocks read, when a position first needs them.

Shapes: A actions.
"""

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ZERO
from cc_env.core.game import Game
from cc_env.core.numbering import Material, Numbering, swap_sides
from cc_env.core.rules import Int, Position
from cc_env.errors import BadOption, BadPosition, BadTable, MissingTable, format_list
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.registry.catalogue import file_stem, rules_id
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

SHIPPED = Path(__file__).parent / "shipped"  # the small ones, which are part of the package

_BLOCK_BITS = BLOCK_SIZE.bit_length() - 1
_MOST_WANTED = 4096  # blocks that one position can need
_IMPOSSIBLE = -(1 << 62)
_MISSING, _WANTED = range(2)  # indices of `counts`
_VALUE, _MARGIN, _TURNS, _ACTIONS_END, _VALUES_END, _KEEPING_END, _HEAD = range(7)  # of `told`


class ExactValue(NamedTuple):
    """The exact value of a position, to the player to move."""

    value: int  # 1 won, 0 drawn, -1 lost
    margin: int  # by which it is won or lost; 0 for a draw
    turns: int  # until the game is over, a turn that has begun included; 0 for a draw
    actions: tuple[int, ...]  # the legal ones, ascending; none where the game is over
    values: tuple[int, ...]  # of each of them at least, as in `value`; see `Bounds`
    value_keeping: tuple[int, ...]  # those that certainly keep the value
    best: tuple[int, ...]  # those of them that keep the margin, and win soonest or lose latest


class Bounds(NamedTuple):
    """The least and the greatest value, to the player to move, that a position can have.

    They differ where the rules may draw the game before the win or the loss in the table: it is
    worth that, or a draw. Both are UNKNOWN where nothing is known.
    """

    least: Int
    greatest: Int


class Probing(NamedTuple):
    """What compiled code needs to look values up: the tables, as far as they have been read."""

    numbers: RankingTables
    values: NDArray[np.uint16]
    is_read: NDArray[np.bool_]  # by block
    legal: NDArray[np.int32]  # scratch space for the actions of a turn
    wanted: NDArray[np.int64]  # blocks that have to be read first
    counts: NDArray[np.int64]  # [2] values that no table has, blocks wanted
    told: NDArray[np.int64]  # [6 + 4 * A] the fields of `ExactValue`, and where its tuples end


class Tablebase:
    """The tables of a game that there are in some folders; safe to use from many threads.

    Copies are the same object; in another process the same folders are looked into.
    """

    def __init__(self, game: Game, *folders: str | os.PathLike[str]) -> None:
        """Look into the folders; without any, use the tables that the package ships with.

        Raises BadOption for a game whose positions are not numbered, a folder that is not there, or
        arguments of other types.
        """
        if not isinstance(game, Game):
            raise BadOption(f"{game!r} is not a game; make_game(NAME) makes one")
        for folder in folders:
            if not isinstance(folder, str | os.PathLike):
                raise BadOption(f"{folder!r} is not the name of a folder")
        if game.numbering is None:
            raise BadOption(
                f"{game.name}: there are no exact values, its positions have no numbers"
            )
        self.game, self._numbering = game, game.numbering
        self._folders = [Path(folder) for folder in folders] or [SHIPPED]
        self.paths = _find(game, game.numbering, self._folders)
        self._open: dict[Material, ExactTable] = {}
        self._lock = threading.RLock()  # of what is read, and of the scratch space
        numbers = make_ranking_tables(game.numbering, self.paths)
        self._blocks = _Blocks.of(list(self.paths), numbers)
        self._views = both_views(self.paths)
        self.sizes = [material_size(view, numbers) for view in self._views]
        """How many numbers each view has, see `position`: of a material as either side sees it."""
        count = self._blocks.total
        self._probing = Probing(
            numbers=numbers,
            values=np.empty(count * BLOCK_SIZE, np.uint16),  # memory is used where it is written to
            is_read=np.zeros(count, np.bool_),
            legal=np.empty(16 * game.num_actions, np.int32),
            wanted=np.empty(_MOST_WANTED, np.int64),
            counts=np.zeros(2, np.int64),
            told=np.empty(_HEAD + 4 * game.num_actions, np.int64),
        )

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Tablebase, (self.game, *self._folders)

    @property
    def labels(self) -> list[str]:
        """The names of the materials that there are tables of."""
        return [self._numbering.label(material) for material in self.paths]

    def require_any(self) -> Self:
        """Return these tables; raise MissingTable if no table exists."""
        if not self.paths:
            places = ", ".join("the package" if f == SHIPPED else str(f) for f in self._folders)
            raise MissingTable(
                f"{places}: no tables of {self.game!r}; python -m cc_env solve makes them"
            )
        return self

    def position_at(self, view: int, number: int) -> Position:
        """Return the position with a number in a view, which is an index of `sizes`.

        The first player is to move. The game may be over there.
        """
        like, numbers = self.game.initial, self._probing.numbers
        return self.game.make_position(position_fields(number, self._views[view], numbers, like))

    def __repr__(self) -> str:
        return f"Tablebase({self.game!r}: {format_list(self.labels) or 'none'})"

    def matches(self, game: Game) -> bool:
        """Return whether the values hold in a game: it has the same rules."""
        other = game.numbering
        same = other is not None and other.options == self._numbering.options
        return same and game.name == self.game.name

    def __contains__(self, position: Position) -> bool:
        """Return whether the value of a position is known; raise BadTable for a damaged file."""
        return self.get(position) is not None

    def probe(self, position: Position) -> ExactValue:
        """Return the exact value of a position, also of one within a turn or of a finished game.

        Raises MissingTable where no table has it, BadTable for a damaged or unfitting file,
        BadPosition for a position of another game or of other rules, such as another size, or in
        which pieces stand on each other.

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
            has = format_list(self.labels) or "none"
            raise MissingTable(
                f"no table has the value of '{self.game.to_text(position)}'; there are: {has}"
            )
        return solved

    def get(self, position: Position) -> ExactValue | None:
        """As `probe`, but None where no table has the value."""
        if not self._numbering.has_same_rules(position):
            raise BadPosition(f"{position} is not a position of {self.game!r}")
        probing = self._probing
        with self._lock:
            while (length := _probe(position, probing)) < 0:
                if length == _IMPOSSIBLE:
                    raise BadPosition(f"{position}: two pieces stand on one cell")
                for block in probing.wanted[:-length].tolist():
                    self._read(block)
            told = probing.told[:length].tolist()
        return _solved(told) if told else None

    def load_all(self) -> LoadedTables:
        """Read all tables into memory, for searches; raise BadTable."""
        with self._lock:
            for block in np.flatnonzero(~self._probing.is_read).tolist():
                self._read(block)
        return LoadedTables(self._probing.numbers, self._probing.values)

    def table(self, material: Material) -> ExactTable:
        """Return the open table of a material; raise BadTable, MissingTable."""
        material = max(material, swap_sides(material))
        if material not in self.paths:
            raise MissingTable(f"there is no table {self._numbering.label(material)}")
        if material not in self._open:
            path, numbers = self.paths[material], self._probing.numbers
            try:
                self._open[material] = open_table(path, self.game, material, numbers)
            except OSError as error:
                raise BadTable(f"{path}: it cannot be read any more: {error.strerror}") from None
        return self._open[material]

    def close(self) -> None:
        """Close all files; what has been read stays."""
        for table in self._open.values():
            table.close()
        self._open.clear()

    def _read(self, block: int) -> None:
        """Read a block of values; raise BadTable."""
        if self._probing.is_read[block]:
            return
        material, view, number = self._blocks.where(block)
        values = self.table(material).block(view, number)
        self._probing.values[block * BLOCK_SIZE : block * BLOCK_SIZE + len(values)] = values
        self._probing.is_read[block] = True


class _Blocks(NamedTuple):
    """Which block of values belongs to which table."""

    first: list[int]  # of each view
    owner: list[tuple[Material, int]]  # the material of the table, and which of its views it is
    total: int

    @classmethod
    def of(cls, materials: list[Material], numbers: RankingTables) -> "_Blocks":
        first, owner, end = [], [], 0
        for material in materials:
            for index, view in enumerate(both_views([material])):
                first.append(material_start(view, numbers) // BLOCK_SIZE)
                owner.append((material, index))
                end = first[-1] + -(-material_size(view, numbers) // BLOCK_SIZE)
        return cls(first, owner, end)

    def where(self, block: int) -> tuple[Material, int, int]:
        """Return the material of a block's table, the view in it and the block's number there."""
        at = int(np.searchsorted(self.first, block, "right")) - 1
        return *self.owner[at], block - self.first[at]


def load_tables(tables: Tablebase | None, game: Game) -> LoadedTables | NoTables:
    """Return what a search of `game` asks, all tables in memory; raise BadOption, BadTable."""
    if tables is None:
        return NO_TABLES
    if not tables.matches(game):
        raise BadOption(f"{tables!r} are not of {game!r}")
    return tables.load_all()


def _find(game: Game, numbering: Numbering, folders: Iterable[Path]) -> Mapping[Material, Path]:
    """Return the files of the game's tables, by material, in the order they were solved in."""
    paths: dict[Material, Path] = {}
    before = file_stem(game.name, numbering.options)
    for folder in folders:
        if not folder.is_dir():
            raise BadOption(f"{folder}: there is no such folder of tables")
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            label = path.name.removesuffix(SUFFIX).removeprefix(f"{before}-")
            material = numbering.parse_label(label)
            if material is not None and path.stem == file_stem(game.name, numbering.options, label):
                paths.setdefault(material, path)
    return dict(sorted(paths.items(), key=lambda item: (numbering.weight(item[0]), item[0])))


def open_table(path: Path, game: Game, material: Material, numbers: RankingTables) -> ExactTable:
    """Return the open table of a material; raise BadTable where it is of anything else, OSError."""
    assert game.numbering is not None
    table = ExactTable(path)
    label = game.numbering.label(material)
    table.check(game.name, game.numbering.options, rules_id(game.name), label)
    given = [(view.numbers, view.material) for view in table.header.views]
    wanted = [(material_size(view, numbers), view) for view in both_views([material])]
    if given != wanted:
        raise BadTable(f"{path}: numbers and materials {given}; wanted: {wanted}")
    return table


def _solved(told: list[int]) -> ExactValue:
    """Return what compiled code told; by slices, since most of a probe's time is Python's."""
    actions, values, keeping = told[_ACTIONS_END : _KEEPING_END + 1]
    return ExactValue(
        told[_VALUE],
        told[_MARGIN],
        told[_TURNS],
        tuple(told[_HEAD:actions]),
        tuple(told[actions:values]),
        tuple(told[values:keeping]),
        tuple(told[keeping:]),
    )


@jit
def _probe(position: Position, probing: Probing) -> Int:
    """Write the value of a position, and of its actions, to `told`; return how many numbers.

    That is 0 where no table has the value, and -N where N blocks, now in `wanted`, have to be read
    first; _IMPOSSIBLE where pieces stand on each other.
    """
    probing = as_raw(probing)
    sets, taken = rules.to_sets(position), ZERO
    for index in range(len(sets)):
        if sets[index] & taken:
            return np.int64(_IMPOSSIBLE)
        taken |= sets[index]
    probing.counts[_MISSING] = probing.counts[_WANTED] = 0
    value: Int = np.int64(UNKNOWN) if rules.mid_turn(position) else terminal_value(position)
    bounds, count = Bounds(value, value), np.int64(0)
    if value == UNKNOWN:
        count = np.int64(rules.legal_actions(position, probing.legal))
        for index in range(count):
            after = rules.apply(position, np.int64(probing.legal[index]))
            left = _after(after, probing, probing.legal[count:])
            probing.told[_HEAD + count + index] = left.least
            bounds = _better_of(bounds, left)
    if probing.counts[_WANTED]:
        return np.int64(-probing.counts[_WANTED])
    is_certain = bounds.least == bounds.greatest and bounds.least != UNKNOWN
    if probing.counts[_MISSING] or not is_certain:
        return np.int64(0)
    return _tell(bounds.least, count, probing)


@jit
def _tell(value: Int, count: Int, probing: Probing) -> Int:
    """Complete `told`, where the actions' values stand; return how many numbers it has."""
    told, actions = probing.told, probing.legal[:count]
    values = told[_HEAD + count : _HEAD + 2 * count]
    told[_VALUE], told[_MARGIN], told[_TURNS] = result_of(value), margin_of(value), turns_of(value)
    told[_ACTIONS_END], told[_VALUES_END] = _HEAD + count, _HEAD + 2 * count
    end = np.int64(_HEAD + 2 * count)
    for index in range(count):
        told[_HEAD + index] = actions[index]
        if result_of(values[index]) == told[_VALUE]:
            told[end] = actions[index]
            end += 1
    told[_KEEPING_END] = end
    for index in range(count):
        if values[index] == value:
            told[end] = actions[index]
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
def _after(position: Position, probing: Probing, legal: NDArray[np.int32]) -> Bounds:
    """Return what an action is worth to its player that leads to `position`."""
    if not rules.mid_turn(position):
        bounds = _bounds(position, probing)
        if bounds.least == UNKNOWN:
            return bounds
        return Bounds(value_before_turn(bounds.greatest), value_before_turn(bounds.least))
    best = Bounds(np.int64(UNKNOWN), np.int64(UNKNOWN))
    count = rules.legal_actions(position, legal)
    for index in range(count):
        after = rules.apply(position, np.int64(legal[index]))
        best = _better_of(best, _after(after, probing, legal[count:]))
    return best


@jit
def _bounds(position: Position, probing: Probing) -> Bounds:
    """Return the bounds of a position between turns; UNKNOWN where it has to be read, or is not."""
    place = index_of(position, probing.numbers)
    if place == NO_INDEX:
        value = terminal_value(position)
        probing.counts[_MISSING] += value == UNKNOWN
        return Bounds(value, value)
    block = place >> _BLOCK_BITS
    if not probing.is_read[block]:
        if probing.counts[_WANTED] < len(probing.wanted):
            probing.wanted[probing.counts[_WANTED]] = block
            probing.counts[_WANTED] += 1
        return Bounds(np.int64(UNKNOWN), np.int64(UNKNOWN))
    value = np.int64(probing.values[place])
    if value_if_certain(position, value) != UNKNOWN:
        return Bounds(value, value)
    drawn = np.int64(DRAW_VALUE)
    return Bounds(value, drawn) if result_of(value) < 0 else Bounds(drawn, value)
