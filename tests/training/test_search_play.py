"""Games of the search against itself: what is sampled, and what is to be expected of it."""

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


def pace(depth=2, opening=6, exploration=0):
    return search_games.play_settings(depth, opening, exploration)


def play(game, *given):
    return extract_sample(game, search_games.play(game, *given))


def positions_of(sample):
    """Return the positions of C&C; the first player moves, whose frame the sets are in."""
    return [type(GAME.initial)(*row, *GAME.initial[2:]) for row in sample.inputs]


@pytest.fixture(scope="module")
def sample():
    return play(GAME, None, pace(), 0.7, 400, 1)


def test_whoever_can_win_at_once_wins(sample):
    wins = 0
    for position, result in zip(positions_of(sample), sample.results, strict=True):
        ends = [GAME.outcome(GAME.play_turn(position, turn)) for turn in GAME.turns(position)]
        if FIRST in ends:
            wins += 1
            assert result == 1
    assert wins > 10
    assert set(sample.results) == {0, 0.5, 1}


def test_results_and_base_are_those_of_the_player_to_move(sample):
    for position, base in zip(positions_of(sample), sample.base, strict=True):
        assert base == rules.evaluate(position, FIRST, GAME.evaluation())
    ends = np.flatnonzero(np.diff(sample.games, append=-1))
    begins = np.r_[0, ends[:-1] + 1]
    for begin, end in zip(begins, ends, strict=True):
        results = sample.results[begin : end + 1]
        assert np.allclose(results[1:] + results[:-1], 1)  # players alternate


def test_without_weight_of_what_follows_targets_are_values_of_the_search():
    sample = play(GAME, None, pace(depth=3, exploration=0.1), 0, 60, 2)
    search = AlphaBeta(GAME)
    for position, target in zip(positions_of(sample), sample.targets, strict=True):
        result = search.search(position, depth=3)
        if result.score is not None and len(GAME.legal_actions(position)) > 1:
            assert target == pytest.approx((1 + expected_result(result.score)) / 2, abs=1e-6)


def test_with_full_weight_targets_are_results():
    sample, searched = (play(GAME, None, pace(), weight, 300, 3) for weight in (1, 0))
    assert np.array_equal(sample.targets, sample.results)
    assert not np.array_equal(searched.targets, searched.results)
    assert np.array_equal(searched.inputs, sample.inputs)


def test_targets_are_the_recursion_from_the_end_of_each_game():
    weight, seed = 0.6, 4
    values = play(GAME, None, pace(), 0, 300, seed).targets.astype(float)
    sample = play(GAME, None, pace(), weight, 300, seed)
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


def test_a_random_decision_within_a_turn_cuts_what_its_beginning_learns_from():
    """Of morris: where a mill is closed, the turn goes on with the choice of a piece to take."""
    game, seed, weight = make_game("morris"), 5, 0.9
    given = pace(depth=1, opening=8, exploration=0.5)
    searched, mixed = (
        search_games.play(game, None, given, part, 2000, seed) for part in (0, weight)
    )
    assert np.array_equal(searched.positions, mixed.positions)
    pairs = 0
    for row in range(len(mixed.turn_starts) - 1):
        if mixed.turn_starts[row] and not mixed.turn_starts[row + 1]:
            removal = row + 1
            if mixed.targets[removal] == searched.targets[removal]:  # random, or proven
                alone = searched.targets[row]
                with_removal = (1 - weight) * alone + weight * mixed.targets[removal]
                assert mixed.targets[row] == pytest.approx(alone, abs=1e-5) or (
                    mixed.targets[row] == pytest.approx(with_removal, abs=1e-5)
                )
                pairs += 1
    assert pairs > 100


def test_the_seed_makes_the_games():
    first, again, other = (play(GAME, None, pace(), 0.5, 200, seed) for seed in (7, 7, 8))
    for name, part in first._asdict().items():
        assert np.array_equal(part, getattr(again, name)), name
    assert not np.array_equal(first.inputs, other.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["checkers", "mini_checkers", "morris", "cannon"])
def test_every_game_is_played(name):
    game = make_game(name)
    sample = play(game, None, pace(depth=1), 0.5, 500, 0)
    assert 300 < len(sample.base) <= 500
    assert ((sample.targets >= 0) & (sample.targets <= 1)).all()
    assert np.isin(sample.results, (0, 0.5, 1)).all()
    assert len(np.unique(sample.inputs, axis=0)) > 200


def test_samples_are_joined_and_games_numbered_through():
    former, latter = (play(GAME, None, pace(), 0.5, 100, seed) for seed in (1, 2))
    both = concatenate([former, latter])
    assert len(both.base) == len(former.base) + len(latter.base)
    steps = np.diff(both.games)
    assert set(steps) <= {0, 1}
    assert both.games[-1] == former.games[-1] + latter.games[-1] + 1
    newest = select_rows(both, slice(-len(latter.base), None))
    assert np.array_equal(newest.inputs, latter.inputs)
