"""What can be chosen in a position, in the way that people point at it: a piece, then a cell."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cc_env.core.game import Cell, Game
from cc_env.core.rules import Position


class Choice(NamedTuple):
    """One legal action."""

    action: int
    text: str  # in notation; of a turn that goes on, its part
    pieces: tuple[Cell, ...]  # any of which may be pointed at first; () where it begins nowhere
    cell: Cell | None  # what is pointed at then; None for an action without a place, such as a pass
    is_shot: bool  # hits the cell without going there
    captures: tuple[Cell, ...]


def list_choices(
    game: Game, position: Position, legal: Iterable[int] | None = None
) -> list[Choice]:
    """Return the legal actions in the order of their ids; none where the game is over.

    Who knows them already says which they are.
    """
    actions = game.legal_actions(position).tolist() if legal is None else legal
    return [_choice(game, position, action) for action in actions]


def must_capture(moves: Sequence[Choice]) -> bool:
    """Return whether every choice is a capture that a piece makes."""
    return bool(moves) and all(choice.captures and choice.pieces for choice in moves)


def _choice(game: Game, position: Position, action: int) -> Choice:
    path, captured = game.track(position, (action,))
    shooters = tuple(game.shooters(position, action))
    moves = len(path) > 1 and not shooters
    return Choice(
        action,
        game.action_text(position, action),
        shooters or (path[:1] if moves else ()),
        path[-1] if path else (*captured, None)[0],
        bool(shooters),
        captured,
    )
