"""Nine men's morris with free moves: worked examples, recorded decisions, counts, options."""

import pytest

from cc_env.core.rules import FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition
from cc_env.games.factory import make_game
from cc_env.games.morris import STANDARD_RULES
from cc_env.match.random_games import play_random_games
from cc_env.verification.perft import perft

POINTS = "ABCDEFGHIJKLMNOPQRSTUVWX"


@pytest.fixture(scope="module")
def morris():
    return make_game("morris")


@pytest.fixture(scope="module")
def usual():
    return make_game("morris", **STANDARD_RULES)


def place(game, rest, white="", black=""):
    """Return the position with beads on these points."""
    board = "".join("w" if p in white else "b" if p in black else "." for p in POINTS)
    return game.from_text(f"{board} {rest}")


def turns(game, position):
    return {game.turn_text(position, turn) for turn in game.turns(position)}


def after(game, position, turn):
    return game.play_turn(position, game.parse_turn(position, turn))


# Worked examples


def test_bead_may_be_placed_on_any_empty_point(morris):
    assert turns(morris, morris.initial) == set(POINTS)


def test_mill_removes_any_bead(morris):
    """Beads in mills are not protected."""
    position = place(morris, "w 76", white="AB", black="DEF")
    assert {"C-D", "C-E", "C-F"} == {turn for turn in turns(morris, position) if turn[0] == "C"}


def test_two_mills_at_once_remove_two_beads(morris):
    few = place(morris, "w 54", white="ABJV", black="GHIKL")
    assert all(len(turn) == 3 for turn in turns(morris, few) if turn[0] == "C")
    two = place(morris, "w 34", white="ABJVOX", black="GHIKL")
    assert {turn for turn in turns(morris, two) if turn[0] == "C"} == {
        f"C-{first}-{second}" for first in "GHIKL" for second in "GHIKL" if first != second
    }
    single = make_game("morris", removals="one")
    position = place(single, "w 34", white="ABJVOX", black="GHIKL")
    assert all(len(turn) == 3 for turn in turns(single, position) if turn[0] == "C")


def test_free_move_may_end_on_any_point(morris):
    board = "121.1.12222..1..1.112212".translate(str.maketrans("12", "wb"))
    assert len(morris.legal_actions(morris.from_text(f"{board} w 00 fw"))) == 63
    assert len(morris.legal_actions(morris.from_text(f"{board} w 00"))) == 9
    assert len(morris.legal_actions(morris.from_text(f"{board} w 00 fb"))) == 9


def test_other_moves_end_on_a_neighbor(morris):
    board = "122.111.2...121212.12..1".translate(str.maketrans("12", "wb"))
    position = morris.from_text(f"{board} b 00")
    starts = {turn[:2] for turn in turns(morris, position)}
    assert starts == {"IH", "PL"}


def test_player_with_two_beads_loses(morris):
    position = place(morris, "w 00", white="ABO", black="DEX")
    won = after(morris, position, "OC-X")
    assert (morris.outcome(won), morris.ending(won)) == (FIRST_WINS, "two_left")
    double = place(morris, "w 00 fw", white="ABOXF", black="KLS")
    # One bead is left.
    won = after(morris, double, "FC-K-L")
    assert (morris.outcome(won), morris.ending(won)) == (FIRST_WINS, "two_left")


def test_two_beads_on_the_board_are_enough_with_beads_in_hand(morris):
    position = place(morris, "w 63", white="ABO", black="DEX")
    assert morris.outcome(after(morris, position, "C-X")) == ONGOING


def test_blocked_player_loses(morris):
    position = place(morris, "b 00", white="BJOW", black="ACV")
    assert (morris.outcome(position), morris.ending(position)) == (FIRST_WINS, "no_moves")
    assert morris.outcome(place(morris, "w 00", white="BJOW", black="ACV")) == ONGOING
    assert morris.outcome(place(morris, "b 00 fb", white="BJOW", black="ACV")) == ONGOING


# The free move


def test_turn_with_a_removal_grants_one_free_move(morris):
    position = place(morris, "w 00", white="ABOUR", black="DEXVS")
    position = after(morris, position, "OC-X")
    assert morris.to_text(position).endswith("b 00 fw")
    position = after(morris, position, "DK")
    position = after(morris, position, "UG")
    # The free move is used.
    assert morris.to_text(position).endswith("b 00")


@pytest.mark.parametrize(
    ("free_move", "placed", "moved"),
    [("always", True, True), ("moving_phase_only", False, True), ("never", False, False)],
)
def test_free_move_option_decides_which_turns_earn_one(free_move, placed, moved):
    game = make_game("morris", free_move=free_move)
    last = place(game, "w 10", white="ABOUR", black="DEXVS")
    assert ("fw" in game.to_text(after(game, last, "C-X"))) == placed
    moving = place(game, "w 00", white="ABOUR", black="DEXVS")
    assert ("fw" in game.to_text(after(game, moving, "OC-X"))) == moved


