"""The memory player: it stores the choices of finished games and how often they led to a win.

    memory:path=FILE    one SQLite file, for any number of games and processes
    cc_env memory       imports and exports nine_mens.json of the original program

A memory is a tree of action sequences from the start of the game, not a table of positions. With
the credit scheme "result", a finished game adds a win of the winner to each of its choices. With
"mills", the scheme of the original program, every mill adds a win of its player to the choice that
closes it and to each earlier choice.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from agents.defaults import MEMORY_PATH
from agents.reproductions.memory_tree import Line, Wins
from cc_env.core.game import Game, Turn
from cc_env.core.rules import FIRST_WINS, SECOND_WINS, Position
from cc_env.errors import BadRecord, UnknownOption, format_list, is_integer
from cc_env.files import file_hash
from cc_env.match.match import FAULTS
from cc_env.match.record import Record, replay
from cc_env.match.referee import Clock, Decision

CREDITS = "result", "mills"
MERGES = "add", "replace"

# Id of the root of the tree, the parent of first choices.
START = 0
# application_id and user_version in SQLite's header.
APPLICATION_ID, VERSION = 0x43434D45, 2
LOCK_TIMEOUT_SECONDS = 60.0
# The sum of two such numbers fits into SQLite's 64-bit integers.
MAX_WINS = 2**53
TABLES = (
    "CREATE TABLE games (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)",
    "CREATE TABLE choices (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, parent INTEGER NOT NULL,"
    " action INTEGER NOT NULL, first_wins INTEGER NOT NULL, second_wins INTEGER NOT NULL,"
    " UNIQUE (game, parent, action))",
    "CREATE TABLE remembered (record TEXT PRIMARY KEY) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
SCHEMA = sorted(command for command in TABLES if command.startswith("CREATE"))
# SQLite errors caused by the system, not by the content of the file.
SYSTEM_ERRORS = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM),
)


class Choice(NamedTuple):
    """A choice in a remembered game."""

    id: int
    action: int
    wins: Wins


class Memory:
    """The memory of one game with its options; a file may hold several."""

    def __init__(self, path: str | Path, game: Game) -> None:
        """Use a file, which the first `add` creates; raise BadRecord if it is not a memory."""
        self.path = Path(str(path))
        self.game = game
        self._name = json.dumps([game.name, dict(game.options)], sort_keys=True)
        self.choices()

    def choices(self, parent: int = START) -> list[Choice]:
        """Return the choices that follow choice `parent` (an id), oldest first.

        Raises BadRecord if a row of the file is invalid, OSError if it cannot be read.
        """
        if not self.path.exists():
            return []
        query = "SELECT choices.id, action, first_wins, second_wins FROM choices, games "
        query += "WHERE games.id = game AND name = ? AND parent = ? ORDER BY choices.id"
        with self._transaction("DEFERRED") as connection:
            if _is_empty(connection):
                return []
            rows = connection.execute(query, (self._name, parent)).fetchall()
        return [self._parse_choice(parent, *row) for row in rows]

    def _parse_choice(
        self, parent: int, id: Any, action: Any, first_wins: Any, second_wins: Any
    ) -> Choice:
        """Check a row and return its choice; raise BadRecord if it is invalid.

        A choice has a greater id than its parent, so the tree has no cycles.
        """
        has_ids = is_integer(id, parent + 1, 2**63 - 1) and is_integer(action, 0)
        if has_ids and all(is_integer(wins, 0, MAX_WINS) for wins in (first_wins, second_wins)):
            return Choice(id, action, (first_wins, second_wins))
        row = f"action {action!r:.40}, wins {first_wins!r:.40} and {second_wins!r:.40}"
        raise BadRecord(f"{self.path}: choice {id!r}, after {parent}, is invalid: {row}")

    def follow(self, parent: int | None, turn: Turn) -> int | None:
        """Return the id of the last choice of a turn after `parent`; None if it is not stored.

        An empty turn leads to `parent` itself.
        """
        for action in turn:
            choices = [] if parent is None else self.choices(parent)
            parent = next((choice.id for choice in choices if choice.action == action), None)
        return parent

    def counts(self) -> dict[Line, Wins]:
        """Return the wins of all sequences of choices; prefixes come before their extensions."""
        counts: dict[Line, Wins] = {}
        stack: list[tuple[Line, Choice]] = [((), choice) for choice in reversed(self.choices())]
        while stack:
            prefix, choice = stack.pop()
            line = (*prefix, choice.action)
            counts[line] = choice.wins
            stack += [(line, child) for child in reversed(self.choices(choice.id))]
        return counts

    def add(self, counts: Mapping[Line, Wins], merge: str = "add", *, source: str = "") -> None:
        """Add wins to sequences of choices in one transaction; lines come after their prefixes.

        With the merge "replace", the wins replace those in the file. `source` is any text that
        identifies the origin of the counts: a second call with the same text changes nothing.
        Raises UnknownOption for another merge, BadRecord if the file is not a memory, OSError if it
        cannot be written.
        """
        _check_option("merge", merge, MERGES)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._transaction("IMMEDIATE") as connection:
            if _is_empty(connection):
                for command in TABLES:
                    connection.execute(command)
            insert = "INSERT OR IGNORE INTO remembered VALUES (?)"
            if source and not connection.execute(insert, (source,)).rowcount:
                return
            connection.execute("INSERT OR IGNORE INTO games (name) VALUES (?)", (self._name,))
            query = "SELECT id FROM games WHERE name = ?"
            (game,) = connection.execute(query, (self._name,)).fetchone()
            ids: dict[Line, int] = {(): START}
            for line, wins in counts.items():
                key = game, ids[line[:-1]], line[-1]
                ids[line] = self._upsert(connection, key, wins, merge)

    def _upsert(
        self, connection: sqlite3.Connection, key: tuple[int, int, int], wins: Wins, merge: str
    ) -> int:
        """Add wins to the choice with this (game, parent, action); return its id."""
        query = "SELECT id, first_wins, second_wins FROM choices"
        query += " WHERE game = ? AND parent = ? AND action = ?"
        id = None
        if row := connection.execute(query, key).fetchone():
            choice = self._parse_choice(key[1], row[0], key[2], *row[1:])
            id = choice.id
            if merge == "add":
                first, second = map(sum, zip(choice.wins, wins, strict=True))
                wins = min(first, MAX_WINS), min(second, MAX_WINS)
        insert = "INSERT OR REPLACE INTO choices VALUES (?, ?, ?, ?, ?, ?)"
        row_id = connection.execute(insert, (id, *key, *wins)).lastrowid
        assert row_id is not None
        return row_id

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        """Open the file, creating it if it is missing, and run the block as one transaction.

        `kind` is SQLite's: DEFERRED to read, IMMEDIATE to write. Raises OSError for an error of the
        system, such as a full disk, and BadRecord if the file is not a memory of games.
        """
        try:
            connection = sqlite3.connect(
                self.path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None
            )
            with closing(connection):
                connection.execute(f"BEGIN {kind}")
                # A new file is empty until its first writer creates the tables.
                if not _is_empty(connection):
                    self._check_schema(connection)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # The low byte is the primary error code.
            code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            if code in SYSTEM_ERRORS:
                raise OSError(f"{self.path}: {error}") from error
            raise BadRecord(f"{self.path} is not a memory of games: {error}") from error

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Raise BadRecord if the file is of another kind or version."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise BadRecord(f"{self.path} is not a memory of games, but some other SQLite file")
        if version != VERSION:
            raise BadRecord(f"{self.path}: version {version}; expected: {VERSION}")
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql"
        # Views and triggers of an untrusted file could change anything.
        if [sql for (sql,) in connection.execute(query)] != SCHEMA:
            raise BadRecord(f"{self.path} does not have the tables of a memory of games")


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether a file has no tables."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def credits(game: Game, line: Line, outcome: int, credit: str = "result") -> dict[Line, Wins]:
    """Return the wins that a game adds to each of its sequences of choices, prefixes first.

    `credit` is the scheme. With "result", each choice gets one win for the winner, none in a draw.
    With "mills", every mill adds one win for its player to the choice that closes it and to each
    earlier choice; in other games, every decision after which its player decides again does so.
    Raises UnknownOption for other schemes.
    """
    _check_option("credit", credit, CREDITS)
    wins = [[0, 0] for _ in line]
    if credit == "mills":
        position = game.initial
        for count, action in enumerate(line, 1):
            position = game.apply(position, action)
            if game.mid_turn(position):
                for earlier in wins[:count]:
                    earlier[game.to_move(position)] += 1
    elif outcome in (FIRST_WINS, SECOND_WINS):
        for choice in wins:
            choice[outcome] = 1
    return {line[: index + 1]: (first, second) for index, (first, second) in enumerate(wins)}


class MemoryPlayer:
    """Plays the remembered choice with the most wins.

    Ties go to the choice that was stored first. If no choice has a win, the player takes a random
    action that is not remembered, or any legal one if all are.
    """

    def __init__(
        self,
        game: Game,
        *,
        path: str = MEMORY_PATH,
        credit: str = "result",
        merge: str = "add",
    ) -> None:
        """Use the memory file at `path`, to which `remember` adds games.

        `credit` selects the wins that a game adds, one of CREDITS; `merge` how they are combined
        with those in the file, one of MERGES. Raises UnknownOption for other values, BadRecord if
        the file is not a memory.
        """
        _check_option("credit", credit, CREDITS)
        _check_option("merge", merge, MERGES)
        self._game, self._memory = game, Memory(path, game)
        self._credit, self._merge = credit, merge
        self._reset()

    def _reset(self) -> None:
        """Return to the initial position."""
        self._position: Position = self._game.initial
        # The choice that led to the position; None if it is not remembered.
        self._choice_id: int | None = START

    def for_new_game(self) -> Self:
        """Return a player for another game, with the same memory file."""
        player = copy(self)
        player._reset()
        return player

    @property
    def fingerprint(self) -> str:
        """The hash of the file; empty before it exists."""
        path = self._memory.path
        return file_hash(path) if path.exists() else ""

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return the remembered choice with the most wins.

        If no choice has a win, return a random action that is not remembered, or any legal one if
        all are. Raises BadRecord if the file is invalid.
        """
        self._locate(position)
        legal = self._game.choices(position)
        player = self._game.to_move(position)
        choices = [] if self._choice_id is None else self._memory.choices(self._choice_id)
        # An altered file may contain illegal actions.
        choices = [choice for choice in choices if choice.action in legal]
        best = max(choices, key=lambda choice: choice.wins[player], default=None)
        value = None
        if best and best.wins[player] > 0:
            action = best.action
            value = (best.wins[player] - best.wins[1 - player]) / sum(best.wins)
        else:
            untried = np.setdiff1d(legal, [choice.action for choice in choices])
            action = int(rng.choice(untried if len(untried) else legal))
        self._choice_id = self._memory.follow(self._choice_id, (action,))
        self._position = self._game.apply(position, action)
        wins = {self._game.action_text(position, choice.action): choice.wins for choice in choices}
        return Decision(action, value, {"remembered": wins})

    def remember(self, record: Record) -> None:
        """Add a game to the memory; a repeated call with the same credit scheme has no effect.

        Games from another start, unfinished games and those decided by a fault are ignored. Raises
        BadRecord if the record is of another game or breaks its rules, OSError if the file cannot
        be written.
        """
        match = replay(record)
        if (match.game.name, dict(match.game.options)) != (self._game.name, self._game.options):
            raise BadRecord(f"the record is of {match.game!r}; expected: {self._game!r}")
        if record.start is None and match.result and record.reason not in FAULTS:
            line = tuple(action for _, turn in match.history for action in turn)
            counts = credits(self._game, line, match.result.outcome, self._credit)
            digest = hashlib.sha256(f"{self._credit} {record.to_json()}".encode()).hexdigest()
            self._memory.add(counts, self._merge, source=digest)

    def _locate(self, position: Position) -> None:
        """Find the choice that led to a position, in the current game or in a new one."""
        for origin, id in ((self._position, self._choice_id), (self._game.initial, START)):
            turns = [()] if position == origin else [*self._game.turns_between(origin, position)]
            if turns:
                choice_ids = (self._memory.follow(id, turn) for turn in turns)
                self._choice_id = next((id for id in choice_ids if id is not None), None)
                return
        self._choice_id = None


def _check_option(name: str, value: str, valid: tuple[str, ...]) -> None:
    """Raise UnknownOption unless the value is valid."""
    if value not in valid:
        raise UnknownOption(f"{name}={value!r}; expected: {format_list(valid)}")
