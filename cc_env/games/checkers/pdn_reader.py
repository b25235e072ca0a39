r"""Parser of games in Portable Draughts Notation (PDN).

The grammar of a file, over the tokens of pdn_tokens.py; Ctrl-Z or the end of the text ends a file:

    file    game*
    game    header? (number | move)* result*
    header  block (empty line, block)*      tags of a block have new names
    block   tag+

A game needs a move, a result, or a tag FEN or Result. Tags apply to one game. After a result, the
next game begins with a tag, a new line, or a number that does not continue those before the result;
after a move, with a tag of PDN.
A `*` directly after a move marks it as forced if the game continues.

The parser is strict about content. It rejects a game unless its moves are legal and unambiguous and
its position is valid; numbers count Black's, White's or all moves from the first number on; results
after the moves and in the tag agree; the GameType is that of English draughts; Red and Black, two
words for one side, have the same name; and a header has at most one value each of FEN, Result,
RuleOptions, White, Black and Red. These tags and GameType must be readable and precede the moves.

It is liberal about form. It accepts any text in a Result tag, and ignores it if it is not a result;
any line ends; Unicode dashes and minus signs; x, X, × or : for captures; moves without a separator;
numbers with any dots, or none; tag names in any case, with spaces and punctuation; positions with
ranges of cells and move counters. It ignores tags without a value ("", "?", "-" or none), tags that
are unreadable, and text in brackets between moves.

A result starts with the score of the first mover, as in PDN 2.0 and unlike chess: 1-0 is won by
Black, even if White moves first in the start position. 0-0, lost by both, is ignored. Dialects in
which White's score comes first are converted.

Sources: PDN 2.0, a draft of 2003 by Murray Cash; PDN 3.0 and its reading grammar, pdn.fmjd.org.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise

from cc_env.core.game import BrokenGame, Game, PlayedGame, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, CcEnvError, IllegalAction, format_list
from cc_env.games.checkers import pdn_tokens
from cc_env.games.checkers.pdn_dialects import PDN, RESULTS, Dialect, normalize_result
from cc_env.games.checkers.pdn_text import (
    cell_numbers,
    find_plays,
    parse_position,
    parse_turn,
    turn_text,
)
from cc_env.games.checkers.pdn_tokens import Token
from cc_env.registry.options import parse_options

# The rules of PDN files.
ENGLISH = {"crowning": "ends_move", "no_progress_limit": None}
# The tag, not part of PDN, for rules other than ENGLISH.
RULES = "RuleOptions"
_NO_VALUE = "", "?", "-"
_OMITTED_WITHOUT_VALUE = "FEN", "SetUp", "GameType", "Result", RULES
_SINGLE_VALUED = "FEN", "Result", RULES, "White", "Black", "Red"
# Tags that must be readable.
_REQUIRED_TAGS = *_SINGLE_VALUED, "GameType"
_TAG_NAMES = {
    name.lower(): name
    for name in ("Event", "Site", "Date", "Round", "White", "Black", "Red", *_OMITTED_WITHOUT_VALUE)
}
# The players whose moves may have numbers.
_NUMBERING_SCHEMES = (0,), (1,), (0, 1)
_END = Token("end", "")
# A line of turns as a linked list: the earlier turns and the last one.
_Line = tuple["_Line", Turn] | None


@dataclass(frozen=True)
class PdnGame(PlayedGame):
    """A game of a PDN file.

    `tags` has PDN's spelling of known names; Red is stored as Black.
    """

    tags: Mapping[str, str] = field(default_factory=dict)


def read(text: str, game: Game, dialect: Dialect = PDN) -> Iterator[PdnGame | BrokenGame]:
    """Yield the games of a PDN text, and a BrokenGame in place of each broken one.

    Comments and variations are skipped. The tags of the games have the conventions of PDN.
    """
    for tokens in _split_games(text):
        parser = _GameParser(game, dialect)
        number = tokens[0].line
        try:
            for token in tokens:
                number = token.line
                parser.add(token)
            entry: PdnGame | BrokenGame = parser.finish(tokens[0].line)
        except CcEnvError as error:
            advice = hint(parser.game) if isinstance(error, IllegalAction) else ""
            entry = BrokenGame(number, f"move {parser.move_number}: {error}{advice}")
        yield entry


def count(text: str) -> int:
    """Return the number of games in a PDN text, broken ones included."""
    return sum(1 for _ in _split_games(text))


def hint(game: Game) -> str:
    """Return advice for the error message of a game that violates the rules."""
    return "" if game.options == ENGLISH else f"; PDN is English draughts: {rules_text(ENGLISH)}"


def rules_text(rules: Mapping[str, object]) -> str:
    """Return the value of the tag RULES for these options."""
    return ", ".join(f"{name}={value}" for name, value in rules.items())


# Division of a text into games


def _split_games(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of each game, at least one."""
    game_tokens, names = list[Token](), set[str]()
    for part, (following, *_) in pairwise(chain(_split_parts(pdn_tokens.tokenize(text)), [[_END]])):
        if part[0].kind == "star":
            if _continues(game_tokens, following):
                continue
            part = [part[0]._replace(kind="result")]
        if game_tokens and _begins_game(part, game_tokens, names):
            yield game_tokens
            game_tokens, names = [], set()
        game_tokens += part
        names |= _tag_keys(part)
    if game_tokens:
        yield game_tokens


