"""A file with the exact values of one material, for both sides to move.

    cc_env exact 1 LENGTH SHA256     first line; the hash covers the header and the index
    {"game": "capture_conquer", …}   the header, JSON, see `TableHeader`
    index                            a block's length in the file, uint32, and 8 bytes of its hash
    blocks                           of 32,768 values: all low bytes, all high bytes; zlib

Blocks are read on demand. Everything but the first line is covered by hashes, which are checked
whenever a part is read. A file that is truncated or overwritten while it is open is rejected.

Shapes: N numbers.
"""

import hashlib
import json
import os
import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import container
from cc_env.core.numbering import Material
from cc_env.errors import BadTable, is_number
from cc_env.files import open_atomically, open_regular, open_temporary
from cc_env.tablebase.ranking import BLOCK_SIZE

SUFFIX = ".exact"
VERSION = 1
_MAGIC = "cc_env exact"
# Level 9 takes eight times as long and saves a tenth.
_COMPRESSION_LEVEL = 6
_VALUE = np.dtype("<u2")
_ENTRY = np.dtype([("length", "<u4"), ("digest", "<u8")])


@dataclass(frozen=True, kw_only=True)
class TableView:
    """The part of a table with one side to move."""

    material: Material
    # Positions in the table.
    numbers: int
    # Positions by result, symmetric ones included.
    won: int
    drawn: int
    lost: int
    # Turns of the longest win or loss, and a position with it, as text; empty if all are draws.
    turns: int
    longest: str


@dataclass(frozen=True, kw_only=True)
class TableHeader:
    """The description of a table."""

    game: str
    # Options that affect values.
    options: Mapping[str, Any]
    # Id of the environment, whose version rises with every change of the rules.
    rules: str
    label: str
    views: tuple[TableView, ...]
    # CPU time for solving and verifying.
    seconds: float


def write_table(path: Path, header: TableHeader, values: Sequence[NDArray[np.uint16]]) -> None:
    """Write a table atomically: the values of each view, uint16[numbers]; raise OSError.

    Every view starts with a new block.
    """
    blocks = [
        part[begin : begin + BLOCK_SIZE]
        for part in values
        for begin in range(0, len(part), BLOCK_SIZE)
    ]
    index = np.zeros(len(blocks), _ENTRY)
    with open_temporary(path.with_name(f"{path.name}.body.{os.getpid()}.half")) as body:
        for row, block in zip(index, blocks, strict=True):
            packed = _pack(block)
            row["length"], row["digest"] = len(packed), _block_digest(packed)
            body.write(packed)
        body.seek(0)
        encoded = container.encode_header(asdict(header))
        with open_atomically(path, exclusive=False) as file:
            file.write(container.format_first_line(_MAGIC, VERSION, encoded, index.tobytes()))
            file.write(encoded + index.tobytes())
            shutil.copyfileobj(body, file)


def _pack(block: NDArray[np.uint16]) -> bytes:
    """Return the compressed values."""
    return container.compress(by_significance(block, _VALUE), _COMPRESSION_LEVEL)


def _unpack(packed: bytes, size: int) -> NDArray[np.uint16]:
    """Return the `size` values of a block; raise ValueError if there are fewer or more."""
    unpacked = container.decompress(packed, size * _VALUE.itemsize)
    return from_significance(unpacked, _VALUE).astype(np.uint16)


