"""Every sentence of the rules in words, confirmed by positions; turns are in readable notation."""

import pytest

from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.games.checkers.pdn_text import parse_position
from cc_env.games.factory import game_option_defaults, game_option_values, make_game
from cc_env.registry.catalogue import GAMES
from cc_env.text.rules import rules_text
from cc_env.text.turns import legal_turn_texts

EXAMPLE = "6/1bb3/1brrr1/1r1r2/6/6 b"


def position_of(game, text):
    """Return a position from its text; of checkers it may be that of PDN."""
    return parse_position(game, text) if ":" in text else game.from_text(text)


def check_turns(game, sentence, position, legal, illegal=()):
    """Check that the rules contain a sentence, and that it holds in a position.

    `legal` are all legal turns of the pieces that begin them, or all legal turns if it is a set;
    `illegal` are turns that are not legal.
    """
    assert sentence in rules_text(game)
    texts = set(legal_turn_texts(game, position_of(game, position)))
    if isinstance(legal, set):
        assert texts == legal
    assert texts >= set(legal)
    assert not texts & set(illegal)


def check_end(game, sentence, position, outcome, ending=None):
    """Check that the rules contain a sentence, and that a game ends by it in a position."""
    assert sentence in rules_text(game)
    end = position_of(game, position)
    assert game.outcome(end) == outcome
    assert ending is None or game.ending(end) == ending


def after(game, position, turn):
    """Return the text of the position after a turn."""
    start = position_of(game, position)
    return game.to_text(game.play_turn(start, game.parse_turn(start, turn)))


@pytest.mark.parametrize("name", GAMES)
def test_rules_depend_on_every_option(name):
    rules = rules_text(make_game(name))
    values = game_option_values(name)
    for option, default in game_option_defaults(name).items():
        others = [value for value in values.get(option, [not default]) if value != default]
        others = {"corner": [4], "no_progress_limit": [None, 33]}.get(option, others)
        texts = [rules_text(make_game(name, **{option: value})) for value in others]
        assert len({rules, *texts}) == 1 + len(others)


@pytest.mark.parametrize("name", [*GAMES, "elsewhere.tictactoe"])
def test_rules_have_the_board_and_a_turn_of_the_start(name):
    game = make_game(name)
    rules = rules_text(game)
    assert legal_turn_texts(game, game.initial, 1)[0] in rules
    for kind in set(game.pieces(game.initial).values()):
        assert f"{kind} is a" in rules
    assert rules.isascii()
    assert "{" not in rules


@pytest.mark.parametrize(
    ("sentence", "position", "legal", "illegal"),
    [
        ("Blue moves first", "bbb3/bb4/b5/5r/4rr/3rrr b", ["b2-c3"], ["e5-d4"]),
        ("Blue steps one cell right, up, or", "6/1b4/6/6/6/5r b", {"b2-c2", "b2-b3", "b2-c3"}, []),
        ("Red steps one cell left, down", "b5/6/6/6/4r1/6 r", {"e5-d5", "e5-e4", "e5-d4"}, []),
        ("to an empty neighboring cell", "6/1bb3/6/6/6/5r b", ["b2-c3"], ["b2-c2"]),
        ("over a neighboring piece of either", "bb4/r5/6/6/6/5r b", ["a1-c1", "a1-a3xa2"], []),
        ("any of the eight directions", "6/6/2b3/2bb2/6/5r b", ["d4-b2", "c4-c2", "c4-e4"], []),
        ("to the empty cell directly behind it", "bbr3/6/6/6/6/5r b", [], ["a1-c1", "a1-c1xc1"]),
        ("may jump again in any direction, or", "bb1b2/6/6/6/6/5r b", ["a1-c1", "a1-e1"], []),
        ("jump over the same piece twice", "b5/1b4/1b4/6/6/5r b", ["a1-c3", "a1-a3"], ["a1-c1"]),
        ("No jump may end on the cell", "bb4/b1b3/1b4/6/6/5r b", ["a1-c3", "a1-a3"], ["a1-a1"]),
        ("the first enemy piece", "br1r2/6/6/6/6/b4r b", ["a1-c1xb1", "a1-e1xb1"], ["a1-e1xd1"]),
        ("Your own pieces are never", "bb1r2/6/6/6/6/5r b", ["a1-c1", "a1-e1xd1"], ["a1-c1xb1"]),
        ("You need not capture", "6/1b4/2r3/6/b4r/4rr b", ["b2-d4xc3", "b2-c2"], ["b2-d4"]),
        ("follow: b2-d4xc3.", "6/1b4/2r3/6/b4r/4rr b", ["b2-d4xc3"], []),
        ("ends with x-, such as c2-c4x-", EXAMPLE, ["c2-c4x-", "c2-c4xc3", "c2-c4xd3"], ["c2-c4"]),
        ("is one step or one chain of jumps", "bb4/1b4/6/6/6/5r b", ["a1-c1"], ["a1-d1", "a1-d2"]),
    ],
)
def test_turns_of_capture_conquer_follow_the_rules_in_words(sentence, position, legal, illegal):
    check_turns(make_game("capture_conquer"), sentence, position, legal, illegal)


