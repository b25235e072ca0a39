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

with warnings.catch_warnings():  # of PettingZoo's own, about the environments that its tests import
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test

ID = "cc_env/CaptureConquer-v0"
MODES = ["vector_entry_point", "sync", "async"]


def make(mode, **arguments):
    envs = gymnasium.make_vec(ID, 3, vectorization_mode=mode, size=4, **arguments)
    return envs if mode == "vector_entry_point" else LegalSamples(envs)


def same(observed, wanted):
    np.testing.assert_array_equal(np.asarray(observed), np.asarray(wanted))


# Wrappers of Gymnasium for one environment and for vectors: what they make of what is seen, and of
# rewards. Each plays beside the bare environment, the same actions from the same seed.


def flat(planes):
    return planes.reshape(*planes.shape[:-3], -1)


def in_floats(planes):
    return planes.astype(np.float32)


def doubled(rewards):
    return rewards * 2


def as_it_is(seen):
    return seen


CHANGES = [
    (lambda kind, env: kind.FlattenObservation(env), flat, as_it_is),
    (lambda kind, env: kind.DtypeObservation(env, np.float32), in_floats, as_it_is),
    (lambda kind, env: kind.RecordEpisodeStatistics(env), as_it_is, as_it_is),
    (lambda kind, env: kind.TransformReward(env, doubled), as_it_is, doubled),
    (lambda kind, env: kind.ClipReward(env, 0.0, 1.0), as_it_is, lambda paid: np.clip(paid, 0, 1)),
]
NAMES = ["flatten", "dtype", "statistics", "transform", "clip"]


def single(wrap):
    """Return the bare and the wrapped environment, whose next games begin by themselves."""
    envs = gymnasium.make(ID, size=4), wrap(wrappers, gymnasium.make(ID, size=4))
    return tuple(map(wrappers.Autoreset, envs))


def batch(mode):
    """Return the same of vectors of this mode."""
    return lambda wrap: (make(mode), wrap(vector, make(mode)))


@pytest.mark.parametrize(("wrap", "planes", "rewards"), CHANGES, ids=NAMES)
@pytest.mark.parametrize("both", [single, *map(batch, MODES)], ids=["single", *MODES])
def test_wrappers_change_what_they_say_and_nothing_else(both, wrap, planes, rewards):
    bare, wrapped = both(wrap)
    seen, infos = bare.reset(seed=1)
    observed, told = wrapped.reset(seed=1)
    bare.action_space.seed(2)
    ended = 0
    for _ in range(100):
        same(observed, planes(seen))
        same(told["action_mask"], infos["action_mask"])
        assert wrapped.observation_space.contains(observed)
        actions = bare.action_space.sample()
        seen, points, *ends, infos = bare.step(actions)
        observed, paid, *over, told = wrapped.step(actions)
        same(paid, rewards(points))
        same(over, ends)
        ended += np.sum(ends)
    assert ended > 5
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
        assert (legal | ~infos["action_mask"].any(1)).all()  # a game that is over
        *_, infos = envs.step(actions)
    envs.close()


def test_stacked_frames_are_those_of_the_last_steps():
    env = wrappers.FrameStackObservation(gymnasium.make(ID, size=4, seat=0), 3)
    observations, _ = env.reset(seed=1)
    env.action_space.seed(1)
    seen = [observations[-1]] * 3
    for _ in range(4):
        observations, *_ = env.step(env.action_space.sample())
        seen.append(env.unwrapped.game.observe(env.unwrapped.position, 0))
        same(observations, seen[-3:])


def test_a_time_limit_truncates_and_a_new_game_begins_by_itself():
    env = wrappers.Autoreset(wrappers.TimeLimit(gymnasium.make(ID, size=4, seat=0), 2))
    start, _ = env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(5):
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(2)]
        assert ends == [(False, False), (False, True)]
        observation, reward, *over, _ = env.step(0)  # is not played
        same(observation, start)
        assert (reward, over) == (0, [False, False])


