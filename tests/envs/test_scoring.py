"""Scores of policies: points, openings and confidence intervals."""

import warnings

import numpy as np
import pytest

from cc_env.envs import scoring
from cc_env.envs.scoring import RepeatedGames, score
from cc_env.errors import BadOption, IllegalAction, UnknownKeyword
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import play_match
from cc_env.players.specs import as_player, make_player
from cc_env.registry.catalogue import GAMES


def first(observations, masks):
    return masks.argmax(1)


def last(observations, masks):
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)


def first_of_one(observation, info):
    return info["action_mask"].argmax()


def test_identical_policies_share_the_points():
    """Each opening is played from both seats, so that the same two games are won and lost."""
    result = score(first, "capture_conquer", first_of_one, games=40)
    assert (result.value, result.games, result.distinct_games) == (0.5, 40, 40)
    # The openings do not differ in their points, so that the interval is narrow.
    assert 0.4 < result.low < result.value < result.high < 0.6


def test_policy_that_races_to_the_corner_beats_random():
    rng = np.random.default_rng(0)

    def random_actions(observations, masks):
        return (masks * rng.random(masks.shape)).argmax(1)

    assert score(last, "capture_conquer", games=100).value > 0.9
    assert 0.4 < score(random_actions, "capture_conquer", games=200).value < 0.6
    assert score(random_actions, "capture_conquer", "greedy", games=40).value < 0.2


def test_repeated_games_are_counted_once_with_a_warning():
    """Two deterministic players have one game per seat."""
    with pytest.warns(RepeatedGames, match="of 40 games only 2"):
        result = score(last, "capture_conquer", first_of_one, games=40, opening_turns=0)
    assert result.distinct_games == 2
    assert result.high - result.low > 0.6
    with warnings.catch_warnings(action="error"):
        assert score(last, "capture_conquer", first_of_one, games=40).distinct_games == 40
    assert "in 40 games, 2 of them different" in str(result)


def test_score_equals_that_of_single_matches():
    game, points, openings = make_game("capture_conquer", size=4), [], []

    make_opening = scoring._opening

    def make_and_record(*arguments):
        openings.append(make_opening(*arguments))
        return openings[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "_opening", make_and_record)
        result = score(first, "capture_conquer", "minimax:depth=2", games=20, size=4)
    policy = as_player(first_of_one, game)
    other = make_player("minimax:depth=2", game)
    for start in openings:
        for seat, pair in enumerate([(policy, other), (other, policy)]):
            limits = Limits(max_turns=200, repetitions=None)
            record = play_match(game, pair, start=start, limits=limits)
            winner = {"1-0": 0, "0-1": 1}.get(record.result)
            points.append(0.5 if winner is None else float(winner == seat))
    assert len(openings) == 10
    assert result.value == np.mean(points)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("turns", [0, 1, 4])
def test_openings_leave_both_players_a_decision(name, turns):
    game = make_game(name)
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(5):
        start = scoring._opening(game, turns, rng)
        reached = play_random_turns(game, turns, same)
        assert start == reached
        for turn in game.turns(start):
            assert len(game.legal_actions(game.play_turn(start, turn)))


def test_same_seed_gives_the_same_games():
    scores = [score(first, "checkers", games=40, seed=seed) for seed in (3, np.int64(3), 4)]
    assert scores[0] == scores[1] != scores[2]


def test_options_and_limits_are_those_of_the_environment():
    result = score(first, "capture_conquer", games=2, size=4, max_turns=2)
    # Truncated games are draws.
    assert result.value == 0.5


@pytest.mark.parametrize("count", [0, 7, 2.0, True, "2"])
def test_number_of_games_must_be_even(count):
    with pytest.raises(BadOption, match="expected: an even number"):
        score(first, "capture_conquer", games=count)


def test_score_without_an_opponent_is_rejected():
    with pytest.raises(BadOption, match="opponent=None"):
        score(first, "capture_conquer", opponent=None)


@pytest.mark.parametrize("argument", ["num_envs", "seat", "autoreset_mode", "max_opening_turns"])
def test_arguments_set_by_score_are_rejected(argument):
    with pytest.raises(UnknownKeyword, match=argument):
        score(first, "capture_conquer", **{argument: 1})


def test_invalid_openings_are_rejected():
    for turns in -1, 1.0, None, 10**6:
        with pytest.raises(BadOption, match="opening_turns="):
            score(first, "capture_conquer", opening_turns=turns)
    with pytest.raises(BadOption, match=r"opening_turns=900: games of .* end earlier"):
        score(first, "elsewhere.tictactoe", opening_turns=900)


def test_illegal_actions_are_rejected():
    with pytest.raises(IllegalAction):
        score(lambda observations, masks: masks.argmin(1), "capture_conquer", games=2)
