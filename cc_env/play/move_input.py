"""Parsing of typed moves: both notations, cells of piece and target, or a list number.

The result is a legal turn or action, a selected piece, several candidates, or an IllegalAction with
the reason.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from cc_env.core.game import Cell, CellStyle, Game, Turn, normalize_notation
from cc_env.core.rules import Position
from cc_env.errors import IllegalAction, format_list
from cc_env.play.choices import Choice, must_capture


class ParsedMove(NamedTuple):
    """A parsed move: a turn or a part of it, else a selected piece, else several candidates."""

    turn: Turn = ()
    piece: Cell | None = None
    candidates: tuple[Choice, ...] = ()


def cell_style(game: Game) -> CellStyle:
    """Return how cells are written: by their names or, without names, as row and column."""
    return "readable" if game.readable_cell_names or game.cell_names else "input"


def parse_move(
    game: Game, position: Position, choices: Sequence[Choice], piece: Cell | None, text: str
) -> ParsedMove:
    """Parse a move typed in a position with the legal `choices` and `piece` selected.

    One number is an index of `choices`, counted from 1. One cell is a piece or, if one is selected,
    its target; two cells, such as c2 d3, are both, and more are a path. In games without names of
    cells, a cell is a row and a column. Anything else is notation. Raises IllegalAction with the
    reason.
    """
    if re.fullmatch(r"\d{1,6}", text):
        return ParsedMove((_choice_at(choices, int(text)).action,))
    if cells := _named_cells(game, text) or _numbered_cells(game, text):
        if len(cells) == 1 and piece and not _starts_choice(choices, cells[0]):
            cells = [piece, *cells]
        if move := _find_selected(choices, cells):
            return move
        raise IllegalAction(_explain_refusal(game, position, choices, cells))
    notations = (game.action_text, game.readable_action_text)
    for choice in choices:
        texts = (action_text(position, choice.action) for action_text in notations)
        if normalize_notation(text) in map(normalize_notation, texts):
            return ParsedMove((choice.action,))
    try:
        return ParsedMove(parse_typed_turn(game, position, text))
    except IllegalAction:
        similar = game.completions(position, text)
        hint = f"; did you mean {format_list(similar)}?" if similar else ""
        raise IllegalAction(f"{text[:40]!r} is not a legal move{hint}") from None


def parse_typed_turn(game: Game, position: Position, text: str) -> Turn:
    """Return the legal turn that a person typed, in notation or as its cells with blanks between.

    Raises IllegalAction as `Game.parse_turn`.
    """
    for sign in "-x":
        with suppress(IllegalAction):
            return game.parse_turn(position, sign.join(text.split()))
    return game.parse_turn(position, text)


def _choice_at(choices: Sequence[Choice], number: int) -> Choice:
    """Return the choice with a number, counted from 1; raise IllegalAction if there is none."""
    if not 1 <= number <= len(choices):
        raise IllegalAction(f"move number {number}; expected: 1 to {len(choices)}")
    return choices[number - 1]


def _numbered_cells(game: Game, text: str) -> list[Cell]:
    """Return the one or two cells whose rows and columns a text contains, [] for another text.

    Also [] if the cells of the game have names. Raises IllegalAction for numbers off the board.
    """
    if cell_style(game) != "input":
        return []
    words, rows, columns = text.split(), game.row_labels, game.column_labels
    if len(words) in (2, 4):
        pairs = list(zip(words[::2], words[1::2], strict=True))
        if all(row in rows and column in columns for row, column in pairs):
            return [(rows.index(row), columns.index(column)) for row, column in pairs]
        if all(re.fullmatch(r"\d{1,2}", word) for word in words):
            row, column = next((r, c) for r, c in pairs if r not in rows or c not in columns)
            raise IllegalAction(
                f"{row} {column} is off the board: rows are {rows[0]} to {rows[-1]}, "
                f"columns {columns[0]} to {columns[-1]}"
            )
    return []


def _named_cells(game: Game, text: str) -> list[Cell]:
    """Return the one or two cells that a text names, as in CE, c2 or c2 d3; [] for another text."""
    points = {name.lower(): cell for cell, name in game.cell_names.items()}
    letters = normalize_notation(text)
    if letters and len(letters) <= 2 and set(letters) <= set(points):
        return [points[letter] for letter in letters]
    cells = {name: cell for cell, name in game.readable_cell_names.items()}
    words = text.lower().split()
    if len(words) <= 2 and set(words) <= set(cells):
        return [cells[word] for word in words]
    return []


def _starts_choice(choices: Sequence[Choice], cell: Cell) -> bool:
    """Return whether a choice starts with this cell."""
    return any(cell in (choice.pieces or (choice.cell,)) for choice in choices)


def _find_selected(choices: Sequence[Choice], cells: Sequence[Cell]) -> ParsedMove | None:
    """Return the choice, the piece or the candidates that a piece, or piece and target, select.

    None if there are none.
    """
    piece, *targets = cells
    if targets:
        starting = [choice for choice in choices if piece in choice.pieces]
    else:
        starting = [choice for choice in choices if not choice.pieces]
    matching = tuple(choice for choice in starting if choice.cell == cells[-1])
    if len(matching) == 1:
        return ParsedMove((matching[0].action,))
    if matching:
        return ParsedMove(candidates=matching)
    if not targets and any(piece in choice.pieces for choice in choices):
        return ParsedMove(piece=piece)
    return None


def _explain_refusal(
    game: Game,
    position: Position,
    choices: Sequence[Choice],
    cells: Sequence[Cell],
) -> str:
    """Return why the selected cells are not a legal choice."""
    (piece, *targets), style = cells, cell_style(game)
    name, pieces = game.cell_text(piece, style), game.pieces(position)
    reachable = [choice.cell for choice in choices if piece in choice.pieces and choice.cell]
    if reachable:
        names = format_list(dict.fromkeys(game.cell_text(cell, style) for cell in reachable))
        return f"{name} cannot go to {game.cell_text(targets[0], style)}; it can go to: {names}"
    note = f"; {remark}" if (remark := game.remark(position)) else ""
    starts = dict.fromkeys(cell for choice in choices for cell in choice.pieces)
    if not starts:
        valid = format_list(game.cell_text(choice.cell, style) for choice in choices if choice.cell)
        content = "is occupied" if piece in pieces else "is empty"
        return f"{name} {content}{note}; choose one of: {valid}"
    if piece not in pieces:
        reason = "is empty"
    elif game.owner(pieces[piece]) != game.to_move(position):
        reason = "is not yours"
    else:
        reason = "cannot move now"
        note += "; a capture comes first" if must_capture(choices) else ""
    valid = format_list(game.cell_text(cell, style) for cell in starts)
    return f"{name} {reason}{note}; you can move from: {valid}"
