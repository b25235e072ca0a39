"""The environment for Stable-Baselines3: the interface of VecEnv, opponents and self-play."""

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecVideoRecorder,
)

from cc_env.envs.opponents import Opponent
from cc_env.envs.sb3 import OpponentVecEnv, copy_policy, wrap_policy
from cc_env.envs.single import BoardGameEnv
from cc_env.errors import BadOption, BadPosition, IllegalAction, ResetNeeded, UnknownKeyword
from cc_env.match.referee import Decision

TICTACTOE = "elsewhere.tictactoe"
SETTINGS = {"n_steps": 64, "batch_size": 512, "learning_rate": 2e-3, "gamma": 0.97, "seed": 0}


class Lowest:
    """A player that takes the first legal action."""

    def __init__(self, game):
        self.game = game

    def choose(self, position, rng, clock):
        return Decision(int(self.game.legal_actions(position)[0]))


def lowest(batch, rng):
    return batch.masks.argmax(1)


def legal_actions(env, rng):
    masks = get_action_masks(env)
    return (masks * (1 - rng.random(masks.shape))).argmax(1)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("name", "limits"), [("capture_conquer", 12), ("checkers", 40)])
def test_steps_agree_with_single_environments_in_dummy_vec_env(name, limits, seat):
    def make():
        env = BoardGameEnv(name, seat=seat, max_turns=limits)
        env = BoardGameEnv(name, seat=seat, max_turns=limits, opponent=Lowest(env.game))
        return Monitor(env)

    theirs = DummyVecEnv([make] * 8)
    ours = OpponentVecEnv(
        name, 8, opponents=Opponent("lowest", lowest), seat=seat, max_turns=limits
    )
    rng, ends = np.random.default_rng(0), []
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(120):
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        actions = legal_actions(ours, rng)
        (*own, infos), (*other, expected) = ours.step(actions), theirs.step(actions)
        for value, expected_value in zip(own, other, strict=True):
            np.testing.assert_array_equal(value, expected_value)
            assert value.dtype == expected_value.dtype
        for info, expected_info in zip(infos, expected, strict=True):
            for key in ("TimeLimit.truncated", "outcome", "seat", "illegal_action"):
                assert info[key] == expected_info[key]
            if "terminal_observation" not in expected_info:
                assert not {"terminal_observation", "episode"} & set(info)
                continue
            final = expected_info["terminal_observation"]
            np.testing.assert_array_equal(info["terminal_observation"], final)
            assert {name: info["episode"][name] for name in "rl"} == {
                name: expected_info["episode"][name] for name in "rl"
            }
            ends.append(info["TimeLimit.truncated"])
    assert len(ends) > 8
    assert any(ends)


def test_methods_apply_to_some_boards_and_attributes_to_all():
    env = OpponentVecEnv("capture_conquer", 5, size=4)
    env.seed(1)
    env.reset()
    assert is_masking_supported(env)
    for indices, boards in [(None, range(5)), (3, [3]), ([4, 0], [4, 0])]:
        masks = env.env_method("action_masks", indices=indices)
        assert len(masks) == len(boards)
        for mask, board in zip(masks, boards, strict=True):
            np.testing.assert_array_equal(mask, env.boards.masks[board])
        assert env.get_attr("render_mode", indices) == [None] * len(boards)
        assert env.env_is_wrapped(Monitor, indices) == [True] * len(boards)
        assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit, indices) == [False] * len(boards)
    assert not env.has_attr("nothing")
    env.set_attr("label", "x")
    assert env.get_attr("label") == ["x"] * 5
    with pytest.raises(BadOption, match="for some boards; all share it"):
        env.set_attr("label", "y", indices=[1])


def play(count, seed, steps=30):
    env = OpponentVecEnv("capture_conquer", count, size=4)
    if seed is not None:
        env.seed(seed)
    rows, rng = [env.reset()], np.random.default_rng(0)
    for _ in range(steps):
        rows.append(env.step(legal_actions(env, rng))[0])
    return np.stack(rows)


