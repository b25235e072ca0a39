"""Counters in observations, compared with those of the referee and of the positions."""

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.envs.single import MaskInObservation
from cc_env.errors import BadOption

PROGRESS, TURNS = "turns until a draw without progress", "turns until the limit"
REPEATED = "occurrences of the position"
# Counters of the games, with their greatest values, for max_turns=60 and repetitions=4.
CASES = {
    "CaptureConquer": ({"repetitions": 4}, {TURNS: 60, REPEATED: 4}),
    "Checkers": (
        {"repetitions": 4, "no_progress_limit": 30},
        {PROGRESS: 30, TURNS: 60, REPEATED: 4},
    ),
    "MiniCheckers": ({}, {TURNS: 60}),
    "Morris": ({"repetitions": 4}, {TURNS: 60, REPEATED: 4}),
    # Its own rules end a game at the third repetition.
    "Cannon": ({}, {TURNS: 60, REPEATED: 3}),
}
EACH = pytest.mark.parametrize("name", CASES)


def options_of(name):
    return {"max_turns": 60, **CASES[name][0]}


class Count:
    """Counts the turns and positions of one game from its decisions."""

    def __init__(self, game, start):
        self.game, self.position, self.turns = game, start, 0
        # Cannon's rule counts only positions that turns have led to.
        self.reached = [] if game.name == "cannon" else [self.key(start)]
        self.latest = self.key(start)

    def key(self, position):
        return position._replace(idle=0) if hasattr(position, "idle") else position

    def play(self, action):
        self.position = self.game.apply(self.position, int(action))
        if not self.game.mid_turn(self.position):
            self.turns += 1
            self.latest = self.key(self.position)
            self.reached.append(self.latest)

    def values(self, names):
        idle = int(getattr(self.position, "idle", 0))
        values = {
            PROGRESS: 30 - idle,
            TURNS: 60 - self.turns,
            REPEATED: self.reached.count(self.latest),
        }
        return [values[name] for name in names]


@EACH
def test_counters_of_two_sided_boards_are_those_of_the_game(name):
    counters = list(CASES[name][1])
    envs = gymnasium.make_vec(
        f"cc_env/{name}-v0", 8, opponent=None, counters=True, **options_of(name)
    )
    observations, _ = envs.reset(seed=0)
    envs.action_space.seed(0)
    boards, game = envs.unwrapped, envs.unwrapped.game
    assert boards.planes == (*game.planes, *counters)
    counts = [Count(game, boards.position(board)) for board in range(8)]
    for _ in range(150):
        running = ~boards.done
        for board in np.flatnonzero(running).tolist():
            planes = observations[board]
            position = boards.position(board)
            assert position == counts[board].position
            np.testing.assert_array_equal(planes[: len(game.planes)], game.observe(position))
            constants = planes[len(game.planes) :]
            assert (constants == constants[:, :1, :1]).all()
            assert constants[:, 0, 0].tolist() == counts[board].values(counters)
        assert observations in envs.observation_space
        actions = envs.action_space.sample()
        observations, *_ = envs.step(actions)
        for board in range(8):
            if running[board]:
                counts[board].play(actions[board])
            else:
                counts[board] = Count(game, boards.position(board))


