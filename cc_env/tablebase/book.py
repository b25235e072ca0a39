"""A book of exact values: those of the first turns of a game whose tables are too large to ship.

    cc_env book 1 LENGTH SHA256      first line; the hash covers the header and the data
    {"game": "capture_conquer", …}   the header, JSON, see `BookHeader`
    data                             differences of ascending indices, int64, and values, uint16,
                                     of each the low bytes of all first; zlib

An index is that of `RankingTables` for the materials in the header.

Shapes: E positions of a book.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import container
from cc_env.core.game import Game
from cc_env.core.numbering import Material
from cc_env.core.rules import Int
from cc_env.errors import BadTable, is_integer
from cc_env.files import read_bytes, write_atomically
from cc_env.jit.compiler import jit
from cc_env.registry.catalogue import file_stem, rules_id
from cc_env.tablebase.ranking import (
    RankingTables,
    both_views,
    find_last,
    make_ranking_tables,
    material_size,
    material_start,
)
from cc_env.tablebase.table_file import by_significance, from_significance
from cc_env.tablebase.values import UNKNOWN

SUFFIX = ".book"
VERSION = 1
# A book ships within a package, so it is small.
MAX_POSITIONS = 2**24
_MAGIC = "cc_env book"
_INDEX, _VALUE = np.dtype("<i8"), np.dtype("<u2")
_ENTRY_BYTES = _INDEX.itemsize + _VALUE.itemsize


@dataclass(frozen=True, kw_only=True)
class BookHeader:
    """The description of a book."""

    game: str
    # Options that affect values.
    options: Mapping[str, Any]
    # Id of the environment, whose version rises with every change of the rules.
    rules: str
    # The materials of the positions, in the order of their indices.
    labels: tuple[str, ...]
    # Position whose successors up to a number of turns are all in the book.
    start: str
    turns: int
    positions: int


class Book(NamedTuple):
    """The positions of a book."""

    # In the order of their indices, which are those of the ranking tables.
    materials: Sequence[Material]
    ranking: RankingTables
    # Ascending.
    indices: NDArray[np.int64]  # [E]
    values: NDArray[np.uint16]  # [E]

    def for_ranking(
        self, ranking: RankingTables, materials: Sequence[Material]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """Return the entries of these materials, by the indices of `ranking`.

        Indices int64[E], ascending, and values uint16[E]; `ranking` has the materials in the order
        of the book.
        """
        views = both_views(materials)
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint16))]
        for view in views:
            start, size = material_start(view, self.ranking), material_size(view, self.ranking)
            low, high = np.searchsorted(self.indices, (start, start + size))
            numbers = self.indices[low:high] - start
            parts.append((numbers + material_start(view, ranking), self.values[low:high]))
        indices, values = map(np.concatenate, zip(*parts, strict=True))
        return indices, values


@jit
def value_in_book(index: Int, indices: NDArray[np.int64], values: NDArray[np.uint16]) -> Int:
    """Return the 16-bit value of the position with this index; UNKNOWN if the book lacks it.

    `indices` are int64[E], ascending, `values` uint16[E].
    """
    if not len(indices):
        return np.int64(UNKNOWN)
    place = find_last(index, indices)
    return np.int64(values[place] if indices[place] == index else UNKNOWN)


def book_path(folder: Path, game: Game) -> Path:
    """Return the file of a game's book in a folder."""
    assert game.numbering is not None
    return folder / (file_stem(game.name, game.numbering.options) + SUFFIX)


def write_book(path: Path, header: BookHeader, book: Book) -> None:
    """Write a book atomically; raise OSError."""
    differences = np.diff(book.indices, prepend=0)
    data = container.compress(
        by_significance(differences, _INDEX) + by_significance(book.values, _VALUE)
    )
    encoded = container.encode_header(asdict(header))
    first_line = container.format_first_line(_MAGIC, VERSION, encoded, data)
    write_atomically(path, first_line + encoded + data)


def read_book(path: Path, game: Game) -> Book:
    """Return the book in a file.

    Raises OSError if the file cannot be read, BadTable if it is damaged, or of another game or
    other rules.
    """
    try:
        return _parse_book(*_split(read_bytes(path)), game)
    except ValueError as error:
        raise BadTable(f"{path}: {error}") from None


def book_start(path: Path) -> str:
    """Return the start of the game of a book, as text.

    Raises OSError if the file cannot be read, BadTable if it is damaged.
    """
    try:
        return _split(read_bytes(path))[0].start
    except ValueError as error:
        raise BadTable(f"{path}: {error}") from None


def _split(content: bytes) -> tuple[BookHeader, bytes]:
    """Return the header and the data of a file; raise ValueError."""
    first = container.parse_first_line(content, _MAGIC, VERSION)
    end = first.header_start + first.header_length
    encoded, data = content[first.header_start : end], content[end:]
    if container.sha256(encoded, data) != first.sha256:
        raise ValueError("the content does not match its hash; the file was altered")
    return _parse_header(encoded), data


def _parse_book(header: BookHeader, data: bytes, game: Game) -> Book:
    """Return the book with this header and data; raise ValueError."""
    numbering = game.numbering
    assert numbering is not None
    actual = container.describe(header.game, header.options, header.rules)
    expected = container.describe(game.name, numbering.options, rules_id(game.name))
    if actual != expected:
        raise ValueError(f"the book is for {actual:.300}; expected: {expected}")
    materials = [material for label in header.labels if (material := numbering.parse_label(label))]
    if not materials or len(materials) < len(header.labels):
        raise ValueError("altered: the header has an invalid label")
    unpacked = container.decompress(data, header.positions * _ENTRY_BYTES)
    at = header.positions * _INDEX.itemsize
    indices = np.cumsum(from_significance(unpacked[:at], _INDEX), dtype=np.int64)
    values = from_significance(unpacked[at:], _VALUE).astype(np.uint16)
    book = Book(materials, make_ranking_tables(numbering, materials), indices, values)
    _check_indices(book)
    return book


def _parse_header(encoded: bytes) -> BookHeader:
    """Return the header; raise ValueError if it is invalid."""
    try:
        fields = json.loads(encoded)
        header = BookHeader(labels=tuple(fields.pop("labels")), **fields)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError("altered: the header cannot be read") from None
    texts = header.game, header.rules, header.start, *header.labels
    if (
        not all(isinstance(text, str) for text in texts)
        or not isinstance(header.options, dict)
        or not is_integer(header.turns, 0)
        or not is_integer(header.positions, 1, MAX_POSITIONS)
    ):
        raise ValueError("altered: the header has an invalid field")
    return header


def _check_indices(book: Book) -> None:
    """Raise ValueError unless the indices ascend and all are of positions."""
    views = both_views(book.materials)
    starts = np.array([material_start(view, book.ranking) for view in views], np.int64)
    sizes = np.array([material_size(view, book.ranking) for view in views], np.int64)
    indices = book.indices
    # Sums that exceed 63 bits are negative.
    is_ascending = indices.min() >= 0 and (np.diff(indices) > 0).all()
    view_numbers = np.searchsorted(starts, indices, "right") - 1
    if not is_ascending or (indices - starts[view_numbers] >= sizes[view_numbers]).any():
        raise ValueError("altered: an index is out of range")
