"""The algorithm of the tutorial learns, and a run of it that was continued is the same run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import weight_files
from agents.evaluator import Evaluator
from agents.network import Network, load
from agents.network_players import PolicyPlayer
from agents.network_weights import Size
from agents.shipped_weights import NETWORK
from cc_env.match.referee import Clock
from cc_env.registry.catalogue import GAMES, GameEntry
from training.selfplay.training import EvaluationOpponents

TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.usefixtures("module_without_curves")


@pytest.fixture
def reinforce(monkeypatch):
    """The module, where the toy game of `heap` is known."""
    for folder in (TESTS.parent / "docs/tutorials", TESTS / "training"):
        monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(GAMES, "heap", GameEntry("heap", "heap/Heap-v0"))
    import reinforce

    return reinforce


def config_of(reinforce, **change):
    config = reinforce.Config(
        game="heap",
        minutes=None,
        rounds=90,
        network=Size(blocks=1, channels=32, keys=8),
        boards=128,
        learning_rate=5e-3,
        evaluate_every=30,
        evaluation_opponents=EvaluationOpponents(names=("random",), anchor="random", games=20),
    )
    return replace(config, **change)


def test_tutorial_algorithm_learns_a_new_game(reinforce, tmp_path):
    import heap

    game, config = heap.make(), config_of(reinforce)

    def skill(network):
        player = PolicyPlayer(game, Evaluator(network))
        rng = np.random.default_rng(0)
        return heap.share_of_best(lambda position: player.choose(position, rng, Clock()).action)

    for seed in range(5):
        torch.manual_seed(seed)
        assert skill(Network(game, config.network)) < 0.7
    last = reinforce.main(config, tmp_path / "run")
    network, about = load(tmp_path / "run" / NETWORK, game)
    assert about["trained"] == "reinforce"
    assert last["random"] >= 0.75
    assert skill(network) >= 0.9


@pytest.mark.slow
def test_curves_of_the_tutorial_rise_and_the_policy_stays_random(reinforce, tmp_path):
    opponents = EvaluationOpponents(names=("random",), anchor="random", positions=300)
    config = reinforce.Config(
        game="capture_conquer",
        options={"size": 4},
        minutes=None,
        rounds=48,
        evaluate_every=2,
        evaluation_opponents=replace(opponents, games=20),
    )
    reinforce.main(config, tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    # Exact values judge the policy: means of the first and last six evaluations.
    accuracies = [row["accuracy_with_choice"] for row in rows if "accuracy_with_choice" in row]
    assert np.mean(accuracies[-6:]) > np.mean(accuracies[:6]) + 0.05
    assert min(row["entropy"] for row in rows[:-6]) > 0.8


def test_resumed_run_equals_an_uninterrupted_run(reinforce, tmp_path):
    short = config_of(reinforce, boards=16, rounds=4, evaluate_every=2)
    reinforce.main(short, tmp_path / "whole")
    reinforce.main(replace(short, rounds=2), tmp_path / "parts")
    reinforce.main(short, tmp_path / "parts", resume=True)
    newest = "checkpoints/000004.safetensors"
    whole, parts = (
        weight_files.load(tmp_path / name / newest, "checkpoint")[1] for name in ("whole", "parts")
    )
    np.testing.assert_equal(whole, parts)
