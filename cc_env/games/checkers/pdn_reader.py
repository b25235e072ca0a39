r"""Reads games of Portable Draughts Notation (PDN).

The grammar, of the tokens of pdn_tokens.py; Ctrl-Z or the end of the text ends a file:

    file    game*
    game    header? (number | move)* result*
    header  block (empty line, block)*      no tag of a block has the name of one before the block
    block   tag+

A game needs a move, a result, or a tag FEN or Result. No tag carries over to the next game. After a
result, the next game begins with a tag, a new line, or a number that does not continue those before
the result. A `*` directly behind a move marks it as forced if the game goes on after it.

The reader is strict about what is played. A game is refused unless its moves are legal and
unambiguous and its position is valid; numbers count moves, or pairs of moves, from the first number
on; results after the moves and in the tag do not contradict each other; the GameType is that of
English draughts; Red and Black, two words for one side, do not have different names; and a header
has at most one value each of FEN, Result, RuleOptions, White, Black and Red.

It is liberal about how that is written: any text of a Result tag, where a text that is not a result
decides nothing; any line ends; Unicode dashes and minus signs; x, X, × or : for captures; moves
without a separator; numbers with any dots, or none; names of tags in any case; positions with
ranges of cells and counters of moves; tags without a value ("", "?" or "-"), as if they were not
there.

A result has the part of the first mover first, as PDN 2.0 has it, unlike chess: 1-0 is won by
Black, also in a game that begins in a position with White to move. 0-0, lost by both, decides
nothing.

Sources: PDN 2.0, a draft of 2003 by Murray Cash; PDN 3.0 and its reading grammar, pdn.fmjd.org.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise

from cc_env.core.game import BrokenGame, Game, PlayedGame, Turn
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import BadRecord, CcEnvError, IllegalAction, format_list
from cc_env.games.checkers import pdn_tokens
from cc_env.games.checkers.pdn_text import (
    DASHES,
    numbers_of,
    parse_position,
    parse_turn,
    plays,
    turn_text,
)
from cc_env.games.checkers.pdn_tokens import Token
from cc_env.registry.options import parse_options

RESULTS = {"1-0": FIRST_WINS, "0-1": SECOND_WINS, "1/2-1/2": DRAW, "*": ONGOING}
BOTH_LOSE = "0-0"
ENGLISH = {"crowning": "ends_move", "no_progress_limit": None}  # the rules PDN files have
GAME_TYPE = "21"
RULES = "RuleOptions"  # a tag of ours, where the rules are others than ENGLISH
_GAME_TYPE = {  # PDN 3.0: 21,B,8,8,N1,0 is English draughts
    "number": GAME_TYPE,
    "color of the first mover": "B",
    "width": "8",
    "height": "8",
    "notation": "N1",
    "invert flag": "0",
}
_NO_VALUE = "", "?", "-"
_MEANINGS = {text: text for text in (*RESULTS, BOTH_LOSE)}
_MEANINGS |= {"2-0": "1-0", "0-2": "0-1", "1-1": "1/2-1/2", "½-½": "1/2-1/2"}
_OMITTED_WITHOUT_VALUE = "FEN", "SetUp", "GameType", "Result", RULES
_SINGLE_VALUED = "FEN", "Result", RULES, "White", "Black", "Red"
_TAG_NAMES = {
    name.lower(): name
    for name in ("Event", "Site", "Date", "Round", "White", "Black", "Red", *_OMITTED_WITHOUT_VALUE)
}
_END = Token("end", "")
_Course = tuple["_Course", Turn] | None  # the last turn, and those before it


@dataclass(frozen=True)
class PdnGame(PlayedGame):
    """A game of a PDN file, with its tags."""

    tags: Mapping[str, str] = field(default_factory=dict)


def read(text: str, game: Game) -> Iterator[PdnGame | BrokenGame]:
    """Yield the games of a PDN text, and a BrokenGame in place of each broken one.

    Comments and variations are skipped.
    """
    for tokens in _games(text):
        reading, line = _Reading(game), tokens[0].line
        try:
            for token in tokens:
                line = token.line
                reading.take(token)
            entry: PdnGame | BrokenGame = reading.finished(tokens[0].line)
        except CcEnvError as error:
            more = hint(reading.game) if isinstance(error, IllegalAction) else ""
            entry = BrokenGame(line, f"move {reading.move}: {error}{more}")
        yield entry


def count(text: str) -> int:
    """Return how many games a PDN text has, broken ones included."""
    return sum(1 for _ in _games(text))


def hint(game: Game) -> str:
    """As `cc_env.core.game.Format.hint`."""
    return "" if game.options == ENGLISH else f"; PDN is English draughts: {rules_text(ENGLISH)}"


def rules_text(chosen: Mapping[str, object]) -> str:
    """Return the value of the tag RULES."""
    return ", ".join(f"{name}={value}" for name, value in chosen.items())


def meaning(result: str) -> str | None:
    """Return which of RESULTS or BOTH_LOSE a text means, None if it is not a result."""
    return _MEANINGS.get(re.sub(f"[{DASHES}]", "-", "".join(result.split())))


def check_game_type(value: str) -> None:
    """Raise BadRecord where the value of a GameType tag contradicts English draughts."""
    parts = [part.strip().upper() for part in value.split(",")]
    if len(parts) > len(_GAME_TYPE):
        raise BadRecord(f"GameType {value!r} has {len(parts)} parts, more than {len(_GAME_TYPE)}")
    for part, (name, expected) in zip(parts, _GAME_TYPE.items(), strict=False):
        if part != expected:
            full = ",".join(_GAME_TYPE.values())
            raise BadRecord(f"GameType {value!r}, {name} {part!r}; English draughts are {full!r}")


# Where a game begins


def _games(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of one game after another; none of them is empty."""
    game, names = list[Token](), set[str]()
    for part, (following, *_) in pairwise(chain(_parts(pdn_tokens.tokens(text)), [[_END]])):
        if part[0].kind == "star":
            if _continues(game, following):
                continue
            part = [part[0]._replace(kind="result")]
        if game and _begins_game(part, game, names):
            yield game
            game, names = [], set()
        game += part
        names |= _names(part)
    if game:
        yield game


