"""The tests themselves: they assert something, read no clock, and draw the same in every run."""

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
    """Return the functions of some files by name."""
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}


def names(node):
    """Return the names in a call's function, such as pytest and raises."""
    return {getattr(call, "id", getattr(call, "attr", "")) for call in ast.walk(node.func)}


def asserts(function, others):
    """Return whether a function asserts something, itself or through one of `others`."""
    for node in ast.walk(function):
        called = names(node) if isinstance(node, ast.Call) else set()
        if isinstance(node, ast.Assert) or called & {"raises", "warns"}:
            return True
        if any(function.startswith("assert_") for function in called):
            return True
        rest = {name: other for name, other in others.items() if name not in called}
        if any(asserts(others[function], rest) for function in called & set(others)):
            return True
    return False


HELPERS = functions(*(path for path in HERE.rglob("*.py") if not path.match("test_*.py")))


@pytest.mark.parametrize("path", sorted(HERE.rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts_something(path):
    here = functions(path)
    tests = [test for name, test in here.items() if name.startswith("test_")]
    assert [test.name for test in tests if not asserts(test, HELPERS | here)] == []


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_clock_is_read(path):
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    attributes = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
    assert CLOCKS.isdisjoint(name.removesuffix("_ns") for name in attributes)
    assert "time" not in [node.module for node in nodes if isinstance(node, ast.ImportFrom)]


def draws():
    """Return what is drawn by generators without an explicit seed."""
    space = gymnasium.spaces.Discrete(10**6)
    numbers = np.random.default_rng().integers(10**6, size=3), np.random.randint(10**6)
    envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=4)
    envs.reset()
    return (
        [int(space.sample()), int(gymnasium.spaces.Discrete(10**6).sample()), random.random()],
        [drawn.tolist() if isinstance(drawn, np.ndarray) else drawn for drawn in numbers],
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
    names = [path.name for path in HERE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))
