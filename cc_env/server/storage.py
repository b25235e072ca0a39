"""The folder of served games: one journal per game, locked by one server at a time.

A game expires some time after its last change: soon if no move was played, late otherwise. If the
folder has too many files or bytes, unplayed games are removed first, then the games that changed
least recently.

The clock of the system and the times of files may be wrong. A game's last change is the later one
of the time of its file and the time in its last line, unless it is in the future. Periods of more
than MAX_GAP_SECONDS without a change in the folder do not count, so that a clock that jumps by
years lets no game expire.
"""

import os
import re
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from cc_env.errors import UnknownOption
from cc_env.files import locked_folder
from cc_env.server.journal import GAME_NAME, GameSetup, Journal
from cc_env.server.limits import BusyError, ServerLimits

SUFFIX = ".jsonl"
DAY_SECONDS = 24 * 3600.0
MAX_GAP_SECONDS = 30 * DAY_SECONDS
# Maximum size of a line.
MAX_LINE_BYTES = 4096
# The time in a line; it precedes the number of the command, if any.
TIME_PATTERN = re.compile(rb'"at":(\d{1,12})[,}]')
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
        self._locks = ExitStack()
        self._locks.enter_context(locked_folder(path, "server"))
        self._set_totals(list(self._scan(time.time())))

    def close(self) -> None:
        """Unlock the folder."""
        self._locks.close()

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
        games = sorted(self._scan(now))
        self._set_totals(games)
        file_count, size = self._file_count, self._bytes
        share = REDUCED_SHARE if self.is_full else 1.0
        ages = _ages([game.changed_at for game in games], now)
        removals = []
        for game in games:
            days = limits.stored_days if game.is_played else limits.unplayed_days
            has_excess = (
                file_count > share * limits.stored_games or size > share * limits.stored_bytes
            )
            if has_excess or ages[game.changed_at] > days * DAY_SECONDS:
                removals.append(game)
                file_count -= 1
                size -= game.bytes
        return removals

    def _set_totals(self, games: list[StoredGame]) -> None:
        self._file_count, self._bytes = len(games), sum(game.bytes for game in games)

    def _scan(self, now: float) -> Iterator[StoredGame]:
        """Yield all games, and make their files private; raise OSError if that fails."""
        with os.scandir(self._path) as entries:
            for entry in entries:
                name = entry.name.removesuffix(SUFFIX)
                if name == entry.name or not GAME_NAME.fullmatch(name) or not entry.is_file():
                    continue
                status = entry.stat()
                path = Path(entry.path)
                if status.st_mode & 0o077:
                    # Earlier versions of cc_env created files that other users can read.
                    path.chmod(0o600)
                is_played, last_line_at = _read_end(path, status.st_size)
                times = [at for at in (status.st_mtime, last_line_at) if 0 < at <= now]
                yield StoredGame(is_played, max(times, default=now), name, status.st_size)


def _ages(times: Collection[float], now: float) -> dict[float, float]:
    """Return the seconds since each of these times, without gaps of more than MAX_GAP_SECONDS."""
    ages, age, later = {}, 0.0, now
    for at in sorted(set(times), reverse=True):
        gap = later - at
        age += gap if gap <= MAX_GAP_SECONDS else 0.0
        ages[at], later = age, at
    return ages


def _read_end(path: Path, size: int) -> tuple[bool, float]:
    """Return whether a journal has more than one line, and the time in its last complete line.

    The time is 0 if the line has none.
    """
    with path.open("rb") as file:
        file.seek(max(0, size - MAX_LINE_BYTES))
        *lines, partial_line = file.read().split(b"\n")
    is_played = size > MAX_LINE_BYTES or len(lines) + bool(partial_line) > 1
    at = TIME_PATTERN.search(lines[-1]) if lines else None
    return is_played, float(at[1]) if at else 0.0
