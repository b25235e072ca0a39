"""Pictures as text, SVG and pixels."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pettingzoo
import pytest

from cc_env.core.rules import ONGOING
from cc_env.errors import BadGame, BadOption
from cc_env.games.factory import make_game
from cc_env.match.match import Match
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.picture import Picture, Sheet, draw, frames, heat
from cc_env.rendering.pixels import to_pixels
from cc_env.rendering.shapes import (
    BOARD,
    CELL,
    COLORS,
    FOOT,
    INK,
    LAST,
    MARGIN,
    SHOT,
    TARGET,
    Disc,
    Label,
    Square,
    labels,
    shapes,
)
from cc_env.rendering.svg import to_svg
from cc_env.rendering.text import to_text

EXAMPLE = "6/1bb3/1brrr1/1r1r2/6/6 b"
BEADS = "ww.bb.ww.bb.w.b........."
MILL = f"{BEADS} w 34"
STAGNANT = "W1W1W1W1/1w6/1w6/1w6/8/3b4/3b4/1B1b1B1B b"  # if both shoot at nothing
SHUFFLE = "S 3 5 B 3 2", "S 1 3 B 1 6"
SHOOTING = "WwWwWwWw/1w1w1w1w/2b3w1/2b5/2bw4/8/b3b1b1/1BbB1B1B b"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def morris():
    return make_game("morris")


@pytest.fixture(scope="module")
def cannon():
    return make_game("cannon")


def after(game, text, turn):
    """Return the picture after a turn."""
    before = game.from_text(text)
    actions = game.parse_turn(before, turn)
    return draw(game, game.play_turn(before, actions), last=(before, actions))


def shows(frame, cell, color):
    """Return whether the center of a cell has nearly this color."""
    expected = [int(COLORS[color][0][i : i + 2], 16) for i in (1, 3, 5)]
    row, column = (MARGIN + CELL * n + CELL // 2 for n in cell)
    return np.abs(frame[row, column].astype(int) - expected).max() < 8


def test_text_shows_path_capture_and_player_to_move(game):
    assert to_text(after(game, EXAMPLE, "1,2-3,0x2,3")).splitlines() == [
        "   a b c d e f",
        " 6 . . . . . .",
        " 5 . . . . . .",
        " 4 b r + r + .",
        " 3 . b r x r .",
        " 2 . b + . . .",
        " 1 . . . . . .",
        "red to move · last c2-a4xd3",
    ]


def test_text_shows_the_targets_of_a_selected_piece(game):
    picture = draw(game, game.from_text(EXAMPLE), select=(2, 1))
    assert picture.targets == ((0, 1), (0, 3), (3, 2), (4, 1))
    assert "".join(to_text(picture).splitlines()[1:7]).count("*") == 4
    assert draw(game, game.from_text(EXAMPLE), select=(5, 5)).targets == ()


def test_caption_contains_the_result(game):
    picture = after(game, "6/6/6/6/3r1b/rr1b2 b", "4,5-5,5")
    assert picture.caption == "blue wins (conquest) · last f5-f6"
    assert draw(game, game.from_text("6/6/6/6/5b/3brr b")).caption == "draw (blocked)"


def test_caption_contains_results_decided_by_the_match(game, cannon):
    for outcome, text in ((0, "blue wins"), (2, "draw"), (-1, "stopped")):
        assert draw(game, game.initial, end=(outcome, "why")).caption == f"{text} (why)"
    match = Match(cannon, cannon.from_text(STAGNANT))
    while match.result is None:
        match.play(match.game.parse_turn(match.position, SHUFFLE[len(match.turns) % 2])[0])
    assert [picture.caption.split(" · ")[0] for picture in frames(match)][-2:] == [
        "black to move",
        "white wins (stagnant)",
    ]


def test_environments_render_the_result(cannon):
    single = gymnasium.make("cc_env/Cannon-v0", opponent=lambda *_: action(1), seat=0).unwrapped
    aec = pettingzoo.make("aec", "cc_env/Cannon-v0").unwrapped
    envs = gymnasium.make_vec("cc_env/Cannon-v0", num_envs=1, opponent=None, render_mode="ansi")

    def action(turn):
        position = cannon.from_text(STAGNANT.replace(" b", f" {'bw'[turn % 2]}"))
        return cannon.parse_turn(position, SHUFFLE[turn % 2])[0]

    for env in (single, aec, envs):
        env.reset(seed=0, options={"position": STAGNANT})
    for turn in range(5):
        if turn % 2 == 0:
            single.step(action(turn))
        aec.step(action(turn))
        envs.step([action(turn)])
        text = "white wins (stagnant)" if turn == 4 else "to move"
        assert text in aec.picture().caption
        assert text in envs.render()[0]
    assert single.picture().caption.startswith("white wins (stagnant)")


def test_environments_render_the_next_game_after_autoreset():
    envs = gymnasium.make_vec(
        "cc_env/CaptureConquer-v0",
        num_envs=2,
        size=4,
        max_turns=2,
        opponent=None,
        render_mode="ansi",
        autoreset_mode="SameStep",
    )
    envs.reset(seed=0)
    for _ in range(2):
        _, _, _, truncated, _ = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert all(frame.splitlines()[-1] == "blue to move" for frame in envs.render())


def test_incomplete_turn_is_shown(game):
    before = game.from_text(EXAMPLE)
    first, _ = game.parse_turn(before, "1,2-3,2x2,3")
    picture = draw(game, game.apply(before, first), last=(before, (first,)))
    assert picture.path == ((1, 2), (3, 2))
    assert (
        picture.caption
        == "blue to move, after c2-c4: choose the piece to capture, or none · last c2-c4"
    )


def test_svg_is_well_formed_and_complete(game):
    selected = draw(game, game.initial, select=[0, 2])
    assert (
        to_svg(selected).count(TARGET) == to_svg(replace(selected, selected=None)).count(TARGET) + 1
    )
    assert len(selected.targets) == 3
    picture = after(game, EXAMPLE, "1,2-3,0x2,3")
    root = ET.fromstring(to_svg(picture))
    fills = [element.get("fill") for element in root.iter(f"{SVG}circle")]
    assert fills.count(COLORS["blue"][0]) == 3
    assert fills.count(COLORS["red"][0]) == 4
    assert LAST in fills
    assert picture._repr_svg_() == to_svg(picture)
    assert TARGET in to_svg(draw(game, game.initial, select=(0, 2)))


def test_several_pictures_form_one_document(game):
    boards = [draw(game, game.initial, caption=f"board {number}") for number in range(5)]
    root = ET.fromstring(Sheet(boards, columns=3)._repr_svg_())
    groups = root.findall(f"{SVG}g")
    width, height = 416, 446
    places = [(0, 0), (width, 0), (2 * width, 0), (0, height), (width, height)]
    assert [group.get("transform") for group in groups] == [
        f"translate({x} {y})" for x, y in places
    ]
    assert root.get("viewBox") == f"0 0 {3 * width} {2 * height}"
    for number, group in enumerate(groups):
        assert f"board {number}" in [shape.text for shape in group]


def test_pictures_of_different_sizes_fit_on_a_sheet():
    small, large = (make_game("capture_conquer", size=size) for size in (4, 8))
    sheet = Sheet([draw(board, board.initial) for board in (small, large, small)], columns=2)
    root = ET.fromstring(sheet._repr_svg_())
    # Size of the large picture; small ones are centered in their places.
    width, height = 536, 566
    assert root.get("viewBox") == f"0 0 {2 * width} {2 * height}"
    places = [(120, 120), (width, 0), (120, height + 120)]
    transforms = [group.get("transform") for group in root.findall(f"{SVG}g")]
    assert transforms == [f"translate({x} {y})" for x, y in places]


def test_heat_sums_over_first_or_last_cells_of_actions(game):
    position = game.from_text("6/6/2r3/2r3/1bb3/6 r")  # red's cells are not turned as red sees them
    legal = game.legal_actions(position).tolist()
    chances = {action: 1 / len(legal) for action in legal}
    starts, ends = (heat(game, position, chances, ends=at_end) for at_end in (False, True))
    turns = [game.track(position, (action,)).path for action in legal]
    assert set(starts) == {path[0] for path in turns} == {(2, 2), (3, 2)}
    assert set(ends) == {path[-1] for path in turns}
    for sums in (starts, ends):
        assert sum(sums.values()) == pytest.approx(1)
    assert starts[2, 2] == pytest.approx(sum(path[0] == (2, 2) for path in turns) / len(turns))


def test_heat_is_shown_as_color_and_percentage(game):
    picture = draw(game, game.initial, heat={(2, 2): 0.5, (2, 4): 0.004})
    assert "50%" in to_svg(picture)
    assert "0%<" not in to_svg(picture).replace("50%", "")
    plain, warm = (to_pixels(picture) for picture in (draw(game, game.initial), picture))
    row, column = MARGIN + 3 * CELL + 5, MARGIN + 2 * CELL + 5
    assert warm[row, column, 2] < plain[row, column, 2] - 50
    assert (warm[:MARGIN] == plain[:MARGIN]).all()


def test_pixels_show_pieces_on_their_cells(game):
    frame = to_pixels(draw(game, game.initial))
    assert frame.dtype == np.uint8
    assert frame.shape == (446, 416, 3)
    # Row 0 is at the bottom.
    assert shows(frame, (5, 0), "blue")
    assert shows(frame, (0, 5), "red")
    assert not shows(frame, (3, 2), "blue")
    assert not shows(frame, (3, 2), "red")


def test_pixels_show_diagonal_lines_as_wide_as_straight_ones(game):
    row, column = MARGIN + 4 * CELL + CELL // 2, MARGIN + CELL + CELL // 2
    paths = ((1, 0), (1, 2)), ((2, 0), (0, 2))
    pictures = (to_pixels(Picture(game, {}, path=path)) for path in paths)
    straight, diagonal = (pixels[..., 2] < 60 for pixels in pictures)
    across = np.arange(-10, 11)
    assert straight[row + across, column].sum() == 6
    # Pixels on a diagonal are farther apart.
    assert diagonal[row + across, column - across].sum() == 5


@pytest.mark.parametrize("name", GAMES)
def test_frames_do_not_depend_on_earlier_frames(name):
    """The image of the empty board is painted once; a frame belongs to the caller."""
    game = make_game(name)
    start, action = game.initial, int(game.legal_actions(game.initial)[0])
    pictures = draw(game, start), draw(game, game.apply(start, action)), draw(game, start)
    first, moved, again = map(to_pixels, pictures)
    assert not np.array_equal(first, moved)
    assert np.array_equal(first, again)
    again[:] = 0
    assert np.array_equal(to_pixels(pictures[0]), first)


@pytest.mark.parametrize("name", ["checkers", "mini_checkers"])
def test_checkers_pieces_are_on_dark_cells(name):
    game = make_game(name)
    pieces, empty = game.pieces(game.initial), 0
    squares = [shape for shape in shapes(draw(game, game.initial)) if isinstance(shape, Square)]
    for square in squares:
        cell = round((square.y - MARGIN) / CELL), round((square.x - MARGIN) / CELL)
        empty += cell not in pieces
        assert cell not in pieces or square.fill == BOARD[1]
    assert {square.fill for square in squares} == set(BOARD)
    assert empty > len(squares) / 2


def test_morris_as_text_has_lines_letters_and_beads_in_brackets(morris):
    assert to_text(after(morris, MILL, "C-D")).splitlines()[:-1] == [
        "(w)---------(w)---------(w)",
        " |           |           |",
        " |   Dx-----(b)------F   |",
        " |   |       |       |   |",
        " |   |  (w)-(w)--I   |   |",
        " |   |   |       |   |   |",
        "(b)-(b)--L      (w)--N--(b)",
        " |   |   |       |   |   |",
        " |   |   P---Q---R   |   |",
        " |   |       |       |   |",
        " |   S-------T-------U   |",
        " |           |           |",
        " V-----------W-----------X",
    ]


def test_marks_follow_letters_of_free_points(morris):
    position = morris.from_text("wwb.bb.ww.bb.w.bw....b.. w 00")
    text = to_text(draw(morris, position, select=(3, 5)))
    assert "(b)-(b)      M*-(w)<-O*" in text
    assert text.count("*") == 3


def test_text_draws_oblique_lines():
    cells = {(0, 0): "a", (0, 1): "b", (1, 0): "c", (1, 1): "d"}
    oblique = ((0, 0), (1, 1)), ((0, 1), (1, 0))
    for line, stroke in zip(oblique, "\\/", strict=True):
        grid = SimpleNamespace(rows=2, columns=2)
        game = SimpleNamespace(grid=grid, cell_names=cells, board_lines=(line,))
        picture = Picture(game, {})
        assert to_text(picture).splitlines() == [" a   b", f"   {stroke}", " c   d"]


def test_morris_svg_has_lines_and_letters_but_no_numbers(morris):
    root = ET.fromstring(to_svg(draw(morris, morris.from_text(MILL), caption="")))
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert sorted(filter(None, words)) == list("ABCDEFGHIJKLMNOPQRSTUVWX")
    assert len(list(root.iter(f"{SVG}polyline"))) == 16
    dots = [circle for circle in root.iter(f"{SVG}circle") if circle.get("r") == "6"]
    assert len(dots) == 24
    frame = to_pixels(draw(morris, morris.from_text(MILL)))
    assert frame.shape == (506, 476, 3)
    assert shows(frame, (0, 0), "white")
    assert shows(frame, (1, 1), "black")


def test_heat_of_a_point_is_a_disc(morris):
    picture = draw(morris, morris.initial, heat={(0, 0): 0.5})
    (disc,) = (shape for shape in shapes(picture) if isinstance(shape, Disc) and shape.radius > 6)
    assert (disc.x, disc.y) == (MARGIN + CELL / 2, MARGIN + CELL / 2)
    squares = [shape for shape in shapes(picture) if isinstance(shape, Square)]
    assert {square.fill for square in squares} == {BOARD[0]}


def test_heat_labels_contrast_with_the_piece(morris):
    picture = draw(morris, morris.from_text(MILL), heat={(0, 0): 0.5, (1, 1): 0.25})
    color_by_text = {
        shape.text: shape.color for shape in shapes(picture) if isinstance(shape, Label)
    }
    assert (color_by_text["50%"], color_by_text["25%"]) == (INK, "#ffffff")


@pytest.mark.parametrize(
    ("name", "text", "remark"),
    [
        ("morris", 24 * "." + " w 99", "in hand: white 9, black 9"),
        ("morris", f"{BEADS} b 34", "in hand: white 3, black 4"),
        ("morris", f"{BEADS} w 34 x2", "a mill: remove 2 black beads; in hand: white 3, black 4"),
        ("morris", f"{BEADS} w 00 fw", "free move: to any empty point"),
        ("morris", f"{BEADS} w 00 fwb", "free move: to any empty point; black's next move free"),
        ("morris", f"{BEADS} w 00 fw x1", "a mill: remove a black bead; white's next move free"),
        ("morris", f"{BEADS} b 40 fwb", "free move: to any empty point; in hand: white 4, black 0"),
        ("morris", f"{BEADS} w 34 fwb", "in hand: white 3, black 4"),
        (
            "morris",
            f"{BEADS} w 34 fw x1",
            "a mill: remove a black bead; in hand: white 3, black 4",
        ),
        ("morris", f"{BEADS} w 00", ""),
        ("checkers", "8/8/8/3b4/4r3/8/8/8 r x44", "jump on from 15"),
        (
            "capture_conquer",
            EXAMPLE + " 1,2-3,2",
            "after c2-c4: choose the piece to capture, or none",
        ),
        ("checkers", "8/8/8/3b4/4r3/8/8/8 r 39", ""),
        ("checkers", "8/8/8/3b4/4r3/8/8/8 r 40", "40 of 80 turns without progress"),
    ],
)
def test_caption_contains_the_remark_of_the_game(name, text, remark):
    game = make_game(name)
    position = game.from_text(text)
    mover = game.players[game.to_move(position)]
    assert draw(game, position).caption == f"{mover} to move" + (remark and f", {remark}")


def test_finished_game_has_no_remark(morris):
    position = morris.from_text("ww" + 22 * "." + " w 09")
    assert draw(morris, position).caption == "black wins (two_left)"


@pytest.mark.parametrize("name", GAMES)
def test_targets_are_the_last_cells_of_legal_actions(name):
    game, rng = make_game(name), np.random.default_rng(1)
    position, targets_seen = game.initial, 0
    for number in range(60):
        if game.outcome(position) != ONGOING:
            break
        if number % 3 == 0:
            ends = ends_of_moves(game, position)
            for cell in {*game.pieces(position), *ends}:
                assert draw(game, position, select=cell).targets == tuple(sorted(ends[cell]))
                targets_seen += len(ends[cell])
        position = game.apply(position, rng.choice(game.legal_actions(position)))
    assert targets_seen > 20


def ends_of_moves(game, position):
    """Return the targets of each cell's piece, or of pieces to place, by `action_cells`."""
    _, rows, columns = game.observation_shape
    turned = game.to_move(position) and game.name != "morris"
    ends = defaultdict(set)
    for action in game.legal_actions(position):
        cells = [divmod(int(cell), columns) for cell in game.action_cells[action]]
        start, end = [(rows - 1 - r, columns - 1 - c) for r, c in cells] if turned else cells
        if start != end or (game.name == "morris" and not position.pending):
            ends[start].add(end)
    return ends


