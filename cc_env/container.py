"""Container of binary files: a first line, a JSON header and compressed data.

    MAGIC VERSION LENGTH SHA256    length of the header in bytes; hash of what the format protects
    {"game": …}                    the header
    …                              data of the format

All functions that read raise ValueError for invalid content.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_HEADER_BYTES = 1 << 20
MAX_FIRST_LINE_BYTES = 256
MAX_COMPRESSION = 9


class FirstLine(NamedTuple):
    """The content of the first line."""

    header_start: int
    header_length: int
    sha256: str


def sha256(*parts: bytes) -> str:
    """Return the hex SHA-256 of the concatenated parts."""
    return hashlib.sha256(b"".join(parts)).hexdigest()


def format_first_line(magic: str, version: int, header: bytes, *protected: bytes) -> bytes:
    """Return the first line; its hash covers the header and the other protected parts."""
    return f"{magic} {version} {len(header)} {sha256(header, *protected)}\n".encode()


def parse_first_line(content: bytes, magic: str, version: int) -> FirstLine:
    """Return the first line of a file, of which `content` is at least the first 256 bytes."""
    line = content[:MAX_FIRST_LINE_BYTES].split(b"\n")[0].decode("ascii", "replace")
    words = line.removeprefix(f"{magic} ").split(" ")
    if not line.startswith(f"{magic} ") or len(words) != 3:
        raise ValueError(f"not a file of the format {magic!r}")
    if words[0] != str(version):
        raise ValueError(f"unknown version {words[0][:20]!r}; expected: {version}")
    if not (words[1].isascii() and words[1].isdigit() and int(words[1][:8]) <= MAX_HEADER_BYTES):
        raise ValueError(f"altered: invalid header length {words[1][:20]!r}")
    return FirstLine(len(line) + 1, int(words[1][:8]), words[2])


def describe(game: str, options: Mapping[str, Any], rules_id: str) -> str:
    """Return a game, its options and the id of its rules in one line, to compare headers."""
    return f"{game} {dict(sorted(options.items()))} ({rules_id})"


def encode_header(fields: dict[str, Any]) -> bytes:
    """Return the JSON of a header."""
    return json.dumps(fields, ensure_ascii=False).encode()


def compress(data: bytes, level: int = MAX_COMPRESSION) -> bytes:
    """Return the data compressed by zlib."""
    return zlib.compress(data, level)


def decompress(packed: bytes, size: int) -> bytes:
    """Return the `size` bytes that were compressed; never allocates more than that."""
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(packed, size + 1)
    except zlib.error:
        raise ValueError("the compressed data is invalid") from None
    if len(data) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"the data does not decompress to exactly {size:,} bytes")
    return data
