"""The player that remembers: choices of finished games, and how often they led to a win.

    memory:path=FILE           one SQLite file, for any number of games and of processes
    python -m agents.memory    nine_mens.json, the file of the original morris program, in and out

A memory knows whole beginnings of games, not positions: the choices from the start, one after the
other. Each choice of a game that is remembered gets a win for who won it; in the file of the
original program, which the credit "mills" follows, one for each mill made later.
"""

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from agents import MEMORY
from cc_env import files, games
from cc_env.commands import Pairs, file_path, game_options, run
from cc_env.errors import BadRecord, UnknownOption, is_whole, listed
from cc_env.game import Game, Turn
from cc_env.games.morris import tree
from cc_env.games.morris.tree import Line, Wins
from cc_env.match import FAULTS
from cc_env.record import Record, replay
from cc_env.referee import Clock, Decision
from cc_env.rules import FIRST_WINS, SECOND_WINS, Position
from cc_env.terminal import Terminal, application

CREDITS = "result", "mills"
MERGES = "add", "replace"
BY = "wins", "balance"

START = 0  # what the choices at the beginning of a game follow
MARK, VERSION = 0x43434D45, 2  # of our files, in SQLite's header
PATIENCE = 60.0  # seconds that a process waits for others
MOST_WINS = 2**53  # of a choice; SQLite has room for their sums
TABLES = (
    "CREATE TABLE games (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)",
    "CREATE TABLE choices (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, parent INTEGER NOT NULL,"
    " action INTEGER NOT NULL, first_wins INTEGER NOT NULL, second_wins INTEGER NOT NULL,"
    " UNIQUE (game, parent, action))",
    "CREATE TABLE remembered (record TEXT PRIMARY KEY) WITHOUT ROWID",
    f"PRAGMA application_id = {MARK}",
    f"PRAGMA user_version = {VERSION}",
)
SCHEMA = sorted(each for each in TABLES if each.startswith("CREATE"))
OURS_TO_MEND = (  # errors that say something of the machine, not of what the file holds
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM),
)


class Choice(NamedTuple):
    """A choice that was made in a game that is remembered."""

    id: int
    action: int
    wins: Wins


