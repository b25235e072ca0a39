"""Concurrent rollouts and learning."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from test_ppo import TINY

from agents.evaluator import Evaluator
from training.ppo.ppo import Training
from training.runs import state, training_run


@pytest.fixture
def start(tmp_path):
    def start(name="run", **change):
        config = replace(TINY, **change)
        with training_run.open_run(tmp_path / name, asdict(config), False) as run:
            return Training(config, run)

    return start


def update(ppo):
    ppo.update(Evaluator(ppo.learner.policy.network))


def weights(ppo):
    return {name: array.copy() for name, array in state.to_arrays(it=ppo.policy).items()}


def same(first, other):
    return all(np.array_equal(array, other[name]) for name, array in first.items())


def test_learning_overlaps_the_next_rollout(start):
    ppo = start().ppo
    first = weights(ppo.learner)
    assert ppo.state() == {}
    update(ppo)
    assert same(weights(ppo.learner), first)
    assert ppo.metrics() == {}
    rollout = ppo.state()
    update(ppo)
    second = weights(ppo.learner)
    assert not same(second, first)
    assert ppo.metrics()["policy_gradient_loss"] != 0
    assert (ppo.state()["rollout.actions"] != rollout["rollout.actions"]).any()


def test_rollout_comes_from_the_evaluator(start):
    training = start()
    evaluator = Evaluator(training.network)
    training.ppo.update(evaluator)
    training.ppo.update(evaluator)
    arrays = training.ppo.state()
    observations, masks, actions, values, logs = (
        arrays[f"rollout.{name}"].reshape(-1, *arrays[f"rollout.{name}"].shape[2:])
        for name in ("observations", "action_masks", "actions", "values", "log_probs")
    )
    logits, expected = evaluator(observations)
    np.testing.assert_array_equal(values, expected)
    odds = np.where(masks, np.exp(logits), 0)
    chosen = np.take_along_axis(odds, actions.astype(int), 1)[:, 0]
    np.testing.assert_allclose(np.exp(logs), chosen / odds.sum(1), rtol=1e-4)


def test_state_contains_the_pending_rollout(start):
    ppo = start().ppo
    update(ppo)
    arrays = ppo.state()
    assert arrays["rollout.observations"].shape == (8, 32, 4, 4, 4)
    assert arrays["rollout.observations"].dtype == arrays["rollout.action_masks"].dtype == np.int8
    actions = arrays["rollout.actions"].astype(int)
    assert (np.take_along_axis(arrays["rollout.action_masks"], actions, 2) == 1).all()


def test_restored_rollout_trains_identically(start):
    first, training = start("one").ppo, start("other", seed=5)
    other, env = training.ppo, training.env
    update(first)
    arrays = {name: array.copy() for name, array in first.state().items()}
    other.learner.policy.load_state_dict(first.learner.policy.state_dict())
    other.restore(other.read_rollout(arrays), env.reset(), env.lengths == 0)
    for ppo in (first, other):
        np.random.seed(0)
        update(ppo)
    assert same(weights(first.learner), weights(other.learner))


def test_errors_of_both_threads_are_raised(start, monkeypatch):
    training = start()
    update(training.ppo)

    def fail(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(training.ppo.learner, "train", fail)
    with pytest.raises(RuntimeError, match="out of luck"):
        update(training.ppo)
    monkeypatch.undo()
    monkeypatch.setattr(training.env, "step_wait", fail)
    with pytest.raises(RuntimeError, match="out of luck"):
        update(training.ppo)
