"""The folder of served games: one journal per game, locked by one server at a time.

A game expires some time after its last change: soon if no move was played, late otherwise. If the
folder has too many files or bytes, unplayed games are removed first, then the games that changed
least recently.
"""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from cc_env.errors import FolderInUse, UnknownOption
from cc_env.server.journal import GAME_NAME, GameSetup, Journal
from cc_env.server.limits import BusyError, ServerLimits

SUFFIX = ".jsonl"
LOCK_NAME = ".lock"
DAY_SECONDS = 24 * 3600.0
MAX_SETUP_BYTES = 4096
# Share of the limits to which a full folder is reduced, so that not every new game scans it.
REDUCED_SHARE = 0.99


class StoredGame(NamedTuple):
    """A journal on disk, sorted by order of removal; `changed_at` is in seconds since the epoch."""

    is_played: bool
    changed_at: float
    name: str
    bytes: int


class GameFolder:
    """The journals of a folder."""

    def __init__(self, path: Path, limits: ServerLimits) -> None:
        """Create the folder if necessary, and lock it.

        Raises FolderInUse if another server has locked it, OSError if it cannot be created.
        """
        self._path, self._limits = path, limits
        path.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path / LOCK_NAME, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise FolderInUse(f"{path} is in use by another server") from None
        self._set_totals(list(self._scan()))

    def close(self) -> None:
        """Unlock the folder."""
        self._lock.release()

    def journal(self, name: str) -> Journal:
        """Return the journal of a game; raise UnknownOption if there is none."""
        if name not in self:
            raise UnknownOption("there is no such game on this server")
        return Journal(self._path / f"{name}{SUFFIX}")

    def __contains__(self, name: str | None) -> bool:
        """Return whether a game is stored."""
        return bool(
            name and GAME_NAME.fullmatch(name) and (self._path / f"{name}{SUFFIX}").is_file()
        )

    @property
    def is_full(self) -> bool:
        """Whether a game must be removed before another one can be stored."""
        limits = self._limits
        return self._file_count >= limits.stored_games or self._bytes >= limits.stored_bytes

    def create(self, setup: GameSetup) -> str:
        """Store a new game and return its name.

        Raises BusyError if the folder is full, OSError if the file cannot be written.
        """
        if self.is_full:
            raise BusyError(f"no more games can be stored; {self._file_count:,} are stored")
        name = secrets.token_urlsafe(12)
        journal = Journal(self._path / f"{name}{SUFFIX}")
        journal.create(setup)
        self._file_count += 1
        self._bytes += journal.bytes
        return name

    def remove(self, game: StoredGame) -> None:
        """Delete a game; raise OSError if that fails."""
        (self._path / f"{game.name}{SUFFIX}").unlink()
        self._file_count -= 1
        self._bytes -= game.bytes

    def select_removals(self, now: float | None = None) -> list[StoredGame]:
        """Return the expired games and, while the folder exceeds its limits, more of them.

        Those that were not played go first, then the oldest.

        Counts the games in the folder again. `now` is in seconds since the epoch.

        Raises OSError if the folder cannot be read.
        """
        now = time.time() if now is None else now
        limits = self._limits
        games = sorted(self._scan())
        self._set_totals(games)
        file_count, size = self._file_count, self._bytes
        share = REDUCED_SHARE if self.is_full else 1.0
        removals = []
        for game in games:
            days = limits.stored_days if game.is_played else limits.unplayed_days
            has_excess = (
                file_count > share * limits.stored_games or size > share * limits.stored_bytes
            )
            if has_excess or game.changed_at < now - days * DAY_SECONDS:
                removals.append(game)
                file_count -= 1
                size -= game.bytes
        return removals

    def _set_totals(self, games: list[StoredGame]) -> None:
        self._file_count, self._bytes = len(games), sum(game.bytes for game in games)

    def _scan(self) -> Iterator[StoredGame]:
        """Yield all games, and make their files private; raise OSError if that fails."""
        with os.scandir(self._path) as entries:
            for entry in entries:
                name = entry.name.removesuffix(SUFFIX)
                if name == entry.name or not GAME_NAME.fullmatch(name) or not entry.is_file():
                    continue
                status = entry.stat()
                # Earlier versions of cc_env created files that other users can read.
                if status.st_mode & 0o077:
                    Path(entry.path).chmod(0o600)
                is_played = status.st_size > MAX_SETUP_BYTES or _has_second_line(Path(entry.path))
                yield StoredGame(is_played, status.st_mtime, name, status.st_size)


def _has_second_line(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(file.readline() and file.readline())