def test_capture_of_capture_conquer_removes_one_piece():
    game = make_game("capture_conquer")
    assert "a turn captures at most one piece" in rules_text(game)
    assert after(game, "br1r2/6/6/6/6/b4r b", "a1-e1xb1") == "3rb1/6/6/6/6/b4r r"


@pytest.mark.parametrize(
    ("sentence", "position", "outcome", "ending"),
    [
        ("piece of the player who moved is on", "6/6/6/3rr1/6/4bb r", FIRST_WINS, "conquest"),
        ("a1 for red", "rb4/6/6/6/6/4bb b", SECOND_WINS, "conquest"),
        ("checked in this order", "6/6/6/6/4r1/4bb r", FIRST_WINS, "conquest"),
        ("exactly one piece left", "bb4/6/6/6/6/4r1 r", FIRST_WINS, "capture"),
        ("who moved has more than one", "b5/6/6/6/6/4r1 r", ONGOING, None),
        ("no legal turn, the game is a draw", "6/6/6/6/5b/3brr b", DRAW, "blocked"),
    ],
)
def test_capture_conquer_ends_by_the_rules_in_words(sentence, position, outcome, ending):
    check_end(make_game("capture_conquer"), sentence, position, outcome, ending)


@pytest.mark.parametrize(
    ("sentence", "position", "legal", "illegal"),
    [
        ("Red moves first", "b1b1b1b1/1b1b1b1b/b1b1b1b1/8/8/1r1r1r1r/r1r1r1r1/1r1r1r1r r", [], []),
        ("a man moves one cell forward", "B:W32:B10", {"10-14", "10-15"}, []),
        ("up for red and down for black", "W:W18:B1", {"18-14", "18-15"}, []),
        ("A king moves", "B:W32:BK10", {"10-14", "10-15", "10-6", "10-7"}, []),
        ("to an empty cell", "B:W32:B10,14", ["10-15"], ["10-14"]),
        ("directly behind it. The enemy", "B:W14,32:B10", {"10x17"}, []),
        ("to the empty cell directly behind", "B:W14,17,32:B10", {"10-15"}, []),
        ("Men jump forward", "B:W6,32:B10", {"10-14", "10-15"}, []),
        ("kings forward and backward", "B:W6,32:BK10", {"10x1"}, []),
        ("must not stop before", "B:W10,17,11:B7", {"7x14x21", "7x16"}, ["7x14"]),
        ("return to the cell where its", "B:W14,15,22,23:BK10", ["10x17x26x19x10"], []),
        ("If any of your pieces can capture", "B:W14:B10,12", {"10x17"}, ["12-16"]),
        ("not only the longest", "B:W10,17,11:B7", ["7x16"], []),
        ("6x15 for one jump", "B:W10,32:B6", {"6x15"}, []),
        ("6x15x22 for two", "B:W10,18,32:B6", {"6x15x22"}, []),
        ("continues the capture as a king", "B:W25,26,27:B21", {"21x30x23x32"}, []),
    ],
)
def test_turns_of_checkers_follow_the_rules_in_words(sentence, position, legal, illegal):
    check_turns(make_game("checkers"), sentence, position, legal, illegal)


def test_crowning_of_checkers_follows_the_rules_in_words():
    game = make_game("checkers")
    assert "The farthest row is the highest for red and the lowest for black" in rules_text(game)
    assert after(game, "B:W5:B25", "25-29").startswith("R7/8")
    assert "/1B6 r" in after(game, "W:W5:B32", "5-1")
    english = make_game("checkers", crowning="ends_move")
    check_turns(english, "is crowned during a capture stops", "B:W25,26,27:B21", {"21x30"})


