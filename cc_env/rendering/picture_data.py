"""Contents of a picture, independent of the output format."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cc_env.core.game import Cell, Game


@dataclass(frozen=True)
class PictureData:
    """A position with the marks to draw."""

    game: Game
    pieces: Mapping[Cell, str]
    # Cells visited in the last turn.
    path: tuple[Cell, ...] = ()
    # Cells of pieces captured in the last turn.
    captured: tuple[Cell, ...] = ()
    selected: Cell | None = None
    # Cells that the selected piece can move to.
    targets: tuple[Cell, ...] = ()
    # Cells that the selected piece can shoot at; its own cell if it can be removed.
    shots: tuple[Cell, ...] = ()
    # Values from 0 to 1; text pictures do not show them.
    heat: Mapping[Cell, float] = field(default_factory=dict)
    # Numbers on cells; text pictures do not show them.
    numbers: Mapping[Cell, int] = field(default_factory=dict)
    caption: str = ""

    def owner(self, letter: str) -> str:
        """Return the name of the player that owns a piece with this letter."""
        return self.game.players[self.game.owner(letter)]
