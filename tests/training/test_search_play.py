"""Games of the search against itself: samples and targets."""

import numpy as np
import pytest

from cc_env.core import rules
from cc_env.core.rules import FIRST
from cc_env.games.factory import make_game
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.scores import PROVEN, expected_result
from training.learned_evaluation.small_network import concatenate, extract_sample, select_rows
from training.selfplay import search_games

GAME = make_game("capture_conquer", size=4)


def settings(depth=2, opening=6, exploration=0):
    return search_games.play_settings(depth, opening, exploration)


def play(game, *arguments):
    return extract_sample(game, search_games.play(game, *arguments))


def positions_of(sample):
    """Return the positions of C&C in the frame of the player to move, as the first player."""
    return [type(GAME.initial)(*row, *GAME.initial[2:]) for row in sample.inputs]


@pytest.fixture(scope="module")
def sample():
    return play(GAME, None, settings(), 0.7, 400, 1)


def test_search_takes_immediate_wins(sample):
    wins = 0
    for position, result in zip(positions_of(sample), sample.results, strict=True):
        ends = [GAME.outcome(GAME.play_turn(position, turn)) for turn in GAME.turns(position)]
        if FIRST in ends:
            wins += 1
            assert result == 1
    assert wins > 10
    assert set(sample.results) == {0, 0.5, 1}


def test_results_and_base_belong_to_the_player_to_move(sample):
    for position, base in zip(positions_of(sample), sample.base, strict=True):
        assert base == rules.evaluate(position, FIRST, GAME.evaluation())
    ends = np.flatnonzero(np.diff(sample.games, append=-1))
    starts = np.r_[0, ends[:-1] + 1]
    for start, end in zip(starts, ends, strict=True):
        results = sample.results[start : end + 1]
        # The players alternate.
        assert np.allclose(results[1:] + results[:-1], 1)


def test_zero_weight_targets_are_search_values():
    sample = play(GAME, None, settings(depth=3, exploration=0.1), 0, 60, 2)
    search = AlphaBeta(GAME)
    for position, target in zip(positions_of(sample), sample.targets, strict=True):
        result = search.search(position, depth=3)
        if result.score is not None and len(GAME.legal_actions(position)) > 1:
            assert target == pytest.approx((1 + expected_result(result.score)) / 2, abs=1e-6)


def test_full_weight_targets_are_results():
    sample, searched = (play(GAME, None, settings(), weight, 300, 3) for weight in (1, 0))
    assert np.array_equal(sample.targets, sample.results)
    assert not np.array_equal(searched.targets, searched.results)
    assert np.array_equal(searched.inputs, sample.inputs)


def test_targets_satisfy_the_td_lambda_recursion():
    weight, seed = 0.6, 4
    values = play(GAME, None, settings(), 0, 300, seed).targets.astype(float)
    sample = play(GAME, None, settings(), weight, 300, seed)
    sure = expected_result(PROVEN)
    for number in range(sample.games[-1] + 1):
        rows = np.flatnonzero(sample.games == number)
        later = 1 - sample.results[rows[-1]] if len(rows) else 0
        for row in rows[::-1]:
            target = values[row]
            if abs(2 * target - 1) < sure:
                target = (1 - weight) * target + weight * (1 - later)
            assert sample.targets[row] == pytest.approx(target, abs=1e-5)
            later = target


def test_random_decisions_cut_targets_within_a_turn():
    """In morris, closing a mill continues the turn with the removal of a piece."""
    game, seed, weight = make_game("morris"), 5, 0.9
    random_play = settings(depth=1, opening=8, exploration=0.5)
    searched, mixed = (
        search_games.play(game, None, random_play, part, 2000, seed) for part in (0, weight)
    )
    assert np.array_equal(searched.positions, mixed.positions)
    pairs = 0
    for row in range(len(mixed.turn_starts) - 1):
        if mixed.turn_starts[row] and not mixed.turn_starts[row + 1]:
            removal = row + 1
            # The removal is random or proven.
            if mixed.targets[removal] == searched.targets[removal]:
                own_value = searched.targets[row]
                with_removal = (1 - weight) * own_value + weight * mixed.targets[removal]
                assert mixed.targets[row] == pytest.approx(own_value, abs=1e-5) or (
                    mixed.targets[row] == pytest.approx(with_removal, abs=1e-5)
                )
                pairs += 1
    assert pairs > 100


def test_seed_determines_the_games():
    first, again, other = (play(GAME, None, settings(), 0.5, 200, seed) for seed in (7, 7, 8))
    for name, part in first._asdict().items():
        assert np.array_equal(part, getattr(again, name)), name
    assert not np.array_equal(first.inputs, other.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["checkers", "mini_checkers", "morris", "cannon"])
def test_search_plays_every_game(name):
    game = make_game(name)
    sample = play(game, None, settings(depth=1), 0.5, 500, 0)
    assert 300 < len(sample.base) <= 500
    assert ((sample.targets >= 0) & (sample.targets <= 1)).all()
    assert np.isin(sample.results, (0, 0.5, 1)).all()
    assert len(np.unique(sample.inputs, axis=0)) > 200


@pytest.mark.parametrize(("limit_of_rules", "turns"), [(0, 8), (3, 9)])
def test_rules_that_end_repetition_do_not_count_the_start(monkeypatch, limit_of_rules, turns):
    """The search repeats four turns from this position on."""
    game = make_game("capture_conquer", size=4)
    monkeypatch.setattr(game, "initial", game.from_text("1b2/4/b1r1/b1rr r"))
    monkeypatch.setattr(game, "repetition_limit", limit_of_rules)
    sample = play(game, None, settings(opening=0), 0, 100, 0)
    assert np.bincount(sample.games)[0] == turns
    assert (sample.results[:turns] == 0.5).all()


def test_concatenated_samples_number_games_consecutively():
    first, second = (play(GAME, None, settings(), 0.5, 100, seed) for seed in (1, 2))
    both = concatenate([first, second])
    assert len(both.base) == len(first.base) + len(second.base)
    steps = np.diff(both.games)
    assert set(steps) <= {0, 1}
    assert both.games[-1] == first.games[-1] + second.games[-1] + 1
    newest = select_rows(both, slice(-len(second.base), None))
    assert np.array_equal(newest.inputs, second.inputs)