# The usual rules


def test_beads_in_mills_are_protected_unless_all_are(usual):
    position = place(usual, "w 75", white="AB", black="DEFX")
    assert {turn for turn in turns(usual, position) if turn[0] == "C"} == {"C-X"}
    position = place(usual, "w 76", white="AB", black="DEF")
    assert {turn for turn in turns(usual, position) if turn[0] == "C"} == {"C-D", "C-E", "C-F"}


def test_player_with_three_beads_may_fly(usual):
    position = place(usual, "w 00", white="ABX", black="DEKS")
    assert len(usual.legal_actions(position)) == 3 * 17
    position = place(usual, "w 00", white="ABXV", black="DEKS")
    assert len(usual.legal_actions(position)) < 12


def test_beads_in_hand_count_towards_a_loss(usual):
    position = place(usual, "w 00", white="ABX", black="DE")
    assert usual.outcome(position) == FIRST_WINS
    position = place(usual, "w 01", white="ABX", black="DE")
    assert usual.outcome(position) == ONGOING


# Recorded decisions and counts


@pytest.mark.parametrize(("name", "least"), [("morris", 6000), ("morris_standard", 1000)])
def test_rules_agree_with_reference_positions(assert_agreement, name, least):
    assert_agreement(f"{name}.jsonl.gz", "morris", least)


@pytest.mark.parametrize("options", [{}, pytest.param(STANDARD_RULES, marks=pytest.mark.slow)])
def test_perft_in_decisions_equals_known_counts(options):
    game = make_game("morris", **options)
    perfts = [perft(game, game.initial, depth, decisions=True) for depth in range(1, 7)]
    assert perfts == [24, 552, 12144, 255024, 5100480, 96223680]


def test_random_games_end_without_draws(morris):
    playouts = play_random_games(morris, 1000, seed=2)
    assert playouts.unfinished < 20
    assert playouts.draws == 0
    assert playouts.decisions > playouts.turns


# Symmetries


def test_fifteen_symmetries_differ_from_each_other_and_from_the_identity(morris):
    assert len({symmetry.actions.tobytes() for symmetry in morris.symmetries}) == 15
    assert len({symmetry.name for symmetry in morris.symmetries}) == 15
    identity = list(range(morris.num_actions))
    assert all(symmetry.actions.tolist() != identity for symmetry in morris.symmetries)


# Bad input


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("....................... w 99", "24 points"),
        ("........................ r 99", "side to move"),
        ("........................ w", "the beads in hand"),
        ("........................ w 9", "the beads in hand"),
        ("w....................... w 99", "white has .* beads; expected: at most 9"),
        ("........................ w 99 free", "'free'"),
        (
            "........................ w 99 x1",
            "x1, beads to remove; expected: at most 0, as black has 0 beads",
        ),
        ("b....................... w 98 x3", "'x3'"),
        ("", "24 points"),
        (None, "None is not the text"),
    ],
)
def test_invalid_position_text_is_rejected(morris, text, message):
    with pytest.raises(BadPosition, match=message):
        morris.from_text(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protect_mills": 1}, "protect_mills=1; expected: True or False"),
        ({"removals": "two"}, "removals='two'; expected: per_mill or one"),
        ({"free_move": "no"}, "free_move='no'; expected: always or moving_phase_only or never"),
        ({"flying": 3}, "flying=3"),
        ({"removals": ["one"]}, r"removals=\['one'\]; expected"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(BadOption, match=message):
        make_game("morris", **options)


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ({"free_move": "never"}, "w 00 fw", "fw: with free_move=never no move is free"),
        ({"free_move": "never"}, "w 00 fwb", "fwb: with free_move=never"),
        (
            {"free_move": "moving_phase_only"},
            "w 01 fwb",
            "fwb: .* a player with beads in hand has no",
        ),
        ({"removals": "one"}, "w 00 x2", "x2: with removals=one a turn removes one bead"),
    ],
)
def test_position_excluded_by_options_is_rejected(morris, options, text, message):
    board = "www.bbb................."
    assert morris.from_text(f"{board} {text}")
    game = make_game("morris", **options)
    with pytest.raises(BadPosition, match=message):
        game.from_text(f"{board} {text}")
    for fine in ("w 00", "w 11 x1", "b 00 x1"):
        assert game.to_text(game.from_text(f"{board} {fine}")) == f"{board} {fine}"


def test_side_with_two_beads_loses(morris):
    three = place(morris, "w 00", white="ABX", black="DEO")
    assert morris.outcome(three) == ONGOING
    two = place(morris, "w 00", white="AX", black="DEO")
    assert morris.outcome(two) == SECOND_WINS