# Videos


@pytest.fixture
def clips(monkeypatch):
    """Let moviepy, which we do without, be a list of (frames, their size, frames a second)."""
    made = []

    class Clip:
        def __init__(self, frames, fps):
            made.append((len(frames), frames[0].size, fps))

        def write_videofile(self, path, **arguments):
            assert path.endswith(".mp4")

    last = "moviepy.video.io.ImageSequenceClip"
    for name in ("moviepy", "moviepy.video", "moviepy.video.io", last):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(sys.modules[last], "ImageSequenceClip", Clip, raising=False)
    return made


@pytest.mark.parametrize("mode", MODES)
def test_videos_of_vectors_run_at_the_speed_of_the_environment(mode, tmp_path, clips):
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
    assert clips in ([(4, size, 2)], [(5, size, 2)])  # Gymnasium's vectors get one more


def test_a_video_of_one_environment_has_a_frame_for_each_step(tmp_path, clips):
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


def test_a_video_of_both_players_has_a_frame_for_each_decision(tmp_path, clips):
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


def in_episodes(env):
    return of_pettingzoo.MultiEpisodeEnv(env, 2)


def losing(env):
    return of_pettingzoo.TerminateIllegalWrapper(env, illegal_reward=-1)


@pytest.mark.filterwarnings("ignore:Observation (is not|space for each):UserWarning")  # a Dict
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
        losing,
        lambda env: losing(of_pettingzoo.AssertOutOfBoundsWrapper(env)),
    ],
    ids=["base", "order", "bounds", "illegal", "both"],
)
def test_what_is_wrapped_passes_the_test_of_its_interface(wrap, inner, capsys):
    env = of_pettingzoo.OrderEnforcingWrapper(wrap(inner("capture_conquer", size=4)))
    api_test(env, num_cycles=200)
    assert capsys.readouterr().out.endswith("Passed API test\n")


def test_nothing_can_be_asked_before_the_first_reset():
    env = aec.env()
    for ask in (lambda: env.step(0), lambda: env.observe("player_0"), lambda: env.agent_iter()):
        with pytest.raises(Exception, match="reset"):
            ask()
    with pytest.raises(AttributeError, match="rewards cannot be accessed before reset"):
        _ = env.rewards


def test_numbers_that_are_no_actions_are_out_of_bounds_and_illegal_ones_are_refused():
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
def test_an_illegal_action_ends_the_game_and_costs_what_is_said(masks, loser):
    env = aec.env(size=4)
    env = of_pettingzoo.TerminateIllegalWrapper(
        aec.MaskInObservation(env) if masks else env, illegal_reward=-1
    )
    agents = env.possible_agents
    for _ in range(2):  # the next game is as the first
        env.reset(seed=1)
        told = {}
        for turn, agent in enumerate(env.agent_iter()):
            observation, reward, terminated, truncated, info = env.last()
            mask = info["action_mask"]
            if masks:
                same(observation["action_mask"], mask)
            if terminated or truncated:
                told[agent] = reward
                env.step(None)
            else:
                env.step(int(mask.argmin() if turn == loser else mask.argmax()))
        assert told == {agents[loser]: -1, agents[1 - loser]: 0}


def test_several_games_are_one_episode():
    env = of_pettingzoo.MultiEpisodeEnv(aec.env(size=4), 3)
    env.reset(seed=1)
    env.action_space("player_0").seed(1)
    games, told = 0, []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            told.append(reward)
            env.step(None)
        else:
            games += env.unwrapped.position == env.unwrapped.game.initial
            env.step(env.action_space(agent).sample())
    assert games == 3
    assert len(told) == 6
    assert sum(told) == 0


def test_as_a_parallel_environment_it_is_the_same_game():
    """Only the agent to move is heard, as `turn_based_aec_to_parallel` has it."""
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


def test_players_do_not_decide_at_the_same_time():
    with pytest.raises(AssertionError, match="not generally safe"):
        conversions.aec_to_parallel(aec.env())
