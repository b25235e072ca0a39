"""Mini checkers: worked examples, recorded positions, counts, and the solution of the game."""

import gzip
import json

import numpy as np
import pytest
from conftest import ORACLE

from cc_env.core import rules
from cc_env.core.grid import Grid
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import BadOption, BadPosition
from cc_env.games.factory import make_game
from cc_env.games.mini_checkers import CELLS, Published
from cc_env.match.random_games import play_random_games
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.search.alphabeta import AlphaBeta
from cc_env.verification.perft import perft

RECORDED = ORACLE / "checkers6.jsonl.gz"


@pytest.fixture(scope="module")
def mini():
    return make_game("mini_checkers")


@pytest.fixture(scope="module")
def solver(mini):
    return AlphaBeta(mini, "published", table_megabytes=256)


def compact(game, board, side):
    """Return the position of a board of 18 letters."""
    letters = zip(CELLS, board, strict=True)
    rows = Grid(6, 6).board_text({cell: letter for cell, letter in letters if letter != "."})
    return game.from_text(f"{rows} {side}")


def place(game, side, black, white):
    letters = {divmod(int(at), 10): "b" for at in black.split()}
    letters |= {divmod(int(at), 10): "w" for at in white.split()}
    return game.from_text(f"{Grid(6, 6).board_text(letters)} {side}")


def turns(game, position):
    return {game.turn_text(position, turn) for turn in game.turns(position)}


def test_either_side_may_begin_with_five_turns(mini):
    assert turns(mini, mini.initial) == {"41-30", "41-32", "43-32", "43-34", "45-34"}
    other = make_game("mini_checkers", first="white")
    assert other.to_move(other.initial) == 1
    assert turns(other, other.initial) == {"10-21", "12-21", "12-23", "14-23", "14-25"}


def test_capture_is_mandatory(mini):
    position = compact(mini, "www.www..bb...bbbb", "w")
    assert turns(mini, position) == {"21x43"}
    after = mini.play_turn(position, mini.parse_turn(position, "21x43"))
    assert turns(mini, after) == {"52x34", "54x32"}


def test_turn_has_one_jump(mini):
    position = place(mini, "b", "41 45", "32 12")
    assert turns(mini, position) == {"41x23"}
    assert mini.to_move(mini.play_turn(position, mini.parse_turn(position, "41x23"))) == 1


def test_player_without_a_move_passes(mini):
    position = compact(mini, "w.bb............ww", "b")
    assert turns(mini, position) == {"pass"}
    after = mini.play_turn(position, mini.parse_turn(position, "pass"))
    assert "01-12" in turns(mini, after)


def test_men_are_not_crowned(mini):
    position = place(mini, "b", "10 30", "01 21")
    assert turns(mini, position) == {"30x12"}


@pytest.mark.parametrize(
    ("black", "white", "outcome", "margin"),
    [
        ("01 03", "50", FIRST_WINS, 1),
        ("01", "50 52 54", SECOND_WINS, 2),
        ("01", "50", DRAW, 0),
    ],
)
def test_blocked_game_is_decided_by_men(mini, black, white, outcome, margin):
    """The margin is the difference of the numbers of men."""
    for side in "bw":
        position = place(mini, side, black, white)
        assert (mini.outcome(position), mini.ending(position)) == (outcome, "both_stuck")
        assert mini.margin(position) == margin


def test_player_without_men_loses_by_six(mini):
    position = place(mini, "b", "41", "32")
    after = mini.play_turn(position, mini.parse_turn(position, "41x23"))
    assert (mini.outcome(after), mini.ending(after)) == (FIRST_WINS, "no_pieces")
    assert mini.margin(after) == 6
    # The game is not over.
    assert mini.margin(position) == 0


def test_rules_agree_with_reference_positions(assert_agreement):
    assert_agreement(RECORDED.name, "mini_checkers", 3400)


def test_perft_equals_known_counts(mini):
    counts = 5, 25, 106, 369, 1271, 4104, 12298, 36223, 99469, 269282, 731596, 1932978
    assert tuple(perft(mini, mini.initial, depth) for depth in range(1, 13)) == counts


