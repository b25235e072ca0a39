"""Conformance of every environment by the checks of Gymnasium, SB3 and PettingZoo."""

import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

import cc_env
from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.rendering import RENDER_MODES, Renderer
from cc_env.envs.single import BoardGameEnv
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import ResetNeeded
from cc_env.registry.catalogue import GAMES

# PettingZoo warns about the environments that its tests import.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, seed_test

OPTIONS = {
    "cc_env/CaptureConquer-v0": {"size": 4},
    "cc_env/Checkers-v0": {"crowning": "ends_move"},
    "cc_env/MiniCheckers-v0": {"first": "white"},
    "cc_env/Morris-v0": {"free_move": "never"},
    "cc_env/Cannon-v0": {"rows": 10, "columns": 10, "bomb_clear_path": True},
}
cc_env.register("elsewhere.tictactoe", "elsewhere/TicTacToe-v0")
IDS = [(entry.environment, {}) for entry in GAMES.values()] + [("elsewhere/TicTacToe-v0", {})]
EVERY_ENVIRONMENT = IDS + list(OPTIONS.items())

# Warnings are errors here (setup.cfg)


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_environment_passes_gymnasium_checks(name, options, monkeypatch):
    modes, frame = set(), Renderer.frame

    def frame_and_record(renderer, picture):
        modes.add(renderer.mode)
        return frame(renderer, picture)

    monkeypatch.setattr(Renderer, "frame", frame_and_record)
    monkeypatch.setattr("cc_env.envs.rendering.FRAMES_PER_SECOND", 1000)
    check_env(gymnasium.make(name, **options).unwrapped)
    assert modes == set(RENDER_MODES)


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_environment_passes_stable_baselines_checks(name, options):
    from sb3_contrib.common.maskable.utils import is_masking_supported
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.vec_env import DummyVecEnv

    env = gymnasium.make(name, **options).unwrapped
    with warnings.catch_warnings():
        # It takes planes for an image.
        warnings.filterwarnings("ignore", ".*image")
        check_env(env, warn=True)
    assert is_masking_supported(DummyVecEnv([lambda: env]))


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_environments_pass_pettingzoo_tests(name, options, capsys):
    seed_test(lambda: pettingzoo.make("aec", name, **options), num_cycles=30)
    api_test(pettingzoo.make("aec", name, **options), num_cycles=300)
    assert capsys.readouterr().out.endswith("Passed API test\n")


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_last_info_has_outcome_ending_and_score(name, options):
    envs = gymnasium.make(name, max_turns=None, **options), pettingzoo.make("aec", name, **options)
    for seed in range(4):
        _, info = envs[0].reset(seed=seed)
        envs[0].action_space.seed(seed)
        over = False
        while not over:
            _, reward, over, truncated, info = envs[0].step(envs[0].action_space.sample())
            assert not truncated
        _check_end(envs[0].unwrapped.game, info, reward, info["seat"])
        envs[1].reset()
        envs[1].action_space("player_0").seed(seed)
        while not (any(envs[1].terminations.values()) or any(envs[1].truncations.values())):
            agent = envs[1].agent_selection
            envs[1].step(envs[1].action_space(agent).sample())
        if all(envs[1].terminations.values()):
            for seat, agent in enumerate(envs[1].agents):
                _check_end(
                    envs[1].unwrapped.game, envs[1].infos[agent], envs[1].rewards[agent], seat
                )


def _check_end(game, info, reward, seat):
    score = info["score"]
    own, other = score[seat], score[1 - seat]
    if game.name == "cannon":
        # Without the remaining soldiers.
        own, other = int(own), int(other)
    assert np.sign(own - other) == reward
    assert info["outcome"] == (2 if reward == 0 else seat if reward > 0 else 1 - seat)
    assert info["ending"] not in ("max_turns", "repetition")
    if game.name == "mini_checkers":
        assert abs(own) <= 6


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_loop_of_samples_plays_whole_games(name, options):
    for _ in range(4):
        env = gymnasium.make(name, **options)
        env.reset()
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
        assert info["ending"]


@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_step_is_a_decision_and_the_reply(name, options):
    env = gymnasium.make(name, **options).unwrapped
    for seed in range(4):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        for _ in range(4):
            before = env.position
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            assert env.position != before
            if terminated or truncated:
                break
            assert env.game.to_move(env.position) == info["seat"]


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize(("name", "options"), EVERY_ENVIRONMENT, ids=str)
def test_vector_environment_plays_to_the_end(name, options, opponent):
    envs = gymnasium.make_vec(name, num_envs=16, opponent=opponent, max_turns=300, **options)
    observations, info = envs.reset(seed=3)
    ended = 0
    for _ in range(400):
        assert envs.observation_space.contains(observations)
        actions = envs.action_space.sample()
        assert info["action_mask"][np.arange(16), actions].all()
        observations, rewards, terminated, truncated, info = envs.step(actions)
        assert set(np.unique(rewards)) <= {-1.0, 0.0, 1.0}
        ended += int((terminated | truncated).sum())
    assert ended > 16


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        (BoardGameEnv, lambda env: env.step(0)),
        (BoardGameEnv, lambda env: env.position),
        (BoardGameEnv, lambda env: env.picture()),
        (BoardGameEnv, lambda env: env.render()),
        (BoardGameVectorEnv, lambda envs: envs.step([0])),
        (BoardGameVectorEnv, lambda envs: envs.position(0)),
        (BoardGameVectorEnv, lambda envs: envs.render()),
        (BoardGameAEC, lambda env: env.step(0)),
        (BoardGameAEC, lambda env: env.position),
        (BoardGameAEC, lambda env: env.picture()),
        (BoardGameAEC, lambda env: env.render()),
        (BoardGameAEC, lambda env: env.observe("player_0")),
    ],
)
def test_use_before_the_first_reset_is_rejected(kind, use):
    env = kind("morris", render_mode="ansi")
    with pytest.raises(ResetNeeded, match="reset"):
        use(env)
    env.reset(seed=1)
    use(env)


@pytest.mark.parametrize("kind", [BoardGameEnv, BoardGameAEC])
def test_notebook_shows_the_board_after_a_reset(kind):
    env = kind("morris")
    assert env._repr_svg_() is None
    env.reset(seed=1)
    assert env._repr_svg_().startswith("<svg")
