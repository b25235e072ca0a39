"""Scores and Elo: known values, limits, and whether the intervals hold what they promise."""

from itertools import combinations

import numpy as np
import pytest

from training.arena.ratings import ELO_PER_LOG_ODDS, Games, elo, score


def games_of(rows):
    first, second, points, openings = zip(*rows, strict=True)
    return Games(np.array(first), np.array(second), np.array(points, float), np.array(openings))


def split(won, lost, drawn=0):
    """Return games of player 0 against player 1, seats swapped, two an opening."""
    points = [1.0] * won + [0.0] * lost + [0.5] * drawn
    return games_of(
        [
            (i % 2, 1 - i % 2, mine if i % 2 == 0 else 1 - mine, i // 2)
            for i, mine in enumerate(points)
        ]
    )


# Scores


def test_a_score_of_openings_that_are_won_or_lost_whole_has_wilsons_interval():
    points = np.repeat([1.0, 0.0], [14, 6])
    estimate = score(points, np.arange(20) // 2)  # 10 openings: 7 won twice, 3 lost twice
    assert estimate.value == 0.7
    # Wilson with n = 10, p = 0.7 (Newcombe 1998), but for the spread of one more of each
    assert estimate.low == pytest.approx(0.3968, abs=0.02)
    assert estimate.high == pytest.approx(0.8922, abs=0.02)


def test_all_won_leaves_doubt_and_more_games_less():
    few, many = (score(np.ones(n), np.arange(n) // 2) for n in (10, 1000))
    assert few.value == many.value == few.high == many.high == 1
    assert few.low == pytest.approx(5 / (5 + 1.96**2), abs=1e-3)
    assert few.low < 0.6 < 0.99 < many.low < 1


def test_an_opening_that_each_side_wins_once_says_less_about_chance():
    even = score(np.tile([1.0, 0.0], 50), np.arange(100) // 2)
    uneven = score(np.tile([1.0, 0.0], 50), np.arange(100) // 4 * 2 + np.arange(100) % 2)
    assert even.value == uneven.value == 0.5
    assert even.high - even.low < (uneven.high - uneven.low) / 3
    assert even.high - even.low > 0


def test_no_games_say_nothing():
    assert score(np.array([]), np.array([], int)) == (0.5, 0, 1)


def chances(kind, count, rate, rng):
    """Return the points of `count` openings of two games whose mean is `rate`."""
    if kind == "alike":
        return np.repeat(rng.random(count) < rate, 2).astype(float)
    if kind == "seats":
        skew = 0.9 * min(rate, 1 - rate) * np.tile([1, -1], count)
        return (rng.random(2 * count) < rate + skew).astype(float)
    drawn = min(rate, 1 - rate)
    throw = rng.random(2 * count)
    return np.where(throw < rate - drawn / 2, 1.0, np.where(throw < rate + drawn / 2, 0.5, 0.0))


@pytest.mark.parametrize("kind", ["alike", "seats", "draws"])
@pytest.mark.parametrize(("count", "rate"), [(10, 0.5), (10, 0.9), (50, 0.7), (50, 0.95)])
def test_score_intervals_cover_the_truth_as_often_as_they_say(kind, count, rate):
    rng = np.random.default_rng(1)
    openings = np.arange(2 * count) // 2
    intervals = [score(chances(kind, count, rate, rng), openings) for _ in range(800)]
    covered = np.mean([interval.low <= rate <= interval.high for interval in intervals])
    assert covered >= 0.915, covered
    assert all(0 <= interval.low <= interval.value <= interval.high <= 1 for interval in intervals)
    if count == 50:
        assert covered < 1, "so wide that they never miss"


# Elo


@pytest.mark.parametrize(("won", "lost"), [(75, 25), (50, 50), (20, 80)])
def test_two_players_differ_by_what_their_score_says(won, lost):
    winner, other = elo(split(won, lost), 2)
    # one game more, drawn
    wanted = ELO_PER_LOG_ODDS * np.log((won + 0.5) / (lost + 0.5))
    assert winner.value - other.value == pytest.approx(wanted, abs=1e-4)
    assert winner.value == pytest.approx(-other.value, abs=1e-6)


def test_a_draw_is_half_a_win():
    drawn, shared = (elo(split(*results), 2)[0].value for results in ((10, 0, 10), (15, 5)))
    assert drawn == pytest.approx(shared, abs=1e-6)


@pytest.mark.parametrize("games", [4, 400])
def test_an_opening_played_over_and_over_is_one_game(games):
    same = games_of([(i % 2, 1 - i % 2, (i // 2) % 2, 0) for i in range(games)])
    rating = elo(same, 2)[0]
    assert rating.high - rating.low > 600


def test_the_anchor_is_zero_without_doubt_and_keeps_differences():
    rows = [(a, b, 1.0 if a < b else 0.5, k) for k in range(6) for a in range(3) for b in range(3)]
    games = games_of([row for row in rows if row[0] != row[1]])
    free, tied = elo(games, 3), elo(games, 3, anchor=2)
    assert tied[2] == pytest.approx((0, 0, 0), abs=1e-9)
    assert sum(rating.value for rating in free) == pytest.approx(0, abs=1e-6)
    gaps = [a.value - b.value for a, b in zip(free, tied, strict=True)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=1e-6)


@pytest.mark.parametrize("openings", [1, 20, 1000])
def test_winning_every_game_is_finite_and_wide(openings):
    winner, other = elo(split(2 * openings, 0), 2)
    assert 100 < winner.value - other.value < 1600
    assert winner.high - winner.low > 150
    assert winner.high - winner.low < 4000


def test_who_never_loses_in_a_chain_of_many_is_rated_all_the_same():
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
                throw = rng.random()
                points = 1.0 if throw < rate - half else 0.5 if throw < rate + half else 0.0
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
def test_elo_intervals_cover_the_truth_as_often_as_they_say(true, openings, draws):
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(500):
        ratings = elo(tournament(true, openings, draws, rng), len(true))
        covered += [
            rating.low <= value <= rating.high for rating, value in zip(ratings, true, strict=True)
        ]
    assert 0.915 <= np.mean(covered) < 1, np.mean(covered)
