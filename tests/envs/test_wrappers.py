"""Wrappers of Gymnasium and PettingZoo around our environments: single, vector and AEC."""

import sys
import types
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.wrappers import vector
from pettingzoo.utils import conversions
from pettingzoo.utils import wrappers as of_pettingzoo

from cc_env.envs import aec
from cc_env.envs.wrappers import LegalSamples
from cc_env.errors import IllegalAction

# PettingZoo warns about the environments that its tests import.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test

ID = "cc_env/CaptureConquer-v0"
SYNCHRONOUS = ["vector_entry_point", "sync"]
MODES = [*SYNCHRONOUS, "async"]


def make(mode, **arguments):
    envs = gymnasium.make_vec(ID, 3, vectorization_mode=mode, size=4, **arguments)
    return envs if mode == "vector_entry_point" else LegalSamples(envs)


def same(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


# Wrappers of Gymnasium for one environment and for vectors: they change observations or rewards.
# Each is compared with the bare environment, with the same actions from the same seed.


def flat(planes):
    return planes.reshape(*planes.shape[:-3], -1)


def to_floats(planes):
    return planes.astype(np.float32)


def doubled(rewards):
    return rewards * 2


def unchanged(value):
    return value


CHANGES = [
    (lambda kind, env: kind.FlattenObservation(env), flat, unchanged),
    (lambda kind, env: kind.DtypeObservation(env, np.float32), to_floats, unchanged),
    (lambda kind, env: kind.RecordEpisodeStatistics(env), unchanged, unchanged),
    (lambda kind, env: kind.TransformReward(env, doubled), unchanged, doubled),
    (
        lambda kind, env: kind.ClipReward(env, 0.0, 1.0),
        unchanged,
        lambda rewards: np.clip(rewards, 0, 1),
    ),
]
NAMES = ["flatten", "dtype", "statistics", "transform", "clip"]


def single(wrap):
    """Return the bare and the wrapped environment, with automatic resets."""
    envs = gymnasium.make(ID, size=4), wrap(wrappers, gymnasium.make(ID, size=4))
    return tuple(map(wrappers.Autoreset, envs))


def batch(mode):
    """Return a function like `single` for vectors of this mode."""
    return lambda wrap: (make(mode), wrap(vector, make(mode)))


@pytest.mark.parametrize(("wrap", "planes", "rewards"), CHANGES, ids=NAMES)
@pytest.mark.parametrize("both", [single, *map(batch, SYNCHRONOUS)], ids=["single", *SYNCHRONOUS])
def test_wrappers_change_only_observations_or_rewards(both, wrap, planes, rewards):
    bare, wrapped = both(wrap)
    expected, infos = bare.reset(seed=1)
    observed, wrapped_infos = wrapped.reset(seed=1)
    bare.action_space.seed(2)
    ended = 0
    for _ in range(60):
        same(observed, planes(expected))
        same(wrapped_infos["action_mask"], infos["action_mask"])
        assert wrapped.observation_space.contains(observed)
        actions = bare.action_space.sample()
        expected, expected_rewards, *ends, infos = bare.step(actions)
        observed, received, *wrapped_ends, wrapped_infos = wrapped.step(actions)
        same(received, rewards(expected_rewards))
        same(wrapped_ends, ends)
        ended += np.sum(ends)
    assert ended > 3
    bare.close()
    wrapped.close()


@pytest.mark.parametrize("mode", MODES)
def test_samples_of_a_wrapped_vector_are_legal(mode):
    envs = vector.RecordEpisodeStatistics(vector.FlattenObservation(make(mode)))
    _, infos = envs.reset(seed=1)
    envs.action_space.seed(1)
    for _ in range(50):
        actions = envs.action_space.sample()
        legal = infos["action_mask"][np.arange(3), actions] == 1
        assert (legal | ~infos["action_mask"].any(1)).all()
        *_, infos = envs.step(actions)
    envs.close()


def test_stacked_frames_are_those_of_the_last_steps():
    env = wrappers.FrameStackObservation(gymnasium.make(ID, size=4, seat=0), 3)
    observations, _ = env.reset(seed=1)
    env.action_space.seed(1)
    frames = [observations[-1]] * 3
    for _ in range(4):
        observations, *_ = env.step(env.action_space.sample())
        frames.append(env.unwrapped.game.observe(env.unwrapped.position, 0))
        same(observations, frames[-3:])


def test_time_limit_truncates_and_the_next_game_begins():
    env = wrappers.Autoreset(wrappers.TimeLimit(gymnasium.make(ID, size=4, seat=0), 2))
    start, _ = env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(5):
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(2)]
        assert ends == [(False, False), (False, True)]
        # Not played.
        observation, reward, *over, _ = env.step(0)
        same(observation, start)
        assert (reward, over) == (0, [False, False])


