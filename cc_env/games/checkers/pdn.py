"""Portable Draughts Notation (PDN): the usual numbers of the cells; games and positions as text.

Whoever moves first is Black there, and red here: cell 1 is in the corner where red begins, so that
9-13 is our 51-40. A capture is 22x15, with all its cells where that can be several: 22x18x11. A
result has the part of the first mover first, as PDN 2.0 has it, unlike chess: 1-0 is won by Black,
also in a game that begins in a position with White to move.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cc_env import options
from cc_env.errors import BadPosition, BadRecord, CcEnvError, IllegalAction, listed
from cc_env.game import BrokenGame, Cell, Format, Game, OnBroken, Played, Turn
from cc_env.games.checkers import pdn_tokens
from cc_env.games.checkers.pdn_tokens import Token
from cc_env.games.checkers.rules import CELLS, SIZE
from cc_env.games.checkers.text import GRID, pieces
from cc_env.notation import report_broken
from cc_env.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position

RESULTS = {"1-0": FIRST_WINS, "0-1": SECOND_WINS, "1/2-1/2": DRAW, "*": ONGOING}
COLOURS = "BW"  # of the first and the second player
ENGLISH = {"crowning": "ends_move", "no_progress_limit": None}  # options: the rules PDN files have
GAME_TYPE = "21"  # of English draughts
_ALSO = {"2-0": "1-0", "0-2": "0-1", "1-1": "1/2-1/2", "½-½": "1/2-1/2"}
_ALSO |= dict.fromkeys(("", "?", "0-0"), "*")  # both have lost: nobody has won, nor is it a draw
_WORDS = {outcome: word for word, outcome in RESULTS.items()}
RULES = "RuleOptions"  # a tag of ours, where the rules are others than ENGLISH
_OURS = {"FEN": "start", "SetUp": "start", "Result": "result", RULES: "game"}  # made of these


@dataclass(frozen=True)
class Tagged(Played):
    """A game of a PDN file."""

    tags: Mapping[str, str] = field(default_factory=dict)


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
    alike = [cells for cells in _legal(game, position) if (cells[0], cells[-1]) == ends]
    return "x".join(map(str, ends if len(alike) == 1 else numbers))


def parse_turn(game: Game, position: Position, text: str) -> Turn:
    """Return the legal turn of a text; raise IllegalAction if it means no turn, or several."""
    meant = _meant(game, position, text)
    if len(meant) == 1:
        return meant[0]
    if meant:
        texts = listed(turn_text(game, position, turn) for turn in meant)
        raise IllegalAction(f"'{text}' can be any of: {texts}")
    legal = listed(turn_text(game, position, turn) for turn in game.turns(position))
    if not legal:
        raise IllegalAction(f"'{text}': the game is over ({game.ending(position)})")
    where = position_text(position)
    raise IllegalAction(f"'{text}' is not legal in '{where}'; legal: {legal}")


def _meant(game: Game, position: Position, text: str) -> list[Turn]:
    """Return the legal turns that a text can mean: one, or all from its first cell to its last."""
    numbers = tuple(map(int, re.findall("[0-9]{1,2}", text)))
    legal = _legal(game, position)
    if numbers in legal:
        return [legal[numbers]]
    ends = numbers if len(numbers) == 2 else ()
    return [turn for cells, turn in legal.items() if (cells[0], cells[-1]) == ends]


def _legal(game: Game, position: Position) -> dict[tuple[int, ...], Turn]:
    return {_numbers(game, position, turn): turn for turn in game.turns(position)}


def _numbers(game: Game, position: Position, turn: Turn) -> tuple[int, ...]:
    return tuple(map(number, game.track(position, turn).path))


def position_text(position: Position) -> str:
    """Return a position at the beginning of a turn as PDN has it, such as B:W21,K22:B1,2."""
    sides: tuple[list[str], list[str]] = [], []
    for cell, letter in sorted(pieces(position).items(), key=lambda piece: number(piece[0])):
        king = "K" if letter.isupper() else ""
        sides["rb".index(letter.lower())].append(f"{king}{number(cell)}")
    black, white = map(",".join, sides)
    return f"{COLOURS[int(position.player)]}:W{white}:B{black}"


def parse_position(game: Game, text: str) -> Position:
    """Return the position of such a text; raise BadPosition if it is not a position.

    Cells may be ranges, as in W21-32.
    """
    match = re.fullmatch(r"([BW])((?::[BW][K\d,-]*)+)\.?", "".join(text.split()))
    if not match:
        raise BadPosition(f"'{text}' is not a position; wanted: such as B:W21,K22:B1,2")
    letters: dict[Cell, str] = {}
    for side in match[2].split(":")[1:]:
        letter = "rb"[COLOURS.index(side[0])]
        for piece in filter(None, side[1:].split(",")):
            for cell in _cells(piece):
                if cell in letters:
                    raise BadPosition(f"'{text}': {piece} is there twice")
                letters[cell] = letter.upper() if piece[0] == "K" else letter
    return game.from_text(f"{GRID.text(letters)} {'rb'[COLOURS.index(match[1])]}")


def _cells(piece: str) -> list[Cell]:
    """Return the cells of a part of a position, such as K22 or 21-32."""
    match = re.fullmatch("K?([0-9]{1,2})(?:-K?([0-9]{1,2}))?", piece)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= len(CELLS):
        raise BadPosition(f"{piece} is neither a cell from 1 to 32 nor a range of cells")
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
    moves = textwrap.wrap(" ".join([*words, result]), 79, break_on_hyphens=False)
    return "\n".join([*head, "", *moves, ""])


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
    game_type = tags.get("GameType", GAME_TYPE)
    if game_type.split(",")[0].strip() != GAME_TYPE:
        raise BadRecord(f"GameType {game_type!r}; wanted: {GAME_TYPE}, English draughts")


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


def read(text: str, game: Game, on_broken: OnBroken | None = None) -> Iterator[Tagged]:
    """Yield the games of a PDN text; comments and variations are skipped.

    `on_broken` is called with each broken game, and reading goes on with the next; without it
    BadRecord is raised.
    """
    for tokens in pdn_tokens.games(text):
        reading, line = _Reading(game), tokens[0].line
        try:
            for token in tokens:
                line = token.line
                reading.take(token)
            played = reading.finished(tokens[0].line)
        except CcEnvError as error:
            more = hint(reading.game) if isinstance(error, IllegalAction) else ""
            broken = BrokenGame(line, f"move {reading.move}: {error}{more}")
            report_broken(broken, on_broken, error)
        else:
            yield played


def count(text: str) -> int:
    """Return how many games a PDN text has, broken ones included."""
    return sum(1 for _ in pdn_tokens.games(text))


class _Reading:
    """A game as far as it is read.

    A capture of which only the ends are told can be several turns. All that they lead to is
    followed, until a later move is legal in only one.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.tags: dict[str, str] = {}
        self.closing: str | None = None  # the result after the moves
        self._skipped: int | None = None  # numbers of moves before the first, once that is known
        self._begin()

    def _begin(self) -> None:
        is_own = "FEN" not in self.tags
        self.start = self.game.initial if is_own else parse_position(self.game, self.tags["FEN"])
        self.played = 0
        self._courses: dict[Position, _Course] = {self.start: None}  # by where they led to

    @property
    def move(self) -> int:
        """The number of the move that comes next, from 1."""
        return (self.played + self.game.to_move(self.start)) // 2 + 1

    def take(self, token: Token) -> None:
        """Take what comes next; raise CcEnvError where it cannot be."""
        if token.kind == "tag":
            self._take_tag(*token.text.split(" ", 1))
        elif token.kind == "number":
            self._take_number(int(token.text.rstrip(".")))
        elif token.kind == "move":
            self._take_move(token.text)
        elif token.kind == "result":
            self.closing = token.text
        else:
            raise BadRecord(token.text)

    def _take_tag(self, name: str, value: str) -> None:
        """Take a tag; the last of the same name counts."""
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

        pairs = [pair.strip() for pair in rules.split(",")]
        self.game = games.make(self.game.name, **{**ENGLISH, **options.read(pairs)})
        self._begin()

    def _take_number(self, number: int) -> None:
        """Take the number of the next move; raise BadRecord where one was left out."""
        if self._skipped is None:
            self._skipped = number - self.move
        if number != self.move + self._skipped:
            raise BadRecord(f"its number is {number}; wanted: {self.move + self._skipped}")

    def _take_move(self, text: str) -> None:
        """Play a move; raise IllegalAction where it is not legal."""
        courses: dict[Position, _Course] = {}
        for position, course in self._courses.items():
            for turn in _meant(self.game, position, text):
                courses.setdefault(self.game.play_turn(position, turn), (course, turn))
        if not courses:
            parse_turn(self.game, next(iter(self._courses)), text)  # which says why
        self._courses = courses
        self.played += 1

    def finished(self, line: int) -> Tagged:
        """Return the game; raise BadRecord where it has none, or it is not clear which it is.

        A position alone, told by a tag, is a game without moves.
        """
        is_told = self.closing is not None or not {"Result", "FEN"}.isdisjoint(self.tags)
        if not (self.played or is_told):
            raise BadRecord(f"there is no move, no position and no result: {listed(RESULTS)}")
        known = {_result(self.closing or "*"), _result(self.tags.get("Result", "*"))} - {"*"}
        if len(known) > 1:
            raise BadRecord(f"the result is {self.closing}, in the tag {self.tags['Result']}")
        return Tagged(
            self.start,
            self._turns(),
            players=(self.tags.get("Black", "?"), self.tags.get("White", "?")),
            outcome=RESULTS[known.pop() if known else "*"],
            game=self.game,
            line=line,
            tags=self.tags,
        )

    def _turns(self) -> tuple[Turn, ...]:
        first, *others = map(_unrolled, self._courses.values())
        if not others:
            return first
        courses = zip(first, *others, strict=True)
        at = next(at for at, turns in enumerate(courses) if len(set(turns)) > 1)
        position = self.start
        for turn in first[:at]:
            position = self.game.play_turn(position, turn)
        there = dict.fromkeys(course[at] for course in (first, *others))
        texts = listed(turn_text(self.game, position, turn) for turn in there)
        move = (at + self.game.to_move(self.start)) // 2 + 1
        raise BadRecord(f"move {move} can be any of: {texts}; no later one tells which")


_Course = tuple["_Course", Turn] | None  # the last turn, and those before it


def _unrolled(course: _Course) -> tuple[Turn, ...]:
    turns = list[Turn]()
    while course:
        course, turn = course
        turns.append(turn)
    return tuple(reversed(turns))


def _result(text: str) -> str:
    """Return which of RESULTS a text means; raise BadRecord if it is not a result."""
    usual = _ALSO.get(text, text)
    if usual not in RESULTS:
        raise BadRecord(f"result {text!r}; it is one of: {listed(RESULTS)}")
    return usual


FORMAT = Format(read, count, export, ENGLISH, hint)