def by_significance(numbers: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    """Return the low bytes of all numbers, uint16[N] or int64[N], then the next ones.

    In this order they compress better.
    """
    return numbers.astype(dtype).view(np.uint8).reshape(-1, dtype.itemsize).T.tobytes()


def from_significance(data: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the numbers, uint16[N] or int64[N], whose bytes `by_significance` has ordered."""
    parts = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1)
    return np.ascontiguousarray(parts.T).view(dtype).ravel()


def _block_digest(packed: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")


class ExactTable:
    """A table that is open for reading; its blocks are read on demand."""

    def __init__(self, path: Path) -> None:
        """Open the file; raise OSError if that fails, BadTable if it is not a complete table."""
        self.path = path
        file = open_regular(path)
        self._file = file.fileno()
        self.close = weakref.finalize(self, file.close)
        """Close the file; nothing can be read any more."""
        try:
            self._read_header()
        except ValueError as error:
            raise BadTable(f"{path}: {error}") from None

    def _read_header(self) -> None:
        """Read and check everything but the blocks; raise ValueError."""
        size = os.fstat(self._file).st_size
        if not size:
            raise ValueError("the file is empty")
        start = os.pread(self._file, container.MAX_FIRST_LINE_BYTES, 0)
        first = container.parse_first_line(start, _MAGIC, VERSION)
        encoded = self._read_part(first.header_start, first.header_length, size)
        self.header = _parse_header(encoded)
        block_counts = [-(-view.numbers // BLOCK_SIZE) for view in self.header.views]
        index_start = first.header_start + first.header_length
        index = self._read_part(index_start, sum(block_counts) * _ENTRY.itemsize, size)
        if container.sha256(encoded, index) != first.sha256:
            raise ValueError(
                "the header or the index does not match its hash; the file was altered"
            )
        self._index = np.frombuffer(index, _ENTRY)
        lengths = np.concatenate([[index_start + len(index)], self._index["length"]])
        self._bounds = np.cumsum(lengths, dtype=np.int64).tolist()
        if size != self._bounds[-1]:
            raise ValueError(f"{size:,} bytes; expected: {self._bounds[-1]:,}")
        self._first_blocks = np.cumsum([0, *block_counts]).tolist()

    def _read_part(self, start: int, length: int, file_size: int) -> bytes:
        """Return a part of the file; raise ValueError if the file ends before the part does."""
        if start + length > file_size:
            raise ValueError(f"truncated at {file_size:,} bytes")
        return os.pread(self._file, length, start)

    def check(self, game: str, options: Mapping[str, Any], rules: str, label: str) -> None:
        """Raise BadTable unless the header has this game, its options and rules, and the label."""
        header = self.header
        actual = f"{header.label} of " + container.describe(
            header.game, header.options, header.rules
        )
        expected = f"{label} of " + container.describe(game, options, rules)
        if actual != expected:
            raise BadTable(f"{self.path}: the table is for {actual:.300}; expected: {expected}")

    def index_of_view(self, material: Material) -> int:
        """Return the index of the view with this material."""
        return [view.material for view in self.header.views].index(material)

    def block(self, view: int, number: int) -> NDArray[np.uint16]:
        """Return a block of values of a view; raise BadTable if it is damaged."""
        index = self._first_blocks[view] + number
        start, end = self._bounds[index : index + 2]
        size = min(BLOCK_SIZE, self.header.views[view].numbers - number * BLOCK_SIZE)
        packed = os.pread(self._file, end - start, start)
        if _block_digest(packed) != self._index[index]["digest"]:
            raise BadTable(
                f"{self.path}: block {index} does not match its hash; the file was altered"
            )
        try:
            return _unpack(packed, size)
        except ValueError as error:
            raise BadTable(f"{self.path}: block {index}: {error}") from None

    def read(self) -> list[NDArray[np.uint16]]:
        """Return all values, uint16[numbers] by view; raise BadTable if a block is damaged."""
        views = [np.empty(view.numbers, np.uint16) for view in self.header.views]
        for view, values in enumerate(views):
            self.read_view(view, values)
        return views

    def read_view(self, view: int, values: NDArray[np.uint16]) -> None:
        """Read a view into `values`, uint16[numbers]; raise BadTable if a block is damaged."""
        for number, begin in enumerate(range(0, len(values), BLOCK_SIZE)):
            values[begin : begin + BLOCK_SIZE] = self.block(view, number)


def _parse_header(encoded: bytes) -> TableHeader:
    """Return the header; raise ValueError if it is invalid."""
    try:
        fields = json.loads(encoded)
        header = TableHeader(views=tuple(map(_parse_view, fields.pop("views"))), **fields)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError("altered: the header cannot be read") from None
    texts = header.game, header.rules, header.label
    if (
        not all(isinstance(text, str) for text in texts)
        or not isinstance(header.options, dict)
        or not is_number(header.seconds)
        or len(header.views) not in (1, 2)
    ):
        raise ValueError("altered: the header has an invalid field")
    return header


def _parse_view(fields: Any) -> TableView:
    view = TableView(**{**fields, "material": tuple(fields["material"])})
    counts = view.numbers, view.won, view.drawn, view.lost, view.turns, *view.material
    if not all(type(number) is int and 0 <= number < 2**48 for number in counts):
        raise ValueError("invalid count")
    if not isinstance(view.longest, str):
        raise ValueError("invalid position")
    return view