class Memory:
    """What a file remembers of one game with these options; it may have others too."""

    def __init__(self, path: str | Path, game: Game) -> None:
        """Use a file, which the first `add` makes; raise BadRecord where it is no memory."""
        self.path, self.game = Path(str(path)), game
        self._name = json.dumps([game.name, dict(game.options)], sort_keys=True)
        self.choices()

    def choices(self, after: int = START) -> list[Choice]:
        """Return what was chosen at the start or after a choice, by id, in the order first seen.

        Raises BadRecord where a row of the file cannot be, OSError where it cannot be read.
        """
        if not self.path.exists():
            return []
        wanted = "SELECT choices.id, action, first_wins, second_wins FROM choices, games "
        wanted += "WHERE games.id = game AND name = ? AND parent = ? ORDER BY choices.id"
        with self._transaction("DEFERRED") as base:
            rows = [] if _is_empty(base) else base.execute(wanted, (self._name, after)).fetchall()
        return [self._choice(after, *row) for row in rows]

    def _choice(self, after: int, id: Any, action: Any, first: Any, second: Any) -> Choice:
        """Return a row as it was read; raise BadRecord where it cannot be.

        A choice is stored after the one that it follows, and has a greater id: nothing goes round.
        """
        is_one = is_whole(id, after + 1, 2**63 - 1) and is_whole(action, 0)
        if not (is_one and is_whole(first, 0, MOST_WINS) and is_whole(second, 0, MOST_WINS)):
            row = f"action {action!r:.40}, wins {first!r:.40} and {second!r:.40}"
            raise BadRecord(f"{self.path}: choice {id!r}, after {after}, cannot be: {row}")
        return Choice(id, action, (first, second))

    def follow(self, after: int | None, turn: Turn) -> int | None:
        """Return the id of the last choice of a turn, None where it was never played."""
        for action in turn:
            known = [] if after is None else self.choices(after)
            after = next((each.id for each in known if each.action == action), None)
        return after

    def counts(self) -> dict[Line, Wins]:
        """Return all that is remembered of the game, each choice after those that led to it."""
        found: dict[Line, Wins] = {}
        waiting: list[tuple[Line, Choice]] = [((), each) for each in reversed(self.choices())]
        while waiting:
            before, choice = waiting.pop()
            line = (*before, choice.action)
            found[line] = choice.wins
            waiting += [(line, each) for each in reversed(self.choices(choice.id))]
        return found

    def add(self, counts: Mapping[Line, Wins], merge: str = "add", *, record: str = "") -> None:
        """Add to the wins of choices, each after those that led to it; all of it or nothing.

        With the merge "replace" they take the place of those that were there. What came with the
        same `record`, a text of your choice, is added once. Raises UnknownOption on another merge,
        OSError where the file cannot be written.
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
        """Open the file, which is made where there is none; what is done is done as one."""
        try:
            base = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            with closing(base):
                base.execute(f"BEGIN {kind}")
                if not _is_empty(
                    base
                ):  # only who may write makes the tables: others would not wait
                    self._check(base)
                yield base
                base.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            code = getattr(error, "sqlite_errorcode", None) or 0
            if code & 0xFF in OURS_TO_MEND:  # the rest says more of the same
                raise OSError(f"{self.path}: {error}") from error
            raise BadRecord(f"{self.path} is no memory of games: {error}") from error

    def _check(self, base: sqlite3.Connection) -> None:
        """Raise BadRecord in a file of another kind or version."""
        (mark,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if mark != MARK:
            raise BadRecord(f"{self.path} is no memory of games, but some other SQLite file")
        if version != VERSION:
            raise BadRecord(f"{self.path} is of version {version}; this reads version {VERSION}")
        there = base.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql")
        if [sql for (sql,) in there] != SCHEMA:  # views and triggers can do anything
            raise BadRecord(f"{self.path} has other tables than a memory of games")


def _is_empty(base: sqlite3.Connection) -> bool:
    """Return whether a file has no tables yet."""
    return not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def credits(game: Game, line: Line, outcome: int, credit: str = "result") -> dict[Line, Wins]:
    """Return what a game is worth to its choices, each after those that led to it.

    By "result" each has a win for who won the game, nothing in a draw. By "mills" each has one for
    every later time that somebody made a mill; in other games, that a decision earned its player
    another one. Raises UnknownOption on any other.
    """
    _one_of("credit", credit, CREDITS)
    wins = [[0, 0] for _ in line]
    if credit == "result" and outcome in (FIRST_WINS, SECOND_WINS):
        for each in wins:
            each[outcome] = 1
    position = game.initial
    for played, action in enumerate(line if credit == "mills" else (), 1):
        position = game.apply(position, action)
        if game.mid_turn(position):
            for each in wins[:played]:
                each[game.to_move(position)] += 1
    return {line[: index + 1]: (first, second) for index, (first, second) in enumerate(wins)}


class MemoryPlayer:
    """Follows the memory along its game, and plays what led to most wins.

    Or, by "balance", to most wins less losses. Of equals the one stored first. Where nothing is
    above 0, it plays a random choice that is not remembered; where all are, any.
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
        """Play by a file; `remember` adds to it by this `credit` and `merge`.

        Raises UnknownOption on other ones than in BY, CREDITS and MERGES, BadRecord where the file
        is no memory.
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
        self._id: int | None = START  # of the choice that led there; None: not remembered

    def fresh(self) -> "MemoryPlayer":
        """As `cc_env.referee.Player`."""
        other = copy(self)
        other._begin()
        return other

    @property
    def fingerprint(self) -> str:
        """A hash of what is remembered now, nothing where there is no file yet."""
        path = self._memory.path
        return files.fingerprint(path) if path.exists() else ""

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return what is remembered to win most often, else something new."""
        self._arrive(position)
        legal, player = self._game.choices(position), self._game.to_move(position)
        known = [] if self._id is None else self._memory.choices(self._id)
        known = [each for each in known if each.action in legal]  # whatever the file says
        best = max(known, key=lambda each: self._worth(each, player), default=None)
        if best and self._worth(best, player) > 0:
            action, value = best.action, _value(best.wins, player)
        else:
            new = np.setdiff1d(legal, [each.action for each in known])
            action, value = int(rng.choice(new if len(new) else legal)), None
        self._id = self._memory.follow(self._id, (action,))
        self._at = self._game.apply(position, action)
        wins = {self._game.action_text(position, each.action): each.wins for each in known}
        return Decision(action, value, {"remembered": wins})

    def _worth(self, choice: Choice, player: int) -> int:
        losses = choice.wins[1 - player] if self._by == "balance" else 0
        return choice.wins[player] - losses

    def remember(self, record: Record) -> None:
        """Add a game to the memory, once by each credit, however often it is told.

        Left out are games that did not begin at the start, that a fault decided, or that are
        unfinished. Raises BadRecord where it is not of this game.
        """
        match = replay(record)
        if (match.game.name, dict(match.game.options)) != (self._game.name, self._game.options):
            raise BadRecord(f"a game of {match.game!r}; wanted: {self._game!r}")
        if record.start is None and match.result and record.reason not in FAULTS:
            line = tuple(action for _, turn in match.course for action in turn)
            counts = credits(self._game, line, match.result.outcome, self._credit)
            told = hashlib.sha256(f"{self._credit} {record.to_json()}".encode()).hexdigest()
            self._memory.add(counts, self._merge, record=told)

    def _arrive(self, position: Position) -> None:
        """Find the choices that led to a position: from where it was, or in another game."""
        for before, known in ((self._at, self._id), (self._game.initial, START)):
            if position == before:
                self._id = known
                return
            ways = list(self._game.ways(before, position))
            if ways:
                found = (self._memory.follow(known, turn) for turn in ways)
                self._id = next((each for each in found if each is not None), None)
                return
        self._id = None