def test_every_soldier_of_a_cannon_shows_its_shots(cannon):
    for row, targets in ((5, ((4, 0), (4, 1))), (6, ((5, 1),)), (7, ((4, 0), (6, 1)))):
        picture = draw(cannon, cannon.initial, select=(row, 0))
        assert (picture.targets, picture.shots) == (targets, ((2, 0), (3, 0)))
    assert draw(cannon, cannon.initial, select=(7, 1)).shots == ()


def test_shots_of_white_are_in_board_coordinates(cannon):
    position = cannon.from_text(cannon.to_text(cannon.initial).replace(" b", " w"))
    for row in (0, 1, 2):
        assert draw(cannon, position, select=(row, 7)).shots == ((4, 7), (5, 7))


def test_shots_and_moves_have_different_marks(cannon):
    """A target that can be reached and shot at has the mark of a shot."""
    position = cannon.from_text(SHOOTING)
    picture = draw(cannon, position, select=(4, 2))
    # Targets: a hall to bomb, a shift of the cannon, a capture, a retreat or a bomb.
    assert to_text(picture).splitlines()[1:9] == [
        " 8 W w W!w W w W w",
        " 7 . w * w . w . w",
        " 6 . . b . . . w .",
        " 5 . * b * . . . .",
        " 4 . . b<w*. . . .",
        " 3 . . . . . . . .",
        " 2 b . & . b . b .",
        " 1 . B b B . B . B",
    ]
    fills = [shape.fill for shape in shapes(picture) if isinstance(shape, Disc)]
    assert (fills.count(TARGET), fills.count(SHOT)) == (5, 2)
    assert to_svg(picture).count(SHOT) == 2


