"""The tests themselves: each asserts something, none reads the clock, all draw alike each time."""

import ast
import random
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from conftest import seed_everything

HERE = Path(__file__).parent
CLOCKS = {"time.time", "time.monotonic", "time.perf_counter"}


def functions(*paths):
    """Return the functions of some files by their names."""
    found = (node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return {node.name: node for node in found if isinstance(node, ast.FunctionDef)}


def names(node):
    """Return the names in what is called, such as pytest and raises."""
    return {getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node.func)}


def asserts(function, others):
    """Return whether a function asserts something, itself or by one of the others, by name."""
    for node in ast.walk(function):
        called = names(node) if isinstance(node, ast.Call) else set()
        if isinstance(node, ast.Assert) or called & {"raises", "warns"}:
            return True
        if any(each.startswith("assert_") for each in called):
            return True
        rest = {name: other for name, other in others.items() if name not in called}
        if any(asserts(others[each], rest) for each in called & set(others)):
            return True
    return False


HELPERS = functions(*(each for each in HERE.rglob("*.py") if not each.match("test_*.py")))


@pytest.mark.parametrize("path", sorted(HERE.rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts_something(path):
    found = functions(path)
    tests = [each for name, each in found.items() if name.startswith("test_")]
    assert [each.name for each in tests if not asserts(each, HELPERS | found)] == []


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_clock_is_read(path):
    found = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    attributes = [ast.unparse(each) for each in found if isinstance(each, ast.Attribute)]
    assert CLOCKS.isdisjoint(each.removesuffix("_ns") for each in attributes)
    assert "time" not in [each.module for each in found if isinstance(each, ast.ImportFrom)]


def draws():
    """Return what is drawn by whom nobody gave a seed."""
    space = gymnasium.spaces.Discrete(10**6)
    numbers = np.random.default_rng().integers(10**6, size=3), np.random.randint(10**6)
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=4)
    envs.reset()
    return (
        [int(space.sample()), int(gymnasium.spaces.Discrete(10**6).sample()), random.random()],
        [each.tolist() if isinstance(each, np.ndarray) else each for each in numbers],
        envs.action_space.sample().tolist(),
        envs.reset()[0].tolist(),
    )


def test_what_is_given_no_seed_draws_the_same_in_every_run():
    first = draws()
    assert draws() != first
    seed_everything()
    assert draws() == first


def test_no_two_files_have_the_same_name():
    """Python would import the first for both, also where a test starts processes."""
    found = [path.name for path in HERE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(found) == sorted(set(found))