def _split_parts(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield blocks of tags, which empty lines separate, and each other token by itself."""
    block: list[Token] = []
    for token in tokens:
        if block and not (block[-1].is_tag and token.is_tag and token.newlines <= 1):
            yield block
            block = []
        block.append(token)
    if block:
        yield block


def _begins_game(part: list[Token], game_tokens: list[Token], names: set[str]) -> bool:
    """Return whether a part begins the next game; `names` are those of the game's tags."""
    last, first = game_tokens[-1], part[0]
    if first.is_tag and last.is_tag:
        return not names.isdisjoint(_tag_keys(part))
    if first.is_tag:
        return last.kind == "result" or any(tag.is_regular_tag for tag in part)
    if last.kind != "result" or first.kind == "result":
        return False
    is_next_number = first.kind == "number" and first.number == _last_number(game_tokens) + 1
    return (first.newlines > 0 and not is_next_number) or not _continues(game_tokens, first)


def _tag_keys(tokens: list[Token]) -> set[str]:
    """Return the names of tags in lower case, with black for red."""
    names = {token.name.lower() for token in tokens if token.name}
    return {"black" if name == "red" else name for name in names}


def _continues(game_tokens: list[Token], token: Token) -> bool:
    """Return whether a token continues a game: a move, the next number, or the last one with dots.

    An example of the last is 1... 22-18 after 1. 9-13.
    """
    if token.kind != "number":
        return token.kind == "move"
    last, is_reply = _last_number(game_tokens), token.text.endswith(("..", "…"))
    return token.number == last + 1 or (is_reply and token.number == last)


def _last_number(game_tokens: list[Token]) -> int:
    """Return the last number in a game, 1 without one."""
    return next((token.number for token in reversed(game_tokens) if token.kind == "number"), 1)


# One game


class _GameParser:
    """The parser of one game, token by token.

    A capture written by its ends may mean several turns. The parser follows all of them until a
    later move is legal in only one.
    """

    def __init__(self, game: Game, dialect: Dialect) -> None:
        self.game = game
        self._dialect = dialect
        self.tags: dict[str, str] = {}
        # Names of tags by their lower case.
        self._tag_names = dict(_TAG_NAMES)
        # The errors of broken tags.
        self._ignored: list[str] = []
        # Results after the moves.
        self._results: list[str] = []
        # The possible numbers before the start, by the players whose moves have numbers.
        self._numbering: dict[tuple[int, ...], int] = {}
        # Whether the next move has a number.
        self._is_numbered = False
        self._begin()

    def _begin(self) -> None:
        """Begin at the start position, or at that of the tag FEN."""
        fen = self.tags.get("FEN")
        self.start = parse_position(self.game, fen) if fen else self._dialect.start(self.game)
        self.num_plies = 0
        # The possible lines by their final positions.
        self._lines: dict[Position, _Line] = {self.start: None}

    @property
    def move_number(self) -> int:
        """The number of the next move, from 1."""
        return (self.num_plies + self.game.to_move(self.start)) // 2 + 1

    def add(self, token: Token) -> None:
        """Add the next token; raise CcEnvError if it is invalid."""
        if token.is_tag:
            self._add_or_ignore_tag(token)
        elif token.kind == "result":
            self._results.append(self._dialect.convert_result(token.text))
        elif token.kind not in ("number", "move"):
            # The text of a token of another kind describes the error.
            raise BadRecord(token.text)
        elif self._results:
            raise BadRecord(f"{token.text} after the result, {self._results[-1]}")
        elif token.kind == "number":
            self._add_number(token.number)
        else:
            self._add_move(token.text)

    def _add_or_ignore_tag(self, token: Token) -> None:
        """Add a tag; ignore it if it is broken or follows moves, unless it is in _REQUIRED_TAGS."""
        is_needed = _TAG_NAMES.get(token.name.lower()) in _REQUIRED_TAGS
        if token.kind != "broken tag" and not self.num_plies:
            self._add_tag(token.name, token.text)
        elif is_needed and self.num_plies:
            raise BadRecord(f"the tag {token.name} follows a move; expected: tags before the moves")
        elif is_needed:
            raise BadRecord(token.text)
        else:
            self._ignored.append(token.text)

    def _add_tag(self, name: str, value: str) -> None:
        """Add a tag; a later value replaces an earlier one, unless it is in _NO_VALUE.

        Tags of _OMITTED_WITHOUT_VALUE without a value are ignored. Raises BadRecord for two values
        of a tag of _SINGLE_VALUED, CcEnvError for an invalid value.
        """
        name = self._tag_names.setdefault(name.lower(), name)
        has_value = value.strip() not in _NO_VALUE
        if not has_value and (name in self.tags or name in _OMITTED_WITHOUT_VALUE):
            return
        value = self._dialect.convert_tag(name, value)
        values = self.tags.get(name, value), value
        if name in _SINGLE_VALUED and len(set(values) - set(_NO_VALUE)) > 1:
            hint = "separate games by an empty line"
            raise BadRecord(f"two values of the tag {name}: {format_list(values)}; {hint}")
        self.tags[name] = value
        if name == RULES:
            self._set_rules(value)
        elif name == "FEN":
            self._begin()

    def _set_rules(self, rules: str) -> None:
        from cc_env.games.factory import make_game

        pairs = [pair.strip() for pair in rules.split(",")]
        self.game = make_game(self.game.name, **{**ENGLISH, **parse_options(pairs)})
        self._begin()

    def _add_number(self, number: int) -> None:
        """Add the number of the next move; raise BadRecord if it does not continue the others.

        Numbers belong to the moves of Black, of White or of both. The first numbers and moves that
        fit only one of these decide.
        """
        first = {players: number - count for players, count in self._counts().items()}
        before = self._numbering or first
        self._numbering = {players: at for players, at in before.items() if first[players] == at}
        self._is_numbered = True
        if not self._numbering:
            counts = self._counts()
            expected = dict.fromkeys(str(at + counts[players]) for players, at in before.items())
            raise BadRecord(f"its number is {number}; expected: {' or '.join(expected)}")

    def _counts(self) -> dict[tuple[int, ...], int]:
        """Return how many moves up to the next one have numbers, for each of _NUMBERING_SCHEMES."""
        starter = self.game.to_move(self.start)
        return {
            players: sum((self.num_plies + 1 + (player == starter)) // 2 for player in players)
            for players in _NUMBERING_SCHEMES
        }

    def _add_move(self, text: str) -> None:
        """Play a move; raise IllegalAction if it is not legal."""
        lines = dict[Position, _Line]()
        numbers = cell_numbers(text)
        for position, line in self._lines.items():
            for play in find_plays(self.game, position, numbers):
                lines.setdefault(play.after, (line, play.turn))
        if not lines:
            # Raises IllegalAction with the legal moves.
            parse_turn(self.game, next(iter(self._lines)), text)
        self._lines = lines
        if not self._is_numbered:
            self._exclude_numbering((self.num_plies + self.game.to_move(self.start)) % 2)
        self._is_numbered = False
        self.num_plies += 1

    def _exclude_numbering(self, player: int) -> None:
        """Exclude numberings of the moves of a player, unless there are no others."""
        others = {players: at for players, at in self._numbering.items() if player not in players}
        self._numbering = others or self._numbering

    def finish(self, line: int) -> PdnGame:
        """Return the game that begins in line `line`; raise BadRecord if it is empty or ambiguous.

        A position in a tag is a game without moves.
        """
        if not (self.num_plies or self._results or {"Result", "FEN"} & self.tags.keys()):
            expected = f"expected a move, a position or a result: {format_list(RESULTS)}"
            raise BadRecord(self._ignored[0] if self._ignored else expected)
        self._merge_red()
        return PdnGame(
            self.start,
            self._turns(),
            players=(self.tags.get("Black") or "?", self.tags.get("White") or "?"),
            outcome=RESULTS.get(self._result(), ONGOING),
            game=self.game,
            line=line,
            tags=self.tags,
        )

    def _merge_red(self) -> None:
        """Store the tag Red as Black; raise BadRecord if the two differ."""
        red, black = self.tags.pop("Red", ""), self.tags.get("Black", "")
        if red in _NO_VALUE:
            return
        if black not in (*_NO_VALUE, red):
            raise BadRecord(f"Red is {red!r} and Black {black!r}, but both are the first player")
        self.tags["Black"] = red

    def _result(self) -> str:
        """Return the result, from the tag or after the moves; raise BadRecord if the two differ."""
        results = [*self._results, self.tags.get("Result", "*")]
        decisive = dict.fromkeys(normalize_result(result) or "*" for result in results)
        decisive.pop("*", None)
        if len(decisive) > 1:
            raise BadRecord(f"its results contradict each other: {format_list(decisive)}")
        return next(iter(decisive), "*")

    def _turns(self) -> tuple[Turn, ...]:
        first, *other_lines = map(_to_turns, self._lines.values())
        if not other_lines:
            return first
        lines = zip(first, *other_lines, strict=True)
        at = next(at for at, turns in enumerate(lines) if len(set(turns)) > 1)
        position = self.start
        for turn in first[:at]:
            position = self.game.play_turn(position, turn)
        turns = dict.fromkeys(line[at] for line in (first, *other_lines))
        texts = format_list(turn_text(self.game, position, turn) for turn in turns)
        move = (at + self.game.to_move(self.start)) // 2 + 1
        raise BadRecord(
            f"move {move} is ambiguous: {texts}; the moves after it are legal in more than one case"
        )


def _to_turns(line: _Line) -> tuple[Turn, ...]:
    turns = list[Turn]()
    while line:
        line, turn = line
        turns.append(turn)
    return tuple(reversed(turns))
