"""Networks and optimizers as arrays."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from cc_env.errors import BadCheckpoint, TrainingDiverged
from training.runs import state

SAME_STEPS = "expected: the same integer for all parameters, 1 to 16777216"


def learner(seed):
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    network.observation_shape = (3,)
    return network, torch.optim.Adam(network.parameters(), 0.1)


def learn(network, optimizer):
    loss = network(torch.ones(1, 3)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_restored_state_learns_identically():
    network, optimizer = learner(0)
    learn(network, optimizer)
    arrays = {name: array.copy() for name, array in state.to_arrays(a=network, b=optimizer).items()}
    assert {"a.0.weight", "a.2.bias", "b.0.exp_avg", "b.3.step"} <= set(arrays)
    assert all(isinstance(array, np.ndarray) for array in arrays.values())

    other, other_optimizer = learner(1)
    state.load({**arrays, "c.other": np.zeros(3)}, a=other, b=other_optimizer)
    for pair in ((network, optimizer), (other, other_optimizer)):
        learn(*pair)
    loaded, expected = (
        state.to_arrays(a=other, b=other_optimizer),
        state.to_arrays(a=network, b=optimizer),
    )
    assert loaded.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(loaded[name], array)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("a.0.weight", None, "there is no array a.0.weight"),
        ("b.1.exp_avg", None, "there is no array b.1.exp_avg"),
        ("a.2.bias", np.zeros(1), r"a.2.bias is float64\[1\]; expected: float32\[1\]"),
        ("a.2.bias", np.zeros(1, np.int32), r"a.2.bias is int32\[1\]"),
        ("a.0.weight", np.zeros((3, 4), np.float32), r"float32\[3, 4\]; expected: float32\[4, 3\]"),
        ("a.2.bias", np.full(1, np.nan, np.float32), "a.2.bias has values that are not finite"),
        ("b.0.step", np.full((), np.inf, np.float32), "b.0.step has values that are not finite"),
        ("b.2.exp_avg_sq", np.zeros((0, 9), np.float32), r"b.2.exp_avg_sq is float32\[0, 9\]"),
        ("b.3.step", np.zeros((2, 2), np.float32), r"b.3.step is float32\[2, 2\]"),
        ("b.3.step", np.array(2, np.float32), f"b.3.step is 2; {SAME_STEPS}"),
        ("b.0.step", np.array(2, np.float32), f"b.1.step is 1; {SAME_STEPS}"),
        (
            "b.2.exp_avg_sq",
            np.full((1, 4), -1e-9, np.float32),
            "b.2.exp_avg_sq has negative values",
        ),
        ("a.0.weight", np.full((4, 3), 3e38, np.float32), "the outputs of a are not finite"),
    ],
)
def test_unfit_arrays_are_rejected_unchanged(name, array, message):
    network, optimizer = learner(0)
    learn(network, optimizer)
    saved = {name: array.copy() for name, array in state.to_arrays(a=network, b=optimizer).items()}
    if array is None:
        del saved[name]
    else:
        saved[name] = array
    other, other_optimizer = learner(1)
    before = {
        name: array.copy() for name, array in state.to_arrays(a=other, b=other_optimizer).items()
    }
    with pytest.raises(BadCheckpoint, match=message):
        state.load(saved, a=other, b=other_optimizer)
    np.testing.assert_equal(state.to_arrays(a=other, b=other_optimizer), before)


@pytest.mark.parametrize("count", [0, -1, 1.5, 2**24 + 2])
def test_impossible_number_of_steps_is_rejected(count):
    network, optimizer = learner(0)
    learn(network, optimizer)
    saved = state.to_arrays(a=network, b=optimizer)
    saved |= {f"b.{number}.step": np.array(count, np.float32) for number in range(4)}
    message = re.escape(f"b.0.step is {count:g}; {SAME_STEPS}")
    with pytest.raises(BadCheckpoint, match=f"^{message}$"):
        state.load(saved, a=network, b=optimizer)


def test_outputs_that_are_not_finite_end_training():
    network, _ = learner(0)
    state.check_finite(network)
    with torch.no_grad():
        network[0].weight.fill_(3e38)
    with pytest.raises(TrainingDiverged, match=r"^the outputs of the network are no longer finite"):
        state.check_finite(network)
    network[0].weight.data[0, 0] = torch.nan
    with pytest.raises(TrainingDiverged, match=r"^the weights of the network are no longer finite"):
        state.check_finite(network)


def test_optimizer_without_steps_has_no_arrays():
    network, optimizer = learner(0)
    saved = state.to_arrays(a=network, b=optimizer)
    assert not [name for name in saved if name.startswith("b.")]
    state.load(saved, a=network, b=optimizer)


@pytest.mark.parametrize("value", [None, -1, 1.5, True, "1", [1], 10**16, float("nan")])
def test_invalid_whole_number_is_rejected(value):
    with pytest.raises(BadCheckpoint, match=r"steps=.*; expected: an integer, 0"):
        state.read_integer({"steps": value}, "steps")


@pytest.mark.parametrize("value", [None, "1", [1], -1, float("nan"), float("inf"), 10**400])
def test_invalid_number_is_rejected(value):
    with pytest.raises(
        BadCheckpoint, match=r"seconds=.*; expected: a number, 0 to 1000000000000000$"
    ):
        state.read_number({"seconds": value}, "seconds")