def test_same_seed_gives_the_same_games():
    assert (play(8, 5) == play(8, 5)).all()
    assert (play(8, 5) != play(8, 6)).any()
    assert (play(8, None) != play(8, None)).any()


def test_options_apply_to_the_next_reset_only():
    env = OpponentVecEnv("capture_conquer", 2, size=4, seat=0)
    env.seed(0)
    start = env.reset()
    first = "br"[env.game.to_move(env.game.initial)]
    text = f"1bb1/4/4/rr2 {first}"
    env.set_options([{"position": text}, {}])
    observations = env.reset()
    assert env.game.to_text(env.boards.position(0)) == text
    np.testing.assert_array_equal(observations[1], start[1])
    np.testing.assert_array_equal(env.reset(), start)
    env.set_options({"position": "nonsense"})
    with pytest.raises(BadPosition):
        env.reset()
    env.set_options({"start": 1})
    with pytest.raises(BadOption, match="start"):
        env.reset()


def test_invalid_input_is_rejected():
    with pytest.raises(UnknownKeyword, match=r"'oponents'; did you mean opponents\?"):
        OpponentVecEnv("checkers", oponents="random")
    with pytest.raises(BadOption, match="at least one"):
        OpponentVecEnv("checkers", opponents=[])
    with pytest.raises(BadOption, match="'nobody'"):
        OpponentVecEnv("checkers", opponents=["random", "nobody"])
    with pytest.raises(BadOption, match=r"render_mode 'human'; there are: ansi, rgb_array$"):
        OpponentVecEnv("checkers", render_mode="human")
    env = OpponentVecEnv("checkers", 2)
    with pytest.raises(BadOption, match="seed=-1"):
        env.seed(-1)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2, int))
    env.reset()
    with pytest.raises(IllegalAction, match=r"shape \(1,\)"):
        env.step(np.zeros(1, int))
    illegal = np.array([mask.argmin() for mask in env.boards.masks])
    with pytest.raises(IllegalAction, match="board 0"):
        env.step(illegal)


def test_illegal_actions_lose_and_are_reported():
    env = OpponentVecEnv("checkers", 3, illegal="lose")
    env.reset()
    actions = env.boards.masks.argmax(1)
    actions[1] = env.boards.masks[1].argmin()
    _, rewards, over, infos = env.step(actions)
    assert rewards.tolist() == [0, -1, 0]
    assert over.tolist() == [False, True, False]
    assert infos[1]["illegal_action"] is True
    assert infos[1]["episode"]["l"] == 1
    assert infos[0]["illegal_action"] is False


def test_appended_opponent_plays_its_share_of_later_games():
    env = OpponentVecEnv("capture_conquer", 40, size=4, opponents=[Opponent("a", "random")])
    env.seed(0)
    env.reset()
    env.opponents.append(Opponent("b", "random", share=3.0))
    rng = np.random.default_rng(0)
    for _ in range(60):
        env.step(legal_actions(env, rng))
    first, second = (len(opponent.take_points()) for opponent in env.opponents)
    assert 2 < second / first < 4.5


def test_games_of_removed_opponents_continue_with_the_others():
    env = OpponentVecEnv("capture_conquer", 20, size=4, opponents=["random", "greedy", "random"])
    env.seed(0)
    env.reset()
    env.opponents[:] = [Opponent("lowest", lowest)]
    rng = np.random.default_rng(0)
    for _ in range(30):
        env.step(legal_actions(env, rng))
    assert len(env.opponents[0].take_points()) > 20


