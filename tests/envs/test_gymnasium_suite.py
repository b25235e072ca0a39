"""The checks of Gymnasium's own tests for environments, vectors and wrappers, on ours.

Gymnasium's tests run on CartPole and the like; these check the same properties, and that the spaces
and types of the native vector environment are those of Gymnasium's vectors. Gymnasium's test files,
run on these environments with illegal="random", make assumptions that do not hold here:

- `test_pickle_env` samples an action before the reset, where it may not be legal after the
  opponent's first turn. With illegal="raise", tests of SyncVectorEnv and AsyncVectorEnv fail for
  the same reason: those tests sample actions without masks.
- `test_num_env_1_equivalence` expects the episodes of the single environment from a native vector
  of one board, and infos without the keys that Gymnasium's vectors add. Here the two derive
  different random numbers from a seed.
- `test_timelimit`, and `make_vec` for a spec with `max_episode_steps`, pass that limit to the
  native vector environment, which has `max_turns`.
- Tests with TimeAwareObservation, and `test_max_episode_steps`, expect a limit in the registered
  spec.
- `test_make_with_render_mode` expects that an unknown render mode is accepted.
- `test_reset_async_vector_env` expects that infos are empty, `test_step_sync_vector_env`
  observations of MultiDiscrete, and `test_sync_vector_env_seed` actions of Box: it fails on
  CartPole, too.
"""

import multiprocessing
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from cc_env.errors import BadOption, UnknownKeyword
from cc_env.registry.catalogue import GAMES

IDS = [entry.environment for entry in GAMES.values()]
# Gymnasium's vectors sample actions without masks.
OPTIONS = {"size": 4, "illegal": "random", "max_turns": 12}
NAME = "cc_env/CaptureConquer-v0"
MODES = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


def makers(count, **options):
    return [lambda: gymnasium.make(NAME, **OPTIONS, **options) for _ in range(count)]


@pytest.mark.parametrize("name", IDS)
def test_same_seed_and_actions_give_the_same_rollout(name):
    envs = [gymnasium.make(name, disable_env_checker=True, max_turns=20) for _ in range(2)]
    starts = [env.reset(seed=0) for env in envs]
    assert data_equivalence(*starts, exact=True)
    envs[0].action_space.seed(0)
    for _ in range(50):
        action = envs[0].action_space.sample()
        first, second = (env.step(action) for env in envs)
        assert data_equivalence(first, second, exact=True)
        assert first[0] in envs[0].observation_space
        if first[2] or first[3]:
            for env in envs:
                env.reset(seed=0)


@pytest.mark.parametrize("name", IDS)
def test_pickled_environment_continues_with_the_same_games(name):
    env = gymnasium.make(name, disable_env_checker=True)
    # Before the first reset, as in Gymnasium's test.
    copy = pickle.loads(pickle.dumps(env))
    assert data_equivalence(env.reset(), copy.reset(), exact=True)
    for _ in range(5):
        action = env.action_space.sample()
        assert data_equivalence(env.step(action), copy.step(action), exact=True)


@pytest.mark.parametrize("name", IDS)
def test_environments_of_one_spec_match(name):
    env = gymnasium.make(name, illegal="random")
    other = gymnasium.make(env.spec)
    check_environments_match(env, other, num_steps=40, seed=3, info_comparison="equivalence")


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("options", [{}, {"num_envs": 3, "vectorization_mode": "sync"}])
def test_spec_of_a_vector_recreates_it(name, options):
    envs = gymnasium.make_vec(name, **options, counters=True, render_mode="rgb_array")
    recreated = gymnasium.make_vec(envs.spec)
    assert type(recreated) is type(envs)
    for attribute in ("spec", "num_envs", "render_mode", "observation_space", "action_space"):
        assert getattr(recreated, attribute) == getattr(envs, attribute)


def test_spec_of_every_wrapper_level_recreates_the_environment():
    env = gymnasium.make(NAME, max_episode_steps=9, render_mode="rgb_array", **OPTIONS)
    env = wrappers.TimeAwareObservation(wrappers.FlattenObservation(env))
    env = wrappers.NormalizeReward(env, gamma=0.8)
    while env is not env.unwrapped:
        recreated = gymnasium.make(env.spec)
        assert recreated.spec == env.spec
        assert data_equivalence(recreated.reset(seed=4), env.reset(seed=4), exact=True)
        env = env.env


def test_native_vector_rejects_a_step_limit():
    spec = gymnasium.make(NAME, max_episode_steps=2, **OPTIONS).spec
    envs = gymnasium.make_vec(spec, 3, vectorization_mode="sync")
    envs.reset(seed=0)
    truncated = [envs.step(envs.action_space.sample())[3].tolist() for _ in range(2)]
    assert truncated == [[False] * 3, [True] * 3]
    with pytest.raises(UnknownKeyword, match=r"'max_episode_steps'; .*vectorization_mode='sync'"):
        gymnasium.make_vec(spec, 3)


@pytest.mark.parametrize("start_method", multiprocessing.get_all_start_methods())
def test_async_vector_starts_by_every_method(start_method):
    arguments = {"context": start_method}
    envs = gymnasium.make_vec(
        NAME, 1, vectorization_mode="async", vector_kwargs=arguments, **OPTIONS
    )
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    envs.close()


def test_vector_of_environments_returns_their_frame_lists():
    envs = SyncVectorEnv(makers(3, render_mode="rgb_array_list"))
    envs.reset(seed=0)
    frames = envs.call("render")
    assert [len(each) for each in frames] == [1] * 3
    assert all(frame.dtype == np.uint8 for (frame,) in frames)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shared_memory", [True, False])