@pytest.mark.parametrize(
    ("sentence", "position", "outcome", "ending"),
    [
        ("no pieces or no legal turn", "B:W25,30:B21", SECOND_WINS, "no_moves"),
        ("no pieces or no legal turn", "B:W25:B", SECOND_WINS, "no_pieces"),
        ("If 80 turns in a row", "6B1/8/8/8/8/8/8/1R6 b 80", DRAW, "no_progress"),
        ("If 80 turns in a row", "6B1/8/8/8/8/8/8/1R6 b 79", ONGOING, None),
    ],
)
def test_checkers_ends_by_the_rules_in_words(sentence, position, outcome, ending):
    check_end(make_game("checkers"), sentence, position, outcome, ending)


@pytest.mark.parametrize(
    ("sentence", "position", "legal"),
    [
        ("up for black", "1w1w1w/w1w1w1/6/6/1b1b1b/b1b1b1 b", {"6-9", "6-8", "5-8", "5-7", "4-7"}),
        ("down for white", "6/2w3/6/6/6/b5 w", {"14-12", "14-11"}),
        ("over a neighboring enemy man to the", "6/6/3w2/2b3/6/6 b", {"8x13"}),
        ("even if the man could jump again", "6/2w3/6/2w3/1b3b/6 b", {"6x11"}),
        ("you must jump", "6/2w3/6/2w3/1b3b/6 b", {"6x11"}),
        ("A man on the farthest row stays", "5b/6/1b4/2w3/6/6 b", {"12-14", "12-15"}),
        ("you must pass", "1w3b/b5/6/6/6/2w1w1 b", {"pass"}),
        ("Otherwise you must not pass", "6/2w3/6/6/6/b5 b", {"3-6"}),
        ("such as 6x11", "6/6/6/2w3/1b4/6 b", {"6x11"}),
    ],
)
def test_turns_of_mini_checkers_follow_the_rules_in_words(sentence, position, legal):
    check_turns(make_game("mini_checkers"), sentence, position, legal)


@pytest.mark.parametrize(
    ("sentence", "position", "outcome", "ending"),
    [
        ("no men left, the other player wins", "6/6/3b2/6/6/6 w", FIRST_WINS, "no_pieces"),
        ("the player with more men wins", "1b1b2/6/6/6/6/w5 b", FIRST_WINS, "both_stuck"),
        ("the player with more men wins", "1b4/6/6/6/6/w1w3 b", SECOND_WINS, "both_stuck"),
        ("with equal numbers of men", "1b4/6/6/6/6/w5 w", DRAW, "both_stuck"),
    ],
)
def test_mini_checkers_ends_by_the_rules_in_words(sentence, position, outcome, ending):
    check_end(make_game("mini_checkers"), sentence, position, outcome, ending)


def test_first_player_of_mini_checkers_is_an_option():
    white_first = make_game("mini_checkers", first="white")
    assert "The player who moves first is white" in rules_text(white_first)
    assert white_first.to_move(white_first.initial) == 1


def beads(rest, white="", black=""):
    """Return the text of a position of morris with beads on these points."""
    points = (
        ("w" if p in white else "b" if p in black else ".") for p in "ABCDEFGHIJKLMNOPQRSTUVWX"
    )
    return f"{''.join(points)} {rest}"


MILLS = {"white": "AB", "black": "DEFX"}
DOUBLE = {"white": "ABJVOX", "black": "GHI"}
FREE = {"white": "ABOUR", "black": "DEXVS"}


@pytest.mark.parametrize(
    ("options", "sentence", "position", "legal", "illegal"),
    [
        ({}, "place one of them on any empty", beads("w 88", "A", "B"), ["C", "X"], ["A", "B"]),
        ({}, "empty neighboring point", beads("w 00", "ABJ", "DEF"), {"BC", "JK", "JV"}, []),
        ({}, "not A and C", beads("w 00", "ADX", "BEJ"), ["XO"], ["AC"]),
        ({}, "you remove an enemy bead", beads("w 75", **MILLS), ["C-D", "C-X"], ["C", "C-A"]),
        ({}, "also one in a mill", beads("w 75", **MILLS), ["C-D", "C-E", "C-F", "C-X"], []),
        ({"protect_mills": True}, "unless all", beads("w 75", **MILLS), ["C-X"], ["C-D"]),
        ({"protect_mills": True}, "unless all", beads("w 76", "AB", "DEF"), ["C-D", "C-F"], []),
        ({}, "remove two enemy beads", beads("w 36", **DOUBLE), ["C-G-H", "C-H-I"], ["C-G"]),
        ({"removals": "one"}, "only one enemy", beads("w 36", **DOUBLE), ["C-G"], ["C-G-H"]),
        ({}, "You must remove one if there is one", beads("w 79", "AB"), ["C"], []),
        ({}, "C-X places a bead on C", beads("w 75", **MILLS), ["C-X"], []),
        ({}, "AB-X moves a bead", beads("w 00", "AEH", "KMX"), ["AB-X"], ["AB"]),
        ({}, "to any empty point", beads("w 00 fw", "ABO", "DEX"), ["AW", "OC-X"], []),
        ({}, "If you have no beads in hand", beads("w 10 fw", "ABO", "DEX"), ["W"], ["AW"]),
        ({}, "Moving: when you have no beads", beads("w 00", "ABO", "DEX"), ["AJ"], ["AW", "C"]),
        ({"flying": True}, "Flying: ", beads("w 00", "ABX", "DEKS"), ["AW", "XR"], []),
        ({"flying": True}, "three beads on the", beads("w 00", "ABXV", "DEKS"), ["AJ"], ["AR"]),
    ],
)
def test_turns_of_morris_follow_the_rules_in_words(options, sentence, position, legal, illegal):
    check_turns(make_game("morris", **options), sentence, position, legal, illegal)


