"""What a game is to everything above its rules: one record of facts, texts and pieces."""

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.errors import BadPosition, BadRecord, IllegalAction, UnknownOption, listed
from cc_env.rules import DRAW, FIRST_WINS, ONGOING, Position

Cell = tuple[int, int]  # (row, column) from the upper left, in the fixed frame of the board
Turn = tuple[int, ...]  # the actions of one turn, in order
OnBroken = Callable[[BadRecord], object]  # what to do about a broken game, instead of stopping
Bot = Callable[[Position, np.random.Generator], int]  # a player of this game alone: its action


class Symmetry(NamedTuple):
    """A way to turn the board over that keeps the rules, for data augmentation.

    It takes a position `p` to `position(p)`, an action `a` to `actions[a]`, and the planes `o` of
    an observation to `o.reshape(C, -1)[:, cells].reshape(C, H, W)`.
    """

    name: str
    position: Callable[[Position], Position]
    actions: NDArray[np.int32]  # [num_actions]
    cells: NDArray[np.int64]  # [H * W]


class Track(NamedTuple):
    """What a turn did on the board: the cells its piece went through, the pieces it took."""

    path: tuple[Cell, ...]
    captured: tuple[Cell, ...]


@dataclass(frozen=True)
class Played:
    """A game as a file of another program's has it; it need not be played to the end."""

    start: Position
    turns: tuple[Turn, ...]
    players: tuple[str, str] = "?", "?"  # the names of the first and the second
    outcome: int = ONGOING  # ONGOING where the file does not say it
    scores: tuple[float, float] | None = None  # of both, where the file has them
    fault: str = ""  # one of `cc_env.match.FAULTS`, if one ended it; that decided the outcome
    game: "Game | None" = None  # where the file says by which options, else those of the reader