def _value(wins: Wins, player: int) -> float:
    return (wins[player] - wins[1 - player]) / sum(wins)


def _one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise UnknownOption(f"{name}={given!r}; it is one of: {listed(known)}")


app = application(
    no_args_is_help=True, help="Memories of morris as JSON, in the format of the original program."
)
console = Terminal()

MemoryFile = Annotated[
    Path,
    typer.Option("--memory", "-m", parser=file_path, metavar="FILE", help="The SQLite file."),
]
JSONFile = Annotated[
    Path,
    typer.Argument(parser=file_path, metavar="FILE", help="As nine_mens.json.", show_default=False),
]


@app.command("import")
def import_tree(
    file: JSONFile, memory: MemoryFile = Path(MEMORY), option: Pairs = None, merge: str = "add"
) -> None:
    """Add a tree to a memory; --merge replace lets its wins take the place of those there."""
    game = games.make("morris", **game_options(option))
    try:
        counts, illegal = tree.read(game, file.read_text(encoding="utf-8"))
    except (BadRecord, UnicodeDecodeError) as error:
        raise BadRecord(f"{file}: {error}") from error
    Memory(memory, game).add(counts, merge)
    console.print(f"{len(counts):,} choices added to {memory}")
    for where in illegal:
        console.print(f"left out, not legal here: {where}")


@app.command()
def export(
    file: JSONFile,
    memory: MemoryFile = Path(MEMORY),
    option: Pairs = None,
    first: Annotated[int, typer.Option(help="Who began: 1 the person, 2 the machine.")] = 1,
) -> None:
    """Write what a memory has as a tree."""
    game = games.make("morris", **game_options(option))
    counts = Memory(memory, game).counts()
    if not counts:
        raise BadRecord(f"{memory} has no games of {game!r}; nothing is written")
    files.write(file, tree.write(game, counts, first=first))
    console.print(f"{len(counts):,} choices written to {file}")


def main() -> int:
    """Run the command line; return the exit status, 2 for bad input."""
    return run(app)


if __name__ == "__main__":
    sys.exit(main())
