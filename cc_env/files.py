"""Files: reading regular files within limits, writing and appending atomically."""

import errno
import gzip
import hashlib
import json
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from cc_env.errors import BadRecord, FolderInUse

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAX_LINE_LENGTH = 2**24  # characters
# Default limit of files that are read completely.
MAX_FILE_BYTES = 2**28
# Name of the file by which a folder is locked.
LOCK_NAME = ".lock"
_BINARY = getattr(os, "O_BINARY", 0)
# Without O_NONBLOCK, opening a pipe waits for its writer.
_READ_FLAGS = os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0)
_APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | _BINARY


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading in binary mode.

    Raises OSError, without waiting, for any other kind of file: reading a device or a pipe may
    never end.
    """
    file = os.open(path, _READ_FLAGS)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(file, "rb")


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises OSError if it cannot be read or has more than `max_bytes`.
    """
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"more than {max_bytes:,} bytes", str(path))
    return content


@contextmanager
def reraise_as_bad_record(path: Path | str) -> Iterator[None]:
    """Raise BadRecord, with the path and the reason, for an OSError in the block."""
    try:
        yield
    except FileNotFoundError as error:
        raise BadRecord(f"{path}: there is no such file") from error
    except OSError as error:
        raise BadRecord(f"{path}: {error.strerror or error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a UTF-8 text file, gzipped or not; blank lines are skipped.

    Raises BadRecord, with the number of the last line, if the file cannot be read, is not a regular
    one or has a line with more than MAX_LINE_LENGTH characters.
    """
    number = 0
    with reraise_as_bad_record(path):
        binary = open_regular(path)
    try:
        with binary, _decode(binary, is_compressed=path.suffix == ".gz") as file:
            for number, text in enumerate(iter(lambda: file.readline(MAX_LINE_LENGTH + 1), ""), 1):
                if len(text) > MAX_LINE_LENGTH:
                    too_long = f"more than {MAX_LINE_LENGTH:,} characters"
                    raise BadRecord(f"{path}: line {number} has {too_long}")
                if text.strip():
                    yield number, text
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise BadRecord(f"{path}, after line {number}: {error}") from error


def _decode(file: BinaryIO, *, is_compressed: bool) -> TextIO:
    """Return the UTF-8 text of an open file, gzipped or not."""
    if is_compressed:
        return gzip.open(file, "rt", encoding="utf-8-sig")
    return TextIOWrapper(file, encoding="utf-8-sig")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically; raise OSError and keep the old content on failure."""
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: Path, *, exclusive: bool = True) -> Iterator[BinaryIO]:
    """Open a file to be written atomically; raise OSError and keep the old content on failure.

    `exclusive` promises that no other process writes it at the same time.
    """
    partial = path.with_name(f"{path.name}{'' if exclusive else f'.{os.getpid()}'}.half")
    try:
        with (
            _name_in_errors(path),
            partial.open("wb") if exclusive else _open_locked(partial) as file,
        ):
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def open_temporary(path: Path) -> Iterator[BinaryIO]:
    """Open a locked file for writing and reading, and remove it at the end; raise OSError."""
    with _open_locked(path) as file:
        try:
            yield file
        finally:
            path.unlink(missing_ok=True)


def _open_locked(path: Path) -> BinaryIO:
    """Open and lock a temporary file, so that `delete_abandoned` does not delete it."""
    while True:
        file = path.open("w+b")
        # Some file systems have no locks.
        with suppress(OSError):
            _lock(file)
        if path.exists():
            return file
        # `delete_abandoned` removed it before it was locked.
        file.close()


def delete_abandoned(folder: Path, pattern: str) -> None:
    """Delete the temporary files of killed processes in a folder.

    Files that are still being written are locked and remain.
    """
    for path in folder.glob(pattern):
        with suppress(OSError), path.open("rb") as file:
            _lock(file, wait=False)
            path.unlink()


@contextmanager
def locked_folder(path: Path, user: str) -> Iterator[None]:
    """Lock a folder during the block, by a file and, where the system can, the folder itself.

    The file can be removed. Raises FolderInUse if another `user`, such as a server, has locked it.
    """
    # Only extras that lock folders install this package.
    from filelock import FileLock, Timeout

    with ExitStack() as locks:
        try:
            lock = FileLock(path / LOCK_NAME, thread_local=False)
            locks.enter_context(lock.acquire(timeout=0))
            if fcntl is not None:
                locks.enter_context(_locked_descriptor(path))
        except (Timeout, BlockingIOError):
            raise FolderInUse(f"{path} is in use by another {user}") from None
        yield


@contextmanager
def _locked_descriptor(path: Path) -> Iterator[None]:
    """Lock a folder itself; raise BlockingIOError if it is locked."""
    folder = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            # Network file systems have no locks of folders.
            pass
        yield
    finally:
        # Also for processes that were forked during the block.
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def _lock(file: BinaryIO, *, wait: bool = True) -> None:
    """Lock a file until it is closed; raise OSError if it is locked already."""
    if fcntl is None:
        raise OSError("no locks")
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def append_atomically(path: Path, content: str, *, must_exist: bool = False) -> None:
    """Append to a file atomically; raise OSError and keep the old content on failure."""
    data = remaining = content.encode()
    with _name_in_errors(path):
        file = os.open(path, _APPEND_FLAGS | (0 if must_exist else os.O_CREAT), 0o666)
        try:
            while remaining:
                remaining = remaining[os.write(file, remaining) :]
        except BaseException:
            os.ftruncate(file, os.fstat(file).st_size - len(data) + len(remaining))
            raise
        finally:
            os.close(file)


def create_private(path: Path, content: str) -> None:
    """Write a new file that only its owner can read; raise OSError and leave no file on failure."""
    with _name_in_errors(path):
        file = os.open(path, _APPEND_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(content.encode())
        except BaseException:
            path.unlink(missing_ok=True)
            raise


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Add the file's name to an OSError without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def file_hash(path: Path) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a file; raise OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def drop_partial_line(path: Path) -> None:
    """Truncate a file after its last newline: a killed process may leave part of a line."""
    with open_regular(path) as file:
        content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; raise BadRecord if it is invalid or repeats a name."""
    try:
        return json.loads(text, object_pairs_hook=_unique_names)
    except BadRecord:
        raise
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON: {error}") from None


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON as a dict; raise BadRecord if it repeats a name."""
    values = dict(pairs)
    if len(values) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BadRecord(f"the name {name!r} is twice in one object")
    return values
