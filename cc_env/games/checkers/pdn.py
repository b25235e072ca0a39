"""Portable Draughts Notation (PDN): the usual numbers of the cells; games and positions as text.

Whoever moves first is Black there, and red here: cell 1 is in the corner where red begins, so that
9-13 is our 51-40. A capture is 22x15, with all its cells where that can be several: 22x18x11.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cc_env.errors import BadPosition, BadRecord, CcEnvError, IllegalAction, listed
from cc_env.game import Cell, Format, Game, Played, Turn
from cc_env.games.checkers.rules import CELLS, SIZE
from cc_env.games.checkers.text import pieces
from cc_env.games.grid import rows_text
from cc_env.rules import DRAW, FIRST_WINS, SECOND_WINS, Position

RESULTS = "1-0", "0-1", "1/2-1/2", "*"  # White won, Black won, a draw, not known
COLOURS = "BW"  # of the first and the second player
_TOKEN = re.compile(
    r"""
    \[ \s* (?P<tag> \w+ ) \s+ "(?P<value> [^"]* )" \s* \]
    | (?P<comment> \{ [^}]* \} | ; [^\n]* | \$ \d+ )
    | (?P<result> 1-0 | 0-1 | 1/2-1/2 | \* )(?![-\w])
    | (?P<number> \d+ \.+ )
    | (?P<move> \d+ (?: [-x:] \d+ )+ ) [!?]*
    | (?P<bracket> [()] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Tagged(Played):
    """A game of a PDN file."""

    tags: Mapping[str, str]
    result: str  # one of RESULTS

    @property
    def players(self) -> tuple[str, str]:
        """The names of Black and White."""
        return self.tags.get("Black", "?"), self.tags.get("White", "?")

    @property
    def told(self) -> str:
        """Who played, Black first, and the result."""
        return f"{' - '.join(self.players)}  {self.result}"


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
    there = listed(turn_text(game, position, legal[each]) for each in ends or legal)
    if ends:
        raise IllegalAction(f"'{text}' can be any of: {there}")
    where = position_text(position)
    raise IllegalAction(f"'{text}' is not legal in '{where}'; legal: {there or 'nothing'}")


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
    """Return the position that `position_text` wrote; raise BadPosition where there is none."""
    found = re.fullmatch(r"([BW])((?::[BW][K\d,]*)+)\.?", "".join(text.split()))
    if not found:
        raise BadPosition(f"'{text}' is no position; wanted: such as B:W21,K22:B1,2")
    letters: dict[Cell, str] = {}
    for side in found[2].split(":")[1:]:
        letter = "rb"[COLOURS.index(side[0])]
        for piece in filter(None, side[1:].split(",")):
            number_ = piece.removeprefix("K")
            cell = _CELL.get(int(number_)) if number_.isdigit() and len(number_) < 3 else None
            if cell is None or cell in letters:
                raise BadPosition(f"'{text}': {piece} is no cell from 1 to 32, or there twice")
            letters[cell] = letter.upper() if piece[0] == "K" else letter
    return game.from_text(f"{rows_text(letters, SIZE, SIZE)} {'rb'[COLOURS.index(found[1])]}")


def write(
    game: Game,
    turns: tuple[Turn, ...],
    *,
    start: Position | None = None,
    tags: Mapping[str, str] | None = None,
    result: str = "*",
) -> str:
    """Return a game as PDN; raise IllegalAction for a turn that is not legal, BadRecord for tags.

    `start` is None for the game's own, the result one of RESULTS.
    """
    position = game.initial if start is None else start
    tags = dict(tags or {})
    if start is not None:
        tags |= {"SetUp": "1", "FEN": position_text(start)}
    tags["Result"] = result
    for name, value in tags.items():
        if not name.isidentifier() or set('"\n') & set(value):
            raise BadRecord(f'tag {name!r}: {value!r}; wanted: a word, and a text without "')
    if result not in RESULTS:
        raise BadRecord(f"result {result!r}; it is one of: {listed(RESULTS)}")
    first = game.to_move(position)
    words = []
    for index, turn in enumerate(turns, first):
        if index % 2 == 0 or index == first:
            words.append(f"{index // 2 + 1}." + ".." * (index % 2))
        words.append(turn_text(game, position, turn))
        position = game.play_turn(position, turn)
    head = [f'[{name} "{value}"]' for name, value in tags.items()]
    return "\n".join([*head, "", _filled([*words, result]), ""])


def _filled(words: list[str], width: int = 79) -> str:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def export(
    game: Game, start: Position, turns: tuple[Turn, ...], players: tuple[str, str], outcome: int
) -> str:
    """As `cc_env.game.Format.write`; what PDN cannot hold of the names becomes ' and blanks."""
    names = (" ".join(name.replace('"', "'").split()) for name in players)
    return write(
        game,
        turns,
        start=None if start == game.initial else start,
        tags=dict(zip(("Black", "White"), names, strict=True)),
        result={FIRST_WINS: "0-1", SECOND_WINS: "1-0", DRAW: "1/2-1/2"}.get(outcome, "*"),
    )


def read(text: str, game: Game) -> Iterator[Tagged]:
    """Yield the games of a PDN text; comments and variations are skipped.

    Raises BadRecord, with the line and the number of the move, at the first that is broken.
    """
    tags: dict[str, str] = {}
    turns: list[Turn] = []
    start = position = game.initial
    began, depth, line = False, 0, 1
    for kind, found, line in _tokens(text):
        depth += {"(": 1, ")": -1}.get(found, 0) if kind == "bracket" else 0
        if depth < 0:
            raise BadRecord(f"line {line}: ) without (")
        if depth or kind in ("bracket", "comment", "number"):
            continue
        try:
            if kind == "tag":
                if turns:
                    raise BadRecord("a tag within a game: its result is missing")
                name, _, value = found.partition(" ")
                tags[name] = value
                if name == "FEN":
                    start = position = parse_position(game, value)
            elif kind == "move":
                turns.append(parse_turn(game, position, found))
                position = game.play_turn(position, turns[-1])
            else:
                yield Tagged(start, tuple(turns), tags, found)
                tags, turns, start, position = {}, [], game.initial, game.initial
            began = kind != "result"
        except CcEnvError as error:
            where = f"line {line}, move {(len(turns) + game.to_move(start)) // 2 + 1}"
            raise BadRecord(f"{where}: {error}") from error
    if began or depth:
        missing = ") is missing" if depth else f"the result is missing, {listed(RESULTS)}"
        raise BadRecord(f"line {line}, at the end: {missing}")


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        if text[place].isspace():
            line += text[place] == "\n"
            place += 1
            continue
        found = _TOKEN.match(text, place)
        if not found or not found.lastgroup:
            raise BadRecord(
                f"line {line}: cannot read '{text[place : place + 20].splitlines()[0]}'"
            )
        kind = "tag" if found["tag"] else found.lastgroup
        content = f"{found['tag']} {found['value']}" if found["tag"] else found[kind]
        yield _Token(kind, content, line)
        line += found[0].count("\n")
        place = found.end()


FORMAT = Format(read, export)