# Videos


@pytest.fixture
def clips(monkeypatch):
    """Replace moviepy by a list of (number of frames, size of a frame, frames per second)."""
    videos = []

    class Clip:
        def __init__(self, frames, fps):
            videos.append((len(frames), frames[0].size, fps))

        def write_videofile(self, path, **arguments):
            assert path.endswith(".mp4")

    module = "moviepy.video.io.ImageSequenceClip"
    for name in ("moviepy", "moviepy.video", "moviepy.video.io", module):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(sys.modules[module], "ImageSequenceClip", Clip, raising=False)
    return videos


@pytest.mark.parametrize("mode", MODES)
def test_vector_videos_have_the_frame_rate_of_the_environment(mode, tmp_path, clips):
    envs = make(mode, render_mode="rgb_array")
    assert envs.metadata["render_fps"] == gymnasium.make(ID).metadata["render_fps"] == 2
    video = vector.RecordVideo(
        envs, str(tmp_path / "new"), step_trigger=lambda step: step == 0, video_length=4
    )
    video.reset(seed=1)
    video.action_space.seed(1)
    for _ in range(6):
        video.step(video.action_space.sample())
    size = sum(frame.size for frame in envs.render())
    video.close()
    # Gymnasium's own vectors have one frame more.
    assert clips in ([(4, size, 2)], [(5, size, 2)])


def test_video_has_a_frame_for_each_step(tmp_path, clips):
    env = gymnasium.make(ID, size=4, render_mode="rgb_array")
    video = wrappers.RecordVideo(env, str(tmp_path / "new"))
    video.reset(seed=1)
    video.action_space.seed(1)
    steps, over = 0, False
    while not over:
        _, _, terminated, truncated, _ = video.step(video.action_space.sample())
        over, steps = terminated or truncated, steps + 1
    size = env.render().size
    video.close()
    assert clips == [(steps + 1, size, 2)]


def test_aec_video_has_a_frame_for_each_decision(tmp_path, clips):
    env = aec.env(size=4, render_mode="rgb_array")
    video = of_pettingzoo.RecordVideo(env, str(tmp_path / "new"))
    video.reset(seed=1)
    video.action_space("player_0").seed(1)
    for _ in range(6):
        video.step(video.action_space(video.agent_selection).sample())
    size = env.render().size
    video.close()
    assert clips == [(7, size, 2)]


# Wrappers of PettingZoo


def terminate_illegal(env):
    return of_pettingzoo.TerminateIllegalWrapper(env, illegal_reward=-1)


# The wrapped observations are dicts.
@pytest.mark.filterwarnings("ignore:Observation (is not|space for each):UserWarning")
@pytest.mark.parametrize(
    "inner",
    [aec.BoardGameAEC, lambda *a, **k: aec.MaskInObservation(aec.env(*a, **k))],
    ids=["bare", "masks"],
)
@pytest.mark.parametrize(
    "wrap",
    [
        of_pettingzoo.BaseWrapper,
        of_pettingzoo.OrderEnforcingWrapper,
        of_pettingzoo.AssertOutOfBoundsWrapper,
        terminate_illegal,
        lambda env: terminate_illegal(of_pettingzoo.AssertOutOfBoundsWrapper(env)),
    ],
    ids=["base", "order", "bounds", "illegal", "both"],
)
def test_wrapped_aec_passes_api_test(wrap, inner, capsys):
    env = of_pettingzoo.OrderEnforcingWrapper(wrap(inner("capture_conquer", size=4)))
    api_test(env, num_cycles=100)
    assert capsys.readouterr().out.endswith("Passed API test\n")


