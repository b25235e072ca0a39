"""Copies and pickles of games, environments, spaces and players."""

import copy
import pickle

import cloudpickle
import gymnasium
import numpy as np
import pytest

from cc_env.envs.aec import BoardGameAEC
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES

COPY_FUNCTIONS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "cloudpickle": lambda thing: pickle.loads(cloudpickle.dumps(thing)),
}
EACH_COPY = pytest.mark.parametrize("duplicate", COPY_FUNCTIONS.values(), ids=list(COPY_FUNCTIONS))


def play(env, steps=60):
    """Play sampled actions, one episode after the other; return all results."""
    results = []
    for _ in range(steps):
        *step, info = env.step(env.action_space.sample())
        results.append((step[0].tobytes(), *step[1:], info["action_mask"].tobytes()))
        if step[2] or step[3]:
            env.reset()
    return results


@EACH_COPY
@pytest.mark.parametrize("opponent", ["random", "minimax:depth=1"])
@pytest.mark.parametrize("name", GAMES)
def test_copied_environment_continues_like_the_original(duplicate, opponent, name):
    env = gymnasium.make(GAMES[name].environment, opponent=opponent).unwrapped
    env.reset(seed=3)
    env.action_space.seed(4)
    play(env, 5)
    other = duplicate(env)
    first = play(env)
    assert play(other) == first
    assert env._boards is not other._boards


@EACH_COPY
def test_copied_vector_environment_continues_like_the_original(duplicate):
    envs = gymnasium.make_vec("cc_env/Checkers-v0", 8, vectorization_mode="vector_entry_point")
    envs.reset(seed=1)
    envs.action_space.seed(2)
    other = duplicate(envs)
    for _ in range(100):
        first, two = envs.step(envs.action_space.sample()), other.step(other.action_space.sample())
        np.testing.assert_array_equal(first[0], two[0])
        np.testing.assert_array_equal(first[4]["action_mask"], two[4]["action_mask"])


@EACH_COPY
def test_copied_aec_environment_continues_like_the_original(duplicate):
    env = BoardGameAEC("morris")
    env.reset(seed=1)
    env.action_space("player_0").seed(5)
    other = duplicate(env)
    for _ in range(150):
        if env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
            break
        agent = env.agent_selection
        action = env.action_space(agent).sample()
        assert other.action_space(agent).sample() == action
        env.step(action)
        other.step(action)
        assert other.position == env.position
    assert other.action_space("player_0") is other.action_space("player_1")


@pytest.mark.parametrize("name", GAMES)
def test_games_are_pickled_by_name_and_options(name):
    game = make_game(name)
    other = pickle.loads(pickle.dumps(game))
    assert (other.name, dict(other.options)) == (game.name, dict(game.options))
    assert other.to_text(other.initial) == game.to_text(game.initial)
    assert copy.deepcopy(game) is game


def test_pickled_game_has_its_options():
    assert pickle.loads(pickle.dumps(make_game("capture_conquer", size=5))).options["size"] == 5


@pytest.mark.parametrize("name", ["random", "greedy", "minimax:depth=2", "mcts:simulations=10"])
def test_players_are_pickled(name):
    game = make_game("checkers")
    player = pickle.loads(pickle.dumps(make_player(name, game)))
    rng = np.random.default_rng(0)
    assert player.choose(game.initial, rng, Clock()).action in game.legal_actions(game.initial)


def test_rendering_environment_is_copied_without_its_window():
    env = gymnasium.make("cc_env/CaptureConquer-v0", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    frame = env.render()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(env)).render(), frame)


def test_copied_action_space_is_a_plain_one():
    env = gymnasium.make("cc_env/CaptureConquer-v0").unwrapped
    assert type(copy.deepcopy(env.action_space)) is gymnasium.spaces.Discrete
