"""The base class of games: their facts, texts, pictures and legal actions.

Shapes: A actions, C planes of an observation, H rows and W columns of the board, F fields of a
position, N positions.
"""

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

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
    as_int,
    format_list,
    quote,
    suggest,
)

# What the module of a game needs in addition to `rules`.
__all__ = [
    "Bot",
    "BrokenGame",
    "Cell",
    "Format",
    "Game",
    "Grid",
    "Numbering",
    "PlayedGame",
    "Symmetry",
    "Track",
    "Turn",
    "symmetry",
]

# A player of a single game: returns an action.
Bot = Callable[[Position, np.random.Generator], int]
# The actions of one turn, in order.
Turn = tuple[int, ...]
CellStyle = Literal["notation", "readable", "input"]
# The fields of a position that the default texts and pictures need.
_DEFAULT_FIELDS = "own", "enemy", "player"
# Turns in the message of an error.
_MAX_LISTED_TURNS = 12


class BrokenGame(NamedTuple):
    """A game that cannot be parsed or violates the rules; `line` is its line, from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def normalize_newlines(text: str) -> str:
    """Return a text in which each line ends with a line feed, whatever system wrote it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class PlayedGame:
    """A game of another program's file; it may be unfinished.

    `players` are the names of the first and the second player. `outcome` is ONGOING and `scores`
    are None if the file does not contain them. A `fault`, one of `cc_env.match.match.FAULTS`,
    decided the outcome. `game` has the options of the file; None stands for those of the reader.
    `line` is the first line of the game, from 1.
    """

    start: Position
    turns: tuple[Turn, ...]
    players: tuple[str, str] = "?", "?"
    outcome: int = ONGOING
    scores: tuple[float, float] | None = None
    fault: str = ""
    game: "Game | None" = None
    line: int = 1


class Format(NamedTuple):
    """A file format of other programs.

    `read` yields the games of a text, and a BrokenGame in place of each broken one. `count` returns
    the number of games in a text, broken ones included. `write` returns the text of a game, or
    raises BadRecord if the format cannot express it. Files contain one game if `is_single`;
    otherwise an empty line separates games. `options` are the default options of such files.
    `hint` returns advice for the error message of a game that violates the rules, and `result_hint`
    is advice if only its result does. `dialects` are the same format with the conventions of other
    programs, by their names.
    """

    read: Callable[[str, "Game"], Iterator[PlayedGame | BrokenGame]]
    count: Callable[[str], int]
    write: Callable[["Game", PlayedGame], str]
    options: Mapping[str, Any] = MappingProxyType({})
    hint: Callable[["Game"], str] = lambda game: ""
    is_single: bool = False
    result_hint: str = ""
    dialects: Mapping[str, "Format"] = MappingProxyType({})


class Track(NamedTuple):
    """The course of a turn on the board: the cells its piece visited, and the captured pieces."""

    path: tuple[Cell, ...]
    captured: tuple[Cell, ...]


