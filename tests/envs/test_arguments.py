"""Arguments of all environments: integers of any library, and errors for invalid values."""

import gymnasium
import numpy as np
import pytest
import torch

from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.aec import MaskInObservation as AgentsMaskInObservation
from cc_env.envs.opponents import Opponent
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.envs.single import BoardGameEnv, MaskInObservation
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.errors import BadOption, IllegalAction

GAME = "capture_conquer"
SINGLE, VECTOR, AGENTS, LEARNER = BoardGameEnv, BoardGameVectorEnv, BoardGameAEC, OpponentVecEnv
KINDS = SINGLE, VECTOR, AGENTS, LEARNER
INTEGERS = np.int8, np.uint16, np.int64, np.array, torch.tensor
EACH_INTEGER = pytest.mark.parametrize("integer", INTEGERS, ids=lambda kind: kind.__name__)


def reset(env, seed):
    """Reset an environment with a seed."""
    if isinstance(env, OpponentVecEnv):
        env.seed(seed)
        return env.reset()
    return env.reset(seed=seed)


@EACH_INTEGER
@pytest.mark.parametrize("kind", KINDS)
def test_seed_may_be_an_integer_of_any_library(kind, integer):
    games = []
    for seed in 3, integer(3):
        env = kind(GAME, illegal="random")
        reset(env, seed)
        games.append(env)
    first, other = (getattr(env, "_boards", None) or env.boards for env in games)
    np.testing.assert_equal(first.snapshot(), other.snapshot())
    if kind is VECTOR:
        assert games[0].np_random.random() == games[1].np_random.random()


@EACH_INTEGER
def test_seed_of_samples_may_be_an_integer_of_any_library(integer):
    spaces = [SINGLE(GAME).action_space, VECTOR(GAME, 2).action_space]
    spaces.append(AGENTS(GAME).action_space("player_0"))
    for space in spaces:
        assert space.seed(integer(3)) == space.seed(3) == 3


@EACH_INTEGER
@pytest.mark.parametrize("kind", KINDS)
def test_argument_may_be_an_integer_of_any_library(kind, integer):
    arguments = {"max_turns": integer(9), "repetitions": integer(3)}
    if kind is not AGENTS:
        arguments["seat"] = integer(1)
    if kind in (VECTOR, LEARNER):
        arguments["num_envs"] = integer(2)
    if kind is VECTOR:
        arguments["threads"] = integer(2)
    env = kind(GAME, **arguments)
    reset(env, 0)
    boards = getattr(env, "_boards", None) or env.boards
    assert (boards.max_turns, boards._settings.repetitions) == (9, 3)
    assert boards.count == (2 if "num_envs" in arguments else 1)
    if kind is VECTOR:
        assert type(env.num_envs) is int
        env.position(integer(1))


@EACH_INTEGER
def test_action_may_be_an_integer_of_any_library(integer):
    env, agents = SINGLE("checkers", seat=0), AGENTS("checkers")
    _, info = env.reset(seed=0)
    agents.reset()
    action = int(info["action_mask"].argmax())
    env.step(integer(action))
    agents.step(integer(action))
    assert agents.position == agents.game.apply(agents.game.initial, action)


@pytest.mark.parametrize(
    ("argument", "values"),
    {
        "illegal": [["raise"], None, "RAISE", np.array(["raise"]), {"raise": 1}, 0],
        "render_mode": [["ansi"], np.array(["ansi", "ansi"]), 1, "holo"],
        "max_turns": [True, 5.0, "9", [9], np.array([9]), 2**31, np.float64(9)],
        "repetitions": [False, 2.0, "3", np.array([3, 3]), 1],
    }.items(),
)
@pytest.mark.parametrize("kind", KINDS)
def test_invalid_argument_is_rejected(kind, argument, values):
    for value in values:
        with pytest.raises(BadOption, match=argument):
            kind(GAME, **{argument: value})


@pytest.mark.parametrize("value", ["False", 0, None, [False], np.array([True])])
def test_flag_must_be_a_boolean(value):
    for make in (
        lambda: VECTOR(GAME, copy=value),
        lambda: LEARNER(GAME, draw_at_limits=value),
        lambda: MaskInObservation(SINGLE(GAME), flat=value),
        lambda: AgentsMaskInObservation(AGENTS(GAME), flat=value),
    ):
        with pytest.raises(BadOption, match="expected: True or False"):
            make()


@pytest.mark.parametrize("opponent", [np.int8(6), 7, 2.5, [7], np.array(["random"])])
def test_invalid_opponent_is_rejected(opponent):
    with pytest.raises(BadOption, match="is not a player"):
        SINGLE(GAME, opponent=opponent)
    with pytest.raises(BadOption, match="is not a player"):
        VECTOR(GAME, opponent=opponent)
    # A list is several opponents.
    if not isinstance(opponent, list):
        with pytest.raises(BadOption, match="is not a player"):
            LEARNER(GAME, opponents=opponent)


def test_other_arguments_of_wrong_types_are_rejected():
    for key in 5, None, "action_mask":
        with pytest.raises(BadOption, match="key="):
            MaskInObservation(SINGLE(GAME), key=key)
    for seat in -1, 2, "0", True, 0.0:
        with pytest.raises(BadOption, match="seat="):
            SINGLE(GAME, seat=seat)
    for count in 0, -1, 2.0, "2", True, None:
        with pytest.raises(BadOption, match="num_envs="):
            VECTOR(GAME, count)


FLOATS = [0.5, 1.5]
BATCHES = FLOATS, [True, False], ["0", "1"], [0, None], [[0], [1]], [0], 0, None, [[0], [1, 2]]


@pytest.mark.parametrize("actions", BATCHES, ids=repr)
@pytest.mark.parametrize("kind", [VECTOR, LEARNER])
def test_actions_are_one_integer_for_each_board(kind, actions):
    env = kind(GAME, 2, illegal="random")
    reset(env, 0)
    with pytest.raises(IllegalAction, match=r"^actions[ =]"):
        env.step(actions)


def test_opponent_that_returns_floats_is_rejected():
    def choose(batch, rng):
        return batch.masks.argmax(1) + 0.5

    env = LEARNER(GAME, 2, opponents=Opponent("floats", choose), seat=1)
    with pytest.raises(IllegalAction, match="float64"):
        env.reset()


def test_error_for_an_illegal_action_mentions_masked_evaluation():
    """SB3's EvalCallback and evaluate_policy use no masks, so that they choose illegal actions."""
    for env in SINGLE(GAME, seat=0), LEARNER(GAME, seat=0):
        reset(env, 0)
        with pytest.raises(IllegalAction, match="MaskableEvalCallback"):
            env.step(5 if isinstance(env, BoardGameEnv) else np.array([5]))


def test_masks_of_infos_restrict_samples():
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", 3)
    _, infos = envs.reset(seed=0)
    narrow = np.zeros_like(infos["action_mask"])
    narrow[[0, 1, 2], [7, 8, 9]] = 1
    assert envs.action_space.sample(infos["action_mask"]).shape == (3,)
    assert envs.action_space.sample(narrow).tolist() == [7, 8, 9]
    assert envs.action_space.sample(tuple(narrow)).tolist() == [7, 8, 9]