def test_shot_path_leads_from_the_cannon_to_its_target(cannon):
    picture = after(cannon, SHOOTING, "S 2 4 B 2 0")
    assert (picture.path, picture.captured) == (((2, 2), (0, 2)), ((0, 2),))
    assert to_text(picture).splitlines()[1] == " 8 W w x w W w W w"
    assert picture.pieces[2, 2] == picture.pieces[4, 2] == "b"
    missed = after(cannon, cannon.to_text(cannon.initial), "S 0 7 B 0 3")
    assert to_text(missed).splitlines()[4] == " 5 + . . . . . . ."


def test_kings_are_capitals_in_text_and_have_a_k_in_svg():
    checkers = make_game("checkers")
    picture = draw(checkers, checkers.from_text("8/3R4/8/8/4B3/8/8/1r5b r"))
    assert to_text(picture).splitlines()[:8] == [
        "29.     30.     31.     32.",
        "    25.     26R     27.     28.",
        "21.     22.     23.     24.",
        "    17.     18.     19.     20.",
        "13.     14.     15B     16.",
        "     9.     10.     11.     12.",
        " 5.      6.      7.      8.",
        "     1r      2.      3.      4b",
    ]
    words = ET.fromstring(to_svg(picture)).iter(f"{SVG}text")
    crowns = [(word.get("x"), word.get("y")) for word in words if word.text == "K"]
    assert crowns == [svg_center(1, 3), svg_center(4, 4)]


