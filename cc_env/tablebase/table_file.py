"""A file with the exact values of one material, for both sides to move.

    cc_env exact 1 LENGTH SHA256     version, bytes of the header, hash of the header and the index
    {"game": "capture_conquer", …}   the header, JSON, see `TableHeader`
    index                            a block's length in the file, uint32, and 8 bytes of its hash
    blocks                           of 32,768 values: all low bytes, all high bytes; zlib

Blocks are read when they are needed. All of a file but its first line is covered by hashes, which
are checked whenever a part is read: a file that is cut or overwritten while it is open is refused.
"""

import hashlib
import json
import os
import shutil
import weakref
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core.numbering import Material
from cc_env.errors import BadTable, is_number
from cc_env.files import open_atomically, open_temporary
from cc_env.tablebase.ranking import BLOCK_SIZE

SUFFIX = ".exact"
VERSION = 1
_MAGIC = "cc_env exact"
_MOST_HEADER = 1 << 20
_LEVEL = 9  # of zlib
_ENTRY = np.dtype([("length", "<u4"), ("digest", "<u8")])


@dataclass(frozen=True, kw_only=True)
class TableView:
    """What a table says of its positions as the side to move sees them."""

    material: Material
    numbers: int  # positions in the table
    won: int  # positions, symmetric ones included
    drawn: int
    lost: int
    turns: int  # of the longest win or loss
    longest: str  # a position with it, as text; empty if all are draws


@dataclass(frozen=True, kw_only=True)
class TableHeader:
    """What a table is of."""

    game: str
    options: Mapping[str, Any]  # those that values depend on
    rules: str  # the id of the environment, whose version rises with every change of the rules
    label: str
    views: tuple[TableView, ...]
    seconds: float  # that it took to make and to verify it

    @property
    def materials(self) -> list[Material]:
        return [view.material for view in self.views]


def write_table(path: Path, header: TableHeader, values: Sequence[NDArray[np.uint16]]) -> None:
    """Write a table atomically: the values of each view, uint16[numbers]; raise OSError.

    A view begins with a block of its own.
    """
    blocks = [
        part[begin : begin + BLOCK_SIZE]
        for part in values
        for begin in range(0, len(part), BLOCK_SIZE)
    ]
    body = path.with_name(f"{path.name}.body.{os.getpid()}.half")
    index = np.zeros(len(blocks), _ENTRY)
    with open_temporary(body) as compressed:
        for row, block in zip(index, blocks, strict=True):
            packed = _pack(block)
            row["length"], row["digest"] = len(packed), _digest(packed)
            compressed.write(packed)
        compressed.seek(0)
        told = json.dumps(asdict(header), ensure_ascii=False).encode()
        first = f"{_MAGIC} {VERSION} {len(told)} {_hash(told, index.tobytes())}\n"
        with open_atomically(path, exclusive=False) as file:
            file.write(first.encode() + told + index.tobytes())
            shutil.copyfileobj(compressed, file)


def _pack(block: NDArray[np.uint16]) -> bytes:
    halves = np.ascontiguousarray(block.astype("<u2").view(np.uint8).reshape(-1, 2).T)
    return zlib.compress(halves.tobytes(), _LEVEL)