def test_opponents_are_player_specs_or_players():
    env = OpponentVecEnv("capture_conquer", 20, size=4)
    env = OpponentVecEnv("capture_conquer", 20, size=4, opponents=["greedy", Lowest(env.game)])
    assert [opponent.name for opponent in env.opponents] == ["greedy", "Lowest"]
    env.seed(0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(40):
        env.step(legal_actions(env, rng))
    greedy, lowest = (np.mean(opponent.take_points()) for opponent in env.opponents)
    assert greedy < 0.35 < lowest


def test_video_recorder_wraps_the_environment(tmp_path):
    pytest.importorskip("moviepy")
    env = OpponentVecEnv("capture_conquer", 2, size=4, render_mode="rgb_array")
    assert env.metadata["render_fps"] == 2
    video = VecVideoRecorder(env, str(tmp_path), lambda step: step == 0, video_length=3)
    video.reset()
    for _ in range(4):
        video.step(env.boards.masks.argmax(1))
    video.close()
    assert list(tmp_path.glob("*.mp4"))


def test_frames_are_tiled():
    env = OpponentVecEnv("capture_conquer", 2, size=4, render_mode="rgb_array")
    env.reset()
    first, two = env.get_images()
    assert first.shape == two.shape
    assert first.dtype == np.uint8
    assert env.render().size == first.size + two.size


def test_evaluate_policy_reads_returns_and_lengths():
    env = OpponentVecEnv(TICTACTOE, 4, opponents=Opponent("lowest", lowest), seat=0)
    model = MaskablePPO("MlpPolicy", env, **SETTINGS)
    returns, lengths = evaluate_policy(model, env, 20, return_episode_rewards=True)
    assert set(returns) <= {-1.0, 0.0, 1.0}
    assert set(lengths) <= {3, 4, 5}


def score(model, opponent="random"):
    """Return the mean reward of a model in 200 games, by its best actions."""
    env = OpponentVecEnv("capture_conquer", 100, size=4, opponents=opponent)
    env.seed(7)
    observations, rewards = env.reset(), []
    while len(rewards) < 200:
        masks = get_action_masks(env)
        actions, _ = model.predict(observations, action_masks=masks, deterministic=True)
        observations, reward, over, _ = env.step(actions)
        rewards += reward[over].tolist()
    return np.mean(rewards)


@pytest.mark.slow
def test_maskable_ppo_learns_by_playing_itself():
    env = OpponentVecEnv("capture_conquer", 32, size=4)
    env.seed(0)
    model = MaskablePPO("MlpPolicy", env, **SETTINGS)
    first = score(model)
    before = copy_policy(model.policy)
    env.opponents[:] = [Opponent("itself", wrap_policy(model.policy))]
    model.learn(32 * 64 * 6)
    learned = copy_policy(model.policy)
    planes, masks = env.boards.observations, env.boards.masks
    actions = [
        policy.predict(planes, action_masks=masks, deterministic=True)[0]
        for policy in (model.policy, learned, before)
    ]
    assert (actions[0] == actions[1]).all()
    assert (actions[0] != actions[2]).any()
    assert first < 0.3
    assert score(model) > 0.6
    assert score(model, Opponent("before", wrap_policy(before))) > 0.4
    assert len(model.ep_info_buffer) == 100
    assert 3 <= np.mean([episode["l"] for episode in model.ep_info_buffer]) <= 30


def test_seconds_of_opponents_are_counted_apart_from_those_of_boards_also_in_resets(stopwatch):
    watch, batches = stopwatch(), []

    def slow(batch, rng):
        watch.now += 1.0
        batches.append(batch)
        return batch.masks.argmax(1)

    env = OpponentVecEnv(TICTACTOE, 4, opponents=[Opponent("slow", slow, 1.0)], seat=1)
    env.seed(0)
    env.reset()
    assert env.seconds == {"boards": 0.0, "opponents": 1.0}
    env.step(env.action_masks().argmax(1))
    assert env.seconds == {"boards": 0.0, "opponents": len(batches)}


@pytest.mark.parametrize("opponents", ["greedy", {"random": 0.5, "minimax:depth=2": 0.5}])
def test_games_do_not_depend_on_the_number_of_threads(opponents):
    def rewards(threads):
        env = OpponentVecEnv(
            "capture_conquer", 64, opponents=opponents, max_opening_turns=4, threads=threads
        )
        env.seed(3)
        env.reset()
        rng = np.random.default_rng(0)
        steps = [env.step(legal_actions(env, rng)) for _ in range(40)]
        env.close()
        return np.array([step[1] for step in steps]), steps[-1][0]

    expected = rewards(1)
    assert expected[0].any()
    for array, other in zip(expected, rewards(3), strict=True):
        np.testing.assert_array_equal(array, other)