def svg_center(row, column):
    """Return the center of a cell in the SVG, (x, y)."""
    return str(MARGIN + CELL * (column + 0.5)), str(MARGIN + CELL * (row + 0.5))


def test_cannon_soldiers_are_rings_and_halls_are_squares(cannon):
    root = ET.fromstring(to_svg(draw(cannon, cannon.initial)))
    for color in ("black", "white"):
        fill, rim = COLORS[color]
        discs = [circle for circle in root.iter(f"{SVG}circle") if circle.get("fill") == fill]
        holes = [circle for circle in root.iter(f"{SVG}circle") if circle.get("fill") == BOARD[0]]
        halls = [rect for rect in root.iter(f"{SVG}rect") if rect.get("fill") == fill]
        assert len(discs) == sum(hole.get("stroke") == rim for hole in holes) == 12
        assert [hall.get("width") for hall in halls] == ["38"] * 4
    frame = to_pixels(draw(cannon, cannon.initial))
    assert shows(frame, (7, 1), "black")
    assert shows(frame, (0, 0), "white")
    assert not shows(frame, (5, 0), "black")  # one sees through


STARTS = {
    "capture_conquer": """
   a b c d e f
 6 . . . r r r
 5 . . . . r r
 4 . . . . . r
 3 b . . . . .
 2 b b . . . .
 1 b b b . . .
blue to move
""",
    "checkers": """
29b     30b     31b     32b
    25b     26b     27b     28b
21b     22b     23b     24b
    17.     18.     19.     20.
13.     14.     15.     16.
     9r     10r     11r     12r
 5r      6r      7r      8r
     1r      2r      3r      4r
red to move
""",
    "mini_checkers": """
    18w     17w     16w
15w     14w     13w
    12.     11.     10.
 9.      8.      7.
     6b      5b      4b
 3b      2b      1b
black to move
""",
    "morris": """
 A-----------B-----------C
 |           |           |
 |   D-------E-------F   |
 |   |       |       |   |
 |   |   G---H---I   |   |
 |   |   |       |   |   |
 J---K---L       M---N---O
 |   |   |       |   |   |
 |   |   P---Q---R   |   |
 |   |       |       |   |
 |   S-------T-------U   |
 |           |           |
 V-----------W-----------X
white to move, in hand: white 9, black 9
""",
    "cannon": """
   a b c d e f g h
 8 W w W w W w W w
 7 . w . w . w . w
 6 . w . w . w . w
 5 . . . . . . . .
 4 . . . . . . . .
 3 b . b . b . b .
 2 b . b . b . b .
 1 b B b B b B b B
black to move
""",
}


