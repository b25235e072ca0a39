"""The handling of illegal actions: an error, a lost game, or a random legal action."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, IllegalAction
from cc_env.registry.catalogue import GAMES

NAMES = pytest.mark.parametrize("name", GAMES)


def make(name="capture_conquer", **arguments):
    return gymnasium.make(GAMES[name].environment, **arguments).unwrapped


def illegal(mask):
    return int(np.argmin(mask))


@NAMES
@pytest.mark.parametrize("seat", [0, 1])
def test_illegal_action_loses(name, seat):
    env = make(name, illegal="lose", seat=seat)
    _, info = env.reset(seed=1)
    before = env.position
    observation, reward, terminated, truncated, after = env.step(illegal(info["action_mask"]))
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert (after["outcome"], after["ending"], after["illegal_action"]) == (
        1 - seat,
        "illegal",
        True,
    )
    assert env.position == before
    assert after["action_mask"].all()
    np.testing.assert_array_equal(observation, env.game.observe(before, seat))
    assert env.game.has_scores or after["score"] == (0, 0)


def test_illegal_action_in_cannon_has_the_score_of_a_fault():
    env = make("cannon", illegal="lose", seat=0)
    _, info = env.reset(seed=1)
    *_, after = env.step(illegal(info["action_mask"]))
    assert after["score"] == env.game.score(env.position, 0)


def test_legal_action_is_not_reported_as_illegal():
    env = make(illegal="lose")
    _, info = env.reset(seed=1)
    *_, info = env.step(int(info["action_mask"].argmax()))
    assert info["illegal_action"] is False


@NAMES
def test_random_legal_action_replaces_an_illegal_one(name):
    def episodes(seed):
        env = make(name, illegal="random", seat=0, max_turns=60)
        _, info = env.reset(seed=seed)
        steps = []
        for _ in range(40):
            observation, reward, terminated, truncated, info = env.step(
                illegal(info["action_mask"])
            )
            assert info["illegal_action"] is True
            steps.append((observation.tobytes(), reward, terminated, truncated))
            if terminated or truncated:
                assert info["ending"] != "illegal"
                _, info = env.reset()
        return steps

    assert episodes(1) == episodes(1) != episodes(2)


def test_replacements_are_uniform():
    envs = BoardGameVectorEnv("capture_conquer", 4000, opponent=None, illegal="random")
    _, info = envs.reset(seed=3)
    mask, game = info["action_mask"][0], envs.game
    envs.step(np.full(4000, illegal(mask)))
    reached = [envs.position(board) for board in range(4000)]
    legal = game.legal_actions(game.initial).tolist()
    counts = [reached.count(game.apply(game.initial, action)) for action in legal]
    assert sum(counts) == 4000
    expected = 4000 / len(legal)
    # Five standard deviations.
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_boards_lost_by_an_illegal_action_are_reset_by_the_mode(mode):
    envs = BoardGameVectorEnv("checkers", 3, illegal="lose", autoreset_mode=mode, seat=0)
    _, info = envs.reset(seed=1)
    masks, before = info["action_mask"], envs.position(1)
    actions = np.array([int(masks[0].argmax()), illegal(masks[1]), int(masks[2].argmax())])
    _, rewards, terminated, _, info = envs.step(actions)
    assert rewards.tolist() == [0, -1, 0]
    assert terminated.tolist() == info["illegal_action"].tolist() == [False, True, False]
    assert info["outcome"].tolist() == [-1, 1, -1]
    assert envs.result(1)["ending"] == "illegal"
    if mode != AutoresetMode.SAME_STEP:
        assert envs.position(1) == before
    if mode != AutoresetMode.DISABLED:
        legal = [int(mask.argmax()) for mask in info["action_mask"]]
        _, rewards, terminated, _, info = envs.step(np.array(legal))
        assert not terminated.any()
        assert not info["illegal_action"].any()


def test_replacements_do_not_depend_on_the_number_of_boards():
    envs = BoardGameVectorEnv("morris", 4, illegal="random", autoreset_mode=AutoresetMode.DISABLED)
    alone = BoardGameVectorEnv("morris", 1, illegal="random", autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=9)
    alone.reset(seed=9)
    for _ in range(10):
        envs.step(np.zeros(4, np.int64))
        alone.step(np.zeros(1, np.int64))
        assert envs.position(0) == alone.position(0)


def test_illegal_action_of_an_agent_loses():
    env = BoardGameAEC("capture_conquer", illegal="lose")
    env.reset(seed=0)
    env.step(int(env.infos["player_0"]["action_mask"].argmax()))
    env.step(illegal(env.infos["player_1"]["action_mask"]))
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.infos["player_0"]["ending"] == "illegal"
    assert env.infos["player_0"]["outcome"] == 0


def test_replacements_of_an_agents_action_follow_the_seed():
    def positions(seed):
        env = BoardGameAEC("checkers", illegal="random")
        env.reset(seed=seed)
        for _ in range(12):
            env.step(illegal(env.infos[env.agent_selection]["action_mask"]))
            assert env.infos["player_0"]["illegal_action"]
        return env.game.to_text(env.position)

    assert positions(1) == positions(1) != positions(2)


@pytest.mark.parametrize("illegal_mode", ["raise", "lose", "random"])
@pytest.mark.parametrize("action", [-1, 10**6, 2**80, 1.5, "a", None])
def test_actions_outside_of_the_space_are_rejected(illegal_mode, action):
    env = make(illegal=illegal_mode)
    env.reset(seed=1)
    before = env.position
    with pytest.raises(IllegalAction):
        env.step(action)
    assert env.position == before


def test_illegal_action_of_the_opponent_is_an_error():
    env = make(
        illegal="random", seat=0, opponent=lambda observation, info: illegal(info["action_mask"])
    )
    _, info = env.reset(seed=0)
    with pytest.raises(IllegalAction):
        env.step(int(info["action_mask"].argmax()))


@pytest.mark.parametrize(
    "make_env", [make, BoardGameVectorEnv, BoardGameAEC], ids=["single", "vector", "aec"]
)
def test_unknown_handling_is_rejected(make_env):
    with pytest.raises(BadOption, match="illegal='ignore'; expected: raise or lose or random"):
        make_env("capture_conquer", illegal="ignore")


@pytest.mark.parametrize("illegal_mode", ["lose", "random"])
def test_learners_without_masks_can_learn(illegal_mode):
    from stable_baselines3 import DQN

    env = make(illegal=illegal_mode, size=4)
    learner = DQN("MlpPolicy", env, learning_starts=50, buffer_size=500, seed=0)
    learner.learn(200)
    assert learner.num_timesteps == 200


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
def test_function_may_return_any_integer(kind):
    def first(observation, info):
        return kind(info["action_mask"].argmax())

    env = gymnasium.make("cc_env/CaptureConquer-v0", size=4, seat=1, opponent=first)
    env.reset(seed=0)
    assert env.unwrapped.position == env.unwrapped.game.apply(
        env.unwrapped.game.initial, env.unwrapped.game.legal_actions(env.unwrapped.game.initial)[0]
    )
