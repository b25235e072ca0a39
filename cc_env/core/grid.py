"""The cells of a board: which bit of a position is which cell, and boards as text.

A text has rows from the top joined by /, a letter for each piece, and digits for empty cells:
2b3/6.

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

Cell = tuple[int, int]  # (row, column) from the upper left, in the fixed frame of the board


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a board, and the bits that stand for them in the sets of a position.

    `bits` has the cells in use, each with its bit as the first player sees the board; without it,
    all cells are in use and (row, column) is bit columns * row + column. With `is_turned` the
    second player's frame is the first player's turned by 180 degrees.
    """

    rows: int
    columns: int
    bits: Mapping[Cell, int] = field(default_factory=dict)
    is_turned: bool = False

    def __post_init__(self) -> None:
        if not self.bits:
            cells = ((row, column) for row in range(self.rows) for column in range(self.columns))
            object.__setattr__(self, "bits", {cell: bit for bit, cell in enumerate(cells)})

    @property
    def single_cells(self) -> NDArray[np.int64]:
        """The `Game.action_cells` of a game with an action for each cell: int64[H * W, 2]."""
        return np.arange(self.rows * self.columns).repeat(2).reshape(-1, 2)

    def ends(self, action_cells: ArrayLike) -> NDArray[np.int64]:
        """Return the cells where each action starts and ends, int64[A, 2], from those of a game.

        They are given so, or as int64[A], the one cell of each; where nothing is given, each cell
        has an action. Raises BadGame where they are neither.
        """
        size = self.rows * self.columns
        try:
            cells = np.asarray(action_cells)
        except ValueError as error:  # rows of several lengths
            raise BadGame(f"action_cells are not an array: {error}") from None
        if not cells.size:
            return self.single_cells
        ends = cells.repeat(2).reshape(-1, 2) if cells.ndim == 1 else cells
        is_shaped = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype.kind in "iu"
        if not is_shaped or ends.min() < 0 or ends.max() > size:
            shape = ", ".join(map(str, cells.shape))
            came = f"{cells.dtype}[{shape}], such as {cells.flat[0]} and {cells.flat[-1]}"
            wanted = f"int64[actions, 2], or int64[actions] for actions on one cell, of 0 to {size}"
            raise BadGame(f"action_cells are {came}; wanted: {wanted}")
        return ends.astype(np.int64)

    @cached_property
    def frames(self) -> tuple[Mapping[Cell, int], Mapping[Cell, int]]:
        """The bit of each cell, in reading order, in the frame of either player."""
        second = {cell: self.bits[self.seen(cell, 1)] for cell in self.bits}
        return self.bits, second

    @cached_property
    def _cells(self) -> tuple[Mapping[int, Cell], ...]:
        return tuple({bit: cell for cell, bit in frame.items()} for frame in self.frames)

    @cached_property
    def _masks(self) -> tuple[tuple[tuple[Cell, int], ...], ...]:
        """The cells in reading order with the set of each alone, in the frame of either player."""
        return tuple(tuple((c, 1 << bit) for c, bit in frame.items()) for frame in self.frames)

    def seen(self, cell: Cell, player: int) -> Cell:
        """Return the cell in the frame of `player`, or back: the two are the same."""
        if not (player and self.is_turned):
            return cell
        return self.rows - 1 - cell[0], self.columns - 1 - cell[1]

    def bit(self, cell: Cell, player: int) -> int:
        """Return the bit of a cell in the frame of `player`; raise KeyError if it is not in use."""
        return self.frames[player][cell]

    def cell(self, bit: int, player: int) -> Cell:
        """Return the cell of a bit in the frame of `player`; raise KeyError if there is none."""
        return self._cells[player][bit]

    def set_of(self, cells: Iterable[Cell], player: int) -> np.uint64:
        """Return the set of these cells in the frame of `player`."""
        return np.uint64(sum(1 << self.bit(cell, player) for cell in cells))

    def pieces(self, position: Any, letters: tuple[str, str]) -> dict[Cell, str]:
        """Return the pieces in the sets `own` and `enemy` of a position, in reading order.

        They get the first of the letters of their player.
        """
        player, own, enemy = map(int, (position.player, position.own, position.enemy))
        mine, theirs = letters[player][0], letters[1 - player][0]
        return {
            cell: mine if own & bit else theirs
            for cell, bit in self._masks[player]
            if (own | enemy) & bit
        }

    def sides(
        self, pieces: Mapping[Cell, str], letters: tuple[str, str], player: int
    ) -> tuple[np.uint64, np.uint64]:
        """Return the pieces of `player`, and those of its opponent, as sets in `player`'s frame."""
        first, second = (
            self.set_of((cell for cell, letter in pieces.items() if letter in own), player)
            for own in letters
        )
        return (second, first) if player else (first, second)

    def text(self, pieces: Mapping[Cell, str]) -> str:
        """Return the rows, such as 2b3/6, with a letter for each piece."""
        signs = list("/".join(["." * self.columns] * self.rows))
        for (row, column), letter in pieces.items():
            signs[row * (self.columns + 1) + column] = letter
        text = "".join(signs)
        for gap in range(self.columns, 0, -1):
            text = text.replace("." * gap, str(gap))
        return text

    def read(self, text: str, letters: str) -> dict[Cell, str]:
        """Return the pieces of `text`; raise BadPosition, saying why, where it has other rows."""
        rows = [re.sub("[0-9]{1,2}", lambda gap: "." * int(gap[0]), row) for row in text.split("/")]
        shape = [len(row) for row in rows]
        if shape != [self.columns] * self.rows or set("".join(rows)) - {*letters, "."}:
            wanted = f"{self.rows} rows of {self.columns} cells"
            made_of = ", ".join(letters)
            raise BadPosition(f"wanted: {wanted}, made of {made_of} and digits, joined by /")
        signs = {(r, c): sign for r, row in enumerate(rows) for c, sign in enumerate(row)}
        pieces = {cell: letter for cell, letter in signs.items() if letter != "."}
        for (row, column), letter in pieces.items():
            if (row, column) not in self.bits:
                raise BadPosition(f"{letter} on {row}{column}, a cell that is not used")
        return pieces

    def position_text(
        self, pieces: Mapping[Cell, str], letters: tuple[str, str], player: int
    ) -> str:
        """Return the rows, and the player to move as the first of its letters."""
        return f"{self.text(pieces)} {letters[player][0]}"

    def read_position(
        self, text: str, letters: tuple[str, str], rest: str = ""
    ) -> tuple[dict[Cell, str], int, list[str]]:
        """Return the pieces of a position's text, the player to move, and the words after that.

        The player is written as the first of its letters. `rest` describes the words that may
        follow, for the error; without it there may be none. Raises BadPosition, saying why.
        """
        fields = text.split()
        sides = [own[0] for own in letters]
        if len(fields) < 2 or fields[1] not in sides or (len(fields) > 2 and not rest):
            wanted = f"rows, side to move ({' or '.join(sides)})"
            raise BadPosition(f"wanted: {wanted}{f', {rest}' if rest else ''}")
        return self.read(fields[0], "".join(letters)), sides.index(fields[1]), fields[2:]
