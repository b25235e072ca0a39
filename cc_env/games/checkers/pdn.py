"""Portable Draughts Notation (PDN): the usual numbers of the cells; games and positions as text.

Whoever moves first is Black there, and red here: cell 1 is in the corner where red begins, so that
9-13 is our 51-40. A capture is 22x15, with all its cells where that can be several: 22x18x11. A
result has the part of the first mover first, as PDN 2.0 has it, unlike chess: 1-0 is won by Black,
also in a game that begins in a position with White to move.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

from cc_env import options
from cc_env.errors import BadPosition, BadRecord, CcEnvError, IllegalAction, listed
from cc_env.game import Cell, Format, Game, Played, Turn
from cc_env.games.checkers.rules import CELLS, SIZE
from cc_env.games.checkers.text import pieces
from cc_env.games.grid import rows_text
from cc_env.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position

RESULTS = {"1-0": FIRST_WINS, "0-1": SECOND_WINS, "1/2-1/2": DRAW, "*": ONGOING}
COLOURS = "BW"  # of the first and the second player
ENGLISH = {"crowning": "ends_move", "no_progress_limit": None}  # options: the rules PDN files have
GAME_TYPE = "21"  # of English draughts
_ALSO = {"2-0": "1-0", "0-2": "0-1", "1-1": "1/2-1/2", "½-½": "1/2-1/2", "": "*", "?": "*"}
_WORDS = {outcome: word for word, outcome in RESULTS.items()}
RULES = "RuleOptions"  # a tag of ours, where the rules are others than ENGLISH
_OURS = {"FEN": "start", "SetUp": "start", "Result": "result", RULES: "game"}  # made of these
_TOKEN = re.compile(
    r"""
      (?P<blank> [\s\ufeff]+ | ^%[^\n]* | \{ [^}]* \} | ; [^\n]* )
    | \[ \s* (?P<tag> \w+ ) \s* "(?P<value> (?: \\" | [^"] )* )" \s* \]
    | (?P<mark> \.+ | [!?]+ | \$ \d+ )
    | (?P<number> \d+ \s* \.+ )
    | (?P<star> (?<=\d) \* )
    | (?P<result> [12]-0 | 0-[12] | 1-1 | 1/2-1/2 | ½-½ | \* )(?![-\w])
    | (?P<move> \d\d? (?: [-x:] \d\d? )+ )(?!\w)
    | (?P<open> \( )
    """,
    re.VERBOSE | re.MULTILINE,
)
_ASIDE = re.compile(r"\{ [^}]* \} | [()]", re.VERBOSE)  # what counts in a variation


@dataclass(frozen=True)
class Tagged(Played):
    """A game of a PDN file."""

    tags: Mapping[str, str] = field(default_factory=dict)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def number(cell: Cell) -> int:
    """Return the usual number, 1 to 32, of a cell in use."""
    row, column = cell
    return 4 * (SIZE - 1 - row) + column // 2 + 1


_CELL = {number(cell): cell for cell in CELLS}


def turn_text(game: Game, position: Position, turn: Turn) -> str:
    """Return the notation of a whole turn, such as 9-13; raise IllegalAction if it is illegal."""
    numbers = _numbers(game, position, turn)
    if "x" not in game.turn_text(position, turn):
        return "-".join(map(str, numbers))
    ends = numbers[0], numbers[-1]
    alike = [each for each in _legal(game, position) if (each[0], each[-1]) == ends]
    return "x".join(map(str, ends if len(alike) == 1 else numbers))


def parse_turn(game: Game, position: Position, text: str) -> Turn:
    """Return the legal turn written as `text`; raise IllegalAction where it is none, or several."""
    numbers = tuple(map(int, re.findall(r"\d+", text)))
    legal = _legal(game, position)
    if numbers in legal:
        return legal[numbers]
    ends = [each for each in legal if len(numbers) == 2 and (each[0], each[-1]) == numbers]
    if len(ends) == 1:
        return legal[ends[0]]
    if not legal:
        raise IllegalAction(f"'{text}': the game is over ({game.ending(position)})")
    there = listed(turn_text(game, position, legal[each]) for each in ends or legal)
    if ends:
        raise IllegalAction(f"'{text}' can be any of: {there}")
    where = position_text(position)
    raise IllegalAction(f"'{text}' is not legal in '{where}'; legal: {there}")


def _legal(game: Game, position: Position) -> dict[tuple[int, ...], Turn]:
    return {_numbers(game, position, turn): turn for turn in game.turns(position)}


def _numbers(game: Game, position: Position, turn: Turn) -> tuple[int, ...]:
    return tuple(map(number, game.track(position, turn).path))


def position_text(position: Position) -> str:
    """Return a position at the beginning of a turn as PDN has it, such as B:W21,K22:B1,2."""
    sides: tuple[list[str], list[str]] = [], []
    for cell, letter in sorted(pieces(position).items(), key=lambda found: number(found[0])):
        king = "K" if letter.isupper() else ""
        sides["rb".index(letter.lower())].append(f"{king}{number(cell)}")
    black, white = map(",".join, sides)
    return f"{COLOURS[int(position.player)]}:W{white}:B{black}"


def parse_position(game: Game, text: str) -> Position:
    """Return the position that such a text says; raise BadPosition where there is none.

    Cells may be ranges, as in W21-32.
    """
    found = re.fullmatch(r"([BW])((?::[BW][K\d,-]*)+)\.?", "".join(text.split()))
    if not found:
        raise BadPosition(f"'{text}' is no position; wanted: such as B:W21,K22:B1,2")
    letters: dict[Cell, str] = {}
    for side in found[2].split(":")[1:]:
        letter = "rb"[COLOURS.index(side[0])]
        for piece in filter(None, side[1:].split(",")):
            for cell in _cells(piece):
                if cell in letters:
                    raise BadPosition(f"'{text}': {piece} is there twice")
                letters[cell] = letter.upper() if piece[0] == "K" else letter
    return game.from_text(f"{rows_text(letters, SIZE, SIZE)} {'rb'[COLOURS.index(found[1])]}")


def _cells(piece: str) -> list[Cell]:
    """Return the cells of a part of a position, such as K22 or 21-32."""
    found = re.fullmatch(r"K?(\d\d?)(?:-K?(\d\d?))?", piece)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= len(CELLS):
        raise BadPosition(f"{piece} is no cell from 1 to 32, and no range of them")
    return [_CELL[number] for number in range(first, last + 1)]


def write(
    game: Game,
    turns: tuple[Turn, ...],
    *,
    start: Position | None = None,
    tags: Mapping[str, str] | None = None,
    result: str = "*",
) -> str:
    """Return a game as PDN; raise IllegalAction for a turn that is not legal, else BadRecord.

    `start` is None for the game's own, the result one of RESULTS.
    """
    position = game.initial if start is None else start
    if result not in RESULTS:
        raise BadRecord(f"result {result!r}; it is one of: {listed(RESULTS)}")
    if game.mid_turn(position):
        raise BadRecord(f"'{game.to_text(position)}' is amid a turn, which PDN cannot say")
    head = _head(game, dict(tags or {}), start, result)
    first = game.to_move(position)
    words = []
    for index, turn in enumerate(turns, first):
        if index % 2 == 0 or index == first:
            words.append(f"{index // 2 + 1}." + ".." * (index % 2))
        words.append(turn_text(game, position, turn))
        position = game.play_turn(position, turn)
    return "\n".join([*head, "", _filled([*words, result]), ""])


def _head(game: Game, tags: dict[str, str], start: Position | None, result: str) -> list[str]:
    """Return the lines of all tags."""
    for name, value in tags.items():
        if name in _OURS:
            raise BadRecord(f"tag {name}: {_OURS[name]}= is for that")
        if not re.fullmatch(r"\w+", name) or "\n" in value:
            raise BadRecord(f"tag {name!r}: {value!r}; wanted: a word, and a text of one line")
    _check_game_type(tags)
    if game.options["crowning"] == ENGLISH["crowning"]:
        tags.setdefault("GameType", GAME_TYPE)
    if game.options != ENGLISH:
        tags[RULES] = _rules(game.options)
    if start is not None:
        tags |= {"SetUp": "1", "FEN": position_text(start)}
    escaped = {name: re.sub(r'(["\\])', r"\\\1", value) for name, value in tags.items()}
    return [f'[{name} "{value}"]' for name, value in (escaped | {"Result": result}).items()]


def _rules(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in chosen.items())


def _check_game_type(tags: Mapping[str, str]) -> None:
    found = tags.get("GameType", GAME_TYPE)
    if found.split(",")[0].strip() != GAME_TYPE:
        raise BadRecord(f"GameType {found!r}; wanted: {GAME_TYPE}, English draughts")


def _filled(words: list[str], width: int = 79) -> str:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def export(game: Game, played: Played) -> str:
    """As `cc_env.game.Format.write`; the tags of a Tagged stay, so far as they are true."""
    kept = played.tags if isinstance(played, Tagged) else {}
    tags = {name: value for name, value in kept.items() if name not in _OURS}
    for colour, name in zip(("Black", "White"), played.players, strict=True):
        tags.setdefault(colour, " ".join(name.split()))
    if game.options["crowning"] != ENGLISH["crowning"]:
        tags.pop("GameType", None)
    start = None if played.start == game.initial else played.start
    return write(game, played.turns, start=start, tags=tags, result=_WORDS[played.outcome])


def hint(game: Game) -> str:
    """As `cc_env.game.Format.hint`."""
    return "" if game.options == ENGLISH else f"; PDN is English draughts: {_rules(ENGLISH)}"


def read(text: str, game: Game) -> Iterator[Tagged]:
    """Yield the games of a PDN text; comments and variations are skipped.

    Raises BadRecord, with the line and the number of the move, at the first that is broken.
    """
    reading, token, end = _Reading(game), _Token("", "", 1), _Token("", "", 0)
    try:
        for token, following in pairwise(chain(_tokens(text), [end])):
            if token.kind == "star" and not reading.goes_on(following):
                token = token._replace(kind="result")  # else it is a mark of the move before it
            if token.kind == "result" or (token.kind == "tag" and reading.turns):
                yield reading.finished(token.text if token.kind == "result" else "")
                reading = _Reading(game)
            if token.kind == "tag":
                reading.take_tag(*token.text.split(" ", 1))
            elif token.kind == "number":
                reading.take_number(_number(token))
            elif token.kind == "move":
                reading.take_move(token.text)
            elif token.kind == "error":
                raise BadRecord(token.text)
        if reading.turns or reading.tags:
            yield reading.finished()
    except CcEnvError as error:
        more = hint(reading.game) if isinstance(error, IllegalAction) else ""
        raise BadRecord(f"line {token.line}, move {reading.move}: {error}{more}") from error


class _Reading:
    """A game as far as it is read."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.tags: dict[str, str] = {}
        self.turns: list[Turn] = []
        self._skipped: int | None = None  # numbers of moves before the first, once that is known
        self._begin()

    def _begin(self) -> None:
        is_own = "FEN" not in self.tags
        self.start = self.game.initial if is_own else parse_position(self.game, self.tags["FEN"])
        self.position = self.start

    @property
    def move(self) -> int:
        """The number of the move that comes next, from 1."""
        return (len(self.turns) + self.game.to_move(self.start)) // 2 + 1

    @property
    def number(self) -> int:
        """The number of the same move in the file, whose first can have any."""
        return self.move + (self._skipped or 0)

    def take_tag(self, name: str, value: str) -> None:
        """Take a tag; raise BadRecord or BadPosition where it cannot be."""
        if name in self.tags:
            raise BadRecord(f"there is a tag {name} already, {self.tags[name]!r}")
        self.tags[name] = value
        _check_game_type(self.tags)
        if name == RULES:
            self._play_by(value)
        if name == "FEN":
            self._begin()
        if name == "Result":
            _result(value)

    def _play_by(self, rules: str) -> None:
        from cc_env import games  # which imports this

        pairs = [each.strip() for each in rules.split(",")]
        self.game = games.make(self.game.name, **{**ENGLISH, **options.read(pairs)})
        self._begin()

    def goes_on(self, token: _Token) -> bool:
        """Return whether what comes next is still of this game: a move, or the next number."""
        if token.kind != "number":
            return token.kind == "move"
        if token.text.endswith(".."):
            return True
        return _number(token) == self.number and self.game.to_move(self.position) == 0

    def take_number(self, number: int) -> None:
        """Take the number of the next move; raise BadRecord where one was left out."""
        if self._skipped is None:
            self._skipped = number - self.move
        if number != self.number:
            raise BadRecord(f"its number is {number}; wanted: {self.number}")

    def take_move(self, text: str) -> None:
        """Play a move; raise IllegalAction where it is not legal."""
        self.turns.append(parse_turn(self.game, self.position, text))
        self.position = self.game.play_turn(self.position, self.turns[-1])

    def finished(self, closing: str = "") -> Tagged:
        """Return the game, closed by a result or by nothing; raise BadRecord where it has none."""
        if not closing and "Result" not in self.tags:
            raise BadRecord(f"the result is missing: {listed(RESULTS)}, or a tag Result before it")
        known = {_result(closing), _result(self.tags.get("Result", "*"))} - {"*"}
        if len(known) > 1:
            raise BadRecord(f"the result is {closing}, in the tag {self.tags['Result']}")
        players = self.tags.get("Black", "?"), self.tags.get("White", "?")
        outcome = RESULTS[known.pop() if known else "*"]
        return Tagged(
            self.start,
            tuple(self.turns),
            players=players,
            outcome=outcome,
            game=self.game,
            tags=self.tags,
        )


def _number(token: _Token) -> int:
    return int(token.text.rstrip("."))


def _result(text: str) -> str:
    """Return which one of RESULTS a text means; raise BadRecord where it is none."""
    found = _ALSO.get(text, text)
    if found not in RESULTS:
        raise BadRecord(f"result {text!r}; it is one of: {listed(RESULTS)}")
    return found


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tags, moves and results; an error is the last, and says what is wrong."""
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        end = found.end() if found else place
        if not found:
            what = text[place : place + 20].splitlines()[0]
            wanted = 'a move such as 9-13, a result, [Tag "text"] or {a comment}'
            yield _Token("error", f"cannot read '{what}'; wanted: {wanted}", line)
            return
        if found["open"]:
            end = _aside(text, place)
            if not end:
                yield _Token("error", "( without )", line)
                return
        elif found["tag"]:
            yield _Token("tag", f"{found['tag']} {_value(found['value'])}", line)
        elif found.lastgroup in ("number", "move", "star", "result"):
            yield _Token(found.lastgroup, found[0], line)
        line += text.count("\n", place, end)
        place = end


def _value(text: str) -> str:
    """Return the value of a tag, on one line, without the backslashes before " and others."""
    return re.sub(r'\\(["\\])', r"\1", re.sub(r"\s*\n\s*", " ", text))


def _aside(text: str, place: int) -> int:
    """Return where a variation ends that begins here, or 0; others and comments may be in it."""
    depth = 0
    for found in _ASIDE.finditer(text, place):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return 0


FORMAT = Format(read, export, ENGLISH, hint)