@pytest.mark.parametrize(
    ("options", "sentence", "position", "turn", "is_free"),
    [
        ({}, "if you removed a bead, your next turn", beads("w 10", **FREE), "C-X", True),
        ({}, "if you removed a bead, your next turn", beads("w 00", **FREE), "OC-X", True),
        ({}, "if you removed a bead, your next turn", beads("w 00", **FREE), "ON", False),
        ({"free_move": "moving_phase_only"}, "rather than", beads("w 10", **FREE), "C-X", False),
        ({"free_move": "moving_phase_only"}, "rather than", beads("w 00", **FREE), "OC-X", True),
        ({"free_move": "never"}, "No rule makes", beads("w 00", **FREE), "OC-X", False),
    ],
)
def test_free_moves_of_morris_follow_the_rules_in_words(options, sentence, position, turn, is_free):
    game = make_game("morris", **options)
    assert sentence in rules_text(game)
    assert ("Free move" in rules_text(game)) == (options.get("free_move") != "never")
    assert ("fw" in after(game, position, turn)) == is_free


@pytest.mark.parametrize(
    ("options", "sentence", "position", "outcome"),
    [
        ({}, "no beads in hand and fewer than three", beads("b 00", "ABC", "DE"), FIRST_WINS),
        ({}, "no beads in hand and fewer than three", beads("b 01", "ABC", "DE"), ONGOING),
        ({"count_hand": True}, "counting those in hand", beads("b 00", "ABC", "DE"), FIRST_WINS),
        ({"count_hand": True}, "counting those in hand", beads("b 01", "ABC", "DE"), ONGOING),
        ({"count_hand": True}, "counting those in hand", beads("b 01", "ABC", "D"), FIRST_WINS),
        ({}, "no legal turn, that player loses", beads("b 00", "BJOW", "ACV"), FIRST_WINS),
    ],
)
def test_morris_ends_by_the_rules_in_words(options, sentence, position, outcome):
    check_end(make_game("morris", **options), sentence, position, outcome)


def army(side, **pieces):
    """Return the text of a position of Cannon with pieces on cells such as a1, by letter.

    By default, both sides have all halls where they start.
    """
    halls = {"B": "b1 d1 f1 h1", "W": "a8 c8 e8 g8"}
    board = [["."] * 8 for _ in range(8)]
    for letter, cells in (halls | pieces).items():
        for column, row in cells.split():
            board[8 - int(row)]["abcdefgh".index(column)] = letter
    rows = "/".join("".join(row) for row in board)
    for gap in range(8, 0, -1):
        rows = rows.replace("." * gap, str(gap))
    return f"{rows} {side}"


COLUMN = {"b": "c6 c5 c4", "w": "h1", "W": "a8 c8 e8", "B": "b1 d1 f1"}


