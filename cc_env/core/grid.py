"""Boards of cells: the bits of cells in a position, and boards as text.

A text has the rows from the top, joined by /, with a letter for each piece and a number for each
run of empty cells: 2b3/6.

Shapes: H rows and W columns of a board, A actions.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cc_env.errors import BadGame, BadPosition

# (row, column) from the upper left, in the fixed frame of the board.
Cell = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a board and their bits in the sets of a position.

    `bits` maps the cells in use to their bits in the first player's frame; by default all cells are
    in use and (row, column) is bit columns * row + column. If `is_turned`, the second player's
    frame is the first player's turned by 180 degrees.
    """

    rows: int
    columns: int
    bits: Mapping[Cell, int] = field(default_factory=dict)
    is_turned: bool = False

    def __post_init__(self) -> None:
        if not self.bits:
            cells = ((row, column) for row in range(self.rows) for column in range(self.columns))
            object.__setattr__(self, "bits", {cell: bit for bit, cell in enumerate(cells)})

    def ends(self, action_cells: ArrayLike) -> NDArray[np.int64]:
        """Return the first and last cell of each action, int64[A, 2].

        `action_cells` is int64[A, 2], or int64[A] for actions on one cell, or empty for one action
        per cell; otherwise raise BadGame.
        """
        size = self.rows * self.columns
        try:
            cells = np.asarray(action_cells)
        except ValueError as error:
            raise BadGame(f"action_cells are not an array: {error}") from None
        if not cells.size:
            cells = np.arange(size)
        ends = cells.repeat(2).reshape(-1, 2) if cells.ndim == 1 else cells
        has_shape = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype.kind in "iu"
        if not has_shape or ends.min() < 0 or ends.max() > size:
            shape = ", ".join(map(str, cells.shape))
            value = f"{cells.dtype}[{shape}], such as {cells.flat[0]} and {cells.flat[-1]}"
            expected = f"int64[actions, 2] or int64[actions] with cells from 0 to {size}"
            raise BadGame(f"action_cells are {value}; expected: {expected}")
        return ends.astype(np.int64)

    @cached_property
    def frames(self) -> tuple[Mapping[Cell, int], Mapping[Cell, int]]:
        """The bit of each cell in the first and in the second player's frame, in reading order."""
        second = {cell: self.bits[self.convert_cell(cell, 1)] for cell in self.bits}
        return self.bits, second

    @cached_property
    def _cells(self) -> tuple[Mapping[int, Cell], ...]:
        return tuple({bit: cell for cell, bit in frame.items()} for frame in self.frames)

    @cached_property
    def _masks(self) -> tuple[tuple[tuple[Cell, int], ...], ...]:
        """The cells with their one-bit sets in either player's frame, in reading order."""
        return tuple(
            tuple((cell, 1 << bit) for cell, bit in frame.items()) for frame in self.frames
        )

    def convert_cell(self, cell: Cell, player: int) -> Cell:
        """Convert a cell between the board's frame and that of `player`, in either direction."""
        if not (player and self.is_turned):
            return cell
        return self.rows - 1 - cell[0], self.columns - 1 - cell[1]

    def bit(self, cell: Cell, player: int) -> int:
        """Return the bit of a cell in the frame of `player`; raise KeyError for an unused cell."""
        return self.frames[player][cell]

    def cell(self, bit: int, player: int) -> Cell:
        """Return the cell of a bit in the frame of `player`; raise KeyError for an unused bit."""
        return self._cells[player][bit]

    def bitboard(self, cells: Iterable[Cell], player: int) -> np.uint64:
        """Return the set of these cells in the frame of `player`."""
        return np.uint64(sum(1 << self.bit(cell, player) for cell in cells))

    def pieces(self, position: Any, letters: tuple[str, str]) -> dict[Cell, str]:
        """Return the pieces in the sets `own` and `enemy` of a position, in reading order.

        A piece is written as the first letter of its player.
        """
        player, own, enemy = map(int, (position.player, position.own, position.enemy))
        own_letter, enemy_letter = letters[player][0], letters[1 - player][0]
        return {
            cell: own_letter if own & bit else enemy_letter
            for cell, bit in self._masks[player]
            if (own | enemy) & bit
        }

    def bitboards(
        self, pieces: Mapping[Cell, str], letters: tuple[str, str], player: int
    ) -> tuple[np.uint64, np.uint64]:
        """Return the sets of pieces of `player` and of its opponent, in the frame of `player`."""
        first, second = (
            self.bitboard((cell for cell, letter in pieces.items() if letter in side), player)
            for side in letters
        )
        return (second, first) if player else (first, second)

    def board_text(self, pieces: Mapping[Cell, str]) -> str:
        """Return the text of a board, such as 2b3/6."""
        characters = list("/".join(["." * self.columns] * self.rows))
        for (row, column), letter in pieces.items():
            characters[row * (self.columns + 1) + column] = letter
        text = "".join(characters)
        for gap in range(self.columns, 0, -1):
            text = text.replace("." * gap, str(gap))
        return text

    def parse_board(self, text: str, letters: str) -> dict[Cell, str]:
        """Return the pieces of a board's text; raise BadPosition if it is invalid."""
        rows = [re.sub("[0-9]{1,2}", lambda gap: "." * int(gap[0]), row) for row in text.split("/")]
        shape = [len(row) for row in rows]
        if shape != [self.columns] * self.rows or set("".join(rows)) - {*letters, "."}:
            expected = f"{self.rows} rows of {self.columns} cells, joined by /"
            raise BadPosition(f"expected: {expected}, made of {', '.join(letters)} and numbers")
        pieces = {
            (row, column): letter
            for row, cells in enumerate(rows)
            for column, letter in enumerate(cells)
            if letter != "."
        }
        for (row, column), letter in pieces.items():
            if (row, column) not in self.bits:
                raise BadPosition(f"{letter} on {row}{column}, an unused cell")
        return pieces

    def position_text(
        self, pieces: Mapping[Cell, str], letters: tuple[str, str], player: int
    ) -> str:
        """Return the text of the board and the first letter of the player to move."""
        return f"{self.board_text(pieces)} {letters[player][0]}"

    def parse_position(
        self, text: str, letters: tuple[str, str], rest: str = ""
    ) -> tuple[dict[Cell, str], int, list[str]]:
        """Return the pieces of a position's text, the player to move, and the words that follow.

        The player is written as its first letter. `rest` describes the words that may follow, for
        error messages; by default none may. Raises BadPosition if the text is invalid.
        """
        words = text.split()
        sides = [side[0] for side in letters]
        if len(words) < 2 or words[1] not in sides or (len(words) > 2 and not rest):
            expected = f"rows, side to move ({' or '.join(sides)})"
            raise BadPosition(f"expected: {expected}{f', {rest}' if rest else ''}")
        return self.parse_board(words[0], "".join(letters)), sides.index(words[1]), words[2:]