class Format(NamedTuple):
    """How other programs write down games of a kind.

    `read` yields those of a text; for one that is broken its last argument gets a BadRecord, naming
    line and move, or it is raised where that is None. `write` makes the text of one, or raises
    BadRecord where the format cannot express it; a file with several has an empty line between
    them, unless it `is_single`: of one game alone. `options` are those that such files mean where
    nothing else is said, `hint` what else to say where the rules contradict one.
    """

    read: Callable[[str, "Game", OnBroken | None], Iterator[Played]]
    write: Callable[["Game", Played], str]
    options: Mapping[str, Any] = MappingProxyType({})
    hint: Callable[["Game"], str] = lambda game: ""
    is_single: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Game:
    """One game with its options settled; `cc_env.games.make` makes them.

    `action_cells` are for networks and pictures: cells of an observation, row * columns + column,
    in the mover's frame; an action on one cell starts and ends there, one without a cell has
    rows * columns for both. Two actions may share theirs where they are never legal together.
    `shooters` are the pieces any of which may be said to play an action that goes nowhere, but hits
    the end of its track; of all other actions it has none. `endings` explains the words
    of `ending` in a sentence each, in which {loser} stands for who has lost.
    """

    name: str
    options: Mapping[str, Any]
    initial: Position
    num_actions: int
    action_cells: NDArray[np.int64]  # [num_actions, 2]: where each starts and ends; see below
    observation_shape: tuple[int, int, int]  # planes, rows, columns
    planes: tuple[str, ...]  # what each plane shows
    players: tuple[str, str]  # what the first and the second player are called: best by a colour
    symmetries: tuple[Symmetry, ...]  # without the identity
    to_text: Callable[[Position], str]
    parse_position: Callable[[str], Position]  # raises BadPosition, saying why; see `from_text`
    action_text: Callable[[Position, int], str]  # any action id; the text of a turn is their sum
    ending: Callable[[Position], str]  # how a finished game ended, in one word
    pieces: Callable[[Position], Mapping[Cell, str]]  # letters as in the text form
    goals: tuple[Cell, Cell] | tuple[()]  # a cell for each player that pictures mark
    track: Callable[[Position, Turn], Track]
    evaluations: Mapping[str, Any]  # by name, the best first; each for `rules.evaluate`
    margins: int = 1  # the most by which the game can be won, see `rules.margin`
    scores: Callable[[Position, int | None], tuple[float, float]] | None = None  # see `score`
    levels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of minimax, its own
    bots: Mapping[str, Callable[["Game"], Bot]] = field(default_factory=dict)  # by spoken name
    figures: Mapping[str, str] = field(
        default_factory=dict
    )  # of letters in pictures, see shapes.py
    endings: Mapping[str, str] = field(default_factory=dict)  # in a sentence, see below
    kinds: Mapping[str, str] = field(default_factory=dict)  # of pieces, in a word, by letter: king
    formats: Mapping[str, Format] = field(default_factory=dict)  # by the end of a file's name: .pdn
    dark: int = 1  # in pictures, cells whose row + column is odd, 0: even
    lines: tuple[tuple[Cell, Cell], ...] = ()  # of a board of points, which has no squares
    names: Mapping[Cell, str] = field(default_factory=dict)  # of its points, as in notation
    remark: Callable[[Position], str] = lambda position: ""  # what is due and no piece shows
    shooters: Callable[[Position, int], Iterable[Cell]] = lambda position, action: ()  # see above
    stagnation: int = 0  # a position that so many turns led to ends the game, by `rules.stagnant`
    other_texts: Callable[[Position, int], Iterable[str]] = lambda position, action: ()  # also read
    fits: Callable[[Position], NDArray[np.bool_]] | None = None  # which words do, see `check_words`

    def __deepcopy__(self, memo: dict[int, Any]) -> "Game":
        return self  # nothing in it changes

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"games.make({self.name!r}{options})"

    def from_text(self, text: str) -> Position:
        """Return the position that `to_text` wrote; raise BadPosition where there is none."""
        if not isinstance(text, str):
            raise BadPosition(f"{self.name}: a position is given as text, not as {text!r}")
        try:
            return self.parse_position(text)
        except BadPosition as error:
            raise BadPosition(f"{self.name}: cannot read position '{text}': {error}") from None

    def check_words(self, rows: NDArray[np.uint64]) -> None:
        """Raise BadPosition where one of the rows, uint64[N, fields], cannot be a position.

        Compiled rules take every position as it comes, and may read and write anywhere if it cannot
        be; so whatever comes as words from outside comes through here. A game says by `fits`, of a
        position whose fields are arrays uint64[N], which of them its rules can take. Of a game that
        does not, each is written as text and read again.
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

    def legal_actions(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, ascending; none when the game is over."""
        out = np.empty(self.num_actions, np.int32)
        over = rules.outcome(position) != ONGOING
        return out[: 0 if over else rules.legal_actions(position, out)]

    def choices(self, position: Position) -> NDArray[np.int32]:
        """Return the legal action ids, one at least.

        Raises IllegalAction where the game is over.
        """
        legal = self.legal_actions(position)
        if not len(legal):
            text, ending = self.to_text(position), self.ending(position)
            raise IllegalAction(f"nothing is to be chosen in '{text}'; the game is over ({ending})")
        return legal

    def action_mask(self, position: Position) -> NDArray[np.int8]:
        """Return int8[num_actions]: 1 where the action is legal, else 0."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[self.legal_actions(position)] = 1
        return mask

    def opening_mask(self) -> NDArray[np.int8]:
        """Return int8[num_actions]: 1 where an action is legal however an episode begins.

        Where there is none, as in a game that begins by placing anywhere, those legal most often.
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

        Who knows the legal actions already says which they are.
        """
        try:
            chosen = operator.index(action)
        except TypeError:
            raise self.illegal(position, action) from None
        if chosen not in (self.legal_actions(position) if legal is None else legal):
            raise self.illegal(position, action)
        return self.words(position, rules.apply(position, chosen))

    def play_turn(self, position: Position, turn: Turn) -> Position:
        """Return the position after these actions; raise IllegalAction where one is not legal."""
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
        """Return what both players have of a finished game; by its margin, where not by `scores`.

        Where the game does not seem over it is what they have if it ended by repetition, or, in
        games with `scores`, by a fault of the `loser`.
        """
        if self.scores:
            return self.scores(position, loser)
        won = float(self.margin(position))
        return (won, -won) if self.outcome(position) == FIRST_WINS else (-won, won)

    def stagnant(self, position: Position) -> int:
        """Return the outcome where the rules end the game by repetition."""
        return int(rules.stagnant(position))

    def key(self, position: Position) -> np.uint64:
        """Return a 64-bit hash of the position, side to move included."""
        return np.uint64(rules.key(position))

    def observe(self, position: Position, player: int | None = None) -> NDArray[np.int8]:
        """Return int8[C, H, W], as `player` (None: the player to move) sees the position."""
        planes = np.empty(self.observation_shape, np.int8)
        rules.observe(position, self.to_move(position) if player is None else player, planes)
        return planes

    def evaluation(self, which: Any = None) -> Any:
        """Return an evaluation by name, None being the first, or the one that is given itself.

        Raises UnknownOption where the game has none, or none of this name.
        """
        if hasattr(which, "_fields"):  # a NamedTuple of weights
            return which
        if which is not None and not isinstance(which, str):
            has = listed(self.evaluations) or "none"
            raise UnknownOption(f"evaluation={which!r} is no name; {self.name} has: {has}")
        if not self.evaluations or (which and which not in self.evaluations):
            has = listed(self.evaluations) or "none"
            raise UnknownOption(f"{self.name} has no evaluation {which or ''!r}; it has: {has}")
        return self.evaluations[which or next(iter(self.evaluations))]

    def turns(self, position: Position) -> Iterator[Turn]:
        """Yield every way to finish the present turn, as the actions that it takes."""
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
        """Return the legal turn written as `text`; raise IllegalAction where there is none."""
        wanted = _plain(text)
        if (found := self._turn_of(position, wanted)) is not None:
            return found
        for action in map(int, self.legal_actions(position)):
            if wanted in map(_plain, self.other_texts(position, action)):
                return (action,)
        near = self.near(position, text)
        would_do = f"did you mean {listed(near)}?" if near else self._what_is_legal(position)
        raise IllegalAction(f"'{text}' is not legal in '{self.to_text(position)}'; {would_do}")

    def near(self, position: Position, text: str) -> list[str]:
        """Return the texts of legal turns that begin with `text`, none where it is empty."""
        wanted = _plain(text)
        texts = [self.turn_text(position, turn) for turn in self.turns(position)]
        for action in map(int, self.legal_actions(position)):
            texts += self.other_texts(position, action)
        begin = (each for each in texts if wanted and _plain(each).startswith(wanted))
        return list(dict.fromkeys(begin))

    def _turn_of(self, position: Position, wanted: str) -> Turn | None:
        """Return the legal turn of this plain text, None where there is none.

        Follows only decisions whose own text begins it, so most turns are found without the others.
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
        return "legal: " + listed(f"{a} ({self.action_text(position, int(a))})" for a in legal)


def _plain(text: str) -> str:
    """Return the text as it is compared: small letters, no blanks."""
    return "".join(text.split()).lower()


class Recording(NamedTuple):
    """What is known of a position, to compare the rules with; None is what is not."""

    game: Game
    position: Position
    played: tuple[str, ...] = ()  # turns, or decisions, to the position of which the rest is known
    reached: Position | None = None  # what that is, as far as its key goes
    outcome: int | None = None  # as `rules.outcome`
    ending: str | None = None  # as `Game.ending`, of a finished game
    turns: Mapping[str, Position | None] | None = None  # all legal ones, and where they lead
    actions: frozenset[str] | None = None  # all legal decisions, in every way to write them
    counts: tuple[int, ...] = ()  # perft for 1, 2, ... turns
    in_decisions: bool = False  # whether that counts decisions instead
