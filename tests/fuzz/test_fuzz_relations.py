"""Checkpoints whose arrays are valid by themselves but disagree are rejected unchanged."""

from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agents.network_weights import Size
from cc_env.errors import BadCheckpoint
from training import alphazero
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.ppo.opponents import PoolSettings
from training.runs.checkpoints import Checkpoint
from training.runs.training_run import open_run
from training.selfplay.learner import LearnerSettings
from training.selfplay.worker import SelfPlaySettings

COMMON = {"options": {"size": 4}, "minutes": None}
SMALL = Size(blocks=1, channels=8, keys=4)
LEARN = LearnerSettings(batch_size=64)
CONFIGS = {
    alphazero: alphazero.Config(
        **COMMON,
        rounds=9,
        network=SMALL,
        learn=LEARN,
        play=SelfPlaySettings(boards=16, simulations=4, opponents=(), opponents_share=0),
        workers=1,
        decisions=24,
        replay=400,
        warm_up=1,
    ),
    distillation: distillation.Config(
        **COMMON,
        rounds=9,
        network=SMALL,
        learn=LEARN,
        depth=2,
        opponents=("random",),
        decisions=1000,
        replay=1000,
        workers=0,
    ),
    fitting: fitting.Config(**COMMON, rounds=9, positions=1000, depth=1, epochs=1, workers=0),
    ppo: ppo.Config(
        **COMMON,
        steps=10**6,
        network=SMALL,
        boards=16,
        n_steps=8,
        batch_size=64,
        pool=PoolSettings(names=("random",), snapshots=1),
    ),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The runs of all algorithms after two steps, by module."""
    with ExitStack() as stack:
        trainings = {}
        for module, config in CONFIGS.items():
            path = tmp_path_factory.mktemp("runs") / "run"
            run = stack.enter_context(open_run(path, asdict(config), False))
            trainings[module] = training = module.Training(config, run)
            stack.callback(training.close)
            # Learning starts in the second step, or in the first one.
            for _ in range(2 if module in (alphazero, ppo) else 1):
                training.step()
            training.load(Checkpoint(2, *copy_of(training), Path("intact")))
        yield trainings


def copy_of(training):
    arrays, about = training.state()
    return {name: array.copy() for name, array in arrays.items()}, dict(about)


def check_rejected(training, change):
    """Check that a checkpoint is rejected after a change, and that nothing has changed."""
    before, _ = copy_of(training)
    arrays, about = copy_of(training)
    change(arrays, about)
    with pytest.raises(BadCheckpoint):
        training.load(Checkpoint(2, arrays, about, Path("changed")))
    np.testing.assert_equal(training.state()[0], before)


def index_of(draw, array):
    """Return the index of a random element."""
    return np.unravel_index(draw(st.integers(0, array.size - 1)), array.shape)


def rows_of(draw, array):
    """Return the indices of two random rows that differ."""
    first, second = (draw(st.integers(0, len(array) - 1)) for _ in range(2))
    assume(not np.array_equal(array[first], array[second]))
    return first, second


def exchange(draw, array):
    """Exchange two random rows that differ."""
    first, second = rows_of(draw, array)
    array[[first, second]] = array[[second, first]]


# Samples of a replay buffer


def decision(draw, arrays):
    """Return a random row, its actions, its targets and its number of actions."""
    row = draw(st.integers(0, len(arrays["replay.values"]) - 1))
    actions, targets = arrays["replay.actions"][row], arrays["replay.targets"][row]
    return row, actions, targets, int((actions >= 0).sum())


def replace_action(draw, arrays, about):
    _, actions, _, count = decision(draw, arrays)
    column = draw(st.integers(0, count - 1))
    replacement = draw(st.integers(-1, 60))
    assume(replacement != actions[column])
    actions[column] = replacement


def append_action(draw, arrays, about):
    _, actions, _, count = decision(draw, arrays)
    actions[count] = draw(st.integers(0, 60))


def exchange_positions(draw, arrays, about):
    first, second = rows_of(draw, np.sort(arrays["replay.actions"], 1))
    positions = arrays["replay.positions"]
    positions[[first, second]] = positions[[second, first]]


def exchange_targets(draw, arrays, about):
    _, _, targets, count = decision(draw, arrays)
    exchange(draw, targets[:count])


def clear_targets(draw, arrays, about):
    _, _, targets, _ = decision(draw, arrays)
    # Tolerances are below this.
    assume(targets.max() > 0.01)
    targets[:] = 0


def give_padding_a_target(draw, arrays, about):
    _, _, targets, count = decision(draw, arrays)
    targets[draw(st.integers(count, len(targets) - 1))] = draw(st.floats(1e-6, 1e-3))


def scale_targets(draw, arrays, about):
    _, _, targets, _ = decision(draw, arrays)
    targets *= draw(st.floats(0.01, 0.99))


def change_value(draw, arrays, about):
    row, *_ = decision(draw, arrays)
    value = np.float32(draw(st.floats(-1, 1)))
    assume(abs(value - arrays["replay.values"][row]) > 0.01)
    arrays["replay.values"][row] = value


# Networks and optimizers


def change_steps(draw, arrays, about):
    about["steps"] += draw(st.integers(1, 1000))


def change_adam_step(draw, arrays, about):
    names = [name for name in sorted(arrays) if name.endswith(".step")]
    arrays[draw(st.sampled_from(names))] += draw(st.integers(1, 1000))


def give_a_moment_a_sign(draw, arrays, about):
    names = [name for name in sorted(arrays) if name.endswith(".exp_avg_sq")]
    array = arrays[draw(st.sampled_from(names))]
    array[index_of(draw, array)] = -draw(st.floats(1e-9, 1))


def enlarge_weights(draw, arrays, about):
    names = [name for name in sorted(arrays) if name.endswith(("stem.weight", "keys.weight"))]
    names = [name for name in names if not name.startswith("optimizer.")]
    arrays[draw(st.sampled_from(names))][:] = draw(st.floats(1e25, 1e38))


# Rollouts and boards


def change_rollout(draw, arrays, about):
    array = arrays[f"rollout.{draw(st.sampled_from(['returns', 'advantages', 'values']))}"]
    array[index_of(draw, array)] += draw(st.floats(0.01, 2))


def change_log_probability(draw, arrays, about):
    array = arrays["rollout.log_probs"]
    array[index_of(draw, array)] = draw(st.floats(0.01, 9))


def forbid_an_action(draw, arrays, about):
    index = index_of(draw, arrays["rollout.actions"])
    action = int(arrays["rollout.actions"][index])
    arrays["rollout.action_masks"][(*index[:2], action)] = 0


def exchange_boards(draw, arrays, about):
    first, second = rows_of(draw, arrays["boards.observations"])
    part = draw(st.sampled_from(["boards.positions", "boards.observations"]))
    arrays[part][[first, second]] = arrays[part][[second, first]]


def change_newest_key(draw, arrays, about):
    keys, turns = arrays["boards.keys"], arrays["boards.episode_turns"]
    board = draw(st.integers(0, len(keys) - 1))
    keys[board, turns[board]] ^= np.uint64(draw(st.integers(1, 2**64 - 1)))


def change_length(draw, arrays, about):
    board = draw(st.integers(0, len(arrays["lengths"]) - 1))
    arrays["lengths"][board] = 0 if arrays["lengths"][board] else draw(st.integers(1, 99))


# Samples of a learned evaluation


def exchange_games(draw, arrays, about):
    exchange(draw, arrays["sample.games"])


def change_one_result(draw, arrays, about):
    games, results = arrays["sample.games"], arrays["sample.results"]
    row = draw(st.integers(0, len(games) - 1))
    assume((games == games[row]).sum() > 1)
    results[row] = 0 if results[row] == 0.5 else 0.5


def put_two_pieces_on_a_cell(draw, arrays, about):
    sets = arrays["sample.inputs"][draw(st.integers(0, len(arrays["sample.inputs"]) - 1))]
    assume(sets[0])
    sets[1] |= sets[0]


def enlarge_best(draw, arrays, about):
    about["promotions"] = 1
    name = draw(st.sampled_from(["cells.weight", "second.weight", "third.weight", "third.bias"]))
    arrays[f"best.{name}"][:] = draw(st.floats(1e15, 1e30))


NETWORK = change_adam_step, give_a_moment_a_sign, enlarge_weights
SAMPLES = (
    *(replace_action, append_action, exchange_positions, exchange_targets, clear_targets),
    *(give_padding_a_target, change_steps, *NETWORK),
)
CHANGES = {
    alphazero: (*SAMPLES, scale_targets),
    distillation: (*SAMPLES, change_value),
    fitting: (exchange_games, change_one_result, put_two_pieces_on_a_cell, enlarge_best),
    ppo: (
        *(change_rollout, change_log_probability, forbid_an_action, exchange_boards),
        *(change_newest_key, change_length, *NETWORK),
    ),
}


@pytest.mark.parametrize("module", CHANGES, ids=lambda module: module.Training.algorithm)
@given(data=st.data())
def test_arrays_that_disagree_are_rejected_unchanged(trained, module, data):
    change = data.draw(st.sampled_from(CHANGES[module]))
    check_rejected(trained[module], partial(change, data.draw))