@pytest.mark.parametrize(
    ("options", "sentence", "position", "legal", "illegal"),
    [
        ({}, "Black moves first", army("b", b="d5", w="h7"), ["d5-d6"], ["h7-h6"]),
        (
            {},
            "one cell forward, straight or",
            army("b", b="d5", w="h7"),
            {"d5-c6", "d5-d6", "d5-e6"},
            [],
        ),
        ({}, "down for white", army("w", b="a3", w="d5"), {"d5-c4", "d5-d4", "d5-e4"}, []),
        ({}, "or onto an enemy piece, which", army("b", b="b7", w="h5"), ["b7-a8", "b7-c8"], []),
        ({}, "left or right onto an enemy", army("b", b="c4", w="d4"), ["c4-d4"], ["c4-b4"]),
        ({}, "two cells backward", army("b", b="d5", w="d6"), ["d5-b3", "d5-d3", "d5-f3"], []),
        ({}, "only if an enemy soldier", army("b", b="d5", w="h7"), [], ["d5-d3"]),
        ({}, "directly left or right", army("b", b="d5", w="c5"), ["d5-d3"], []),
        ({}, "directly left or right", army("b", b="d5", w="e4"), [], ["d5-d3"]),
        ({"retreat_neighbours": 8}, "eight", army("b", b="d5", w="e4"), ["d5-d3"], []),
        ({}, "passes may be occupied", army("b", b="d5 d4", w="d6"), ["d5-d3"], []),
        ({"retreat_clear_path": True}, "passes must", army("b", b="d5 d4", w="d6"), [], ["d5-d3"]),
        ({}, "Retreat: ", army("b", b="d5", w="d6 d3"), ["d5-d3"], []),
        ({}, "the rear soldier of a cannon", army("b", **COLUMN), ["c4-c7", "c6-c3"], []),
        (
            {},
            "the second or the third cell",
            army("b", **COLUMN),
            ["bomb c8", "bomb c2", "bomb c1"],
            ["bomb c7", "bomb c3"],
        ),
        (
            {},
            "row, column or diagonal",
            army("b", b="c3 d4 e5", w="h7"),
            ["c3-f6", "bomb g7", "bomb h8"],
            [],
        ),
        (
            {},
            "row, column or diagonal",
            army("b", b="c3 d3 e3", w="h7"),
            ["c3-f3", "bomb g3", "bomb h3"],
            [],
        ),
        (
            {},
            "if the cell directly in front of a",
            army("b", b="c3 d3 e3", w="f3"),
            [],
            ["bomb g3"],
        ),
        (
            {},
            "not a piece of your own",
            army("b", b="c3 d3 e3 g3", w="h7"),
            ["bomb h3"],
            ["bomb g3"],
        ),
        ({}, "A shift never captures", army("b", b="c7 c6 c5", w="h1", W="a8 c8"), [], ["c5-c8"]),
        (
            {"shift_captures_hall": True},
            "on an enemy town hall",
            army("b", b="c7 c6 c5", w="h5"),
            ["c5-c8"],
            [],
        ),
        (
            {"shift_captures_hall": True},
            "behind the cannon is on",
            army("b", b="c7 c6 c5 c4", w="h5"),
            [],
            ["c5-c8"],
        ),
        ({}, "even if the second one is occ", army("b", b="c3 d3 e3 g3", w="h7"), ["bomb h3"], []),
        (
            {"bomb_clear_path": True},
            "only if the second",
            army("b", b="c3 d3 e3 g3", w="h7"),
            [],
            ["bomb h3"],
        ),
        ({}, "such as bomb c4", army("b", b="c8 c7 c6", w="h5", W="a8 e8 g8"), ["bomb c4"], []),
    ],
)
def test_turns_of_cannon_follow_the_rules_in_words(options, sentence, position, legal, illegal):
    check_turns(make_game("cannon", **options), sentence, position, legal, illegal)


def test_bomb_of_cannon_moves_no_piece():
    game = make_game("cannon")
    assert "No piece moves." in rules_text(game)
    bombed = after(game, army("b", **COLUMN), "bomb c8")
    assert bombed == army("w", **{**COLUMN, "W": "a8 e8"})


@pytest.mark.parametrize(
    ("sentence", "position", "outcome", "ending"),
    [
        ("lost two town halls loses", army("w", b="c4", w="f5", W="a8 c8"), FIRST_WINS, "halls"),
        ("lost all soldiers", army("w", b="c4"), FIRST_WINS, "no_soldiers"),
        (
            "has no legal turn, that player",
            army("w", b="e5", w="a1", B="d1 f1 h1", W="a8 c8 e8"),
            FIRST_WINS,
            "no_moves",
        ),
        (
            "unless the other player has lost",
            army("w", b="e5", w="a1", B="d1 f1 h1"),
            SECOND_WINS,
            "no_moves",
        ),
    ],
)
def test_cannon_ends_by_the_rules_in_words(sentence, position, outcome, ending):
    check_end(make_game("cannon"), sentence, position, outcome, ending)


def test_repetition_of_cannon_is_decided_by_halls():
    game = make_game("cannon")
    assert "for the third time, the player who has lost more town halls loses" in rules_text(game)
    equal = game.from_text(army("w", b="c4", w="f5"))
    assert game.repetition_outcome(equal) == DRAW
    fewer = game.from_text(army("w", b="c4", w="f5", W="a8 c8 e8"))
    assert game.repetition_outcome(fewer) == FIRST_WINS