@pytest.mark.parametrize("name", GAMES)
def test_initial_positions_have_the_expected_text(name):
    game = make_game(name)
    assert f"\n{to_text(draw(game, game.initial))}\n" == STARTS[name]


@pytest.mark.parametrize("name", GAMES)
def test_pixel_size_matches_the_board(name):
    game = make_game(name)
    _, rows, columns = game.observation_shape
    edges = 2 * MARGIN
    shape = edges + rows * CELL + FOOT, edges + columns * CELL, 3
    assert to_pixels(draw(game, game.initial)).shape == shape


def test_long_caption_gets_a_smaller_font(game):
    short, long = (
        next(shape.size for shape in shapes(picture) if isinstance(shape, Label))
        for picture in (draw(game, game.initial, caption="blue " * times) for times in (2, 20))
    )
    assert long < short


@pytest.mark.parametrize("cell", [(6, 0), (0, -1), 3, "a", (1,), ("a", 1), (0.5, 1)])
def test_only_cells_of_the_board_can_be_selected(game, cell):
    with pytest.raises(BadOption, match=r"expected: a cell \(row, column\) of the board of 6 x 6"):
        draw(game, game.initial, select=cell)


def test_removable_beads_are_marked(morris):
    protecting = make_game("morris", protect_mills=True)
    position = protecting.from_text("wwwbbbb................. w 65 x1")
    removable = [
        cell
        for cell in protecting.pieces(position)
        if draw(protecting, position, select=cell).shots
    ]
    assert [protecting.cell_names[cell] for cell in removable] == ["G"]
    picture = draw(protecting, position, select=removable[0])
    assert (picture.shots, picture.targets) == (tuple(removable), ())
    assert "(b)!" in to_text(picture)