def _parts(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the blocks of tags, between which is an empty line, and each other token alone."""
    block: list[Token] = []
    for token in tokens:
        if block and (not token.is_tag or token.newlines > 1):
            yield block
            block = []
        if token.is_tag:
            block.append(token)
        else:
            yield [token]
    if block:
        yield block


def _begins_game(part: list[Token], game: list[Token], names: set[str]) -> bool:
    """Return whether the next game begins with this part, after a game with tags of these names."""
    last, first = game[-1], part[0]
    if first.is_tag:
        return not last.is_tag or not names.isdisjoint(_names(part))
    if last.kind != "result" or first.kind == "result":
        return False
    is_on_new_line = first.kind == "move" and first.newlines > 0
    return is_on_new_line or not _continues(game, first)


def _names(tokens: list[Token]) -> set[str]:
    """Return the names of tags, in lower case; Red is another word for Black."""
    names = {token.name.lower() for token in tokens if token.name}
    return {"black" if name == "red" else name for name in names}


def _continues(game: list[Token], token: Token) -> bool:
    """Return whether this is of the same game: a move, or the next number."""
    if token.kind != "number" or token.text.endswith(("..", "…")):
        return token.kind in ("number", "move")
    last = next((part.number for part in reversed(game) if part.kind == "number"), 1)
    return token.number == last + 1


# What a game is


class _Reading:
    """A game as far as it is read.

    A capture of which only the ends are known can be several turns. All that they lead to is
    followed, until a later move is legal in only one.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.tags: dict[str, str] = {}
        self._names = dict(_TAG_NAMES)  # of tags, by the same in lower case
        self._results: list[str] = []  # after the moves
        self._numbering: dict[int, int] = {}  # the first numbers, by how many moves one counts
        self._is_numbered = False  # the next move
        self._begin()

    def _begin(self) -> None:
        fen = self.tags.get("FEN")
        self.start = parse_position(self.game, fen) if fen else self.game.initial
        self.played = 0
        self._courses: dict[Position, _Course] = {self.start: None}  # by where they led to

    @property
    def move(self) -> int:
        """The number of the move that comes next, from 1."""
        return (self.played + self.game.to_move(self.start)) // 2 + 1

    def take(self, token: Token) -> None:
        """Take what comes next; raise CcEnvError where it cannot be."""
        if token.kind == "tag":
            self._take_tag(token.name, token.text)
        elif token.kind == "result":
            self._results.append(token.text)
        elif token.kind not in ("number", "move"):
            raise BadRecord(token.text)
        elif self._results:
            raise BadRecord(f"{token.text} after the result, {self._results[-1]}")
        elif token.kind == "number":
            self._take_number(token.number)
        else:
            self._take_move(token.text)

    def _take_tag(self, name: str, value: str) -> None:
        """Take a tag; the last of a name counts, but those of _SINGLE_VALUED have one value."""
        name = self._names.setdefault(name.lower(), name)
        if name in _OMITTED_WITHOUT_VALUE and value.strip() in _NO_VALUE:
            return
        values = self.tags.get(name, value), value
        if name in _SINGLE_VALUED and len(set(values) - set(_NO_VALUE)) > 1:
            raise BadRecord(f"{name} is {format_list(values)}; an empty line separates two games")
        self.tags[name] = value
        if name == "GameType":
            check_game_type(value)
        elif name == RULES:
            self._play_by(value)
        elif name == "FEN":
            self._begin()

    def _play_by(self, rules: str) -> None:
        from cc_env.games.factory import make_game

        pairs = [pair.strip() for pair in rules.split(",")]
        self.game = make_game(self.game.name, **{**ENGLISH, **parse_options(pairs)})
        self._begin()

    def _take_number(self, number: int) -> None:
        """Take the number of the next move; raise BadRecord where one was left out.

        Numbers count pairs of moves, or each move has one; the first number or move that fits only
        one of both decides.
        """
        counted = {2: self.move, 1: self.played}
        first = {moves: number - count for moves, count in counted.items()}
        before = self._numbering or first
        self._numbering = {moves: at for moves, at in before.items() if first[moves] == at}
        self._is_numbered = True
        if not self._numbering:
            expected = (str(at + counted[moves]) for moves, at in before.items())
            raise BadRecord(f"its number is {number}; expected: {' or '.join(expected)}")

    def _take_move(self, text: str) -> None:
        """Play a move; raise IllegalAction where it is not legal."""
        numbers, courses = numbers_of(text), dict[Position, _Course]()
        for position, course in self._courses.items():
            for play in plays(self.game, position, numbers):
                courses.setdefault(play.after, (course, play.turn))
        if not courses:
            parse_turn(self.game, next(iter(self._courses)), text)  # raises, with the legal moves
        self._courses = courses
        self.played += 1
        if not self._is_numbered and 2 in self._numbering:
            self._numbering.pop(1, None)
        self._is_numbered = False

    def finished(self, line: int) -> PdnGame:
        """Return the game that begins in a line; raise BadRecord where there is none, or several.

        A position alone, in a tag, is a game without moves.
        """
        if not (self.played or self._results or {"Result", "FEN"} & self.tags.keys()):
            raise BadRecord(f"there is no move, no position and no result: {format_list(RESULTS)}")
        return PdnGame(
            self.start,
            self._turns(),
            players=(self._first_player(), self.tags.get("White") or "?"),
            outcome=RESULTS.get(self._result(), ONGOING),
            game=self.game,
            line=line,
            tags=self.tags,
        )

    def _first_player(self) -> str:
        """Return the name of Black, whom the tag Red names as well; raise BadRecord for two."""
        red = self.tags.pop("Red", "")
        black = self.tags.get("Black", "")
        if red and black not in ("", "?", red):
            raise BadRecord(f"Red is {red!r} and Black {black!r}, but both are the first player")
        if red:
            self.tags["Black"] = red
        return self.tags.get("Black") or "?"

    def _result(self) -> str:
        """Return the result, of the tag or after the moves; raise BadRecord for two."""
        results = [*self._results, self.tags.get("Result", "*")]
        decided = dict.fromkeys(meaning(result) or "*" for result in results)
        decided.pop("*", None)
        if len(decided) > 1:
            raise BadRecord(f"its results contradict each other: {format_list(decided)}")
        return next(iter(decided), "*")

    def _turns(self) -> tuple[Turn, ...]:
        first, *others = map(_unrolled, self._courses.values())
        if not others:
            return first
        courses = zip(first, *others, strict=True)
        at = next(at for at, turns in enumerate(courses) if len(set(turns)) > 1)
        position = self.start
        for turn in first[:at]:
            position = self.game.play_turn(position, turn)
        turns = dict.fromkeys(course[at] for course in (first, *others))
        texts = format_list(turn_text(self.game, position, turn) for turn in turns)
        move = (at + self.game.to_move(self.start)) // 2 + 1
        raise BadRecord(f"move {move} can be any of: {texts}; no later move is legal in only one")


def _unrolled(course: _Course) -> tuple[Turn, ...]:
    turns = list[Turn]()
    while course:
        course, turn = course
        turns.append(turn)
    return tuple(reversed(turns))
