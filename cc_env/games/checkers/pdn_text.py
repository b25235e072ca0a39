"""Turns and positions of checkers in Portable Draughts Notation (PDN), by cell numbers.

The first player is Black in PDN and red in this package. Cell 1 is in the corner of red, so that
9-13 is 51-40 in the package's notation. A capture is 22x15, or 22x18x11 if its ends are ambiguous.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import BadPosition, IllegalAction, format_list
from cc_env.games.checkers.board import GRID, pieces
from cc_env.games.checkers.rules import CELLS, ENDINGS, SIZE, STARTS

# The colors of the first and the second player.
COLORS = "BW"
# Hyphens, dashes and the minus sign, for character classes of regular expressions.
DASHES = "-\u2010-\u2015\u2212"
_EXAMPLE = "B:W21,K22:B1,2"
_FEN = re.compile(
    rf"(?P<mover>[BW]) (?P<sides> (?: :[BW] [{DASHES}K0-9,]* )+ ) (?: :[HF][0-9]+ )* \.?",
    re.VERBOSE | re.IGNORECASE,
)
_SQUARES = re.compile(rf"K?([0-9]{{1,2}})(?:[{DASHES}]K?([0-9]{{1,2}}))?")


class Play(NamedTuple):
    """A legal turn with the numbers of the cells of its piece and the position after it."""

    numbers: tuple[int, ...]
    turn: Turn
    after: Position


def number(cell: Cell) -> int:
    """Return the number, 1 to 32, of a cell in use."""
    row, column = cell
    return 4 * (SIZE - 1 - row) + column // 2 + 1


_CELL = {number(cell): cell for cell in CELLS}


def turn_text(game: Game, position: Position, turn: Turn) -> str:
    """Return the notation of a whole turn, such as 9-13; raise IllegalAction if it is illegal."""
    game.play_turn(position, turn)
    track = game.track(position, turn)
    numbers = tuple(map(number, track.path))
    if not track.captured:
        return "-".join(map(str, numbers))
    ends = numbers[0], numbers[-1]
    # A single jump between the same cells takes precedence over this turn.
    is_unique = [play.turn for play in find_plays(game, position, ends)] == [tuple(turn)]
    return "x".join(map(str, ends if is_unique else numbers))


def parse_turn(game: Game, position: Position, text: str) -> Turn:
    """Parse a legal turn from text; raise IllegalAction if it matches no turn, or several."""
    matches = find_plays(game, position, cell_numbers(text))
    if len(matches) == 1:
        return matches[0].turn
    if matches:
        texts = format_list(turn_text(game, position, play.turn) for play in matches)
        raise IllegalAction(f"'{text}' is ambiguous: {texts}")
    legal = format_list(turn_text(game, position, turn) for turn in game.turns(position))
    if not legal:
        raise IllegalAction(f"'{text}': the game is over ({game.ending(position)})")
    where = position_text(position)
    raise IllegalAction(f"'{text}' is not legal in '{where}'; legal: {legal}")


def cell_numbers(text: str) -> tuple[int, ...]:
    """Return the cell numbers of a turn; they may be adjacent, as in 1115."""
    return tuple(map(int, re.findall("[0-9]{1,2}", text)))


def find_plays(game: Game, position: Position, numbers: tuple[int, ...]) -> list[Play]:
    """Return the legal turns through these cells or, if there are none, with these two ends."""
    possible = list(_continue_plays(game, position, numbers[:1]))
    exact = [play for play in possible if play.numbers == numbers]
    ends = numbers if len(numbers) == 2 else ()
    return exact or [play for play in possible if (play.numbers[0], play.numbers[-1]) == ends]


def _continue_plays(
    game: Game, position: Position, numbers: tuple[int, ...], turn: Turn = ()
) -> Iterator[Play]:
    """Yield the legal turns that continue `turn`, whose cells so far are `numbers`."""
    ends, legal = _ends(int(position.player)), game.legal_actions(position).tolist()
    for action in legal:
        start, end = ends[action]
        if (start,) != numbers[-1:]:
            continue
        after = game.apply(position, action, legal)
        if game.mid_turn(after):
            yield from _continue_plays(game, after, (*numbers, end), (*turn, action))
        else:
            yield Play((*numbers, end), (*turn, action), after)


@cache
def _ends(player: int) -> list[tuple[int, int]]:
    """Return the numbers of the cells where each action of a player starts and ends."""

    def numbers(bits: Iterator[int]) -> Iterator[int]:
        return (number(GRID.cell(bit, player)) for bit in bits)

    return list(zip(numbers(map(int, STARTS)), numbers(map(int, ENDINGS)), strict=True))


def position_text(position: Position) -> str:
    """Return a position at the beginning of a turn as PDN has it, such as B:W21,K22:B1,2."""
    sides: tuple[list[str], list[str]] = [], []
    for cell, letter in sorted(pieces(position).items(), key=lambda piece: number(piece[0])):
        king = "K" if letter.isupper() else ""
        sides["rb".index(letter.lower())].append(f"{king}{number(cell)}")
    black, white = map(",".join, sides)
    return f"{COLORS[int(position.player)]}:W{white}:B{black}"


def is_position(text: str) -> bool:
    """Return whether a text has the form of a FEN tag; its numbers may be invalid."""
    return bool(_FEN.fullmatch("".join(text.split())))


def parse_position(game: Game, text: str) -> Position:
    """Return the position of a FEN tag; raise BadPosition if it is not a position.

    Cells may be ranges, as in W21-32. Move counters at the end, as in :H0:F1, are ignored. Spaces
    are allowed everywhere except between two numbers.
    """
    match = _FEN.fullmatch("".join(text.split()))
    if not match or re.search(r"[0-9]\s+[0-9]", text):
        raise BadPosition(f"'{text}' is not a position; expected: a text such as {_EXAMPLE}")
    letters: dict[Cell, str] = {}
    for side in match["sides"].upper().split(":")[1:]:
        letter = "rb"[COLORS.index(side[0])]
        for piece in filter(None, side[1:].split(",")):
            for cell in _cells(piece):
                if cell in letters:
                    raise BadPosition(f"'{text}': {piece} is occupied twice")
                letters[cell] = letter.upper() if piece[0] == "K" else letter
    return game.parse_position(
        f"{GRID.board_text(letters)} {'rb'[COLORS.index(match['mover'].upper())]}"
    )


def _cells(piece: str) -> list[Cell]:
    """Return the cells of a part of a position, such as K22 or 21-32."""
    match = _SQUARES.fullmatch(piece)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= len(CELLS):
        raise BadPosition(f"{piece} is neither a cell from 1 to 32 nor a range of cells")
    return [_CELL[number] for number in range(first, last + 1)]
