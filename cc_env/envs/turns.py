"""What the last turn was, decision by decision, so that pictures can show it."""

from cc_env.game import Game, Turn
from cc_env.rules import Position


class TurnLog:
    """Remembers the turn that led to the present position."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.last: tuple[Position, Turn] | None = None  # where it began, and its actions

    def clear(self) -> None:
        """Forget: a game begins."""
        self.last = None

    def add(self, before: Position, action: int) -> None:
        """Note a decision and the position in which it was taken."""
        if self.last is not None and self._game.mid_turn(before):
            self.last = self.last[0], (*self.last[1], action)
        else:
            self.last = before, (action,)
