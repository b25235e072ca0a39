"""Scores of policies: whose points they are."""

import numpy as np
import pytest

from cc_env.envs.scoring import score
from cc_env.errors import BadOption, IllegalAction


def first(observations, masks):
    return masks.argmax(1)


def last(observations, masks):
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)


def test_two_who_play_alike_share_the_points():
    def opponent(observation, info):
        return info["action_mask"].argmax()

    assert score(first, "capture_conquer", opponent, games=2) == 0.5


def test_who_races_to_the_corner_beats_who_takes_any_action():
    rng = np.random.default_rng(0)

    def drawn(observations, masks):
        return (masks * rng.random(masks.shape)).argmax(1)

    assert score(last, "capture_conquer", games=100) > 0.9
    assert 0.4 < score(drawn, "capture_conquer", games=200) < 0.6
    assert score(drawn, "capture_conquer", "greedy", games=40) < 0.2


def test_a_seed_is_the_same_games():
    assert score(first, "checkers", seed=3) == score(first, "checkers", seed=3)


def test_options_and_limits_are_those_of_the_environment():
    assert score(first, "capture_conquer", games=2, size=4, max_turns=2) == 0.5  # cut off: draws


@pytest.mark.parametrize("games", [0, 7, 2.0])
def test_games_are_shared_between_the_seats(games):
    with pytest.raises(BadOption, match="it is an even number"):
        score(first, "capture_conquer", games=games)


def test_illegal_actions_are_refused():
    with pytest.raises(IllegalAction):
        score(lambda observations, masks: masks.argmin(1), "capture_conquer", games=2)
