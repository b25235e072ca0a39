"""Ratings of players against the opponents of a ladder."""

import math

import numpy as np
import pytest

from cc_env.accuracy import rating as module
from cc_env.accuracy.rating import Opponent, RatedPair, Rating, compare_with_rung, rate
from cc_env.errors import BadOption, Forfeit, UnknownOption
from cc_env.games.factory import make_game
from cc_env.ladder import rungs
from cc_env.match.referee import Decision

GAME = make_game("capture_conquer")
OPPONENTS = tuple(Opponent(str(elo), "random", elo) for elo in (0.0, 200.0, 400.0, 600.0))


def expected(difference):
    return 1 / (1 + 10 ** (-difference / 400))


def simulated(elo, pairs, seed=0):
    """Return the rating of a player with a known Elo whose games are independent."""
    rng = np.random.default_rng(seed)
    played = []
    for index in range(pairs):
        opponent = index % len(OPPONENTS)
        wins = rng.random(2) < expected(elo - OPPONENTS[opponent].elo)
        played.append(RatedPair(opponent, float(wins.sum())))
    return Rating(OPPONENTS, tuple(played))


@pytest.mark.parametrize("elo", [100, 300, 550])
def test_interval_contains_the_elo_as_often_as_it_claims(elo):
    inside, errors = 0, []
    for seed in range(200):
        value, low, high = simulated(elo, 100, seed).elo
        inside += low <= elo <= high
        errors.append(value - elo)
    assert 0.9 <= inside / 200 <= 0.99
    assert abs(np.mean(errors)) < 8


def test_interval_shrinks_with_the_square_root_of_the_games():
    widths = [simulated(300, pairs).elo for pairs in (100, 400)]
    few, many = (high - low for _, low, high in widths)
    assert few / many == pytest.approx(2, rel=0.15)


def test_drawn_games_place_a_player_at_its_opponent():
    drawn = Rating(OPPONENTS, (RatedPair(2, 1.0),) * 200)
    assert drawn.elo.value == pytest.approx(400, abs=3)
    assert drawn.score(2) == (400, 200.0)


@pytest.mark.parametrize("points", [0.0, 2.0])
def test_elo_is_finite_if_every_game_has_the_same_result(points):
    value, low, high = Rating(OPPONENTS, (RatedPair(1, points),) * 20).elo
    assert math.isfinite(value)
    assert low < value < high
    assert (value < 0) == (points == 0)


def test_player_of_the_ladder_has_the_elo_of_its_rung():
    rung = rungs(GAME)[2]
    seen = []
    rated = rate(rung.spec, GAME, width=70, seed=1, report=seen.append)
    value, low, high = rated.elo
    assert high - value <= 70
    assert low - 60 < rung.elo.value < high + 60
    assert seen[-1] == rated
    assert [part.games for part in seen] == [8 * (index + 1) for index in range(len(seen))]


def test_same_seed_gives_the_same_rating():
    first, second = (rate("greedy", GAME, max_games=24, seed=3) for _ in range(2))
    assert first == second
    assert first != rate("greedy", GAME, max_games=24, seed=4)


def test_workers_play_the_same_games():
    alone = rate("greedy", GAME, max_games=16, seed=3)
    assert rate("greedy", GAME, max_games=16, seed=3, workers=2) == alone
    assert alone.games == 16


def test_player_that_cannot_be_pickled_needs_this_process():
    with pytest.raises(BadOption, match="workers=2; expected: 0, as pickling failed"):
        rate(lambda observation, info: 0, GAME, max_games=8, workers=2)


def test_odd_limit_of_games_is_rounded_down():
    assert rate("greedy", GAME, max_games=9, width=5).games == 8


def test_player_that_wins_every_game_gets_a_bound_early():
    winner = Rating(OPPONENTS, (RatedPair(3, 2.0),) * 60)
    assert winner.is_out_of_range
    assert winner.elo.low > 600
    assert not Rating(OPPONENTS, (RatedPair(3, 1.0),) * 60).is_out_of_range
    assert Rating(OPPONENTS, (RatedPair(0, 0.0),) * 60).is_out_of_range


def test_interval_is_true_if_games_end_when_it_is_narrow():
    inside = 0
    for seed in range(150):
        rng, rated = np.random.default_rng(seed), Rating(OPPONENTS, ())
        while rated.games < 80 or rated.elo.high - rated.elo.value > 60:
            opponent = module._choose_opponent(rated)
            wins = rng.random((4, 2)) < expected(350 - OPPONENTS[opponent].elo)
            pairs = (RatedPair(opponent, float(points)) for points in wins.sum(1))
            rated = Rating(OPPONENTS, (*rated.pairs, *pairs))
        inside += rated.elo.low <= 350 <= rated.elo.high
    assert inside / 150 >= 0.9


def test_player_object_and_policy_function_are_rated():
    class First:
        def choose(self, position, rng, clock):
            return Decision(int(GAME.legal_actions(position)[0]))

    def first(observation, info):
        return int(np.flatnonzero(info["action_mask"])[0])

    assert rate(First(), GAME, max_games=8) == rate(first, GAME, max_games=8)


def test_faults_are_those_of_the_rated_player_in_both_seats():
    class Silent:
        def choose(self, position, rng, clock):
            raise Forfeit("error", "no reply")

    rated = rate(Silent(), GAME, max_games=8)
    assert rated.faults == ("error: no reply",) * 8
    assert [pair.points for pair in rated.pairs] == [0] * 4
    assert rate("random", GAME, max_games=8).faults == ()


def test_opponents_are_those_nearest_to_the_rating():
    rated = rate("random", GAME, max_games=80)
    games = [rated.score(index)[0] for index in range(len(rated.opponents))]
    assert sum(games[:3]) > 60


def test_sequential_test_ends_early_if_the_difference_is_great():
    stronger, weaker = (compare_with_rung(spec, GAME, "2") for spec in ("minimax", "random"))
    assert stronger.is_stronger is True
    assert weaker.is_stronger is False
    assert max(stronger.rating.games, weaker.rating.games) < 200


def test_sequential_test_of_equal_players_is_undecided_after_few_games():
    spec = rungs(GAME)[1].spec
    is_stronger, rated = compare_with_rung(spec, GAME, rungs(GAME)[1].name, max_games=40)
    assert is_stronger is None
    assert rated.games == 40


@pytest.mark.parametrize("elo", [-30, 30])
def test_sequential_test_errs_rarely(elo):
    errors = 0
    for seed in range(100):
        rng, points = np.random.default_rng(seed), []
        while True:
            points.append(float((rng.random(2) < expected(elo)).mean()))
            log_odds = module._log_likelihood_ratio(np.array(points))
            if len(points) >= 4 and abs(log_odds) >= module._TEST_LOG_ODDS:
                break
        errors += (log_odds > 0) != (elo > 0)
    # 5 % are expected at this difference.
    assert errors <= 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 1}, "width=1"),
        ({"max_games": 2}, "max_games=2"),
        ({"seed": -1}, "seed=-1"),
        ({"workers": -1}, "workers=-1"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(BadOption, match=message):
        rate("random", GAME, **options)


def test_unknown_level_and_game_without_ladder_are_rejected():
    with pytest.raises(UnknownOption, match=r"no level '99'; it has: 1 \(Pebble\)"):
        compare_with_rung("random", GAME, "99")
    with pytest.raises(
        UnknownOption,
        match=r"no ladder for capture_conquer with size=4; there are ladders for: cannon, ",
    ):
        rate("random", make_game("capture_conquer", size=4))
