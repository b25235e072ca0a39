"""Every environment conforms to what Gymnasium, Stable-Baselines3 and PettingZoo check."""

import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

import cc_env  # noqa: F401  registers the environments
from cc_env.table import GAMES

with warnings.catch_warnings():  # of PettingZoo's own, about the environments that its tests import
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, seed_test

OPTIONS = {
    "cc_env/CaptureConquer-v0": {"size": 4},
    "cc_env/Checkers-v0": {"crowning": "ends_move"},
    "cc_env/MiniCheckers-v0": {"first": "white"},
    "cc_env/Morris-v0": {"free_move": "never"},
}
IDS = [(each.environment, {}) for each in GAMES.values()]
BOTH = IDS + list(OPTIONS.items())

# Warnings are errors here (setup.cfg)


@pytest.mark.parametrize(("name", "options"), BOTH, ids=str)
def test_gymnasium_check_env(name, options, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for _ in range(5):  # the checker samples without a seed
        check_env(gymnasium.make(name, **options).unwrapped, skip_render_check=True)
    for mode in ("ansi", "rgb_array", "human"):
        check_env(gymnasium.make(name, render_mode=mode, **options).unwrapped)


@pytest.mark.parametrize(("name", "options"), BOTH, ids=str)
def test_stable_baselines_check_env(name, options):
    from stable_baselines3.common.env_checker import check_env

    check_env(gymnasium.make(name, **options).unwrapped, warn=True)


@pytest.mark.parametrize(("name", "options"), BOTH, ids=str)
def test_pettingzoo_tests(name, options):
    api_test(pettingzoo.make("aec", name, **options), num_cycles=300)
    seed_test(lambda: pettingzoo.make("aec", name, **options), num_cycles=30)


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize(("name", "options"), BOTH, ids=str)
def test_many_boards_are_played_to_the_end(name, options, opponent):
    envs = gymnasium.make_vec(name, num_envs=16, opponent=opponent, max_turns=300, **options)
    observations, info = envs.reset(seed=3)
    ended = 0
    for _ in range(400):
        assert envs.observation_space.contains(observations)
        actions = envs.action_space.sample()
        over = ~info["action_mask"].any(1)
        assert (info["action_mask"][np.arange(16), actions].astype(bool) | over).all()
        observations, rewards, terminated, truncated, info = envs.step(actions)
        assert set(np.unique(rewards)) <= {-1.0, 0.0, 1.0}
        ended += int((terminated | truncated).sum())
    assert ended > 16
