"""Files: those of one item a line, and those that are written whole or not at all."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
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


def write(path: Path, content: str | bytes) -> None:
    """Write a file, all of it or nothing; raise OSError, and leave what was there."""
    half = path.with_name(path.name + ".half")
    try:
        with _named(path), half.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


def append(path: Path, content: str) -> None:
    """Add to a file, all of it or nothing; raise OSError, and leave what was there."""
    given = left = content.encode()
    with _named(path):
        file = os.open(path, _APPENDING)
        try:
            while left:
                left = left[os.write(file, left) :]
        except BaseException:
            os.ftruncate(file, os.fstat(file).st_size - len(given) + len(left))
            raise
        finally:
            os.close(file)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let errors of the system name the file, which those of a full disk do not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def fingerprint(path: Path) -> str:
    """Return a hash of a file's content, short enough to read; raise OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def drop_half_a_line(path: Path) -> None:
    """Cut off what a killed process left of the last line."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
