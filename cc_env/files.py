"""Text files of one item a line."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from cc_env.errors import BadRecord


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, gzipped or not, with their numbers; skip empty ones.

    Raises BadRecord where the file cannot be read on.
    """
    number = 0
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield number, text
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise BadRecord(f"{path}, after line {number}: {error}") from error
