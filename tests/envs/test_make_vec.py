"""`gymnasium.make_vec` in all of its modes."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.envs.wrappers import LegalSamples
from cc_env.errors import BadOption

ID = "cc_env/CaptureConquer-v0"
MODES = ["vector_entry_point", "sync", "async"]
EACH_MODE = pytest.mark.parametrize("mode", MODES)


def make(mode, count=3, **arguments):
    envs = gymnasium.make_vec(ID, count, vectorization_mode=mode, size=4, **arguments)
    return envs if mode == "vector_entry_point" else LegalSamples(envs)


def autoreset(mode, autoreset_mode):
    """Return the keyword that sets the autoreset mode, which Gymnasium takes in two ways."""
    if mode == "vector_entry_point":
        return {"autoreset_mode": autoreset_mode}
    return {"vector_kwargs": {"autoreset_mode": autoreset_mode}}


def test_vector_entry_point_is_the_default():
    assert isinstance(gymnasium.make_vec(ID, 2).unwrapped, BoardGameVectorEnv)
    assert gymnasium.make_vec(ID, 2, size=5).unwrapped.game.options["size"] == 5


@EACH_MODE
@pytest.mark.parametrize("autoreset_mode", AutoresetMode)
def test_samples_play_whole_games(mode, autoreset_mode):
    envs = make(mode, **autoreset(mode, autoreset_mode))
    observations, infos = envs.reset(seed=1)
    envs.action_space.seed(2)
    is_running, ended = np.array([True] * 3), 0
    for _ in range(60):
        assert envs.observation_space.contains(observations)
        actions = envs.action_space.sample()
        assert envs.action_space.contains(actions)
        legal = infos["action_mask"][np.arange(3), actions] == 1
        assert (legal | ~is_running).all()
        observations, _, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        ended += over.sum()
        is_running = ~over | (autoreset_mode == AutoresetMode.SAME_STEP)
        if autoreset_mode == AutoresetMode.DISABLED and over.any():
            observations, again = envs.reset(options={"reset_mask": over})
            infos["action_mask"][over] = again["action_mask"][over]
            is_running[:] = True
    assert ended > 9
    envs.close()


@EACH_MODE
def test_modes_return_the_same_observations(mode):
    envs = make(mode, seat=0)
    observations, infos = envs.reset(seed=1)
    start = gymnasium.make(ID, size=4, seat=0).reset(seed=0)
    assert observations.dtype == np.int8
    assert infos["action_mask"].dtype == np.int8
    for board in range(3):
        np.testing.assert_array_equal(observations[board], start[0])
        np.testing.assert_array_equal(infos["action_mask"][board], start[1]["action_mask"])
    assert infos["seat"].tolist() == [0, 0, 0]
    envs.close()


def test_legal_samples_follow_their_seed():
    def sampled(seed):
        envs = make("sync")
        envs.reset(seed=0)
        envs.action_space.seed(seed)
        return [envs.action_space.sample().tolist() for _ in range(9)]

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)


def test_legal_samples_need_environments_of_cc_env():
    with pytest.raises(BadOption, match="Discrete"):
        LegalSamples(gymnasium.make_vec("Pendulum-v1", 2))
    with pytest.raises(BadOption, match=r"has no action_masks\(\)"):
        LegalSamples(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"))


@EACH_MODE
@pytest.mark.parametrize("autoreset_mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_episode_statistics_are_those_of_the_games(mode, autoreset_mode):
    envs = make(mode, **autoreset(mode, autoreset_mode))
    envs = wrappers.RecordEpisodeStatistics(envs)
    _, infos = envs.reset(seed=1)
    envs.action_space.seed(2)
    lengths, is_running, returns = np.zeros(3, int), np.array([True] * 3), []
    for _ in range(80):
        _, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        over = terminated | truncated
        lengths = np.where(is_running, lengths + 1, 0)
        for board in np.flatnonzero(over):
            statistics = infos["episode"]
            assert infos["_episode"][board]
            assert statistics["r"][board] == rewards[board]
            assert statistics["l"][board] == lengths[board]
            returns.append(statistics["r"][board])
            lengths[board] = 0
        is_running = ~over | (autoreset_mode == AutoresetMode.SAME_STEP)
    assert {-1.0, 1.0} <= set(returns)
    envs.close()
