"""Captured pieces and pieces in hand."""

import pytest

from cc_env.games.factory import make_game
from cc_env.play.trays import trays

LOSSES = [
    ("capture_conquer", None, [("", 0), ("", 0)]),
    ("checkers", None, [("", 0), ("", 0)]),
    ("checkers", "8/8/2b5/8/2b1b3/3R4/8/1b6 r", [("b" * 8, 0), ("r" * 11, 0)]),
    ("morris", None, [("", 9), ("", 9)]),
    ("morris", "ww.bbb.................. w 65", [("b", 6), ("w", 5)]),
]


@pytest.mark.parametrize(("name", "text", "expected"), LOSSES)
def test_trays_have_captures_and_pieces_in_hand(name, text, expected):
    """A king is not a lost man."""
    game = make_game(name)
    position = game.initial if text is None else game.from_text(text)
    assert [tuple(tray) for tray in trays(game, game.initial, position)] == expected


def test_pieces_missing_at_the_start_are_not_captured():
    game = make_game("checkers")
    start = game.from_text("8/8/2b5/8/2b1b3/3R4/8/1b6 r")
    assert [tray.captured for tray in trays(game, start, start)] == ["", ""]
