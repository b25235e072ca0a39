"""The pieces beside a board: captured ones, and those in hand."""

from collections.abc import Mapping
from functools import lru_cache
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
    before, after = _sides(game, start), _sides(game, position)
    first, second = (_losses(*sides) for sides in zip(before, after, strict=True))
    return Tray(second, after[0].hand), Tray(first, after[1].hand)


class _Side(NamedTuple):
    """A player's number of pieces by letter, including those in hand, and of those in hand."""

    counts: Mapping[str, int]
    hand: int


# Most games have the same start.
@lru_cache(maxsize=64)
def _sides(game: Game, position: Position) -> tuple[_Side, _Side]:
    """Return both sides of a position."""
    pieces = "".join(game.pieces(position).values())
    own, enemy = (int(getattr(position, f"{side}_hand", 0)) for side in ("own", "enemy"))
    is_turned = own != enemy and game.to_move(position) == 1
    hands = (enemy, own) if is_turned else (own, enemy)
    first, second = (
        {letter: pieces.count(letter) + hand * (letter == letters[0]) for letter in letters}
        for letters, hand in zip(game.letters, hands, strict=True)
    )
    return _Side(first, hands[0]), _Side(second, hands[1])


def _losses(before: _Side, after: _Side) -> str:
    """Return the letters of the pieces that a player has lost."""
    missing = "".join(
        letter * (count - after.counts[letter]) for letter, count in before.counts.items()
    )
    return missing[: max(0, sum(before.counts.values()) - sum(after.counts.values()))]
