"""What is learned, as arrays and back."""

import numpy as np
import pytest
import torch
from torch import nn

from training import state


def learner(seed):
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    return network, torch.optim.Adam(network.parameters(), 0.1)


def learn(network, optimizer):
    loss = network(torch.ones(1, 3)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_what_is_loaded_learns_as_what_was_saved():
    network, optimizer = learner(0)
    learn(network, optimizer)
    arrays = {name: each.copy() for name, each in state.flat(a=network, b=optimizer).items()}
    assert {"a.0.weight", "a.2.bias", "b.0.exp_avg", "b.3.step"} <= set(arrays)
    assert all(isinstance(each, np.ndarray) for each in arrays.values())

    other, its_optimizer = learner(1)
    state.load({**arrays, "c.other": np.zeros(3)}, a=other, b=its_optimizer)
    for one in ((network, optimizer), (other, its_optimizer)):
        learn(*one)
    found, wanted = state.flat(a=other, b=its_optimizer), state.flat(a=network, b=optimizer)
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)


def test_another_network_is_refused():
    network, _ = learner(0)
    with pytest.raises(RuntimeError, match="Missing key"):
        state.load({}, a=network)