def test_sync_and_async_vectors_agree_and_match_native_types(mode, shared_memory):
    envs = [
        SyncVectorEnv(makers(4), autoreset_mode=mode),
        AsyncVectorEnv(makers(4), autoreset_mode=mode, shared_memory=shared_memory),
        gymnasium.make_vec(NAME, 4, autoreset_mode=mode, **OPTIONS),
    ]
    for attribute in (
        *("num_envs", "observation_space", "single_observation_space"),
        *("action_space", "single_action_space"),
    ):
        first, *others = (getattr(each, attribute) for each in envs)
        assert all(first == other for other in others)
    starts = [each.reset(seed=list(range(4))) for each in envs]
    assert data_equivalence(starts[0], starts[1], exact=True)
    for each in envs:
        assert each.metadata["autoreset_mode"] == mode
    envs[0].action_space.seed(1)
    for _ in range(60):
        actions = envs[0].action_space.sample()
        steps = [each.step(actions) for each in envs]
        assert data_equivalence(steps[0], steps[1], exact=True)
        for each, step in zip(envs, steps, strict=True):
            assert step[0] in each.observation_space
            assert [(array.dtype, array.shape) for array in step[1:4]] == [
                (np.float64, (4,)),
                (np.bool_, (4,)),
                (np.bool_, (4,)),
            ]
            # The keys and types of infos are those of Gymnasium's vectors.
            assert set(step[4]) >= {"action_mask", "_action_mask", "outcome", "_outcome"}
    for each in envs:
        each.close()


def test_seeds_are_those_that_gymnasium_assigns():
    envs = SyncVectorEnv(makers(3))
    assert len(set(envs.np_random_seed)) == 3
    for _ in range(2):
        envs.reset(seed=42)
        assert envs.np_random_seed == (42, 43, 44)
        envs.reset(seed=None)
        assert envs.np_random_seed == (42, 43, 44)


@pytest.mark.parametrize("make", [SyncVectorEnv, AsyncVectorEnv, None])
def test_masked_reset_changes_the_selected_boards_only(make):
    if make is None:
        envs = gymnasium.make_vec(NAME, 3, autoreset_mode=AutoresetMode.DISABLED, **OPTIONS)
    else:
        envs = make(makers(3), autoreset_mode=AutoresetMode.DISABLED)
    if make is None:
        with pytest.raises(BadOption):
            envs.reset(options={"reset_mask": np.array([True, True, False])})
    first, _ = envs.reset(seed=[0, 1, 2], options={"reset_mask": np.array([True, True, True])})
    envs.action_space.seed(123)
    for _ in range(2):
        before, *_ = envs.step(envs.action_space.sample())
    mask = np.array([True, True, False])
    after, _ = envs.reset(seed=[0, 1, 0], options={"reset_mask": mask})
    np.testing.assert_array_equal(after[:2], first[:2])
    np.testing.assert_array_equal(after[2], before[2])
    for wrong in ([True], [True] * 4, [[True] * 3], [[1, 1, 0]], [1.0, 1.0, 0.0]):
        with pytest.raises((TypeError, ValueError)):
            envs.reset(options={"reset_mask": np.array(wrong)})
    envs.close()


def test_vector_of_environments_passes_on_attributes_and_methods():
    envs = SyncVectorEnv(makers(3, render_mode="rgb_array"))
    envs.reset(seed=0)
    frames = envs.call("render")
    assert len(frames) == 3
    assert all(frame.dtype == np.uint8 and frame.shape[2] == 3 for frame in frames)
    assert envs.render_mode == "rgb_array"
    assert all(frame.shape == frames[0].shape for frame in envs.render())
    envs.set_attr("note", ["a", "b", "c"])
    assert envs.get_attr("note") == ("a", "b", "c")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("FlattenObservation", {}),
        ("ReshapeObservation", {"shape": (8, 8)}),
        ("DtypeObservation", {"dtype": np.int32}),
        ("ClipReward", {"min_reward": -0.25, "max_reward": 0.75}),
    ],
)
def test_vector_wrapper_equals_the_wrapper_of_each_environment(name, arguments):
    def wrap(env):
        return getattr(wrappers, name)(env, **arguments)

    options = {"vectorization_mode": "sync"}
    inner = gymnasium.make_vec(NAME, 3, wrappers=(wrap,), **options, **OPTIONS)
    outer = getattr(wrappers.vector, name)(
        gymnasium.make_vec(NAME, 3, **options, **OPTIONS), **arguments
    )
    assert inner.observation_space == outer.observation_space
    assert inner.single_observation_space == outer.single_observation_space
    assert data_equivalence(inner.reset(seed=123), outer.reset(seed=123), exact=True)
    outer.action_space.seed(0)
    for _ in range(40):
        actions = outer.action_space.sample()
        assert data_equivalence(inner.step(actions), outer.step(actions), exact=True)


@pytest.mark.parametrize("mode", MODES)
def test_statistics_wrapper_counts_the_episodes_of_native_vectors(mode):
    envs = gymnasium.make_vec(NAME, 3, autoreset_mode=mode, **OPTIONS)
    envs = wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    returns, ends = np.zeros(3), 0
    was_over = np.zeros(3, np.bool_)
    for _ in range(60):
        _, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        over = terminated | truncated
        returns = np.where(was_over, 0, returns) + rewards
        if over.any():
            np.testing.assert_array_equal(infos["episode"]["r"][over], returns[over])
            np.testing.assert_array_equal(infos["_episode"], over)
            ends += int(over.sum())
        was_over = over
    assert ends > 6
