"""Tests read no clock and use the same random numbers in every run."""

import ast
import random
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from conftest import seed_everything

TESTS = Path(__file__).parent
CLOCKS = {"time.time", "time.monotonic", "time.perf_counter"}


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.stem)
def test_no_clock_is_read(path):
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    attributes = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
    assert CLOCKS.isdisjoint(name.removesuffix("_ns") for name in attributes)
    assert "time" not in [node.module for node in nodes if isinstance(node, ast.ImportFrom)]


def sample_without_seeds():
    """Return samples of generators that were not seeded explicitly."""
    space = gymnasium.spaces.Discrete(10**6)
    numbers = np.random.default_rng().integers(10**6, size=3), np.random.randint(10**6)
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=4)
    envs.reset()
    return (
        [int(space.sample()), int(gymnasium.spaces.Discrete(10**6).sample()), random.random()],
        [value.tolist() if isinstance(value, np.ndarray) else value for value in numbers],
        envs.action_space.sample().tolist(),
        envs.reset()[0].tolist(),
    )


def test_unseeded_generators_are_reproducible():
    first = sample_without_seeds()
    assert sample_without_seeds() != first
    seed_everything()
    assert sample_without_seeds() == first


def test_file_names_are_unique():
    """pytest imports test modules by their bare names."""
    names = [path.name for path in TESTS.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))
