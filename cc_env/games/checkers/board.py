"""The board of checkers and its pieces, for texts and pictures."""

from cc_env.core.game import Cell, Grid
from cc_env.games.checkers.rules import CELLS, SIZE, Position

# Men and kings of red and of black.
LETTERS = "rR", "bB"
GRID = Grid(SIZE, SIZE, {(r, c): 8 * r + c for r, c in CELLS}, is_turned=True)


def pieces(position: Position) -> dict[Cell, str]:
    """Return the letter of each occupied cell: r and b for men, R and B for kings."""
    player, kings = int(position.player), int(position.kings)
    letters = GRID.pieces(position, LETTERS)
    for cell, letter in letters.items() if kings else ():
        if kings >> GRID.bit(cell, player) & 1:
            letters[cell] = letter.upper()
    return letters
