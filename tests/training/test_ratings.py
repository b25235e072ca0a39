"""Scores and Elo: known values, limits, and the coverage of the intervals."""

from itertools import combinations

import numpy as np
import pytest

from cc_env.match.confidence import clustered_interval
from training.arena.ratings import ELO_PER_LOG_ODDS, Games, elo


def games_of(rows):
    first, second, points, openings = zip(*rows, strict=True)
    return Games(np.array(first), np.array(second), np.array(points, float), np.array(openings))


def two_player_games(wins, losses, draws=0):
    """Return games of two players, two per opening with swapped seats; results are player 0's."""
    points = [1.0] * wins + [0.0] * losses + [0.5] * draws
    return games_of(
        [
            (i % 2, 1 - i % 2, value if i % 2 == 0 else 1 - value, i // 2)
            for i, value in enumerate(points)
        ]
    )


# Scores


def test_decided_openings_have_wilsons_interval():
    points = np.repeat([1.0, 0.0], [14, 6])
    # Of 10 openings, 7 are won twice and 3 lost twice.
    estimate = clustered_interval(points, np.arange(20) // 2)
    assert estimate.value == 0.7
    # Wilson's interval for n = 10, p = 0.7 (Newcombe 1998), except for the pseudo-openings.
    assert estimate.low == pytest.approx(0.3968, abs=0.02)
    assert estimate.high == pytest.approx(0.8922, abs=0.02)


def test_interval_of_only_wins_shrinks_with_games():
    short, long = (clustered_interval(np.ones(n), np.arange(n) // 2) for n in (10, 1000))
    assert short.value == long.value == short.high == long.high == 1
    assert short.low == pytest.approx(5 / (5 + 1.96**2), abs=1e-3)
    assert short.low < 0.6 < 0.99 < long.low < 1


def test_interval_is_narrower_if_both_players_win_a_game_of_each_opening():
    even = clustered_interval(np.tile([1.0, 0.0], 50), np.arange(100) // 2)
    uneven = clustered_interval(
        np.tile([1.0, 0.0], 50), np.arange(100) // 4 * 2 + np.arange(100) % 2
    )
    assert even.value == uneven.value == 0.5
    assert even.high - even.low < (uneven.high - uneven.low) / 3
    assert even.high - even.low > 0


def test_no_games_give_the_widest_interval():
    assert clustered_interval(np.array([]), np.array([], int)) == (0.5, 0, 1)


def random_points(kind, count, rate, rng):
    """Return the points of `count` openings of two games whose mean is `rate`."""
    if kind == "alike":
        return np.repeat(rng.random(count) < rate, 2).astype(float)
    if kind == "seats":
        skew = 0.9 * min(rate, 1 - rate) * np.tile([1, -1], count)
        return (rng.random(2 * count) < rate + skew).astype(float)
    draws = min(rate, 1 - rate)
    sample = rng.random(2 * count)
    return np.where(sample < rate - draws / 2, 1.0, np.where(sample < rate + draws / 2, 0.5, 0.0))


@pytest.mark.parametrize("kind", ["alike", "seats", "draws"])
@pytest.mark.parametrize(("count", "rate"), [(10, 0.5), (10, 0.9), (50, 0.7), (50, 0.95)])
def test_score_intervals_have_their_coverage(kind, count, rate):
    rng = np.random.default_rng(1)
    openings = np.arange(2 * count) // 2
    intervals = [
        clustered_interval(random_points(kind, count, rate, rng), openings) for _ in range(800)
    ]
    covered = np.mean([interval.low <= rate <= interval.high for interval in intervals])
    assert covered >= 0.915, covered
    assert all(0 <= interval.low <= interval.value <= interval.high <= 1 for interval in intervals)
    if count == 50:
        assert covered < 1


# Elo


@pytest.mark.parametrize(("wins", "losses"), [(75, 25), (50, 50), (20, 80)])
def test_elo_difference_matches_the_score(wins, losses):
    winner, other = elo(two_player_games(wins, losses), 2)
    # The prior is one drawn game.
    expected = ELO_PER_LOG_ODDS * np.log((wins + 0.5) / (losses + 0.5))
    assert winner.value - other.value == pytest.approx(expected, abs=1e-4)
    assert winner.value == pytest.approx(-other.value, abs=1e-6)


def test_draw_counts_half_a_win():
    with_draws, without = (
        elo(two_player_games(*results), 2)[0].value for results in ((10, 0, 10), (15, 5))
    )
    assert with_draws == pytest.approx(without, abs=1e-6)


@pytest.mark.parametrize("games", [4, 400])
def test_repeated_opening_counts_as_one_game(games):
    games = games_of([(i % 2, 1 - i % 2, (i // 2) % 2, 0) for i in range(games)])
    rating = elo(games, 2)[0]
    assert rating.high - rating.low > 600


def test_anchor_has_zero_elo_and_keeps_differences():
    rows = [(a, b, 1.0 if a < b else 0.5, k) for k in range(6) for a in range(3) for b in range(3)]
    games = games_of([row for row in rows if row[0] != row[1]])
    free, anchored = elo(games, 3), elo(games, 3, anchor=2)
    assert anchored[2] == pytest.approx((0, 0, 0), abs=1e-9)
    assert sum(rating.value for rating in free) == pytest.approx(0, abs=1e-6)
    gaps = [a.value - b.value for a, b in zip(free, anchored, strict=True)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=1e-6)


@pytest.mark.parametrize("openings", [1, 20, 1000])
def test_only_wins_give_a_finite_wide_rating(openings):
    winner, other = elo(two_player_games(2 * openings, 0), 2)
    assert 100 < winner.value - other.value < 1600
    assert winner.high - winner.low > 150
    assert winner.high - winner.low < 4000


def test_undefeated_player_of_a_long_chain_is_rated():
    count = 12
    rows = [
        (a, b, float(a < b), k)
        for k in range(100)
        for a in range(count)
        for b in range(count)
        if a != b
    ]
    values = [rating.value for rating in elo(games_of(rows), count)]
    assert values == sorted(values, reverse=True)
    assert np.isfinite(values).all()


def tournament(true, openings, draws, rng):
    """Return the games of players of these Elo, each pair twice from each opening."""
    rows = []
    for opening in range(openings):
        for pair in combinations(range(len(true)), 2):
            for first, second in (pair, pair[::-1]):
                rate = 1 / (1 + np.exp((true[second] - true[first]) / ELO_PER_LOG_ODDS))
                half = draws * min(rate, 1 - rate)
                sample = rng.random()
                points = 1.0 if sample < rate - half else 0.5 if sample < rate + half else 0.0
                rows.append((first, second, points, opening))
    return games_of(rows)


@pytest.mark.parametrize("draws", [0, 0.6])
@pytest.mark.parametrize(
    ("true", "openings"),
    [
        ([0, 0], 30),
        ([-150, 150], 30),
        pytest.param([-250, 0, 50, 200], 10, marks=pytest.mark.slow),
        pytest.param([-250, 0, 50, 200], 60, marks=pytest.mark.slow),
    ],
)
def test_elo_intervals_have_their_coverage(true, openings, draws):
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(500):
        ratings = elo(tournament(true, openings, draws, rng), len(true))
        covered += [
            rating.low <= value <= rating.high for rating, value in zip(ratings, true, strict=True)
        ]
    assert 0.915 <= np.mean(covered) < 1, np.mean(covered)
