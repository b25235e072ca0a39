"""The infos after every step, and the masks at the end, in every game and environment.

Sources: Gymnasium's SyncVectorEnv (`_add_info`, whose arrays have the type of the first value) and
its `test_pickle_env`; Minari's DataCollector(record_infos=True), which appends the infos of a step
to those before by `jax.tree_util.tree_map`, and so needs the same tree in every step; Pgx, whose
`legal_action_mask` is all true in terminal states.
"""

import pickle

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from cc_env.core.rules import ONGOING
from cc_env.envs.aec import BoardGameAEC
from cc_env.envs.sb3 import OpponentVecEnv
from cc_env.envs.single import BoardGameEnv, MaskInObservation
from cc_env.envs.vector import BoardGameVectorEnv
from cc_env.envs.wrappers import ExactValues, LegalSamples, VectorExactValues
from cc_env.registry.catalogue import GAMES

NAMES = pytest.mark.parametrize("name", GAMES)
MODES = pytest.mark.parametrize("mode", AutoresetMode)
# Number of turns within which few episodes end by the rules.
MAX_TURNS = 12


def lowest(observation, info):
    """Return the lowest legal action."""
    return int(info["action_mask"].argmax())


def tree(value):
    """Return the shape of an info: its keys, and the types, shapes and dtypes of its values."""
    if isinstance(value, dict):
        return {key: tree(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(tree, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    return type(value)


def sample(mask, rng):
    """Return a random action of a mask, or one of each row."""
    return (mask * (1 - rng.random(mask.shape))).argmax(-1)


def episode(env, seed, action=None):
    """Return the infos of an episode of random legal actions; `action` is played first."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    infos, over = [info], False
    while not over:
        decision = sample(info["action_mask"], rng) if action is None else action
        *_, terminated, truncated, info = env.step(int(decision))
        infos.append(info)
        over, action = terminated or truncated, None
    return infos


@NAMES
def test_infos_of_an_episode_have_the_same_structure(name):
    ends = set()
    for arguments in {"max_turns": None}, {"max_turns": MAX_TURNS}, {"illegal": "lose", "seat": 0}:
        env = BoardGameEnv(name, **arguments)
        illegal = int(env.action_masks().argmin()) if "illegal" in arguments else None
        infos = episode(env, 3, illegal)
        assert all(tree(info) == tree(infos[0]) for info in infos)
        assert all((i["outcome"], i["ending"]) == (ONGOING, "") for i in infos[:-1])
        assert all(info["score"] == (0, 0) for info in infos[:-1])
        ends.add(infos[-1]["ending"])
    assert {"max_turns", "illegal"} < ends


@MODES
@NAMES
def test_vector_infos_have_the_same_structure_at_every_step(name, mode):
    envs = BoardGameVectorEnv(name, 4, max_turns=MAX_TURNS, autoreset_mode=mode)
    rng, (_, info) = np.random.default_rng(0), envs.reset(seed=0)
    first = tree(info)
    trees, ends = [], 0
    for _ in range(40):
        *_, terminated, truncated, info = envs.step(sample(info["action_mask"], rng))
        trees.append(tree(info))
        over = terminated | truncated
        ends += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            _, info = envs.reset(options={"reset_mask": over})
            assert tree(info) == first
    assert ends > 4
    assert all(shape == trees[0] for shape in trees)
    finals = {"final_obs", "final_info", "_final_obs", "_final_info"}
    assert set(trees[0]) - set(first) == (finals if mode == AutoresetMode.SAME_STEP else set())


@NAMES
def test_aec_infos_gain_keys_only_when_the_game_ends(name):
    env, rng = BoardGameAEC(name, max_turns=MAX_TURNS), np.random.default_rng(0)
    env.reset(seed=0)
    shapes = [tree(env.infos)]
    while not env._boards.done[0]:
        env.step(int(sample(env.infos[env.agent_selection]["action_mask"], rng)))
        shapes.append(tree(env.infos))
    ends = [
        (info.pop("outcome"), info.pop("ending"), info.pop("score")) for info in env.infos.values()
    ]
    assert ends[0] == ends[1]
    assert all(shape == shapes[0] for shape in [*shapes[:-1], tree(env.infos)])


@NAMES
def test_infos_for_sb3_have_the_same_keys(name):
    env, rng = OpponentVecEnv(name, 4, max_turns=MAX_TURNS), np.random.default_rng(0)
    env.seed(0)
    env.reset()
    own, ends = {"terminal_observation", "episode"}, 0
    for _ in range(30):
        _, _, over, infos = env.step(sample(env.action_masks(), rng))
        for info, is_over in zip(infos, over, strict=True):
            assert set(info) - own == {
                "seat",
                "opponent",
                "outcome",
                "illegal_action",
                "TimeLimit.truncated",
            }
            assert (own <= set(info)) == is_over
        ends += over.sum()
    assert ends > 4


@pytest.mark.parametrize("size", [4, 5])
def test_infos_with_exact_values_have_the_same_structure(size):
    env = ExactValues(gymnasium.make("cc_env/CaptureConquer-v0", size=size))
    infos = episode(env, 0)
    assert all(tree(info) == tree(infos[0]) for info in infos)
    assert all(info["value_known"] for info in infos) == (size == 4)
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=3, size=size)
    envs = VectorExactValues(envs)
    _, first = envs.reset(seed=0)
    *_, info = envs.step(first["action_mask"].argmax(1))
    assert tree(info) == tree(first)


# Masks at the end


@NAMES
def test_mask_after_truncation_has_the_legal_actions(name):
    endings = set()
    for seed in range(4):
        env = BoardGameEnv(name, max_turns=MAX_TURNS)
        info = episode(env, seed)[-1]
        endings.add(info["ending"])
        if info["ending"] == "max_turns":
            mask = env.game.action_mask(env.position)
            assert mask.any()
            assert info["to_move"] == env.game.to_move(env.position)
            for returned in info["action_mask"], env.action_masks().astype(np.int8):
                np.testing.assert_array_equal(returned, mask)
    assert "max_turns" in endings


@MODES
@NAMES
def test_last_vector_mask_is_full_after_an_end_and_legal_after_truncation(name, mode):
    envs = BoardGameVectorEnv(name, 8, max_turns=40, opponent=None, autoreset_mode=mode)
    rng, (_, info) = np.random.default_rng(1), envs.reset(seed=1)
    counts = {False: 0, True: 0}
    for _ in range(160):
        *_, terminated, truncated, info = envs.step(sample(info["action_mask"], rng))
        over = terminated | truncated
        last = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
        for board in np.flatnonzero(over).tolist():
            position = envs.final_position(board)
            if terminated[board]:
                assert last["action_mask"][board].all()
            else:
                expected = envs.game.action_mask(position)
                np.testing.assert_array_equal(last["action_mask"][board], expected)
            assert last["to_move"][board] == envs.game.to_move(position)
            counts[bool(terminated[board])] += 1
        if mode == AutoresetMode.DISABLED and over.any():
            _, info = envs.reset(options={"reset_mask": over})
    assert sum(counts.values()) > 8


@NAMES
def test_last_aec_masks_are_full_after_an_end_and_legal_after_truncation(name):
    for limit in MAX_TURNS, None:
        env, rng = BoardGameAEC(name, max_turns=limit), np.random.default_rng(2)
        env.reset(seed=0)
        while not env._boards.done[0]:
            env.step(int(sample(env.infos[env.agent_selection]["action_mask"], rng)))
        masks = {agent: env.infos[agent]["action_mask"] for agent in env.agents}
        if any(env.terminations.values()):
            assert all(mask.all() for mask in masks.values())
        else:
            mask = masks.pop(env.agent_selection)
            np.testing.assert_array_equal(mask, env.game.action_mask(env.position))
            assert not any(other.any() for other in masks.values())


@pytest.mark.parametrize("kind", ["vector_entry_point", "sync"])
@NAMES
def test_policy_that_normalizes_over_the_mask_stays_finite(name, kind):
    """By default (NEXT_STEP) finished boards are among those that a policy is called with."""
    envs = gymnasium.make_vec(GAMES[name].environment, 4, vectorization_mode=kind, max_turns=60)
    torch.manual_seed(0)
    _, info = envs.reset(seed=0)
    ended = 0
    for _ in range(100):
        mask = torch.as_tensor(info["action_mask"])
        logits = torch.zeros(mask.shape).masked_fill(mask == 0, -torch.inf)
        actions = torch.distributions.Categorical(logits=logits).sample()
        *_, terminated, truncated, info = envs.step(actions.numpy())
        ended += int((terminated | truncated).sum())
    assert ended > 3
    envs.close()


@MODES
@NAMES
def test_vector_environment_agrees_with_sync_vector_env(name, mode):
    arguments = {"seat": 0, "opponent": lowest, "max_turns": 30}
    ours = BoardGameVectorEnv(name, 4, autoreset_mode=mode, **arguments)
    theirs = SyncVectorEnv([lambda: BoardGameEnv(name, **arguments)] * 4, autoreset_mode=mode)
    rng, over, ends = np.random.default_rng(0), np.zeros(4, np.bool_), 0
    (_, own), (_, other) = ours.reset(seed=0), theirs.reset(seed=0)
    for _ in range(60):
        if mode == AutoresetMode.DISABLED and over.any():
            _, own = ours.reset(options={"reset_mask": over})
            _, partial = theirs.reset(options={"reset_mask": over})
            np.testing.assert_array_equal(own["action_mask"][over], partial["action_mask"][over])
        actions = sample(own["action_mask"], rng)
        *first, own = ours.step(actions)
        *second, other = theirs.step(actions)
        for value, expected in zip(first, second, strict=True):
            np.testing.assert_array_equal(value, expected)
        for key in "action_mask", "to_move", "seat", "illegal_action", "outcome":
            # With SAME_STEP, Gymnasium has the outcome in final_info.
            if key != "outcome" or mode != AutoresetMode.SAME_STEP:
                np.testing.assert_array_equal(own[key], other[key])
        over = first[2] | first[3]
        ends += over.sum()
        if mode == AutoresetMode.SAME_STEP and over.any():
            _same_final_infos(own["final_info"], other["final_info"], over)
    assert ends > 4


def _same_final_infos(own, other, over):
    assert set(own) == set(other)
    for key, values in other.items():
        for board in np.flatnonzero(over):
            np.testing.assert_array_equal(own[key][board], values[board])


# Before the first reset


def vectors(name, count):
    """Return the vector environments of a game in which actions can be sampled."""
    yield BoardGameVectorEnv(name, count)
    # The wrapper does not depend on the game: processes are slow to start.
    for mode in ("sync", "async") if name == "checkers" else ("sync",):
        envs = gymnasium.make_vec(GAMES[name].environment, count, vectorization_mode=mode)
        yield LegalSamples(envs)


@NAMES
def test_samples_before_the_first_reset_are_legal_in_an_opening(name):
    env, agents = BoardGameEnv(name), BoardGameAEC(name)
    opening = env.game.opening_mask()
    wrapped = MaskInObservation(env)
    for _ in range(20):
        assert opening[env.action_space.sample()]
        assert opening[wrapped.action_space.sample()]
        assert opening[agents.action_space("player_1").sample()]
    np.testing.assert_array_equal(env.action_masks(), opening == 1)
    for envs in vectors(name, 3):
        for _ in range(5):
            assert opening[envs.action_space.sample()].all()
        envs.close()


@NAMES
def test_pickled_environment_without_a_seed_plays_the_same_game(name):
    """Gymnasium, tests/envs/test_envs.py, `test_pickle_env`: the same action is played in both."""
    for _ in range(4):
        env = gymnasium.make(GAMES[name].environment)
        duplicate = pickle.loads(pickle.dumps(env))
        (planes, _), (expected, _) = env.reset(), duplicate.reset()
        np.testing.assert_array_equal(planes, expected)
        action = env.action_space.sample()
        step, same = env.step(action), duplicate.step(action)
        np.testing.assert_array_equal(step[0], same[0])
        assert step[1:4] == same[1:4]
    envs = BoardGameVectorEnv(name, 4, opponent="random")
    duplicate = pickle.loads(pickle.dumps(envs))
    np.testing.assert_array_equal(envs.reset()[0], duplicate.reset()[0])