class Game:
    """A game with its options; a subclass for each game, instances by `cc_env.make_game`.

    The facts of a game are attributes; its texts and pictures are methods. The defaults suit
    positions with the fields `own`, `enemy` (sets of cells, see `Grid`) and `player`. Only `name`,
    `initial`, `grid`, `planes` and `players` are required. The `__init__` of a game with options
    takes them as arguments with defaults, sets `options` and all facts that depend on them, and
    ends with `super().__init__()`, which raises BadGame if the facts contradict each other.

    name
        The name in the catalogue or, outside of it, of the module.
    initial
        The start position.
    grid
        The cells of the board and their bits.
    planes
        Descriptions of the planes of an observation, C in all.
    players
        Names of the first and of the second player, preferably colors.
    options
        The values of all options, by name.
    letters
        Letters of the pieces of both players in texts and pictures, first the one that stands for
        the player; by default the initials of `players`.
    action_cells
        Cells of an observation where each action starts and ends, row * W + column in the mover's
        frame: int64[A, 2], or int64[A] if each action is on one cell. H * W stands for no cell.
        Actions may share their cells if they are never legal together. By default one action for
        each cell. Networks and pictures use them.
    symmetries
        The symmetries of the game, without the identity.
    repetition_limit
        Number of turns that lead to the same position after which the rules end the game; 0 if
        they never do.
    max_margin
        The largest margin of a win; 1 in games that only have winners.
    has_scores
        Whether the rules give both players scores, as in Cannon; `score` returns them.
    endings
        A sentence for each word that `ending` returns; {loser} stands for the losing player.
    button_labels
        Labels of buttons for actions without a cell, by their readable notation.
    formats
        File formats of other programs, by suffix: `.pdn`.
    evaluations
        Evaluations by name, the default one first.
    levels
        Options of the player `minimax` by level, in addition to the general levels.
    bots
        Functions that create the game's own players, by player spec.
    numbering
        The numbering of positions for exact values; None if the game cannot be solved.
    figures
        Names of the shapes of pieces (`cc_env.rendering.shapes`) by letter; by default discs.
    piece_names
        Kinds of pieces by letter, such as king.
    goal_cells
        A marked cell for each player, or none.
    dark_parity
        Parity of row + column of the dark cells.
    board_lines
        Pairs of cells that lines connect, on a board of points instead of squares.
    cell_names
        Names of cells in the notation, on a board of points.
    readable_cell_names
        Names of cells in the readable notation, such as a1; by default as in the notation.
    row_labels, column_labels
        Labels from the top and from the left, as in the notation; by default 0, 1, …

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> game.to_text(game.initial)
        'bbb3/bb4/b5/5r/4rr/3rrr b'
        >>> game.legal_actions(game.initial)
        array([  6,  12,  15,  16,  23,  25,  26,  65,  68,  69,  75,  78,  79,
               131, 134, 135], dtype=int32)
        >>> game.turn_text(game.initial, (6,))
        '0,0-2,2'
        >>> game.parse_turn(game.initial, "0,0-2,2")
        (6,)
        >>> position = game.apply(game.initial, 6)
        >>> game.to_text(position)
        '1bb3/bb4/b1b3/5r/4rr/3rrr r'
        >>> position == game.from_text("1bb3/bb4/b1b3/5r/4rr/3rrr r")
        True
    """

    name: str
    initial: Position
    grid: Grid
    planes: tuple[str, ...]
    players: tuple[str, str]
    options: Mapping[str, Any] = MappingProxyType({})
    letters: tuple[str, str] = "", ""
    action_cells: NDArray[np.int64] = np.empty((0, 2), np.int64)
    symmetries: tuple[Symmetry, ...] = ()
    repetition_limit: int = 0
    max_margin: int = 1
    has_scores: bool = False
    endings: Mapping[str, str] = MappingProxyType({})
    button_labels: Mapping[str, str] = MappingProxyType({})
    formats: Mapping[str, Format] = MappingProxyType({})
    evaluations: Mapping[str, Any] = MappingProxyType({})
    levels: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    bots: Mapping[str, Callable[["Game"], Bot]] = MappingProxyType({})
    numbering: Numbering | None = None
    figures: Mapping[str, str] = MappingProxyType({})
    piece_names: Mapping[str, str] = MappingProxyType({})
    goal_cells: tuple[Cell, Cell] | tuple[()] = ()
    dark_parity: int = 1
    board_lines: tuple[tuple[Cell, Cell], ...] = ()
    cell_names: Mapping[Cell, str] = MappingProxyType({})
    readable_cell_names: Mapping[Cell, str] = MappingProxyType({})
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()

    num_actions: int
    observation_shape: tuple[int, int, int]

    def __init__(self) -> None:
        required = "name", "initial", "grid", "planes", "players"
        if missing := [fact for fact in required if not hasattr(self, fact)]:
            raise BadGame(
                f"{type(self).__name__} lacks {format_list(missing)}; expected: a class attribute"
            )
        rows, columns = self.grid.rows, self.grid.columns
        if not any(self.letters):
            self.letters = self.players[0][:1], self.players[1][:1]
        self.row_labels = list(self.row_labels or map(str, range(rows)))
        self.column_labels = list(self.column_labels or map(str, range(columns)))
        try:
            self.action_cells = self.grid.ends(self.action_cells)
        except BadGame as error:
            raise BadGame(f"{self.name}: {error}") from None
        self.num_actions = len(self.action_cells)
        self.observation_shape = len(self.planes), rows, columns
        for contradiction in self._contradictions():
            raise BadGame(f"{self.name}: {contradiction}")
        for letter in (*self.figures, *self.piece_names, *self.pieces(self.initial).values()):
            self.owner(letter)

    def _contradictions(self) -> Iterator[str]:
        """Yield a message for each contradiction between the facts."""
        all_letters = "".join(self.letters)
        is_unique = len(set(all_letters)) == len(all_letters)
        if not (all(self.letters) and is_unique and all_letters.isalpha()):
            yield f"letters={self.letters!r}; expected: different letters for each player"
        overridable = "pieces", "to_text", "parse_position"
        has_defaults = any(getattr(type(self), m) is getattr(Game, m) for m in overridable)
        if has_defaults and not set(_DEFAULT_FIELDS) <= set(self.initial._fields):
            expected = f"{format_list(_DEFAULT_FIELDS)}, or methods {format_list(overridable)}"
            fields = format_list(self.initial._fields)
            yield f"positions have the fields {fields}; expected: {expected}"
        for name, labels, count in (
            ("row_labels", self.row_labels, self.grid.rows),
            ("column_labels", self.column_labels, self.grid.columns),
        ):
            if len(labels) != count:
                yield f"{name}={labels!r}; expected: {count} labels"

    def replace(self, **attributes: object) -> Self:
        """Return a copy with other values of these attributes.

        All other attributes keep their values, also those that follow from replaced ones by
        default: pass `letters` with `players`, and the labels and `action_cells` with `grid`.
        Raises BadGame if the facts contradict each other.
        """
        game = object.__new__(type(self))
        vars(game).update(vars(self), **attributes)
        # The constructor of the subclass would set the facts by the options again.
        Game.__init__(game)
        return game

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the game itself: games are immutable."""
        return self

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_game({self.name!r}{options})"

    def from_text(self, text: str) -> Position:
        """Return the position written by `to_text`; raise BadPosition if `text` is not one."""
        if not isinstance(text, str):
            expected = "a string, as returned by to_text"
            raise BadPosition(
                f"{self.name}: {text!r} is not the text of a position; expected: {expected}"
            )
        try:
            return self.parse_position(text)
        except BadPosition as error:
            raise BadPosition(f"{self.name}: cannot read position '{text}': {error}") from None

    def parse_position(self, text: str) -> Position:
        """Parse a position from text; raise BadPosition with the reason if it is invalid.

        By default the inverse of the default of `to_text`. `from_text` adds the text to the error.
        """
        other_fields = [name for name in self.initial._fields if name not in _DEFAULT_FIELDS]
        fields = f"NAME=VALUE of {format_list(other_fields)}"
        rest = f"then {fields}" if other_fields else ""
        pieces, player, words = self.grid.parse_position(text, self.letters, rest)
        own, enemy = self.grid.bitboards(pieces, self.letters, player)
        values = {"own": own, "enemy": enemy, "player": np.uint64(player)}
        for word in words:
            name, _, value = word.partition("=")
            if name not in other_fields or not (value.isascii() and value.isdigit()):
                raise BadPosition(f"'{word}'; expected: {fields}")
            if int(value) >= 2**64:
                raise BadPosition(f"'{word}'; expected: at most {2**64 - 1}")
            values[name] = np.uint64(int(value))
        return self.initial._replace(**values)

    def to_text(self, position: Position) -> str:
        """Return the position in one line.

        By default rows from the top, the letter of the player to move, and NAME=VALUE for each
        other field that differs from the start position.
        """
        player = int(position.player)
        words = [self.grid.position_text(self.pieces(position), self.letters, player)]
        for name, value, start in zip(position._fields, position, self.initial, strict=True):
            if name not in _DEFAULT_FIELDS and value != start:
                words.append(f"{name}={value}")
        return " ".join(words)

    def check_positions(self, words: NDArray[np.uint64]) -> None:
        """Raise BadPosition if a row of `words`, uint64[N, F], is not a valid position.

        Compiled rules may read and write out of bounds if a position is invalid, so positions from
        untrusted input are checked here.
        """
        is_valid = self.is_valid(type(self.initial)(*words.T))
        if not is_valid.all():
            row = int(is_valid.argmin())
            raise BadPosition(f"{self.name}: the words {words[row].tolist()} are not a position")

    def is_valid(self, positions: Position) -> NDArray[np.bool_]:
        """Return which positions are valid, bool[N]; the fields of `positions` are uint64[N].

        By default, the positions that `from_text` restores from the result of `to_text`.
        """
        rows = np.stack(positions, 1)
        return np.array([self._is_restored(type(positions)(*row)) for row in rows], np.bool_)

    def _is_restored(self, position: Position) -> bool:
        """Return whether a position survives as text; its methods may raise anything if not."""
        try:
            return bool(self.from_text(self.to_text(position)) == position)
        except Exception:
            return False

    def owner(self, letter: str) -> int:
        """Return the player, 0 or 1, whose pieces have this letter; raise BadGame if none has."""
        for player, letters in enumerate(self.letters):
            if letter in letters:
                return player
        raise BadGame(
            f"{self.name}: the piece {letter!r} belongs to no player; letters={self.letters!r}"
        )

    def pieces(self, position: Position) -> Mapping[Cell, str]:
        """Return the letters of the pieces on the board; by default the sets `own`, `enemy`."""
        return self.grid.pieces(position, self.letters)

    def action_text(self, position: Position, action: int) -> str:
        """Return the notation of an action, legal or not.

        The notation of a turn concatenates those of its actions. By default the cells of the
        action, such as 41-30, or pass if it has none. A cell is written as its name or, without
        one, as the labels of its row and column.
        """
        ends = self._ends(action, self.to_move(position))
        return "-".join(map(self.cell_text, dict.fromkeys(ends))) or "pass"

    def readable_action_text(self, position: Position, action: int) -> str:
        """Return the readable notation of an action, such as a1-b2; by default its notation."""
        return self.action_text(position, action)

    def alternative_texts(self, position: Position, action: int) -> Iterable[str]:
        """Return other notations of an action that is a whole turn; `parse_turn` accepts them."""
        return ()

    def cell_text(self, cell: Cell, style: CellStyle = "notation") -> str:
        """Return the name of a cell or, without one, the labels of its row and column.

        They are written as in the notation, such as 41; as in the `readable` notation, such as b2;
        or as `input` of a player in a game without names of cells, such as 4 1.
        """
        row, column = self.row_labels[cell[0]], self.column_labels[cell[1]]
        is_long = any(len(label) > 1 for label in (*self.row_labels, *self.column_labels))
        notation = f"{row},{column}" if is_long else f"{row}{column}"
        texts = {
            "notation": notation,
            "readable": self.readable_cell_names.get(cell, notation),
            "input": f"{row} {column}",
        }
        return self.cell_names.get(cell, texts[style])

    def _ends(self, action: int, player: int) -> tuple[Cell, ...]:
        """Return the cells of the board where an action starts and ends, none if it has none."""
        cells = [divmod(index, self.grid.columns) for index in self.action_cells[action].tolist()]
        return tuple(
            self.grid.convert_cell(cell, player) for cell in cells if cell[0] < self.grid.rows
        )

    def ending(self, position: Position) -> str:
        """Return one word for the rule that ended a game; by default draw or won."""
        return "draw" if self.outcome(position) == DRAW else "won"

    def remark(self, position: Position) -> str:
        """Return a note on what the board does not show, such as a removal due; by default ""."""
        return ""

    def shooters(self, position: Position, action: int) -> Iterable[Cell]:
        """Return the cells of the pieces that can hit the target of a shot, in order.

        By default none, which is also the result for actions that move a piece.
        """
        return ()

    def track(self, position: Position, turn: Turn) -> Track:
        """Return the course of a legal turn, which may be unfinished.

        By default the cells of its actions, and those that pieces of the opponent vacated. An
        action on a single cell that captures a piece there has no path. If it places a piece on
        another cell, as where pieces fall, the path is that cell.
        """
        path, captured = list[Cell](), list[Cell]()
        player, pieces = self.to_move(position), _pieces_before(self, position)
        for action in turn:
            # Raises IndexError if `action` is not in the action space.
            ends = self._ends(action, player)
            position = self.make_position(rules.apply(position, action))
            before, pieces = pieces, self.pieces(position)
            vacated = _vacated_cells(before, pieces, self.letters[1 - player])
            if len(set(ends)) == 1:
                occupied = _vacated_cells(pieces, before, self.letters[player])
                ends = tuple(occupied) if len(occupied) == 1 else ends
            if set(ends) != set(vacated):
                path += ends[:1] if path[-1:] != list(ends[:1]) else ()
                path += ends[1:] if ends[:1] != ends[1:] else ()
            captured += vacated
        return Track(tuple(path), tuple(captured))

    def track_ends(self, position: Position, action: int) -> Track:
        """Return the track of a legal action with only the first and the last cell of its path.

        Games whose paths take time to find override it, since lists of actions need no more.
        """
        path, captured = self.track(position, (action,))
        return Track((*path[:1], *path[1:][-1:]), captured)

    def legal_actions(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, int32[count], ascending; empty when the game is over."""
        out = np.empty(self.num_actions, np.int32)
        is_over = rules.outcome(position) != ONGOING
        return out[: 0 if is_over else rules.legal_actions(position, out)]

    def choices(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, ascending; raise IllegalAction if the game is over."""
        legal = self.legal_actions(position)
        if not len(legal):
            text, ending = self.to_text(position), self.ending(position)
            raise IllegalAction(
                f"there is no action to choose in '{text}'; the game is over ({ending})"
            )
        return legal

    def action_mask(self, position: Position) -> NDArray[np.int8]:
        """Return int8[A], 1 for legal actions and 0 for others."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[self.legal_actions(position)] = 1
        return mask

    def opening_mask(self) -> NDArray[np.int8]:
        """Return int8[A], 1 for the actions that are legal in the most opening positions.

        Opening positions are the start position and those after each first turn.
        """
        counts = self.action_mask(self.initial).astype(np.int64)
        for turn in self.turns(self.initial):
            counts += self.action_mask(self.play_turn(self.initial, turn))
        mask: NDArray[np.int8] = (counts == counts.max()).astype(np.int8)
        return mask

    def apply(
        self, position: Position, action: int, legal: Container[int] | None = None
    ) -> Position:
        """Return the position after `action`; raise IllegalAction if it is not legal.

        A caller that already has the legal actions passes them as `legal`.
        """
        legal_action = self.check_action(position, action, legal)
        return self.make_position(rules.apply(position, legal_action))

    def check_action(
        self, position: Position, action: object, legal: Container[int] | None = None
    ) -> int:
        """Return `action` as an int; raise IllegalAction if it is not a legal action.

        NumPy integers and arrays without dimensions are accepted. A caller that already has the
        legal actions passes them as `legal`.
        """
        index = as_int(action)
        if index is None or index not in (self.legal_actions(position) if legal is None else legal):
            raise self.illegal_action(position, action)
        return index

    def play_turn(self, position: Position, turn: Turn) -> Position:
        """Return the position after these actions; raise IllegalAction if one is not legal."""
        if isinstance(turn, str) or not isinstance(turn, Iterable):
            raise IllegalAction(
                f"{turn!r} is not a turn; expected: action ids, as from "
                "game.parse_turn(position, TEXT); game.apply plays a single id"
            )
        for action in turn:
            position = self.apply(position, action)
        return position

    def make_position(self, fields: Iterable[int]) -> Position:
        """Return the position with these fields, converted to uint64."""
        return type(self.initial)(*map(np.uint64, fields))

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
        """Return the margin by which a game was won, 0 for a draw or an unfinished game."""
        return 0 if self.outcome(position) in (DRAW, ONGOING) else int(rules.margin(position))

    def score(self, position: Position, loser: int | None = None) -> tuple[float, float]:
        """Return the scores of the first and the second player in a finished game.

        By default plus and minus the margin. Games with `has_scores` also return the scores of a
        game that ended by repetition in this position, or by a fault of `loser`.
        """
        won = float(self.margin(position))
        return (won, -won) if self.outcome(position) == FIRST_WINS else (-won, won)

    def repetition_outcome(self, position: Position) -> int:
        """Return the outcome of a game that the rules end by repetition in this position."""
        return int(rules.repetition_outcome(position))

    def key(self, position: Position) -> np.uint64:
        """Return a 64-bit hash of the position, including the side to move."""
        return np.uint64(rules.key(position))

    def observe(self, position: Position, player: int | None = None) -> NDArray[np.int8]:
        """Return int8[C, H, W] in the frame of `player`, by default the player to move."""
        planes = np.empty(self.observation_shape, np.int8)
        rules.observe(position, self.to_move(position) if player is None else player, planes)
        return planes

    def evaluation(self, name: Any = None) -> Any:
        """Return the evaluation with this name, by default the first one.

        An evaluation, which is a NamedTuple, is returned unchanged. Raises UnknownOption if the
        game has none, or none with this name, BadOption for a name that is not a text.
        """
        if hasattr(name, "_fields"):
            return name
        names = format_list(self.evaluations) or "none"
        if name is not None and not isinstance(name, str):
            raise BadOption(f"evaluation={name!r} is not a name; {self.name} has: {names}")
        if not self.evaluations or (name and name not in self.evaluations):
            hint = f"{suggest(name, self.evaluations)}it has: {names}"
            raise UnknownOption(f"{self.name} has no evaluation {name or ''!r}; {hint}")
        return self.evaluations[name or next(iter(self.evaluations))]

    def turns(self, position: Position) -> Iterator[Turn]:
        """Yield every legal turn; within a turn, every way to finish it."""
        return (turn for turn, _ in self.finished_turns(position))

    def finished_turns(self, position: Position) -> Iterator[tuple[Turn, Position]]:
        """Yield every legal turn in the order of `turns`, with the position after it."""
        continuations = self._continuations(position)
        return ((turn, after) for turn, after in continuations if not self.mid_turn(after))

    def turns_between(
        self, before: Position, after: Position, *, unfinished: bool = False
    ) -> Iterator[Turn]:
        """Yield every turn that leads from one position to another.

        With `unfinished`, `after` may be a position within a turn.
        """
        for turn, position in self._continuations(before):
            if position == after and (unfinished or not self.mid_turn(position)):
                yield turn

    def _continuations(self, position: Position) -> Iterator[tuple[Turn, Position]]:
        """Yield every legal turn, finished or not, and the position after it."""
        for action in map(int, self.legal_actions(position)):
            after = self.make_position(rules.apply(position, action))
            yield (action,), after
            if self.mid_turn(after):
                yield from (((action, *rest), end) for rest, end in self._continuations(after))

    def turn_text(self, position: Position, turn: Turn) -> str:
        """Return the notation of a turn, finished or not; raise IllegalAction if it is illegal."""
        return "".join(self.turn_texts(position, turn))

    def turn_texts(self, position: Position, actions: Sequence[int]) -> list[str]:
        """Return the notation of each turn in a sequence of actions; the last may be unfinished.

        Raises IllegalAction if an action is illegal.
        """
        return self._texts_by_turn(self.action_text, position, actions)

    def readable_turn_texts(self, position: Position, actions: Sequence[int]) -> list[str]:
        """Return the readable notation of each turn, as `turn_texts`."""
        return self._texts_by_turn(self.readable_action_text, position, actions)

    def _texts_by_turn(
        self, to_text: Callable[[Position, int], str], position: Position, actions: Sequence[int]
    ) -> list[str]:
        """Return the joined texts of the actions of each turn; the last may be unfinished."""
        texts: list[str] = []
        is_unfinished = False
        for action in actions:
            after = self.apply(position, action)
            text = to_text(position, action)
            if is_unfinished:
                texts[-1] += text
            else:
                texts.append(text)
            position, is_unfinished = after, self.mid_turn(after)
        return texts

    def readable_turn_text(self, position: Position, turn: Turn) -> str:
        """Return the readable notation of a turn, finished or not.

        Records and files have `turn_text`. Raises IllegalAction if the turn is illegal.
        """
        return "".join(self.readable_turn_texts(position, turn))

    def readable_turns(self, position: Position) -> Iterator[tuple[Turn, str]]:
        """Yield every legal turn with its readable notation; within a turn, its continuations."""
        return self._matching_continuations(self.readable_action_text, position, "")

    def parse_turn(self, position: Position, text: str) -> Turn:
        """Return the legal turn written as `text`, in its notation, readable or other notations.

        Whitespace and case are ignored. Raises IllegalAction if there is no such turn, with some
        legal turns in the readable notation, or those that begin with the text.
        """
        normalized = normalize_notation(text)
        for turn, turn_text in self._matching_turns(position, normalized):
            if normalize_notation(turn_text) == normalized:
                return turn
        similar_texts = self.completions(position, text)
        hint = (
            f"did you mean {format_list(similar_texts)}?"
            if similar_texts
            else self._turns_hint(position)
        )
        raise IllegalAction(f"{quote(text)} is not legal in '{self.to_text(position)}'; {hint}")

    def completions(
        self, position: Position, text: str, limit: int = _MAX_LISTED_TURNS
    ) -> list[str]:
        """Return at most `limit` texts of legal turns that begin with `text`, none if it is empty.

        Only turns with this beginning are generated.
        """
        turns = self._matching_turns(position, normalize_notation(text))
        return list(dict.fromkeys(text for _, text in itertools.islice(turns, limit)))

    def _matching_turns(self, position: Position, prefix: str) -> Iterator[tuple[Turn, str]]:
        """Yield legal turns with each of their texts that begins with a normalized prefix.

        There are none for an empty prefix. Only beginnings that match are continued.
        """
        if not prefix:
            return
        yield from self._matching_continuations(self.action_text, position, prefix)
        yield from self._matching_continuations(self.readable_action_text, position, prefix)
        for action in map(int, self.legal_actions(position)):
            for text in self.alternative_texts(position, action):
                if normalize_notation(text).startswith(prefix):
                    yield (action,), text

    def _matching_continuations(
        self, action_text: Callable[[Position, int], str], position: Position, prefix: str
    ) -> Iterator[tuple[Turn, str]]:
        """Yield the legal turns with this prefix in the notation `action_text`, with their texts.

        In the middle of a turn, they are its continuations.
        """
        for action in map(int, self.legal_actions(position)):
            text = action_text(position, action)
            normalized = normalize_notation(text)
            if not (normalized.startswith(prefix) or prefix.startswith(normalized)):
                continue
            if rules.is_unfinished(position, action):
                after = self.make_position(rules.apply(position, action))
                rest = prefix[len(normalized) :]
                for turn, end in self._matching_continuations(action_text, after, rest):
                    yield (action, *turn), text + end
            elif normalized.startswith(prefix):
                yield (action,), text

    def illegal_action(self, position: Position, action: object) -> IllegalAction:
        """Return the error for an illegal action, with the position and the legal actions.

        For anything but an integer it is that of `non_integer_action`.
        """
        if as_int(action) is None:
            return self.non_integer_action(action)
        name = f"action {int(action) if isinstance(action, np.integer) else action!r}"
        if isinstance(action, int | np.integer) and 0 <= action < self.num_actions:
            name = f"action {action} ({self.action_text(position, int(action))})"
        text = self.to_text(position)
        return IllegalAction(f"{name} is not legal in '{text}'; {self._actions_hint(position)}")

    def non_integer_action(self, action: object) -> IllegalAction:
        """Return the error for an action that is not an integer."""
        reason = f"action {action!r:.80} is not an integer"
        if shape := getattr(action, "shape", ()):
            reason += f", but an array of shape {shape}; pass one of its elements"
        elif isinstance(action, tuple | list):
            reason += f", but a {type(action).__name__}; pass one of its elements"
        return IllegalAction(f"{reason}; valid: 0 to {self.num_actions - 1}")

    def _actions_hint(self, position: Position) -> str:
        legal = self.legal_actions(position)
        if not len(legal):
            return "the game is over"
        return "legal: " + format_list(f"{a} ({self.action_text(position, int(a))})" for a in legal)

    def _turns_hint(self, position: Position) -> str:
        """Return the first legal turns for an error message, in the readable notation.

        A position may have many thousands.
        """
        turns = itertools.islice(self.turns(position), _MAX_LISTED_TURNS + 1)
        texts = [self.readable_turn_text(position, turn) for turn in turns]
        if len(texts) > _MAX_LISTED_TURNS:
            texts[_MAX_LISTED_TURNS:] = ["…"]
        return f"legal: {', '.join(texts)}" if texts else "the game is over"


def check_game_object(game: object) -> None:
    """Raise BadOption unless a value is a game, and not the name of one."""
    if not isinstance(game, Game):
        example = repr(game) if isinstance(game, str) else "'capture_conquer'"
        raise BadOption(f"game={game!r:.80}; expected: a game, such as make_game({example:.80})")


def normalize_notation(text: str) -> str:
    """Return a text without whitespace and in lower case, for comparisons."""
    return "".join(text.split()).lower()


# Lists of actions need the same pieces for each of them.
@lru_cache(maxsize=64)
def _pieces_before(game: Game, position: Position) -> Mapping[Cell, str]:
    return game.pieces(position)


def _vacated_cells(
    before: Mapping[Cell, str], after: Mapping[Cell, str], letters: str
) -> list[Cell]:
    """Return the cells that pieces with these letters occupied before, but none of them after."""
    return [c for c, own in before.items() if own in letters and after.get(c, " ") not in letters]