def test_labels_of_svg_are_those_of_the_readable_notation():
    def texts(name):
        game = make_game(name)
        return [words.text for words in labels(draw(game, game.initial))]

    assert texts("capture_conquer") == [*"654321", *"abcdef"]
    assert texts("cannon") == [*"87654321", *"abcdefgh"]
    assert sorted(texts("checkers"), key=int) == [str(number) for number in range(1, 33)]


def test_a1_is_in_the_lower_left_corner_of_pictures():
    game = make_game("capture_conquer", size=4)
    picture = draw(game, game.from_text("b3/4/4/2rr b"))
    (piece,) = (s for s in shapes(picture) if isinstance(s, Disc) and s.fill == COLORS["blue"][0])
    assert (piece.x, piece.y) == (MARGIN + CELL / 2, MARGIN + 3.5 * CELL)
    lines = to_text(picture).splitlines()
    assert lines[4] == " 1 b . . ."


def test_row_and_column_labels_are_those_of_the_game():
    game = make_game("elsewhere.tictactoe")
    game = game.replace(row_labels="321", column_labels="abc")
    assert str(draw(game, game.initial)).splitlines()[:2] == ["   a b c", " 3 . . ."]
    picture = labels(draw(game, game.initial))
    assert [words.text for words in picture] == ["3", "2", "1", "a", "b", "c"]
    assert [words.y for words in picture[:3]] == [58, 118, 178]
    assert game.action_text(game.initial, 5) == "2c"


@pytest.mark.parametrize("name", ["row_labels", "column_labels"])
def test_every_row_and_column_needs_a_label(name):
    with pytest.raises(BadGame, match=rf"{name}=\['a', 'b'\]; expected: 3"):
        make_game("elsewhere.tictactoe").replace(**{name: "ab"})


def test_pictures_are_painted_after_another_user_of_pygame_ended_it(game):
    pygame = pytest.importorskip("pygame")
    from cc_env.rendering.pixels import to_pixels

    first = to_pixels(draw(game, game.initial, caption="first"))
    pygame.quit()
    second = to_pixels(draw(game, game.initial, caption="second"))
    assert first.shape == second.shape
    assert (first != second).any()
