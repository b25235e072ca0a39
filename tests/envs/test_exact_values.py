"""The wrapper that tells exact values: of positions, and whether actions keep them."""

import gymnasium
import numpy as np
import pytest

from cc_env import games
from cc_env.envs.wrappers import ExactValues
from cc_env.errors import BadOption, MissingTable
from cc_env.exact.tables import Tables


def make(**options):
    return gymnasium.make("cc_env/CaptureConquer-v0", **{"size": 4, **options})


def test_values_and_what_keeps_them_are_told():
    env, rng = ExactValues(make(opponent="greedy")), np.random.default_rng(0)
    tables, board = Tables(games.make("capture_conquer", size=4)), env.unwrapped
    seen, ends = set(), 0
    for episode in range(12):
        _, info = env.reset(seed=episode)
        while True:
            solved = tables.probe(board.position)
            assert info["value"] == solved.value
            action = int(rng.choice(solved.actions))
            _, reward, terminated, truncated, info = env.step(action)
            assert info["keeps_value"] == (action in solved.keeping)
            seen.add((solved.value, info["keeps_value"]))
            if terminated:
                assert info["value"] == reward
                ends += 1
            if terminated or truncated:
                break
    assert seen >= {(1, True), (1, False), (0, True), (0, False), (-1, True)}
    assert ends > 5


def test_an_action_in_place_of_an_illegal_one_is_not_the_learners():
    env = ExactValues(make(opponent="random", illegal="random"))
    env.reset(seed=0)
    *_, info = env.step(0 if not env.unwrapped.action_masks()[0] else 2)
    assert info["illegal_action"]
    assert not info["keeps_value"]


def test_what_no_table_has_is_not_told():
    env = ExactValues(make(size=5))  # six pieces each
    _, info = env.reset(seed=0)
    assert "value" not in info
    *_, info = env.step(int(info["action_mask"].argmax()))
    assert "keeps_value" not in info


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(BadOption, match="is not an environment of cc_env"):
        ExactValues(gymnasium.make("CartPole-v1"))
    with pytest.raises(BadOption, match="cannon: there are no exact values"):
        ExactValues(gymnasium.make("cc_env/Cannon-v0"))
    with pytest.raises(BadOption, match="are not of"):
        ExactValues(make(), Tables(games.make("capture_conquer", size=5)))
    with pytest.raises(BadOption, match="no such folder"):
        ExactValues(make(), str(tmp_path / "none"))
    with pytest.raises(MissingTable, match=r"no tables of .*size=4.*cc_env solve"):
        ExactValues(make(), str(tmp_path))
    with pytest.raises(MissingTable, match=r"the package: no tables of .*size=6"):
        ExactValues(make(size=6))


def test_tables_that_have_been_used_can_be_given():
    tables = Tables(games.make("capture_conquer", size=4))
    assert tables.probe(tables.game.initial).value == 0  # opens files
    env = ExactValues(make(opponent="random"), tables)
    _, info = env.reset(seed=0)
    assert info["value"] == tables.probe(env.unwrapped.position).value
