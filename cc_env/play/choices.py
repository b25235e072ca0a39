"""What can be chosen in a position, in the way that people point at it: a piece, then a cell."""

from typing import NamedTuple

from cc_env.game import Cell, Game
from cc_env.rules import Position


class Choice(NamedTuple):
    """One legal action."""

    action: int
    text: str  # in notation; of a turn that goes on, its part
    pieces: tuple[Cell, ...]  # any of which may be pointed at first; () where it begins nowhere
    cell: Cell | None  # what is pointed at then; None for an action without a place, such as a pass
    is_shot: bool  # hits the cell without going there
    captures: tuple[Cell, ...]


def choices(game: Game, position: Position) -> list[Choice]:
    """Return the legal actions in the order of their ids; none where the game is over."""
    return [_choice(game, position, int(action)) for action in game.legal_actions(position)]


def _choice(game: Game, position: Position, action: int) -> Choice:
    path, captured = game.track(position, (action,))
    shooters = tuple(game.shooters(position, action))
    moves = len(path) > 1 and not shooters
    return Choice(
        action=action,
        text=game.action_text(position, action),
        pieces=shooters or (path[:1] if moves else ()),
        cell=path[-1] if path else (*captured, None)[0],
        is_shot=bool(shooters),
        captures=captured,
    )