@EACH
def test_single_vector_and_sb3_environments_have_the_same_counters(name):
    arguments = {"counters": True, "opponent": lowest, "seat": 1, **options_of(name)}
    env = gymnasium.make(f"cc_env/{name}-v0", **arguments)
    envs = gymnasium.make_vec(f"cc_env/{name}-v0", 2, **arguments)
    arguments["opponents"] = arguments.pop("opponent")
    learner = OpponentVecEnv(env.unwrapped.game.name, 2, **arguments)
    assert env.observation_space == envs.single_observation_space == learner.observation_space
    high = env.observation_space.high[:, 0, 0].tolist()
    planes = len(env.unwrapped.game.planes)
    assert high == [1] * planes + list(CASES[name][1].values())
    assert env.observation_space.low.max() == 0
    observation, _ = env.reset(seed=1)
    observations, _ = envs.reset(seed=1)
    others = learner.reset()
    for _ in range(40):
        np.testing.assert_array_equal(observation, observations[0])
        np.testing.assert_array_equal(observation, others[0])
        assert observation in env.observation_space
        masks = envs.unwrapped.action_masks()
        actions = masks.shape[1] - 1 - masks[:, ::-1].argmax(1)
        observation, _, terminated, truncated, _ = env.step(actions[0])
        observations, *_ = envs.step(actions)
        others, _, dones, infos = learner.step(actions)
        assert dones[0] == (terminated or truncated)
        if dones[0]:
            np.testing.assert_array_equal(observation, infos[0]["terminal_observation"])
            np.testing.assert_array_equal(observation, observations[0])
            break


def lowest(observation, info):
    return info["action_mask"].argmax()


@EACH
def test_agents_observe_the_same_counters_in_turn(name):
    env = pettingzoo.make("aec", f"cc_env/{name}-v0", counters=True, **options_of(name))
    env.reset(seed=0)
    counters = list(CASES[name][1])
    game = env.unwrapped.game
    count = Count(game, env.unwrapped.position)
    for _ in range(30):
        for seat, agent in enumerate(env.possible_agents):
            planes = env.observe(agent)
            assert planes in env.observation_space(agent)
            own = game.observe(env.unwrapped.position, seat)
            np.testing.assert_array_equal(planes[: len(game.planes)], own)
            assert planes[len(game.planes) :, 0, 0].tolist() == count.values(counters)
        action = env.infos[env.agent_selection]["action_mask"].argmax()
        env.step(action)
        count.play(action)
        if any(env.terminations.values()) or any(env.truncations.values()):
            break


def test_opponents_observe_counters_and_batches_do_too():
    seen = []

    def function(observation, info):
        seen.append(observation)
        return info["action_mask"].argmax()

    env = gymnasium.make(
        "cc_env/CaptureConquer-v0", counters=True, opponent=function, seat=1, max_turns=50
    )
    env.reset(seed=0)
    env.step(env.unwrapped.action_masks().argmax())
    assert [planes[-1, 0, 0] for planes in seen] == [50, 48]


@EACH
def test_environments_with_counters_pass_gymnasiums_checks(name):
    check_env(gymnasium.make(f"cc_env/{name}-v0", counters=True).unwrapped, skip_render_check=True)


def test_counters_are_off_by_default():
    env = gymnasium.make("cc_env/Checkers-v0")
    assert env.observation_space.shape[0] == len(env.unwrapped.game.planes)
    assert env.unwrapped.planes == env.unwrapped.game.planes


def test_counters_are_clipped_at_127():
    env = gymnasium.make("cc_env/Checkers-v0", counters=True, no_progress_limit=500)
    observation, _ = env.reset(seed=0)
    assert observation[-2:, 0, 0].tolist() == [127, 127]
    assert env.observation_space.high[-2:, 0, 0].tolist() == [127, 127]


def test_counters_without_limits_add_no_planes():
    plain = gymnasium.make("cc_env/Checkers-v0")
    unlimited = gymnasium.make(
        "cc_env/Checkers-v0", counters=True, max_turns=None, no_progress_limit=None
    )
    assert unlimited.observation_space == plain.observation_space


def test_flat_observations_keep_the_bounds_of_counters():
    env = gymnasium.make("cc_env/CaptureConquer-v0", counters=True, max_turns=40)
    env = MaskInObservation(env, flat=True)
    observation, _ = env.reset(seed=0)
    assert observation["observation"].max() in (39, 40)
    assert observation in env.observation_space


@pytest.mark.parametrize("wrong", [1, "yes", None])
def test_invalid_flag_is_rejected(wrong):
    with pytest.raises(BadOption, match="counters"):
        gymnasium.make("cc_env/CaptureConquer-v0", counters=wrong)
