"""The memory player: it stores the choices of finished games, and how often they led to a win.

    memory:path=FILE           one SQLite file, for any number of games and processes python -m
    agents.memory_player    imports and exports nine_mens.json of the original morris program

A memory is a tree of action sequences from the start of the game, not a table of positions. By the
credit "result" a finished game adds a win to each of its choices, for the player who won. By
"mills", as the original program counts, each choice gets a win for every mill made after it.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.defaults import MEMORY
from cc_env.core.game import Game, Turn
from cc_env.core.rules import FIRST_WINS, SECOND_WINS, Position
from cc_env.errors import BadRecord, UnknownOption, format_list, is_integer
from cc_env.files import file_hash
from cc_env.games.morris.tree import Line, Wins
from cc_env.match.match import FAULTS
from cc_env.match.record import Record, replay
from cc_env.match.referee import Clock, Decision

CREDITS = "result", "mills"
MERGES = "add", "replace"
BY = "wins", "balance"

START = 0  # parent of the first choice of a game
MARK, VERSION = 0x43434D45, 2  # application_id and user_version in SQLite's header
PATIENCE = 60.0  # seconds to wait for the lock of another process
MOST_WINS = 2**53  # of a choice; sums of two fit into SQLite's 64-bit integers
TABLES = (
    "CREATE TABLE games (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)",
    "CREATE TABLE choices (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, parent INTEGER NOT NULL,"
    " action INTEGER NOT NULL, first_wins INTEGER NOT NULL, second_wins INTEGER NOT NULL,"
    " UNIQUE (game, parent, action))",
    "CREATE TABLE remembered (record TEXT PRIMARY KEY) WITHOUT ROWID",
    f"PRAGMA application_id = {MARK}",
    f"PRAGMA user_version = {VERSION}",
)
SCHEMA = sorted(command for command in TABLES if command.startswith("CREATE"))
SYSTEM_ERRORS = (  # whose cause is the machine, not the content of the file
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM),
)


class Remembered(NamedTuple):
    """A choice in a remembered game."""

    id: int
    action: int
    wins: Wins


class Memory:
    """The part of a file that belongs to one game with its options."""

    def __init__(self, path: str | Path, game: Game) -> None:
        """Use a file, which the first `add` creates; raise BadRecord if it is not a memory."""
        self.path, self.game = Path(str(path)), game
        self._name = json.dumps([game.name, dict(game.options)], sort_keys=True)
        self.choices()

    def choices(self, after: int = START) -> list[Remembered]:
        """Return the choices at the start or after a choice, by its id, in the order first played.

        Raises BadRecord if a row of the file is invalid, OSError if it cannot be read.
        """
        if not self.path.exists():
            return []
        wanted = "SELECT choices.id, action, first_wins, second_wins FROM choices, games "
        wanted += "WHERE games.id = game AND name = ? AND parent = ? ORDER BY choices.id"
        with self._transaction("DEFERRED") as base:
            rows = [] if _is_empty(base) else base.execute(wanted, (self._name, after)).fetchall()
        return [self._choice(after, *row) for row in rows]

    def _choice(self, after: int, id: Any, action: Any, first: Any, second: Any) -> Remembered:
        """Return the choice of a row; raise BadRecord if it is invalid.

        A choice has a greater id than its parent, so the tree has no cycles.
        """
        is_choice = is_integer(id, after + 1, 2**63 - 1) and is_integer(action, 0)
        if not (is_choice and is_integer(first, 0, MOST_WINS) and is_integer(second, 0, MOST_WINS)):
            row = f"action {action!r:.40}, wins {first!r:.40} and {second!r:.40}"
            raise BadRecord(f"{self.path}: choice {id!r}, after {after}, is invalid: {row}")
        return Remembered(id, action, (first, second))

    def follow(self, after: int | None, turn: Turn) -> int | None:
        """Return the id of the last choice of a turn after a choice; None if it is not stored."""
        for action in turn:
            known = [] if after is None else self.choices(after)
            after = next((choice.id for choice in known if choice.action == action), None)
        return after

    def counts(self) -> dict[Line, Wins]:
        """Return the wins of all sequences of choices, prefixes first."""
        counts: dict[Line, Wins] = {}
        stack: list[tuple[Line, Remembered]] = [((), choice) for choice in reversed(self.choices())]
        while stack:
            before, choice = stack.pop()
            line = (*before, choice.action)
            counts[line] = choice.wins
            stack += [(line, child) for child in reversed(self.choices(choice.id))]
        return counts

    def add(self, counts: Mapping[Line, Wins], merge: str = "add", *, record: str = "") -> None:
        """Add wins to sequences of choices, given prefixes first, in one transaction.

        With the merge "replace" the wins replace those in the file. `record` is any text that
        identifies the source: a second call with the same text changes nothing. Raises
        UnknownOption on another merge, OSError if the file cannot be written.
        """
        _one_of("merge", merge, MERGES)
        kept = 1 if merge == "add" else 0
        find = "SELECT id, first_wins, second_wins FROM choices"
        find += " WHERE game = ? AND parent = ? AND action = ?"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._transaction("IMMEDIATE") as base:
            for command in TABLES if _is_empty(base) else ():
                base.execute(command)
            new = "INSERT OR IGNORE INTO remembered VALUES (?)"
            if record and not base.execute(new, (record,)).rowcount:
                return
            base.execute("INSERT OR IGNORE INTO games (name) VALUES (?)", (self._name,))
            (game,) = base.execute("SELECT id FROM games WHERE name = ?", (self._name,)).fetchone()
            ids: dict[Line, Any] = {(): START}
            for line, (first, second) in counts.items():
                place = game, ids[line[:-1]], line[-1]
                row = base.execute(find, place).fetchone()
                if row:
                    known = self._choice(ids[line[:-1]], row[0], line[-1], *row[1:])
                    first, second = (
                        min(kept * old + new, MOST_WINS)
                        for old, new in zip(known.wins, (first, second), strict=True)
                    )
                values = row and row[0], *place, first, second
                ids[line] = base.execute(
                    "INSERT OR REPLACE INTO choices VALUES (?, ?, ?, ?, ?, ?)", values
                ).lastrowid

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        """Open the file, creating it if it is missing, and run the block as one transaction."""
        try:
            base = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            with closing(base):
                base.execute(f"BEGIN {kind}")
                if not _is_empty(base):  # writers create the tables, for they wait for locks
                    self._check(base)
                yield base
                base.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            code = getattr(error, "sqlite_errorcode", None) or 0
            if code & 0xFF in SYSTEM_ERRORS:  # the low byte is the primary code
                raise OSError(f"{self.path}: {error}") from error
            raise BadRecord(f"{self.path} is not a memory of games: {error}") from error

    def _check(self, base: sqlite3.Connection) -> None:
        """Raise BadRecord if the file is of another kind or version."""
        (mark,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if mark != MARK:
            raise BadRecord(f"{self.path} is not a memory of games, but some other SQLite file")
        if version != VERSION:
            raise BadRecord(f"{self.path} is of version {version}; this reads version {VERSION}")
        there = base.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql")
        if [sql for (sql,) in there] != SCHEMA:  # views and triggers can do anything
            raise BadRecord(f"{self.path} does not have the tables of a memory of games")


def _is_empty(base: sqlite3.Connection) -> bool:
    """Return whether a file has no tables."""
    return not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def credits(game: Game, line: Line, outcome: int, credit: str = "result") -> dict[Line, Wins]:
    """Return the wins that a game adds to each of its sequences of choices, prefixes first.

    By "result" each choice gets a win for the winner of the game, none in a draw. By "mills" it
    gets one for every later mill, for the player who made it; in other games, for every decision
    that gave its player another one. Raises UnknownOption on other credits.
    """
    _one_of("credit", credit, CREDITS)
    wins = [[0, 0] for _ in line]
    if credit == "result" and outcome in (FIRST_WINS, SECOND_WINS):
        for count in wins:
            count[outcome] = 1
    position = game.initial
    for played, action in enumerate(line if credit == "mills" else (), 1):
        position = game.apply(position, action)
        if game.mid_turn(position):
            for count in wins[:played]:
                count[game.to_move(position)] += 1
    return {line[: index + 1]: (first, second) for index, (first, second) in enumerate(wins)}


class MemoryPlayer:
    """Plays the remembered choice with the most wins or, by "balance", wins minus losses.

    Ties go to the choice that was stored first. If no choice is above 0, it plays a random one that
    is not remembered, or any legal one if all are.
    """

    def __init__(
        self,
        game: Game,
        *,
        path: str = MEMORY,
        by: str = "wins",
        credit: str = "result",
        merge: str = "add",
    ) -> None:
        """Play by a file; `remember` adds games to it by this `credit` and `merge`.

        Raises UnknownOption on values that are not in BY, CREDITS or MERGES, BadRecord if the file
        is not a memory.
        """
        _one_of("by", by, BY)
        _one_of("credit", credit, CREDITS)
        _one_of("merge", merge, MERGES)
        self._by = by
        self._game, self._memory = game, Memory(path, game)
        self._credit, self._merge = credit, merge
        self._begin()

    def _begin(self) -> None:
        self._at: Position = self._game.initial
        self._id: int | None = START  # of the choice that led to _at; None: not remembered

    def for_new_game(self) -> "MemoryPlayer":
        """As `cc_env.match.referee.Player`."""
        other = copy(self)
        other._begin()
        return other

    @property
    def fingerprint(self) -> str:
        """The hash of the file as it is now; empty before there is one."""
        path = self._memory.path
        return file_hash(path) if path.exists() else ""

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the remembered choice with the most wins, else a new one."""
        self._arrive(position)
        legal, player = self._game.choices(position), self._game.to_move(position)
        known = [] if self._id is None else self._memory.choices(self._id)
        known = [choice for choice in known if choice.action in legal]  # the file may be altered
        best = max(known, key=lambda choice: self._worth(choice, player), default=None)
        if best and self._worth(best, player) > 0:
            action, value = best.action, _value(best.wins, player)
        else:
            new = np.setdiff1d(legal, [choice.action for choice in known])
            action, value = int(rng.choice(new if len(new) else legal)), None
        self._id = self._memory.follow(self._id, (action,))
        self._at = self._game.apply(position, action)
        wins = {self._game.action_text(position, choice.action): choice.wins for choice in known}
        return Decision(action, value, {"remembered": wins})

    def _worth(self, choice: Remembered, player: int) -> int:
        losses = choice.wins[1 - player] if self._by == "balance" else 0
        return choice.wins[player] - losses

    def remember(self, record: Record) -> None:
        """Add a game to the memory; idempotent per credit scheme.

        Games from another start, unfinished games and those decided by a fault are left out. Raises
        BadRecord if the record is of another game.
        """
        match = replay(record)
        if (match.game.name, dict(match.game.options)) != (self._game.name, self._game.options):
            raise BadRecord(f"a game of {match.game!r}; wanted: {self._game!r}")
        if record.start is None and match.result and record.reason not in FAULTS:
            line = tuple(action for _, turn in match.history for action in turn)
            counts = credits(self._game, line, match.result.outcome, self._credit)
            digest = hashlib.sha256(f"{self._credit} {record.to_json()}".encode()).hexdigest()
            self._memory.add(counts, self._merge, record=digest)

    def _arrive(self, position: Position) -> None:
        """Find the choice that led to a position, in the present game or in a new one."""
        for before, known in ((self._at, self._id), (self._game.initial, START)):
            if position == before:
                self._id = known
                return
            ways = list(self._game.ways(before, position))
            if ways:
                ids = (self._memory.follow(known, turn) for turn in ways)
                self._id = next((id for id in ids if id is not None), None)
                return
        self._id = None


def _value(wins: Wins, player: int) -> float:
    return (wins[player] - wins[1 - player]) / sum(wins)


def _one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise UnknownOption(f"{name}={given!r}; it is one of: {format_list(known)}")
