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
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield number, text
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise BadRecord(f"{path}, after line {number}: {error}") from error
