"""What a game is to everything above its rules: its facts, notation, look and search.

Shapes: A actions, C planes of an observation, H rows and W columns of the board, F fields of a
position, N positions.
"""

import itertools
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.grid import Cell, Grid
from cc_env.core.numbering import Numbering
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, Position
from cc_env.core.symmetry import Symmetry, symmetry
from cc_env.errors import (
    BadGame,
    BadOption,
    BadPosition,
    IllegalAction,
    UnknownOption,
    format_list,
    suggest,
)

__all__ = [  # all that the module of a game needs, beside `rules`
    "Bot",
    "BrokenGame",
    "Cell",
    "Format",
    "Game",
    "Grid",
    "Look",
    "Notation",
    "Numbering",
    "PlayedGame",
    "Search",
    "Symmetry",
    "Track",
    "Turn",
    "symmetry",
]

Bot = Callable[[Position, np.random.Generator], int]  # a player of this game alone: its action
_SETS = "own", "enemy", "player"  # the fields of a position that default texts and pictures know


Turn = tuple[int, ...]  # the actions of one turn, in order


class BrokenGame(NamedTuple):
    """A game of a text that cannot be read or contradicts the rules."""

    line: int  # of the text, from 1
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def normalize_newlines(text: str) -> str:
    """Return a text in which each line ends with a line feed, whatever system wrote it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class PlayedGame:
    """A game of another program's file; it may be unfinished."""

    start: Position
    turns: tuple[Turn, ...]
    players: tuple[str, str] = "?", "?"  # the names of the first and the second
    outcome: int = ONGOING  # ONGOING where the file does not say it
    scores: tuple[float, float] | None = None  # of both, where the file has them
    fault: str = ""  # one of `cc_env.match.match.FAULTS`, if one ended it; that decided the outcome
    game: "Game | None" = None  # where the file says by which options, else those of the reader
    line: int = 1  # of the file, where the game begins


class Format(NamedTuple):
    """How other programs write down games of a kind.

    `read` yields the games of a text, and a BrokenGame in place of each broken one. `count` returns
    the number of games in a text, broken ones included. `write` returns the text of a game, or
    raises BadRecord if the format cannot express it. A file with several games has an empty line
    between them, unless the format `is_single`: of one game alone. `options` are those that such
    files mean where nothing else is said, `hint` says what else to try where the rules contradict a
    game.
    """

    read: Callable[[str, "Game"], Iterator[PlayedGame | BrokenGame]]
    count: Callable[[str], int]
    write: Callable[["Game", PlayedGame], str]
    options: Mapping[str, Any] = MappingProxyType({})
    hint: Callable[["Game"], str] = lambda game: ""
    is_single: bool = False


@dataclass(frozen=True, kw_only=True)
class Notation:
    """How a game is written. What is left out is as the methods of `Game` say.

    `parse_position` raises BadPosition, saying what is wrong with a text; `Game.from_text` adds
    which text it was. `action_text` takes any action id, legal or not. `endings` has a sentence for
    each word that `ending` may return, in which {loser} stands for the player who has lost.
    """

    to_text: Callable[[Position], str] | None = None
    parse_position: Callable[[str], Position] | None = None
    action_text: Callable[[Position, int], str] | None = None
    other_texts: Callable[[Position, int], Iterable[str]] = lambda position, action: ()  # also read
    ending: Callable[[Position], str] | None = None
    endings: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)  # by the end of a file's name: .pdn


