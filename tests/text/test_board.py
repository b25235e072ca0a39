"""Boards in words: names of cells, pieces, and both sides."""

import pytest

from cc_env.games.factory import make_game
from cc_env.registry.catalogue import GAMES
from cc_env.text.board import board_text

BLUE = """\
   a b c d
4  . . r r
3  . . . r
2  b . . .
1  b b . ."""
RED = """\
   d c b a
1  . . b b
2  . . . b
3  r . . .
4  r r . ."""
BLACK = """\
    18w     17w     16w
15w     14w     13.
    12.     11.     10.
 9.      8.      7.
     6.      5b      4b
 3b      2b      1b"""
MORRIS = """\
Aw       B.       C.
   D.    E.    F.
      G. H. I.
J. K. L.    M. N. O.
      P. Q. R.
   S.    T.    U.
V.       W.       Xb"""


@pytest.mark.parametrize(
    ("game", "position", "seat", "text"),
    [
        (make_game("capture_conquer", size=4), None, 0, BLUE),
        (make_game("capture_conquer", size=4), None, 1, RED),
        (make_game("mini_checkers"), "1w1w1w/w1w3/6/6/3b1b/b1b1b1 b", 0, BLACK),
        (make_game("morris"), "w......................b w 88", 0, MORRIS),
        (make_game("morris"), "w......................b w 88", 1, MORRIS),
    ],
)
def test_board_has_the_names_of_cells(game, position, seat, text):
    position = game.from_text(position) if position else game.initial
    assert board_text(game, position, seat) == text


@pytest.mark.parametrize("name", [*GAMES, "elsewhere.tictactoe"])
def test_board_contains_every_piece(name):
    game = make_game(name)
    for seat in (0, 1):
        signs = board_text(game, game.initial, seat)
        letters = "".join(game.pieces(game.initial).values())
        for letter in set("".join(game.letters)) - set("abcdefghij"):
            assert signs.count(letter) >= letters.count(letter)


@pytest.mark.parametrize(("rows", "columns"), [(10, 8), (8, 10)])
def test_large_boards_are_aligned(rows, columns):
    game = make_game("cannon", rows=rows, columns=columns)
    first, *lines = board_text(game, game.initial).splitlines()
    assert first.split() == list("abcdefghij"[:columns])
    assert [line.split()[0] for line in lines] == [str(row) for row in range(rows, 0, -1)]
    assert {len(line) for line in (first, *lines)} == {2 + 2 * columns}
