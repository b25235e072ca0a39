"""Legal actions as choices on a board: first a piece, then a target cell."""

from collections.abc import Sequence
from typing import NamedTuple

from cc_env.core.game import Cell, Game
from cc_env.core.rules import Position


class Choice(NamedTuple):
    """A legal action with the cells that select it on a board."""

    action: int
    # Readable notation of this action alone, which may be a part of a turn.
    text: str
    # Cells that select the piece; several for a shot, () if no piece moves.
    pieces: tuple[Cell, ...]
    # Target cell; None for an action without one, such as a pass.
    cell: Cell | None
    # Whether the action hits the target without moving there.
    is_shot: bool
    captures: tuple[Cell, ...]


def list_choices(game: Game, position: Position) -> list[Choice]:
    """Return the choices of a position by ascending action id; none if the game is over."""
    return [_choice(game, position, action) for action in game.legal_actions(position).tolist()]


def must_capture(choices: Sequence[Choice]) -> bool:
    """Return whether every choice is a capture by a piece."""
    return bool(choices) and all(choice.captures and choice.pieces for choice in choices)


def _choice(game: Game, position: Position, action: int) -> Choice:
    """Return an action as a choice."""
    path, captured = game.track_ends(position, action)
    shooters = tuple(game.shooters(position, action))
    piece_moves = len(path) > 1 and not shooters
    return Choice(
        action,
        game.readable_action_text(position, action),
        shooters or (path[:1] if piece_moves else ()),
        path[-1] if path else (*captured, None)[0],
        bool(shooters),
        captured,
    )