@pytest.mark.slow
def test_search_proves_the_start_a_draw_and_a_losing_first_turn(mini, solver):
    result = solver.search(mini.initial, depth=80)
    assert (result.score, result.margin, result.is_exact) == (0, 0, True)
    assert result.depth < 60
    lost = mini.play_turn(mini.initial, mini.parse_turn(mini.initial, "41-30"))
    result = solver.search(lost, depth=80)
    assert (result.margin, result.is_exact) == (1, True)


@pytest.mark.parametrize(
    ("every", "min_checked"), [(300, 4), pytest.param(20, 51, marks=pytest.mark.slow)]
)
def test_solver_finds_recorded_values(mini, solver, every, min_checked):
    """The recorded values are margins of exact play."""
    checked = 0
    with gzip.open(RECORDED, "rt") as file:
        lines = [line for line in map(json.loads, file) if line["kind"] == "position"]
    for line in lines[::every]:
        position = compact(mini, line["board"], line["turn"])
        if mini.outcome(position) == ONGOING and len(mini.legal_actions(position)) > 1:
            result = solver.search(position, depth=80)
            assert result.margin == line["value"]
            assert result.is_exact or abs(result.margin) == 6
            checked += 1
    assert checked >= min_checked


def test_levels_have_published_limits_and_count_cutoffs(mini):
    rng = np.random.default_rng(0)
    for level, depth in (("easy", 5), ("normal", 15)):
        details = make_player(f"minimax:{level}", mini).choose(mini.initial, rng, Clock()).details
        assert details["depth"] == depth
        assert details["nodes"] > 1
        assert details["cuts_max"] > 0 < details["cuts_min"]
    assert mini.levels["easy"]["seconds"] == mini.levels["normal"]["seconds"] == 15
    result = AlphaBeta(mini, "published", table_megabytes=1).search(mini.initial, depth=1)
    assert (result.cuts_max, result.cuts_min) == (0, 0)
    hard = make_player("minimax:hard,table_megabytes=64", mini)
    position = place(mini, "b", "41 45", "12 10")
    details = hard.choose(position, rng, Clock()).details
    # The whole rest of the game.
    assert 5 < details["depth"] < 80


@pytest.mark.parametrize(
    ("board", "side", "value"),
    [
        ("wwwwww......bbbbbb", "b", 0),
        # After 41-30 and 43-32, and 10-21.
        ("www.www..bb...bbbb", "b", 1),
        ("..w.....b.........", "b", 5 - 2),
    ],
)
def test_published_evaluation_equals_a_hand_computation(mini, board, side, value):
    """Men, and the rows between each man and its far row."""
    position = compact(mini, board, side)
    black = [cell for cell, letter in zip(CELLS, board, strict=True) if letter == "b"]
    white = [cell for cell, letter in zip(CELLS, board, strict=True) if letter == "w"]
    by_hand = 5 * (len(black) - len(white))
    by_hand += sum(5 - row for row, _ in white) - sum(row for row, _ in black)
    assert rules.evaluate(position, 0, Published()) == by_hand
    assert rules.evaluate(position, 1, Published()) == -by_hand
    assert by_hand == value


def test_random_games_are_bounded(mini):
    playouts = play_random_games(mini, 5000, seed=1)
    assert not playouts.unfinished
    assert playouts.draws > 0
    assert playouts.turns / 5000 < 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("6/6/6/6/6 b", "6 rows of 6 cells"),
        ("6/6/6/6/6/6 b", "no men on the board"),
        ("b5/6/6/6/6/6 b", "b on 00, an unused cell"),
        ("1k4/6/6/6/6/6 b", "made of b, w and numbers"),
        ("1b4/6/6/6/6/6", "side to move"),
        ("1b1b1b/b1b1b1/1b4/6/6/w5 b", "7 pieces of b; expected: at most 6"),
        (7, "7 is not the text"),
    ],
)
def test_invalid_position_text_is_rejected(mini, text, message):
    with pytest.raises(BadPosition, match=message):
        mini.from_text(text)


def test_invalid_option_is_rejected():
    with pytest.raises(BadOption, match="first='red'; expected: black or white"):
        make_game("mini_checkers", first="red")
