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
    # All letters of each player's pieces.
    letters: tuple[str, str]
    pieces: Mapping[Cell, str]
    # Shapes of pieces by letter; discs by default.
    figures: Mapping[str, str] = field(default_factory=dict)
    # Parity of row + column of the dark squares.
    dark: int = 1
    # Lines of a board of points; () for squares.
    lines: tuple[tuple[Cell, Cell], ...] = ()
    # Names of points; empty for squares.
    names: Mapping[Cell, str] = field(default_factory=dict)
    # Labels of rows and columns; unused for points.
    labels: tuple[Sequence[str], Sequence[str]] = (), ()
    # Goal of the first and of the second player.
    goals: tuple[Cell, ...] = ()
    # Cells visited in the last turn.
    path: tuple[Cell, ...] = ()
    # Cells of pieces captured in the last turn.
    captured: tuple[Cell, ...] = ()
    selected: Cell | None = None
    # Cells that the selected piece can move to.
    targets: tuple[Cell, ...] = ()
    # Cells that it can shoot at; its own cell if it can be removed.
    shots: tuple[Cell, ...] = ()
    # Values from 0 to 1; text pictures do not show them.
    heat: Mapping[Cell, float] = field(default_factory=dict)
    # Numbers on cells; text pictures do not show them.
    numbers: Mapping[Cell, int] = field(default_factory=dict)
    caption: str = ""

    def owner(self, letter: str) -> str:
        """Return the name of the player that owns a piece with this letter."""
        return self.players[letter in self.letters[1]]
