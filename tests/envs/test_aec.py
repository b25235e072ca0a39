"""The PettingZoo environment."""

import builtins
import sys
import warnings

import numpy as np
import pettingzoo
import pytest

from cc_env.envs import aec
from cc_env.errors import BadOption, BadPosition, IllegalAction, UnknownOption

# PettingZoo warns about the environments that its tests import.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, render_test, seed_test

ID = "cc_env/CaptureConquer-v0"


def factories():
    """Return the two functions that create the environment."""
    return [lambda **kw: pettingzoo.make("aec", ID, **kw), lambda **kw: aec.env(**kw)]


def play(env):
    """Play until both agents are done; return the last reward of each."""
    rng = np.random.default_rng(4)
    rewards = {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            rewards[agent] = reward
            env.step(None)
        else:
            env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    return rewards


# Conformance: warnings are errors here (setup.cfg)


@pytest.mark.parametrize("make", factories())
@pytest.mark.parametrize("arguments", [{}, {"size": 8}, {"size": 4, "max_turns": 5}])
def test_environments_pass_the_api_test_of_pettingzoo(make, arguments, capsys):
    env = make(**arguments)
    api_test(env, num_cycles=300)
    assert capsys.readouterr().out.endswith("Passed API test\n")


@pytest.mark.parametrize("make", factories())
def test_environments_pass_the_seed_test_of_pettingzoo(make):
    environments = []

    def make_and_record():
        environments.append(make())
        return environments[-1]

    seed_test(make_and_record, num_cycles=50)
    first, other = environments
    assert first.unwrapped.position == other.unwrapped.position != first.unwrapped.game.initial


def test_environment_passes_the_render_test_of_pettingzoo(monkeypatch):
    monkeypatch.setattr("cc_env.envs.rendering.FRAMES_PER_SECOND", 1000)
    modes = []

    def make(render_mode):
        modes.append(render_mode)
        return aec.env(size=4, render_mode=render_mode)

    render_test(make)
    assert set(modes) == {"ansi", "rgb_array", "human"}


# Play


@pytest.mark.parametrize(
    ("position", "turn", "rewards"),
    [
        ("6/6/6/6/3r1b/rr1b2 b", "4,5-5,5", {"player_0": 1, "player_1": -1}),
        ("1r4/6/6/3b1b/3r2/r5 r", "0,1-0,0", {"player_0": -1, "player_1": 1}),
        ("3r2/6/6/6/5b/3brr r", "0,3-0,2", {"player_0": 0, "player_1": 0}),
    ],
)
def test_both_agents_have_final_rewards(position, turn, rewards):
    env = aec.env()
    env.reset(options={"position": position})
    env.step(env.unwrapped.game.parse_turn(env.unwrapped.position, turn)[0])
    assert env.rewards == rewards
    assert all(env.terminations.values())
    assert play(env) == rewards


def test_rewards_of_whole_games_sum_to_zero():
    env = aec.env()
    for seed in range(20):
        env.reset(seed=seed)
        rewards = play(env)
        assert set(rewards) == {"player_0", "player_1"}
        assert sum(rewards.values()) == 0


def test_turn_of_two_decisions_is_two_steps_of_one_agent():
    env = aec.env()
    env.reset(options={"position": "6/1bb3/1brrr1/1r1r2/6/6 b"})
    first, second = env.unwrapped.game.parse_turn(env.unwrapped.position, "1,2-3,2x2,3")
    env.step(first)
    assert env.agent_selection == "player_0"
    env.step(second)
    assert env.agent_selection == "player_1"


def test_waiting_agent_observes_its_own_frame_with_an_empty_mask():
    env = aec.env()
    env.reset()
    env.step(env.unwrapped.game.parse_turn(env.unwrapped.position, "0,0-2,2")[0])
    blue, red = env.observe("player_0"), env.observe("player_1")
    assert np.array_equal(blue[0, ::-1, ::-1], red[1])
    assert not env.infos["player_0"]["action_mask"].any()
    assert env.infos["player_1"]["action_mask"].any()


def test_truncation_ends_the_game_of_both_agents():
    env = aec.env(max_turns=3)
    env.reset()
    assert play(env) == {"player_0": 0, "player_1": 0}
    assert not env.agents


def test_observation_contains_the_mask():
    env = aec.MaskInObservation(aec.env())
    env.reset(seed=0)
    for agent in env.agent_iter(30):
        observation, _, terminated, truncated, info = env.last()
        assert env.observation_space(agent).contains(observation)
        assert np.array_equal(observation["action_mask"], info["action_mask"])
        over = terminated or truncated
        mask = observation["action_mask"]
        env.step(None if over else env.action_space(agent).sample(mask))


def test_spaces_are_those_of_the_gymnasium_environment():
    import gymnasium

    env, single = aec.env(size=5), gymnasium.make(ID, size=5)
    env.reset()
    single.reset(seed=0)
    assert env.action_space("player_0").n == single.action_space.n
    assert env.observation_space("player_0").shape == single.observation_space.shape
    assert single.observation_space.contains(env.observe("player_0"))


# Invalid input


def test_illegal_action_changes_nothing():
    env = aec.env()
    env.reset()
    position = env.unwrapped.position
    for action in (5, -1, 410):
        with pytest.raises(IllegalAction, match="not legal in 'bbb3/bb4"):
            env.step(action)
    for action in ("x", 1.5, None):
        with pytest.raises(IllegalAction, match="is not an integer"):
            env.step(action)
    assert env.unwrapped.position == position
    env.step(6)


def test_rejected_reset_changes_nothing():
    env = aec.env()
    env.reset()
    env.step(6)
    position, agent = env.unwrapped.position, env.agent_selection
    with pytest.raises(BadPosition):
        env.reset(options={"position": "6/6/6/6/5b/3brr b"})
    assert (env.unwrapped.position, env.agent_selection) == (position, agent)


def test_invalid_arguments_are_rejected():
    for make in factories():
        with pytest.raises(BadOption, match="expected: an integer, 4 to 8"):
            make(size=3)
    with pytest.raises(UnknownOption, match="unexpected keyword argument 'shape'"):
        aec.env(shape=3)


def test_missing_pettingzoo_is_reported_with_its_extra(monkeypatch):
    real_import = builtins.__import__

    def no_pettingzoo(name, *arguments):
        if name.startswith("pettingzoo"):
            raise ImportError(name)
        return real_import(name, *arguments)

    monkeypatch.delitem(sys.modules, "cc_env.envs.aec")
    monkeypatch.setattr(builtins, "__import__", no_pettingzoo)
    with pytest.raises(ImportError, match=r"pip install 'PATH\[pettingzoo\]', where"):
        import cc_env.envs.aec  # noqa: F401


def test_unknown_reset_option_changes_nothing():
    env = aec.env()
    env.reset(options={"position": "6/1bb3/1brrr1/1r1r2/6/6 b"})
    before = env.unwrapped.position
    with pytest.raises(UnknownOption, match=r"no option positon; did you mean position\?"):
        env.reset(options={"positon": "6/6/6/6/5b/3brr b"})
    assert env.unwrapped.position == before
