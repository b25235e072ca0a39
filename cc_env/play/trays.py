"""The pieces beside a board: captured ones, and those in hand."""

from collections import Counter
from typing import NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import Position


class Tray(NamedTuple):
    """A player's captures, as letters of pieces, and the player's number of pieces in hand."""

    captured: str
    hand: int


def trays(game: Game, start: Position, position: Position) -> tuple[Tray, Tray]:
    """Return the trays of both players in a position of a game that began in `start`.

    A promoted piece counts as the piece that it was. Pieces are in hand in positions with the
    fields `own_hand` and `enemy_hand`.
    """
    first, second = (_losses(game, start, position, player) for player in (0, 1))
    return Tray(second, _hand(game, position, 0)), Tray(first, _hand(game, position, 1))


def _losses(game: Game, start: Position, position: Position, player: int) -> str:
    """Return the letters of the pieces that a player has lost since the start."""
    before, after = (_count(game, board, player) for board in (start, position))
    missing = "".join((before - after).elements())
    return missing[: max(0, before.total() - after.total())]


def _count(game: Game, position: Position, player: int) -> Counter[str]:
    """Return the number of a player's pieces by letter, including those in hand."""
    letters = game.letters[player]
    pieces = Counter(letter for letter in game.pieces(position).values() if letter in letters)
    pieces[letters[0]] += _hand(game, position, player)
    return pieces


def _hand(game: Game, position: Position, player: int) -> int:
    """Return the number of a player's pieces in hand."""
    side = "own" if game.to_move(position) == player else "enemy"
    return int(getattr(position, f"{side}_hand", 0))
