"""The weights that cc_env ships with."""

import json
from pathlib import Path

import numpy as np
import pytest

import cc_env
from agents.network import load
from agents.shipped_weights import CONFIG, COSTS, NETWORK, WEIGHTS
from cc_env.files import file_hash
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network_file import LEARNED_NAME, short_hash
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player
from training import alphazero
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.runs.config import build_config

FOLDERS = sorted(file.parent for file in WEIGHTS.glob(f"*/*/{CONFIG}"))
CONFIGS = {
    "alphazero": alphazero.Config,
    "distillation": distillation.Config,
    "evaluation": fitting.Config,
    "ppo": ppo.Config,
}
NAMES = {
    "alphazero": ("policy", "alphazero:simulations=8"),
    "evaluation": ("minimax:evaluation=learned,depth=2",),
    "policy": ("policy",),
    "ppo": ("ppo",),
}


def test_shipped_weights_are_small():
    assert FOLDERS
    folders = WEIGHTS, Path(cc_env.__file__).parent / "learned_evaluation" / "shipped"
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    networks = [file for file in files if file.suffix in (".safetensors", ".network")]
    assert len(networks) >= len(FOLDERS)
    assert sum(file.stat().st_size for file in networks) < 12e6
    # With logs, charts and matches.
    assert sum(file.stat().st_size for file in files) < 14e6


def test_training_cost_of_all_weights_is_recorded():
    costs = json.loads((WEIGHTS / COSTS).read_text())
    assert list(costs) == [folder.relative_to(WEIGHTS).as_posix() for folder in FOLDERS]
    for name, cost in costs.items():
        config = json.loads((WEIGHTS / name / CONFIG).read_text())
        log = (WEIGHTS / name / "log.jsonl").read_text().splitlines()
        last_run = json.loads(log[-1])
        hours = last_run.get("core_minutes", last_run["minutes"]) / 60
        assert hours - 0.05 < cost["core_hours"] < 10
        if config["device"] == "cuda":
            assert cost["gpu_minutes"] >= int(config["minutes"])
        assert type(cost["gpu_minutes"]) is int


@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_shipped_weights_play_and_name_their_training(folder):
    config = json.loads((folder / "config.json").read_text())
    game = make_game(config["game"], **config["options"])
    algorithm, about = folder.parent.name, {}
    if algorithm == "evaluation":
        digest = short_hash(game.evaluation(LEARNED_NAME))
    else:
        digest = file_hash(folder / NETWORK)
        _, about = load(folder / NETWORK, game)
        algorithm = about["trained"]
        assert about["config"]["seed"] == config["seed"]
    # The device of the run may be a GPU, which this machine may lack.
    assert build_config(CONFIGS[algorithm], {**config, "device": "cpu"})
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    budgets = {name: config[name] for name in ("minutes", "core_minutes") if config.get(name)}
    assert any(rows[-1][name] > budget - 1 for name, budget in budgets.items())
    if "step" in about:
        assert about["step"] in [row["step"] for row in rows if "elo" in row]
    assert (folder / "curves.png").exists()
    names = NAMES[folder.parent.name]
    for name in names:
        decision = make_player(name, game).choose(game.initial, np.random.default_rng(0), Clock())
        assert decision.action in game.legal_actions(game.initial)
    tournaments = [json.loads(file.read_text()) for file in (folder / "measured").glob("*.json")]
    assert tournaments
    for tournament in tournaments:
        assert set(tournament["config"]["weights"].values()) == {digest}
        assert tournament["config"]["options"] == dict(game.options)
        kinds = {name.partition(":")[0] for name in tournament["config"]["players"]}
        assert kinds & {name.partition(":")[0] for name in names}
