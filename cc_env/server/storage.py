"""The folder of the games that are served: one journal each, in use by one server at a time.

A game expires some time after its last change: soon if nothing was played, late otherwise. Where
there are too many files or bytes, the games that changed least recently go first, of those in which
nothing was played before all others.
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from cc_env.errors import FolderInUse, UnknownOption
from cc_env.server.journal import Journal, Opening
from cc_env.server.limits import BusyError, ServerLimits

NAME = re.compile(r"[A-Za-z0-9_-]{16}")  # of a game: whoever knows it may watch
SUFFIX = ".jsonl"
LOCK = ".lock"
DAY = 24 * 3600.0
MAX_OPENING_BYTES = 4096  # of a first line
ROOM_AFTER_EXPIRY = 0.99  # of the limits: full folders are swept now and then, not for every game


class StoredGame(NamedTuple):
    """A journal on disk."""

    is_played: bool
    changed: float  # seconds since the epoch
    name: str
    bytes: int


class GameFolder:
    """The journals of a folder."""

    def __init__(self, path: Path, limits: ServerLimits) -> None:
        """Take the folder, which is made if need be.

        Raises FolderInUse if another server has it, OSError where it cannot be made.
        """
        self._path, self._limits = path, limits
        path.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path / LOCK, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise FolderInUse(f"{path} is in use: another server has its games there") from None
        self._files = self._bytes = 0
        for game in self._games():
            self._files, self._bytes = self._files + 1, self._bytes + game.bytes

    def close(self) -> None:
        """Let another server take the folder."""
        self._lock.release()

    def journal(self, name: str) -> Journal:
        """Return the journal of a game; raise UnknownOption if there is none."""
        path = self._path / f"{name}{SUFFIX}"
        if not NAME.fullmatch(name) or not path.is_file():
            raise UnknownOption("there is no such game here")
        return Journal(path)

    @property
    def is_full(self) -> bool:
        """Whether games have to go before another one is stored."""
        limits = self._limits
        return self._files >= limits.stored_games or self._bytes >= limits.stored_bytes

    def create(self, opening: Opening) -> str:
        """Store a new game; return its name. Raises BusyError if the folder is full, OSError."""
        if self.is_full:
            raise BusyError(f"{self._files:,} games are stored, and no more can be")
        name = secrets.token_urlsafe(12)
        journal = Journal(self._path / f"{name}{SUFFIX}")
        journal.begin(opening)
        self._files, self._bytes = self._files + 1, self._bytes + journal.bytes
        return name

    def remove(self, game: StoredGame) -> None:
        """Delete a game; raises OSError."""
        (self._path / f"{game.name}{SUFFIX}").unlink()
        self._files, self._bytes = self._files - 1, self._bytes - game.bytes

    def expired(self, now: float | None = None) -> list[StoredGame]:
        """Return the games to be removed; `now` is in seconds since the epoch. Raises OSError."""
        now = time.time() if now is None else now
        games, limits, due = sorted(self._games()), self._limits, []
        files, size = len(games), sum(game.bytes for game in games)
        self._files, self._bytes = files, size
        share = ROOM_AFTER_EXPIRY if self.is_full else 1.0
        for game in games:
            days = limits.stored_days if game.is_played else limits.unplayed_days
            too_many = files > share * limits.stored_games or size > share * limits.stored_bytes
            if too_many or game.changed < now - days * DAY:
                due.append(game)
                files, size = files - 1, size - game.bytes
        return due

    def _games(self) -> Iterator[StoredGame]:
        """Yield the games; raises OSError."""
        with os.scandir(self._path) as entries:
            for entry in entries:
                name = entry.name.removesuffix(SUFFIX)
                if name == entry.name or not NAME.fullmatch(name) or not entry.is_file():
                    continue
                status = entry.stat()
                if status.st_mode & 0o077:  # as earlier versions created them
                    Path(entry.path).chmod(0o600)
                played = status.st_size > MAX_OPENING_BYTES or _has_second_line(Path(entry.path))
                yield StoredGame(played, status.st_mtime, name, status.st_size)


def _has_second_line(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(file.readline() and file.readline())
