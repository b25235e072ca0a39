"""Reviewed turns, moments and accuracies."""

import pytest

from cc_env.games.factory import make_game
from cc_env.play import review
from cc_env.play.analysis import MARKS, ONLY_MOVE, TimeBudget, TurnAssessment, mark_for_loss
from cc_env.play.review import ONLY_GOOD, Accuracy, ReviewedTurn
from cc_env.players.specs import make_player
from cc_env.tablebase.tablebase import Tablebase

CC = make_game("capture_conquer")
# Red reaches the corner by 1,1-0,0.
RACE = CC.from_text("6/brb2r/b3r1/6/3b2/r2b2 r")
SOLVED = make_game("capture_conquer", size=4)
# A won position with a single winning action.
WON = SOLVED.from_text("brrb/b3/2r1/4 b")


def review_text(game, position, text, spec):
    player = make_player(spec, game)
    time = TimeBudget(60)
    time.start(player)
    turn = game.parse_turn(position, text)
    return review.review_turn(game, position, player, time, turn=turn)


def graded(mover, loss, is_exact=False):
    """Return a turn with a loss of chances."""
    mark = None if loss is None else mark_for_loss(loss)
    assessment = TurnAssessment(0.0, (), loss, mark)
    return ReviewedTurn(mover, (), assessment, mark, "", "", is_exact)


def test_mistake_has_a_reason_and_a_change():
    mistake = review_text(CC, RACE, "1,1-1,3x1,2", "minimax:depth=3")
    assert mistake.mark is MARKS[-1]
    assert mistake.reason == "misses a turn that reaches the far corner"
    assert mistake.change == "threw away a proven win in 1 turn"
    assert mistake.is_turning_point
    assert mistake.mover == 1


def test_only_good_move_is_marked():
    winning = review_text(CC, RACE, "1,1-0,0", "minimax:depth=3")
    assert winning.loss == 0
    assert (winning.reason, winning.change, winning.is_turning_point) == ("", "", False)
    losing = review_text(SOLVED, WON, "1,0-2,0", review.reviewer_spec(SOLVED))
    assert losing.mark is ONLY_GOOD


def test_quality_is_exact_where_tables_have_the_values():
    assert review.reviewer_spec(SOLVED).startswith("perfect")
    assert review.reviewer_spec(CC).startswith("minimax")
    tables = Tablebase(SOLVED)
    for turn in SOLVED.turns(WON):
        text = SOLVED.turn_text(WON, turn)
        reviewed = review_text(SOLVED, WON, text, "perfect")
        after = tables.probe(SOLVED.play_turn(WON, turn))
        assert reviewed.is_exact
        assert reviewed.loss == 50 * (1 + after.value)
        if reviewed.loss:
            assert reviewed.change == "threw away a proven win in 5 turns"


def test_forced_turn_is_not_graded():
    game = make_game("checkers")
    position = game.from_text("8/1b6/8/8/8/3b4/4r3/8 r")
    (turn,) = game.turns(position)
    reviewed = review_text(game, position, game.turn_text(position, turn), "minimax:depth=2")
    assert (reviewed.mark, reviewed.loss, reviewed.reason) == (ONLY_MOVE, None, "")


def test_moments_are_the_greatest_losses_of_a_player():
    losses = [(0, 12.0), (1, 90.0), (0, 55.0), (1, 0.0), (0, 55.0), (1, 9.0), (0, None)]
    turns = [graded(mover, loss) for mover, loss in losses]
    assert review.moment_candidates(turns, 0) == [2, 4, 0]
    assert review.moment_candidates(turns, 1) == [1]
    assert review.moment_candidates(turns) == [1, 2, 4, 0]
    assert review.moment_candidates([], 0) == []


def test_accuracy_falls_with_the_losses():
    assert review.accuracy([graded(0, None)], 0) is None
    assert review.accuracy([graded(1, 50.0)], 0) is None
    perfect = review.accuracy([graded(0, 0.0), graded(1, 50.0), graded(0, None)], 0)
    assert perfect == Accuracy(100.0, False)
    rising = [review.accuracy([graded(0, loss)], 0).percent for loss in (100.0, 50.0, 10.0, 1.0)]
    assert rising == sorted(rising)
    assert rising[0] < 2
    assert rising[-1] > 95


def test_accuracy_is_the_share_of_kept_values_where_all_are_exact():
    exact = [graded(0, loss, is_exact=True) for loss in (0.0, 50.0, 0.0, 0.0)]
    assert review.accuracy(exact, 0) == Accuracy(75.0, True)
    assert not review.accuracy([*exact, graded(0, 0.0)], 0).is_exact


@pytest.mark.parametrize(("loss", "expected"), [(19.9, False), (20.0, True), (None, False)])
def test_turning_points_lose_a_fifth_of_the_chances(loss, expected):
    assert graded(0, loss).is_turning_point == expected
