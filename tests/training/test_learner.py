"""The learner, which fits a network to samples."""

import numpy as np
import pytest
import torch

from agents.network import Network, save
from agents.network_weights import Size
from cc_env.errors import BadCheckpoint
from training.selfplay.learner import Learner, LearnerSettings, initial_network, training_dtype
from training.selfplay.replay_buffer import Minibatch


@pytest.fixture
def learner(game):
    torch.manual_seed(0)
    settings = LearnerSettings(learning_rate=4e-3, last_learning_rate=2e-3, ema_decay=0.5)
    return Learner(Network(game, Size(blocks=1, channels=8)), settings, torch.device("cpu"))


def batch_of(game):
    """Return 16 samples whose targets are the first legal action and a win."""
    legal = game.action_mask(game.initial).astype(bool)
    policy = np.zeros(game.num_actions, np.float32)
    policy[legal.argmax()] = 1
    rows = game.observe(game.initial), legal, policy, np.float32(1)
    return Minibatch(*(np.stack([row] * 16) for row in rows))


def test_learner_fits_the_samples(game, learner):
    losses = [sum(learner.learn(batch_of(game))) for _ in range(150)]
    assert losses[-1] < 0.05 < 2 < losses[0]
    with torch.no_grad():
        planes = torch.from_numpy(game.observe(game.initial)[np.newaxis]).float()
        logits, values = learner.average(planes)
    legal = game.legal_actions(game.initial)
    assert legal[logits[0, legal].argmax()] == legal[0]
    assert values[0] > 0.9


def test_learning_rate_follows_a_cosine(learner):
    rates = []
    for progress in (0, 0.25, 0.5, 1):
        learner.schedule_learning_rate(progress)
        rates += [group["lr"] for group in learner.parts()["optimizer"].param_groups]
    assert rates == pytest.approx([4e-3, 3e-3 + 1e-3 * 0.5**0.5, 3e-3, 2e-3])


def test_averaged_weights_follow_the_newest(game, learner):
    parts = learner.parts()
    newest, average = parts["network"], parts["average"]
    before = [tensor.clone() for tensor in average.parameters()]
    learner.learn(batch_of(game))
    for old, mean, new in zip(before, average.parameters(), newest.parameters(), strict=True):
        # The decay is smaller during the first steps.
        weight = 10 / 11
        torch.testing.assert_close(mean, old + weight * (new - old), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("capabilities", "dtype"),
    [
        ({}, torch.float32),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
    ],
)
def test_gradient_steps_use_bfloat16_if_supported(capabilities, dtype, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert training_dtype(torch.device("cpu")) == dtype


def test_more_blocks_leave_the_outputs_of_a_network_unchanged(game, tmp_path):
    small, large = Size(blocks=1, channels=8), Size(blocks=3, channels=8)
    network = Network(game, small)
    # The block of an untrained network is the identity.
    torch.nn.init.normal_(network.tower[0].second.weight)
    save(tmp_path / "small.safetensors", network, game, {"trained": "policy"})
    deeper = initial_network(str(tmp_path / "small.safetensors"), game, large)
    assert deeper.size == large
    planes = torch.from_numpy(game.observe(game.initial)[np.newaxis]).float()
    for output, expected in zip(deeper(planes), network(planes), strict=True):
        torch.testing.assert_close(output, expected)
    save(tmp_path / "large.safetensors", deeper, game, {"trained": "policy"})
    with pytest.raises(BadCheckpoint, match=r"blocks=3.*expected: .*blocks=1"):
        initial_network(str(tmp_path / "large.safetensors"), game, small)
