"""What people type of a move: notation, the cells of a piece and its target, a number in the list.

Whatever is typed, it is one of the legal choices, or a question which of several, or a refusal that
says why.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from cc_env.core.game import Cell, Game, Turn
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction, format_list
from cc_env.play.choices import Choice, must_capture


class ParsedMove(NamedTuple):
    """What somebody meant: a turn or a part of it to play, else a piece, or one of several."""

    turn: Turn = ()
    piece: Cell | None = None
    candidates: tuple[Choice, ...] = ()


def parse_move(
    game: Game, position: Position, moves: Sequence[Choice], piece: Cell | None, text: str
) -> ParsedMove:
    """Return what a text means where these are the choices and `piece` was pointed at before.

    A number alone is a place in `moves`, counted from 1. Two are the row and the column of a piece,
    or where one was pointed at, of its target; four are both. On a board whose points have names
    these do as well. All else is notation. Raises IllegalAction, saying why.
    """
    if re.fullmatch(r"\d{1,6}", text):
        return ParsedMove((_numbered(moves, int(text)).action,))
    if cells := _cells(game, text):
        if len(cells) == 1 and piece and not _is_first(moves, cells[0]):
            cells = [piece, *cells]
        return _pointed(game, position, moves, cells)
    plain = "".join(text.split()).lower()
    for choice in moves:
        if "".join(choice.text.split()).lower() == plain:
            return ParsedMove((choice.action,))
    try:
        return ParsedMove(game.parse_turn(position, text))
    except IllegalAction:
        near = game.completions(position, text)
        would_do = f"; did you mean {format_list(near)}?" if near else ""
        raise IllegalAction(f"{text[:40]!r} is not a legal move{would_do}") from None


def cell_name(game: Game, cell: Cell) -> str:
    """Return what a cell is called: its name, or its row and column."""
    return game.cell_names.get(cell) or " ".join(cell_labels(game, cell))


def cell_labels(game: Game, cell: Cell) -> tuple[str, str]:
    """Return what the row and the column of a cell are called."""
    row, column = cell
    return game.row_labels[row], game.column_labels[column]


def _numbered(moves: Sequence[Choice], number: int) -> Choice:
    if not 1 <= number <= len(moves):
        raise IllegalAction(f"there is no move number {number}; there are 1 to {len(moves)}")
    return moves[number - 1]


def _cells(game: Game, text: str) -> list[Cell]:
    """Return the one or two cells that a text names, none where it is not of that kind."""
    words, rows, columns = text.split(), game.row_labels, game.column_labels
    if len(words) in (2, 4):
        places = list(zip(words[::2], words[1::2], strict=True))
        if all(row in rows and column in columns for row, column in places):
            return [(rows.index(row), columns.index(column)) for row, column in places]
        if all(re.fullmatch(r"\d{1,2}", word) for word in words):
            board = f"rows are {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"
            off = next(place for place in places if place[0] not in rows or place[1] not in columns)
            raise IllegalAction(f"{' '.join(off)} is off the board: {board}")
    named = {name.lower(): cell for cell, name in game.cell_names.items()}
    letters = "".join(words).lower()
    if letters and len(letters) <= 2 and set(letters) <= set(named):
        return [named[letter] for letter in letters]
    return []


def _at(moves: Sequence[Choice], piece: Cell, cell: Cell) -> tuple[Choice, ...]:
    return tuple(choice for choice in moves if piece in choice.pieces and choice.cell == cell)


def _is_first(moves: Sequence[Choice], cell: Cell) -> bool:
    """Return whether a choice begins by pointing at a cell."""
    return any(cell in (choice.pieces or (choice.cell,)) for choice in moves)


def _pointed(
    game: Game, position: Position, moves: Sequence[Choice], cells: Sequence[Cell]
) -> ParsedMove:
    piece, *targets = cells
    begun = [choice for choice in moves if piece in choice.pieces]
    if targets:
        matching = _at(moves, piece, targets[0])
    else:
        matching = tuple(choice for choice in moves if not choice.pieces and choice.cell == piece)
    if len(matching) == 1:
        return ParsedMove((matching[0].action,))
    if matching:
        return ParsedMove(candidates=matching)
    if begun and not targets:
        return ParsedMove(piece=piece)
    raise IllegalAction(_why_not(game, position, moves, cells))


def _why_not(game: Game, position: Position, moves: Sequence[Choice], cells: Sequence[Cell]) -> str:
    """Say why the cells that somebody pointed at are not a choice."""
    piece, *targets = cells
    name, pieces = cell_name(game, piece), game.pieces(position)
    mover = game.players[game.to_move(position)]
    begun = [choice for choice in moves if piece in choice.pieces]
    if begun:
        to = format_list(
            dict.fromkeys(cell_name(game, choice.cell) for choice in begun if choice.cell)
        )
        return f"{name} cannot go to {cell_name(game, targets[0])}; it can go to: {to}"
    due = f"; {remark}" if (remark := game.remark(position)) else ""
    starts = dict.fromkeys(cell for choice in moves for cell in choice.pieces)
    if not starts:
        would_do = format_list(cell_name(game, choice.cell) for choice in moves if choice.cell)
        what = f"holds {pieces[piece]}" if piece in pieces else "is empty"
        return f"{name} {what}{due}; wanted one of: {would_do}"
    would_do = format_list(cell_name(game, cell) for cell in starts)
    if piece not in pieces:
        return f"{name} is empty{due}; {mover} can move from: {would_do}"
    if not pieces[piece].lower().startswith(mover[0].lower()):
        return f"{name} is not {mover}'s{due}; {mover} can move from: {would_do}"
    due += "; a capture comes first" if must_capture(moves) else ""
    return f"{name} cannot move now{due}; {mover} can move from: {would_do}"