class Track(NamedTuple):
    """What a turn did on the board: the cells its piece went through, the pieces it took."""

    path: tuple[Cell, ...]
    captured: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What pictures show. What is left out is as the methods of `Game` say.

    A board has squares, or points where it has `lines`. `shooters` are the pieces any of which may
    be said to play an action that moves nothing but hits the end of its track; other actions have
    none.
    """

    pieces: Callable[[Position], Mapping[Cell, str]] | None = None  # letters, as in `Game.letters`
    track: Callable[[Position, Turn], Track] | None = None
    figures: Mapping[str, str] = field(default_factory=dict)  # by letter; else discs, see shapes.py
    kinds: Mapping[str, str] = field(default_factory=dict)  # of pieces, in a word, by letter: king
    goals: tuple[Cell, Cell] | tuple[()] = ()  # a cell to mark for each player
    dark: int = 1  # the dark cells are those whose row + column is odd; 0: even
    lines: tuple[tuple[Cell, Cell], ...] = ()  # of a board of points
    names: Mapping[Cell, str] = field(default_factory=dict)  # of its points, as in notation
    rows: Sequence[str] = ()  # what rows are called, as in notation, from the top; default: 0, 1, …
    columns: Sequence[str] = ()  # the same of columns, from the left
    remark: Callable[[Position], str] = lambda position: ""  # what is due and no piece shows
    shooters: Callable[[Position, int], Iterable[Cell]] = lambda position, action: ()


@dataclass(frozen=True, kw_only=True)
class Search:
    """What players know of a game beside its rules."""

    evaluations: Mapping[str, Any] = field(default_factory=dict)  # by name, the default first
    levels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of minimax, its own
    bots: Mapping[str, Callable[["Game"], Bot]] = field(default_factory=dict)  # by spoken name


@dataclass(frozen=True, eq=False, kw_only=True)
class Game:
    """A game with its options settled; `cc_env.make_game` makes them.

    Facts stand here, all else in `notation`, `look` and `search`, whose defaults are for positions
    with the fields `own`, `enemy` (sets of cells, see `Grid`) and `player`.

    `letters` are those of the pieces of the first and of the second player, in texts and pictures,
    beginning with the one that stands for the player; by default the initials of `players`.
    `action_cells`, for networks and pictures, are the cells of an observation where an action
    starts and ends, row * W + column in the mover's frame: the same cell twice for an action on one
    cell, H * W twice for an action without a cell; int64[A] is the cell of each action, in games
    where all are on one. Actions may share their cells where they are never legal together. By
    default there is an action for each cell.

    Raises BadGame where these do not fit together.
    """

    name: str
    initial: Position
    grid: Grid
    planes: tuple[str, ...]  # [C] what each plane of an observation shows
    players: tuple[str, str]  # what the first and the second player are called: best by a colour
    options: Mapping[str, Any] = field(default_factory=dict)
    letters: tuple[str, str] = "", ""
    action_cells: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    symmetries: tuple[Symmetry, ...] = ()  # without the identity
    repetition_limit: int = 0  # turns leading to the same position after which the rules end a game
    max_margin: int = 1  # the most by which the game can be won, see `rules.margin`
    scores: Callable[[Position, int | None], tuple[float, float]] | None = None  # see `score`
    fits: Callable[[Position], NDArray[np.bool_]] | None = None  # [N], see `check_words`
    notation: Notation = field(default_factory=Notation)
    look: Look = field(default_factory=Look)
    search: Search = field(default_factory=Search)
    numbering: Numbering | None = None  # None: the game cannot be solved, see `exact.numbering`

    def __post_init__(self) -> None:
        if not any(self.letters):
            object.__setattr__(self, "letters", tuple(name[:1] for name in self.players))
        try:
            object.__setattr__(self, "action_cells", self.grid.ends(self.action_cells))
        except BadGame as error:
            raise BadGame(f"{self.name}: {error}") from None
        for wrong in self._contradictions():
            raise BadGame(f"{self.name}: {wrong}")

    def _contradictions(self) -> Iterator[str]:
        """Yield what does not fit together."""
        both, look = "".join(self.letters), self.look
        if not all(self.letters) or len(set(both)) < len(both) or not both.isalpha():
            yield f"letters={self.letters!r}; wanted: letters for each player, none in common"
        own = look.pieces, self.notation.to_text, self.notation.parse_position
        if not all(own) and not set(_SETS) <= set(self.initial._fields):
            wanted = f"fields {format_list(_SETS)}, or functions pieces, to_text and parse_position"
            yield f"positions have the fields {format_list(self.initial._fields)}; wanted: {wanted}"
        for what, labels, count in (
            ("rows", look.rows, self.grid.rows),
            ("columns", look.columns, self.grid.columns),
        ):
            if labels and len(labels) != count:
                yield f"{what}={labels!r} of its look; wanted: {count} labels, or ()"
        for letter in (*look.figures, *look.kinds, *self.pieces(self.initial).values()):
            if letter not in both:
                yield f"the piece {letter!r} is nobody's; letters={self.letters!r}"

    @property
    def num_actions(self) -> int:
        """How many action ids there are: A."""
        return len(self.action_cells)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """The shape of an observation: (C, H, W)."""
        return len(self.planes), self.grid.rows, self.grid.columns

    @cached_property
    def labels(self) -> tuple[list[str], list[str]]:
        """What the rows, from the top, and the columns, from the left, are called."""
        rows, columns = self.look.rows, self.look.columns
        return (
            list(rows or map(str, range(self.grid.rows))),
            list(columns or map(str, range(self.grid.columns))),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "Game":
        return self  # nothing in it changes

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_game({self.name!r}{options})"

    def from_text(self, text: str) -> Position:
        """Return the position that `to_text` wrote; raise BadPosition where there is none."""
        if not isinstance(text, str):
            raise BadPosition(f"{self.name}: a position is given as text, not as {text!r}")
        try:
            parse = self.notation.parse_position or self._parse_position
            return parse(text)
        except BadPosition as error:
            raise BadPosition(f"{self.name}: cannot read position '{text}': {error}") from None

    def check_words(self, rows: NDArray[np.uint64]) -> None:
        """Raise BadPosition if one of `rows`, uint64[N, F], is not a possible position.

        Compiled rules trust their positions, and may read and write out of bounds if one is
        impossible; so words from outside are checked here. `fits` takes a position whose fields are
        arrays uint64[N] and returns bool[N]: which of them are possible. Without `fits`, positions
        are written as text and read again.
        """
        if self.fits:
            fits = self.fits(type(self.initial)(*rows.T))
        else:
            fits = np.array([self._is_read_again(row) for row in rows], np.bool_)
        if not fits.all():
            row = int(fits.argmin())
            raise BadPosition(f"{self.name}: the words {rows[row].tolist()} are not a position")

    def _is_read_again(self, row: NDArray[np.uint64]) -> bool:
        position = type(self.initial)(*row)
        try:
            return bool(self.from_text(self.to_text(position)) == position)
        except Exception:  # what a game makes of words that nobody checked
            return False

    def owner(self, letter: str) -> int:
        """Return whose piece a letter is, 0 or 1; raise BadGame where it is nobody's."""
        for player, letters in enumerate(self.letters):
            if letter in letters:
                return player
        raise BadGame(f"{self.name}: the piece {letter!r} is nobody's; letters={self.letters!r}")

    def pieces(self, position: Position) -> Mapping[Cell, str]:
        """Return the letters of the pieces on the board; by default the sets `own`, `enemy`."""
        if self.look.pieces:
            return self.look.pieces(position)
        return self.grid.pieces(position, self.letters)

    def to_text(self, position: Position) -> str:
        """Return the position in one line.

        By default rows from the top, the letter of the player to move, and as NAME=VALUE all other
        fields that are not as at the start.
        """
        if self.notation.to_text:
            return self.notation.to_text(position)
        player = int(position.player)
        words = [self.grid.position_text(self.pieces(position), self.letters, player)]
        for name, value, usual in zip(position._fields, position, self.initial, strict=True):
            if name not in _SETS and value != usual:
                words.append(f"{name}={value}")
        return " ".join(words)

    def _parse_position(self, text: str) -> Position:
        """Return the position that `to_text` writes by default; raise BadPosition."""
        other = [name for name in self.initial._fields if name not in _SETS]
        rest = f"then NAME=VALUE of {format_list(other)}" if other else ""
        pieces, player, words = self.grid.parse_position(text, self.letters, rest)
        own, enemy = self.grid.bitboards(pieces, self.letters, player)
        values = {"own": own, "enemy": enemy, "player": np.uint64(player)}
        for word in words:
            name, _, value = word.partition("=")
            if name not in other or not (value.isascii() and value.isdigit()):
                raise BadPosition(f"'{word}'; wanted: {rest}")
            if int(value) >= 2**64:
                raise BadPosition(f"'{word}': a field has 64 bits")
            values[name] = np.uint64(int(value))
        return self.initial._replace(**values)

    def action_text(self, position: Position, action: int) -> str:
        """Return the notation of an action, legal or not; a turn's is the sum of its actions'.

        By default its cell or cells, such as 41-30: the labels of row and column, or their names.
        """
        if self.notation.action_text:
            return self.notation.action_text(position, action)
        ends = self._ends(action, self.to_move(position))
        return "-".join(map(self._cell_text, dict.fromkeys(ends))) or "pass"

    def _cell_text(self, cell: Cell) -> str:
        (row, column), (rows, columns) = cell, self.labels
        comma = "," if max(map(len, rows + columns)) > 1 else ""
        return self.look.names.get(cell) or f"{rows[row]}{comma}{columns[column]}"

    def _ends(self, action: int, player: int) -> tuple[Cell, ...]:
        """Return the cells of the board where an action starts and ends, none if it has none."""
        places = [divmod(int(place), self.grid.columns) for place in self.action_cells[action]]
        return tuple(
            self.grid.in_frame(cell, player) for cell in places if cell[0] < self.grid.rows
        )

    def ending(self, position: Position) -> str:
        """Return in one word how a finished game ended; by default draw or won."""
        if self.notation.ending:
            return self.notation.ending(position)
        return "draw" if self.outcome(position) == DRAW else "won"

    def track(self, position: Position, turn: Turn) -> Track:
        """Return where the pieces of a legal turn went, finished or not, and what it captured.

        By default the cells of its actions, and those that the opponent's pieces left meanwhile. An
        action on a single cell that captures what stands there goes nowhere; one that puts a piece
        elsewhere, which may have fallen, goes there.
        """
        if self.look.track:
            return self.look.track(position, turn)
        path, captured = list[Cell](), list[Cell]()
        player, pieces = self.to_move(position), self.pieces(position)
        for action in turn:
            ends = self._ends(action, player)  # IndexError, where it is not an action at all
            position = self.words(position, rules.apply(position, action))
            before, pieces = pieces, self.pieces(position)
            taken = _vacated(before, pieces, self.letters[1 - player])
            if len(set(ends)) == 1:
                put = _vacated(pieces, before, self.letters[player])
                ends = tuple(put) if len(put) == 1 else ends
            if set(ends) != set(taken):
                path += ends[:1] if path[-1:] != list(ends[:1]) else ()
                path += ends[1:] if ends[:1] != ends[1:] else ()
            captured += taken
        return Track(tuple(path), tuple(captured))

    def legal_actions(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, int32[count], ascending; empty when the game is over."""
        out = np.empty(self.num_actions, np.int32)
        over = rules.outcome(position) != ONGOING
        return out[: 0 if over else rules.legal_actions(position, out)]

    def choices(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, int32[count], ascending, at least one.

        Raises IllegalAction where the game is over.
        """
        legal = self.legal_actions(position)
        if not len(legal):
            text, ending = self.to_text(position), self.ending(position)
            raise IllegalAction(
                f"there is no action to choose in '{text}'; the game is over ({ending})"
            )
        return legal

    def action_mask(self, position: Position) -> NDArray[np.int8]:
        """Return int8[A]: 1 where the action is legal, else 0."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[self.legal_actions(position)] = 1
        return mask

    def opening_mask(self) -> NDArray[np.int8]:
        """Return int8[A]: 1 where an action is legal however an episode begins.

        If there is no such action, as in a game that begins by placing anywhere, 1 for the actions
        that are legal most often.
        """
        counts = self.action_mask(self.initial).astype(np.int64)
        for turn in self.turns(self.initial):
            counts += self.action_mask(self.play_turn(self.initial, turn))
        mask: NDArray[np.int8] = (counts == counts.max()).astype(np.int8)
        return mask

    def apply(
        self, position: Position, action: int, legal: Container[int] | None = None
    ) -> Position:
        """Return the position after `action`; raise IllegalAction where it is not legal.

        A caller that already has the legal actions passes them as `legal`.
        """
        chosen = self.legal_action(position, action, legal)
        return self.words(position, rules.apply(position, chosen))

    def legal_action(
        self, position: Position, action: object, legal: Container[int] | None = None
    ) -> int:
        """Return what somebody chose as an int; raise IllegalAction where it is not legal.

        Integers will do, NumPy's and arrays of no dimension included. A caller that already has the
        legal actions passes them as `legal`.
        """
        try:
            chosen = operator.index(action)  # type: ignore[arg-type]
        except TypeError:
            raise self.illegal(position, action) from None
        if chosen not in (self.legal_actions(position) if legal is None else legal):
            raise self.illegal(position, action)
        return chosen

    def play_turn(self, position: Position, turn: Turn) -> Position:
        """Return the position after these actions; raise IllegalAction where one is not legal."""
        if isinstance(turn, str) or not isinstance(turn, Iterable):
            wanted = "wanted: action ids, as game.parse_turn(position, TEXT) returns them"
            raise IllegalAction(f"{turn!r} is not a turn; {wanted}; game.apply plays a single id")
        for action in turn:
            position = self.apply(position, action)
        return position

    @staticmethod
    def words(like: Position, fields: tuple[int, ...]) -> Position:
        """Return the position of the class of `like` that has these fields, as unsigned words."""
        return type(like)(*map(np.uint64, fields))

    def to_move(self, position: Position) -> int:
        """Return the player to move, 0 or 1."""
        return int(rules.to_move(position))

    def mid_turn(self, position: Position) -> bool:
        """Return whether the player to move is in the middle of a turn."""
        return bool(rules.mid_turn(position))

    def outcome(self, position: Position) -> int:
        """Return FIRST_WINS (0), SECOND_WINS (1), DRAW (2) or ONGOING (-1), by the rules alone."""
        return int(rules.outcome(position))

    def margin(self, position: Position) -> int:
        """Return by how much a finished game was won, 0 for a draw."""
        return 0 if self.outcome(position) in (DRAW, ONGOING) else int(rules.margin(position))

    def score(self, position: Position, loser: int | None = None) -> tuple[float, float]:
        """Return the scores of both players in a finished game: by `scores`, or by its margin.

        Where the rules do not end the game, these are the scores if it ends by repetition or, in
        games with `scores`, by a fault of the `loser`.
        """
        if self.scores:
            return self.scores(position, loser)
        won = float(self.margin(position))
        return (won, -won) if self.outcome(position) == FIRST_WINS else (-won, won)

    def repetition_outcome(self, position: Position) -> int:
        """Return the outcome where the rules end the game by repetition."""
        return int(rules.repetition_outcome(position))

    def key(self, position: Position) -> np.uint64:
        """Return a 64-bit hash of the position, side to move included."""
        return np.uint64(rules.key(position))

    def observe(self, position: Position, player: int | None = None) -> NDArray[np.int8]:
        """Return int8[C, H, W], as `player` (None: the player to move) sees the position."""
        planes = np.empty(self.observation_shape, np.int8)
        rules.observe(position, self.to_move(position) if player is None else player, planes)
        return planes

    def evaluation(self, which: Any = None) -> Any:
        """Return the evaluation of this name, None for the first; an evaluation is returned as is.

        Raises UnknownOption where the game has none, or none of this name.
        """
        if hasattr(which, "_fields"):  # a NamedTuple of weights
            return which
        known = self.search.evaluations
        has = format_list(known) or "none"
        if which is not None and not isinstance(which, str):
            raise BadOption(f"evaluation={which!r} is not a name; {self.name} has: {has}")
        if not known or (which and which not in known):
            has = f"{suggest(which, known)}it has: {has}"
            raise UnknownOption(f"{self.name} has no evaluation {which or ''!r}; {has}")
        return known[which or next(iter(known))]

    def turns(self, position: Position) -> Iterator[Turn]:
        """Yield every turn that is legal now, or the rest of it within a turn."""
        for action in map(int, self.legal_actions(position)):
            after = self.apply(position, action)
            if self.mid_turn(after):
                yield from ((action, *rest) for rest in self.turns(after))
            else:
                yield (action,)

    def ways(
        self, before: Position, after: Position, *, unfinished: bool = False
    ) -> Iterator[Turn]:
        """Yield every turn that leads from one position to another, as the actions it takes.

        With `unfinished` also turns that lead to a position within a turn.
        """
        for action in map(int, self.legal_actions(before)):
            position = self.apply(before, action)
            within = self.mid_turn(position)
            if position == after and (unfinished or not within):
                yield (action,)
            if within:
                rest = self.ways(position, after, unfinished=unfinished)
                yield from ((action, *actions) for actions in rest)

    def turn_text(self, position: Position, turn: Turn) -> str:
        """Return the notation of a turn, finished or not; raise IllegalAction if it is illegal."""
        text = ""
        for action in turn:
            after = self.apply(position, action)
            text += self.action_text(position, action)
            position = after
        return text

    def turn_texts(self, position: Position, line: Turn) -> list[str]:
        """Return the notation of each turn of a line of actions; raise as `turn_text`."""
        texts = [""]
        for action in line:
            after = self.apply(position, action)
            texts[-1] += self.action_text(position, action)
            if not self.mid_turn(after):
                texts.append("")
            position = after
        return [text for text in texts if text]

    def parse_turn(self, position: Position, text: str) -> Turn:
        """Return the legal turn written as `text`; raise IllegalAction if there is none."""
        wanted = _plain(text)
        if (turn := self._turn_of(position, wanted)) is not None:
            return turn
        for action in map(int, self.legal_actions(position)):
            if wanted in map(_plain, self.notation.other_texts(position, action)):
                return (action,)
        near = self.near(position, text)
        would_do = f"did you mean {format_list(near)}?" if near else self._what_is_legal(position)
        raise IllegalAction(f"'{text}' is not legal in '{self.to_text(position)}'; {would_do}")

    def near(self, position: Position, text: str, most: int = 12) -> list[str]:
        """Return the texts of legal turns that begin with `text`, at most this number of them.

        Turns that do not begin so are not generated. Returns no texts where `text` is empty.
        """
        wanted = _plain(text)
        if not wanted:
            return []
        others = (
            other
            for action in map(int, self.legal_actions(position))
            for other in self.notation.other_texts(position, action)
            if _plain(other).startswith(wanted)
        )
        texts = itertools.chain(self._texts_with(position, wanted), others)
        return list(dict.fromkeys(itertools.islice(texts, most)))

    def _texts_with(self, position: Position, wanted: str, begun: str = "") -> Iterator[str]:
        """Yield the texts of turns that go on from `begun` and begin with a plain text."""
        for action in map(int, self.legal_actions(position)):
            text = begun + self.action_text(position, action)
            plain = _plain(text)
            if not (plain.startswith(wanted) or wanted.startswith(plain)):
                continue
            after = self.apply(position, action)
            if self.mid_turn(after):
                yield from self._texts_with(after, wanted, text)
            elif plain.startswith(wanted):
                yield text

    def _turn_of(self, position: Position, wanted: str) -> Turn | None:
        """Return the legal turn of this plain text, None if there is none.

        Follows only decisions with which the text begins, so most turns are not generated.
        """
        for action in map(int, self.legal_actions(position)):
            begins = _plain(self.action_text(position, action))
            if not wanted.startswith(begins):
                continue
            after, rest = self.apply(position, action), wanted.removeprefix(begins)
            if not self.mid_turn(after):
                later: Turn | None = None if rest else ()
            else:
                later = self._turn_of(after, rest)
            if later is not None:
                return (action, *later)
        return None

    def illegal(self, position: Position, action: object) -> IllegalAction:
        """Return the error that tells what `action` is, where, and what would be legal."""
        given = f"action {int(action) if isinstance(action, np.integer) else action!r}"
        if isinstance(action, int | np.integer) and 0 <= action < self.num_actions:
            given = f"action {action} ({self.action_text(position, int(action))})"
        where = f"'{self.to_text(position)}'"
        return IllegalAction(f"{given} is not legal in {where}; {self._what_is_legal(position)}")

    def _what_is_legal(self, position: Position) -> str:
        legal = self.legal_actions(position)
        if not len(legal):
            return "the game is over"
        return "legal: " + format_list(f"{a} ({self.action_text(position, int(a))})" for a in legal)


def _plain(text: str) -> str:
    """Return the text in the form that is compared: lower case, without blanks."""
    return "".join(text.split()).lower()


def _vacated(before: Mapping[Cell, str], after: Mapping[Cell, str], letters: str) -> list[Cell]:
    """Return the cells on which pieces with these letters stood before, and none of them after."""
    return [c for c, own in before.items() if own in letters and after.get(c, " ") not in letters]