def test_use_before_the_first_reset_is_rejected():
    env = aec.env()
    for use in (lambda: env.step(0), lambda: env.observe("player_0"), lambda: env.agent_iter()):
        with pytest.raises(Exception, match="reset"):
            use()
    with pytest.raises(AttributeError, match="rewards cannot be accessed before reset"):
        _ = env.rewards


def test_actions_out_of_bounds_and_illegal_ones_are_rejected():
    env = of_pettingzoo.AssertOutOfBoundsWrapper(aec.env(size=4))
    env.reset()
    position, mask = env.unwrapped.position, env.infos["player_0"]["action_mask"]
    for action in (-1, len(mask), 0.5, None):
        with pytest.raises(AssertionError, match="action is not in action space"):
            env.step(action)
    with pytest.raises(IllegalAction):
        env.step(int(mask.argmin()))
    assert env.unwrapped.position == position
    env.step(int(mask.argmax()))
    assert env.unwrapped.position != position


@pytest.mark.parametrize("masks", [False, True], ids=["in infos", "in observations"])
@pytest.mark.parametrize("loser", [0, 1])
def test_illegal_action_ends_the_game_with_the_given_reward(masks, loser):
    env = aec.env(size=4)
    env = of_pettingzoo.TerminateIllegalWrapper(
        aec.MaskInObservation(env) if masks else env, illegal_reward=-1
    )
    agents = env.possible_agents
    for _ in range(2):
        env.reset(seed=1)
        rewards = {}
        for turn, agent in enumerate(env.agent_iter()):
            observation, reward, terminated, truncated, info = env.last()
            mask = info["action_mask"]
            if masks:
                same(observation["action_mask"], mask)
            if terminated or truncated:
                rewards[agent] = reward
                env.step(None)
            else:
                env.step(int(mask.argmin() if turn == loser else mask.argmax()))
        assert rewards == {agents[loser]: -1, agents[1 - loser]: 0}


def test_several_games_are_one_episode():
    env = of_pettingzoo.MultiEpisodeEnv(aec.env(size=4), 3)
    env.reset(seed=1)
    env.action_space("player_0").seed(1)
    games, rewards = 0, []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            rewards.append(reward)
            env.step(None)
        else:
            games += env.unwrapped.position == env.unwrapped.game.initial
            env.step(env.action_space(agent).sample())
    assert games == 3
    assert len(rewards) == 6
    assert sum(rewards) == 0


def test_parallel_conversion_plays_the_same_game():
    both, alone = conversions.turn_based_aec_to_parallel(aec.env(size=4)), aec.env(size=4)
    observations, infos = both.reset(seed=1)
    alone.reset(seed=1)
    alone.action_space("player_0").seed(1)
    while both.agents:
        agent = alone.agent_selection
        for name in both.agents:
            same(observations[name], alone.observe(name))
            same(infos[name]["action_mask"], alone.infos[name]["action_mask"])
        actions = dict.fromkeys(both.agents) | {agent: alone.action_space(agent).sample()}
        observations, rewards, terminations, truncations, infos = both.step(actions)
        alone.step(actions[agent])
        assert (rewards, terminations, truncations) == (
            alone.rewards,
            alone.terminations,
            alone.truncations,
        )
    assert sum(rewards.values()) == 0
    assert all(alone.terminations.values())


def test_simultaneous_decisions_are_rejected():
    with pytest.raises(AssertionError, match="not generally safe"):
        conversions.aec_to_parallel(aec.env())