def _digest(packed: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


class ExactTable:
    """A table that is open for reading; its blocks are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Open the file; raise BadTable where it is not a whole table, OSError."""
        self.path = path
        self._file = os.open(path, os.O_RDONLY)
        self.close = weakref.finalize(self, os.close, self._file)
        """Close the file; nothing can be read any more."""
        size = os.fstat(self._file).st_size
        if not size:
            raise BadTable(f"{path}: the file is empty")
        end, length, digest = self._first_line()
        told = self._read_at(end, length)
        if len(told) < length:
            raise BadTable(f"{path}: cut short, at {size:,} bytes")
        self.header = self._header(told)
        sizes = [-(-view.numbers // BLOCK_SIZE) for view in self.header.views]
        begin = end + length + sum(sizes) * _ENTRY.itemsize
        index = self._read_at(end + length, begin - end - length)
        if len(index) < sum(sizes) * _ENTRY.itemsize:
            raise BadTable(f"{path}: cut short, at {size:,} bytes")
        if _hash(told, index) != digest:
            raise BadTable(f"{path}: altered; the header and the index do not have their hash")
        self._index = np.frombuffer(index, _ENTRY)
        self._ends = begin + np.cumsum(self._index["length"], dtype=np.int64)
        wanted = int(self._ends[-1]) if len(self._ends) else begin
        if size != wanted:
            raise BadTable(f"{path}: {size:,} bytes; wanted: {wanted:,}, it was cut or added to")
        self._first_blocks = np.cumsum([0, *sizes]).tolist()

    def _read_at(self, begin: int, length: int) -> bytes:
        """Return a part of the file, shorter where the file ends."""
        return os.pread(self._file, length, begin)

    def _first_line(self) -> tuple[int, int, str]:
        """Return where the header begins, its length, and the hash."""
        line = self._read_at(0, 256).split(b"\n")[0].decode("ascii", "replace")
        words = line.removeprefix(f"{_MAGIC} ").split(" ")
        if not line.startswith(f"{_MAGIC} ") or len(words) != 3:
            raise BadTable(f"{self.path}: not a table of exact values")
        version, length, digest = words
        if version != str(VERSION):
            raise BadTable(f"{self.path}: of version {version[:20]!r}; wanted: {VERSION}")
        if not (length.isascii() and length.isdigit() and int(length[:8]) <= _MOST_HEADER):
            raise BadTable(f"{self.path}: altered; a header of {length[:20]!r} bytes")
        return len(line) + 1, int(length[:8]), digest

    def _header(self, told: bytes) -> TableHeader:
        try:
            words = json.loads(told)
            views = tuple(_view(view) for view in words.pop("views"))
            header = TableHeader(views=views, **words)
            _check_types(header)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise BadTable(f"{self.path}: altered; the header cannot be read") from None
        if not 1 <= len(views) <= 2:
            raise BadTable(f"{self.path}: a table has one view or two, not {len(views)}")
        return header

    def check(self, game: str, options: Mapping[str, Any], rules: str, label: str) -> None:
        """Raise BadTable unless the table is of this material of a game by these rules."""
        header = self.header
        told = header.game, dict(header.options), header.rules, header.label
        if told != (game, dict(options), rules, label):
            wanted = f"{label} of {game} {dict(options)} ({rules})"
            it = f"{header.label} of {header.game} {dict(header.options)} ({header.rules})"
            raise BadTable(f"{self.path}: wanted: {wanted}; found: {it:.300}")

    def block(self, view: int, number: int) -> NDArray[np.uint16]:
        """Return a block of values of a view; raise BadTable where it is damaged."""
        at = self._first_blocks[view] + number
        length, digest = self._index[at].tolist()
        packed = self._read_at(int(self._ends[at]) - length, length)
        size = min(BLOCK_SIZE, self.header.views[view].numbers - number * BLOCK_SIZE)
        if _digest(packed) != digest:
            raise BadTable(f"{self.path}: altered; block {at} does not have its hash")
        raw = _unpack(packed, 2 * size)
        if raw is None:
            raise BadTable(f"{self.path}: block {at} does not hold {size:,} values")
        halves = np.frombuffer(raw, np.uint8).reshape(2, size)
        return np.ascontiguousarray(halves.T).view("<u2").ravel().astype(np.uint16)

    def read(self, views: Sequence[NDArray[np.uint16]] | None = None) -> list[NDArray[np.uint16]]:
        """Return all values, uint16[numbers] by view; raise BadTable where a block is damaged.

        They are written to `views` where these are given.
        """
        if views is None:
            views = [np.empty(told.numbers, np.uint16) for told in self.header.views]
        for view, values in enumerate(views):
            for number in range(-(-len(values) // BLOCK_SIZE)):
                part = values[number * BLOCK_SIZE : (number + 1) * BLOCK_SIZE]
                part[:] = self.block(view, number)
        return list(views)


def _check_types(header: TableHeader) -> None:
    """Raise TypeError where a field of a header that was read has the wrong type."""
    texts = header.game, header.rules, header.label
    is_right = all(isinstance(text, str) for text in texts) and isinstance(header.options, dict)
    if not is_right or not is_number(header.seconds):
        raise TypeError("a field")


def _view(words: Any) -> TableView:
    view = TableView(**{**words, "material": tuple(words["material"])})
    counts = view.numbers, view.won, view.drawn, view.lost, view.turns, *view.material
    if not all(type(number) is int and 0 <= number < 2**48 for number in counts):
        raise ValueError("a count")
    if not isinstance(view.longest, str):
        raise ValueError("a position")
    return view


def _unpack(packed: bytes, size: int) -> bytes | None:
    """Return `size` bytes, None where there are fewer or more."""
    machine = zlib.decompressobj()
    try:
        raw = machine.decompress(packed, size + 1)
    except zlib.error:
        return None
    return raw if len(raw) == size and machine.eof and not machine.unused_data else None
