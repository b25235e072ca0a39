"""Each example learns something in its quick setting; the heavy ones do in `make examples`."""

import importlib
import re
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")
SMALL = {"size": 4}
TOY = {"game": "elsewhere.tictactoe", "steps": 20_000}

# Files, quick settings, and the scores against random play that the untrained do not reach, and
# the trained do.
LIGHT = [
    ("cleanrl_ppo", {**SMALL, "steps": 10_240}, 0.65, 0.85),
    ("sb3_masked", {**SMALL, "steps": 8_000, "boards": "many"}, 0.65, 0.85),
    ("sb3_masked", {**SMALL, "steps": 5_000, "boards": "one"}, 0.65, 0.85),
    ("sb3_masked", {**SMALL, "steps": 5_000, "boards": "processes"}, 0.65, 0.85),
    ("sb3_self_play", {**SMALL, "steps": 16_000}, 0.65, 0.85),
    ("sb3_unmasked", {**TOY, "algorithm": "ppo"}, 0.3, 0.6),
    ("sb3_unmasked", {**TOY, "algorithm": "dqn"}, 0.3, 0.6),
    ("pettingzoo_self_play", {**SMALL, "steps": 10_000}, 0.65, 0.85),
]
HEAVY = [
    ("torchrl_ppo", {**SMALL, "steps": 8_192}, 0.65, 0.8),
    ("tianshou_dqn", {**SMALL, "steps": 12_000}, 0.65, 0.7),
    ("agilerl_ppo", {**SMALL, "steps": 12_000}, 0.65, 0.8),
    ("rllib_ppo", {**SMALL, "steps": 8_192, "players": "one"}, 0.65, 0.8),
    ("rllib_ppo", {**SMALL, "steps": 8_192, "players": "both"}, 0.65, 0.75),
]


def check(name, settings, most, least):
    torch.set_num_threads(1)
    before, after = importlib.import_module(f"examples.{name}").main(**settings)
    assert before <= most, "untrained"
    assert after >= least, "trained"


@pytest.mark.slow
@pytest.mark.parametrize("case", LIGHT, ids=lambda case: f"{case[0]}-{[*case[1].values()][-1]}")
def test_light_example_learns(case):
    check(*case)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the libraries' own
@pytest.mark.parametrize("case", HEAVY, ids=lambda case: f"{case[0]}-{case[1].get('players', '')}")
def test_heavy_example_learns(case, heavy):
    library = case[0].split("_")[0]
    heavy({"rllib": "tree"}.get(library, library))
    check(*case)


def test_every_example_is_tested():
    assert {path.stem for path in FILES} == {case[0] for case in (*LIGHT, *HEAVY)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_docstring_has_a_command_and_results(path):
    head = path.read_text().split('"""')[1]
    assert f"python -m examples.{path.stem}" in head
    (reached,) = re.findall(r"Reached +(.*)", head)
    assert re.search(r"\d\d\.\d %", reached), reached


def test_readme_names_every_example():
    table = (FOLDER / "README.md").read_text()
    assert {path.stem for path in FILES} == set(re.findall(r"\((\w+)\.py\)", table))
