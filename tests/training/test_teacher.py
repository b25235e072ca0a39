"""The teacher's action values, compared with separate searches and the rules."""

from itertools import pairwise

import numpy as np
import pytest

from cc_env.accuracy.decisions import sample_uniform
from cc_env.core.rules import DRAW, ONGOING
from cc_env.games.factory import make_game
from cc_env.match.openings import play_random_turns
from cc_env.search.alphabeta import AlphaBeta
from cc_env.tablebase.tablebase import Tablebase
from training.distillation.teacher import Teacher

DEPTH = 3


def positions_of(game, turns, count, seed=0):
    rng = np.random.default_rng(seed)
    result = []
    while len(result) < count:
        position = play_random_turns(game, int(rng.integers(turns)), rng)
        result += [position] if game.outcome(position) == ONGOING else []
    return result


@pytest.mark.parametrize(
    ("name", "options", "evaluation", "turns"),
    [
        ("capture_conquer", {"size": 4}, None, 8),
        ("capture_conquer", {"size": 6}, "learned", 20),
        # Turns of several decisions, and margins of victory.
        ("checkers", {}, None, 40),
        ("morris", {}, None, 30),
        ("mini_checkers", {}, None, 30),
    ],
)
def test_action_values_equal_separate_searches(name, options, evaluation, turns):
    game = make_game(name, **options)
    search = AlphaBeta(game, evaluation)
    positions = positions_of(game, turns, 12)
    actions, all_values = Teacher(game, evaluation, DEPTH)(np.array(positions, np.uint64))
    compared = 0
    for position, row, values in zip(positions, actions, all_values, strict=True):
        legal = game.legal_actions(position).tolist()
        assert row[: len(legal)].tolist() == legal
        assert (row[len(legal) :] == -1).all()
        assert (values[len(legal) :] == 0).all()
        mover = game.to_move(position)
        for action, value in zip(legal, values.tolist(), strict=False):
            after = game.apply(position, action)
            if (result := game.outcome(after)) != ONGOING:
                assert value == (0.5 if result == DRAW else float(result == mover))
                continue
            # AlphaBeta does not search forced actions.
            if len(game.legal_actions(after)) < 2:
                continue
            turns_left = DEPTH if game.mid_turn(after) else DEPTH - 1
            result = search.search(after, depth=turns_left)
            expected = result.value if game.to_move(after) == mover else -result.value
            # The teacher adjusts large leads and proven results.
            tolerance = 0.1 if abs(expected) > 0.8 else 1e-6
            assert value == pytest.approx((1 + expected) / 2, abs=tolerance)
            compared += 1
    assert compared > 15


def test_faster_wins_and_slower_losses_have_higher_values():
    game = make_game("capture_conquer", size=4)
    search = AlphaBeta(game)
    is_win = set()
    for position in positions_of(game, 8, 60, seed=1):
        (row,), (values,) = Teacher(game, None, 6)(np.array([position], np.uint64))
        values_by_score = {}
        for action, value in zip(row.tolist(), values.tolist(), strict=True):
            after = game.apply(position, action) if action >= 0 else position
            if action < 0 or game.outcome(after) != ONGOING or len(game.legal_actions(after)) < 2:
                continue
            result = search.search(after, depth=6 if game.mid_turn(after) else 5)
            sign = 1 if game.to_move(after) == game.to_move(position) else -1
            if abs(result.value) == 1:
                values_by_score[sign * result.score] = value
        scores = sorted(values_by_score)
        for worse, better in pairwise(scores):
            assert values_by_score[worse] < values_by_score[better]
            is_win.add(better > 0)
            is_win.add(worse > 0)
    assert is_win == {True, False}


@pytest.mark.parametrize("evaluation", ["standard", "published"])
def test_best_action_value_equals_the_search_of_the_position(evaluation):
    """The evaluation `published` is asymmetric, so both seats are checked."""
    game = make_game("capture_conquer", size=6)
    search = AlphaBeta(game, evaluation)
    positions = positions_of(game, 20, 30)
    _, all_values = Teacher(game, evaluation, 2)(np.array(positions, np.uint64))
    seats = set()
    for position, values in zip(positions, all_values.tolist(), strict=True):
        result = search.search(position, depth=2)
        if result.value is not None and abs(result.value) < 0.8:
            assert max(values) == pytest.approx((1 + result.value) / 2, abs=1e-6)
            seats.add(game.to_move(position))
    assert seats == {0, 1}


def test_proven_wins_exceed_every_lead():
    """These positions have proven wins and large leads among their actions."""
    checkers = make_game("checkers"), "2b1b1b1/8/2b1b3/8/2r1b3/5b1b/8/5B1r b", 3
    conquest = make_game("capture_conquer", size=6), "6/b4r/bbb3/1bb3/5r/6 b", 5
    for game, text, depth in (checkers, conquest):
        position = game.from_text(text)
        search, wins, leads = AlphaBeta(game), [], []
        (row,), (values,) = Teacher(game, None, depth)(np.array([position], np.uint64))
        for action, value in zip(row.tolist(), values.tolist(), strict=True):
            after = game.apply(position, action)
            if (outcome := game.outcome(after)) != ONGOING:
                wins += [value] if outcome == game.to_move(position) else []
            elif not game.mid_turn(after) and len(game.legal_actions(after)) > 1:
                expected = -search.search(after, depth=depth - 1).value
                (wins if expected == 1 else leads).append(value)
        assert wins
        assert max(leads) > 0.9
        assert max(leads) < min(wins)


def test_action_values_have_the_sign_of_the_exact_values():
    game = make_game("capture_conquer", size=4)
    tables = Tablebase(game)
    positions = sample_uniform(tables, 200)
    all_actions, all_values = Teacher(game, None, 2, tables)(np.array(positions, np.uint64))
    seen = set()
    for position, actions, values in zip(positions, all_actions, all_values, strict=True):
        mover = game.to_move(position)
        for action, value in zip(actions[actions >= 0].tolist(), values, strict=False):
            after = game.apply(position, action)
            if game.outcome(after) == ONGOING:
                solved = tables.get(after).value
                solved = solved if game.to_move(after) == mover else -solved
                # Wins and losses are discounted by their distance.
                assert solved == np.sign(round(2 * float(value) - 1, 6))
                seen.add(solved)
    assert seen == {1, 0, -1}
