"""Contents of a picture, independent of the output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cc_env.core.game import Cell


@dataclass(frozen=True)
class PictureData:
    """A position with the marks to draw."""

    rows: int
    columns: int
    # Names; those in shapes.COLORS determine the colors of the pieces.
    players: tuple[str, str]
    letters: tuple[str, str]  # all letters of each player's pieces
    pieces: Mapping[Cell, str]  # letters by cell
    figures: Mapping[str, str] = field(default_factory=dict)  # shape of a letter; default: a disc
    dark: int = 1  # parity of row + column of the dark squares
    lines: tuple[tuple[Cell, Cell], ...] = ()  # lines of a board of points; () for squares
    names: Mapping[Cell, str] = field(default_factory=dict)  # names of points; empty for squares
    labels: tuple[Sequence[str], Sequence[str]] = (), ()  # of rows and columns; unused for points
    goals: tuple[Cell, ...] = ()  # goal of the first and of the second player
    path: tuple[Cell, ...] = ()  # cells visited in the last turn
    captured: tuple[Cell, ...] = ()  # cells of pieces captured in the last turn
    selected: Cell | None = None  # cell of the selected piece
    targets: tuple[Cell, ...] = ()  # cells the selected piece can move to
    shots: tuple[Cell, ...] = ()  # cells it can shoot at; its own cell if it can be removed
    heat: Mapping[Cell, float] = field(default_factory=dict)  # 0 to 1 by cell; not shown as text
    numbers: Mapping[Cell, int] = field(default_factory=dict)  # on cells; not shown as text
    caption: str = ""

    def owner(self, letter: str) -> str:
        """Return the name of the player that owns a piece with this letter."""
        return self.players[letter in self.letters[1]]
