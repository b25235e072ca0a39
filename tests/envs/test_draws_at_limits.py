"""Games that limits end are truncated or, with `draw_at_limits`, drawn."""

import gymnasium
import numpy as np
import pytest

from cc_env.core.rules import DRAW, ONGOING
from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.errors import BadOption

NAME = "cc_env/CaptureConquer-v0"
START = "b5/b5/6/6/5r/5r b"
OPPONENTS = [
    "random",
    "greedy",
    ["random", "greedy"],
    lambda observation, info: info["action_mask"].argmax(),
]


def play(env):
    """Play the lowest actions to the end of an episode; return its last step."""
    _, info = env.reset(seed=1, options={"position": START})
    while True:
        step = env.step(info["action_mask"].argmax())
        info = step[-1]
        if step[2] or step[3]:
            return step


@pytest.mark.parametrize("opponent", OPPONENTS)
def test_limit_draws_the_game_of_one_board(opponent):
    arguments = {"opponent": opponent, "seat": 0, "max_turns": 4}
    truncated_end = play(gymnasium.make(NAME, **arguments))
    drawn_end = play(gymnasium.make(NAME, draw_at_limits=True, **arguments))
    _, reward, terminated, truncated, info = drawn_end
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["outcome"], info["ending"], info["score"]) == (DRAW, "max_turns", (0.0, 0.0))
    assert info["action_mask"].all()
    np.testing.assert_array_equal(drawn_end[0], truncated_end[0])
    assert truncated_end[2:4] == (False, True)
    assert truncated_end[-1]["outcome"] == ONGOING
    assert not truncated_end[-1]["action_mask"].all()


@pytest.mark.parametrize("opponent", [None, *OPPONENTS])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_limit_draws_the_games_of_many_boards(opponent, mode):
    envs = gymnasium.make_vec(
        NAME,
        num_envs=3,
        opponent=opponent,
        seat=0,
        max_turns=4,
        draw_at_limits=True,
        autoreset_mode=mode,
    )
    _, infos = envs.reset(seed=3, options={"position": START})
    terminated = np.zeros(3, np.bool_)
    while not terminated.any():
        actions = infos["action_mask"].argmax(1)
        _, rewards, terminated, truncated, infos = envs.step(actions)
        assert not truncated.any()
    final = infos.get("final_info", infos)
    assert (final["outcome"][terminated] == DRAW).all()
    assert final["action_mask"][terminated].all()
    assert (infos["outcome"][terminated] == DRAW).all()
    assert not rewards.any()
    for board in np.flatnonzero(terminated).tolist():
        expected = {"outcome": DRAW, "ending": "max_turns", "score": (0.0, 0.0)}
        assert envs.unwrapped.result(board) == expected


@pytest.mark.parametrize("draws", [True, False])
def test_repetition_draws_the_game(draws):
    envs = gymnasium.make_vec(
        NAME, num_envs=2, opponent=None, repetitions=2, draw_at_limits=draws, max_turns=50
    )
    _, infos = envs.reset(seed=0, options={"position": START})
    game, position = envs.unwrapped.game, envs.unwrapped.position(0)
    for text in ("0,0-2,0", "5,5-3,5", "2,0-0,0", "3,5-5,5"):
        (action,) = game.parse_turn(position, text)
        _, rewards, terminated, truncated, infos = envs.step(np.full(2, action))
        position = envs.unwrapped.position(0)
    assert (terminated == draws).all()
    assert (truncated != draws).all()
    assert (infos["outcome"] == (DRAW if draws else ONGOING)).all()
    assert envs.unwrapped.result(0)["ending"] == "repetition"
    assert not rewards.any()


def test_limit_draws_the_games_of_stable_baselines():
    drawn, truncated = (
        OpponentVecEnv("capture_conquer", 4, max_turns=4, draw_at_limits=draws)
        for draws in (True, False)
    )
    for env, outcome in ((drawn, DRAW), (truncated, ONGOING)):
        env.seed(0)
        env.reset()
        dones = np.zeros(4, bool)
        while not dones.any():
            _, rewards, dones, infos = env.step(env.action_masks().argmax(1))
        info = infos[int(dones.argmax())]
        assert info["outcome"] == outcome
        assert info["TimeLimit.truncated"] == (outcome == ONGOING)
        assert not rewards[dones].any()


def test_limit_draws_the_game_of_two_agents():
    env = BoardGameAEC("capture_conquer", max_turns=2, draw_at_limits=True)
    env.reset(seed=0)
    for agent in env.agent_iter(2):
        env.step(env.infos[agent]["action_mask"].argmax())
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    assert env.infos["player_0"]["outcome"] == DRAW
    assert env.infos["player_0"]["ending"] == "max_turns"
    assert env.infos["player_0"]["action_mask"].all()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_draw_at_limits_must_be_a_boolean(make):
    with pytest.raises(BadOption, match=r"^draw_at_limits=1; expected: True or False$"):
        make(NAME, draw_at_limits=1)
