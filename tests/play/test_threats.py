"""What the opponent would do if it were to move now."""

import pytest

from cc_env.games.factory import make_game
from cc_env.play.threats import find_threat
from cc_env.registry.catalogue import GAMES


@pytest.mark.parametrize(
    ("name", "position", "cells"),
    [
        # Red's step to the corner, rather than a capture.
        ("capture_conquer", "6/1r4/6/3b2/2r3/b3b1 b", ("b2", "a1")),
        # In the middle of a turn.
        ("capture_conquer", "6/1bb3/1brrr1/1r1r2/6/6 b 1,2-3,2", ()),
        ("checkers", "8/8/2b1b3/3r4/8/8/8/8 r", ("23", "14")),
        ("checkers", "8/8/2b5/8/8/8/6r1/8 r", ()),
        ("mini_checkers", "6/6/1w4/2b3/6/b5 b", ("12", "5")),
        # Black closes a mill.
        ("morris", "bb.....................w w 87", ("C",)),
        ("cannon", "W1W1W1W1/8/8/2w5/2b5/8/8/1B1B1B1B b", ("c5", "c4")),
    ],
)
def test_threat_wins_or_captures_most(name, position, cells):
    game = make_game(name)
    found = find_threat(game, game.from_text(position))
    assert tuple(game.cell_text(cell, "readable") for cell in found) == cells


@pytest.mark.parametrize("name", GAMES)
def test_nothing_is_threatened_at_the_start(name):
    game = make_game(name)
    assert find_threat(game, game.initial) == ()
