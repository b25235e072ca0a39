"""The cache on disk: found again by the next process, and never older than the sources."""

import copy
import math
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numba
import numpy as np
import pytest

from cc_env import games, rules
from cc_env.borrow import borrow
from cc_env.compile import jit

PACKAGE = Path(__file__).parents[1] / "cc_env"

WATCH = """
from numba.core import event
compiled = set()
class Watch(event.Listener):
    def on_start(self, happened):
        compiled.add(happened.data["dispatcher"].py_func.__module__)
    def on_end(self, happened):
        pass
event.register("numba:compile", Watch())
from cc_env import games
def count(name, **options):
    game = games.make(name, **options)
    print(len(game.legal_actions(game.initial)))
"""
COUNT = (
    WATCH
    + """
count("capture_conquer", size=4)
print(len(compiled))
"""
)
COUNT_BOTH = (
    WATCH
    + """
count("capture_conquer", size=4)
print(len(compiled))
compiled.clear()
count("checkers")
print(len(compiled))
"""
)


def run(code, folder):
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


class Nested(NamedTuple):
    pair: Any
    number: float


@jit
def write_borrowed(arrays, nested):
    arrays, nested = borrow(arrays), borrow(nested)
    for _ in range(1000):
        arrays[0][0] += 1
        nested.pair[1][0] += nested.number


def test_borrowed_arrays_are_the_same_arrays_and_nobody_loses_count():
    first, second = np.zeros(3, np.int64), np.zeros(3)
    before = sys.getrefcount(first), sys.getrefcount(second)
    write_borrowed((first, second), Nested((first, second), 0.5))
    assert (first[0], second[0]) == (1000, 500)
    assert (sys.getrefcount(first), sys.getrefcount(second)) == before


def edit(path, old="", new="# a comment"):
    source = path.read_text()
    path.write_text(source.replace(old, new) if old else f"{source}\n{new}\n")
    assert path.read_text() != source


def counts(code, folder):
    return [int(word) for word in run(code, folder)]


def test_copies_and_pickles_of_compiled_functions_and_rules_are_the_same():
    for function in (rules.reward, rules.apply, write_borrowed):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_a_rule_of_a_class_that_nobody_registered_says_so():
    with pytest.raises(TypeError, match=r"no apply is registered for .*Nested"):
        rules.apply(Nested(None, 0.5), 0)


def both(first, second):
    """Return two functions, compiled."""
    return jit(first), jit(second)


def test_functions_of_one_name_are_told_apart():
    add_one, add_two = both(lambda x: x + 1, lambda x: x + 2)
    sine, cosine = both(lambda x: math.sin(x), lambda x: math.cos(x))
    assert (add_one(1.0), add_two(1.0)) == (2.0, 3.0)
    assert (sine(1.0), cosine(1.0)) == (math.sin(1.0), math.cos(1.0))


@jit
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@jit
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@jit
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_function_may_call_itself_and_a_circle_is_refused():
    assert factorial(10) == 3_628_800
    with pytest.raises(numba.core.errors.UnsupportedError, match="in a circle"):
        is_even(4)


@jit
def check(n):
    if n > 3:
        raise ValueError("more than three")
    return n


@jit
def checked_twice(n):
    return check(n) + check(n)


def test_errors_of_inlined_functions_are_raised():
    assert checked_twice(3) == 6
    with pytest.raises(ValueError, match="more than three"):
        checked_twice(4)


@jit
def check_row(row):
    if row[0] > 3:
        raise ValueError("more than three", row[0])
    print(row)
    return row[0]


def through(compiler):
    """Return a function that this compiler makes, and that alone calls `check_row`."""
    inner = jit(check_row.py_func)
    return compiler(lambda row: inner(row))


@pytest.mark.parametrize("compiler", [lambda _: check_row, jit, numba.njit])
def test_whoever_calls_them_compiled_functions_print_and_raise_computed_errors(compiler, capfd):
    function = through(compiler)
    assert function(np.arange(2)) == 0
    assert capfd.readouterr().out == "[0 1]\n"
    with pytest.raises(ValueError, match="more than three") as raised:
        function(np.arange(4, 6))
    assert raised.value.args == ("more than three", 4)


def test_functions_without_a_place_are_pickled_with_their_source():
    inner = cloudpickle.loads(cloudpickle.dumps(jit(lambda x: x + 7)))
    assert inner(1) == 8


def test_rules_take_names_of_arguments_as_functions_do():
    game = games.make("mini_checkers")
    assert rules.outcome(position=game.initial) == rules.outcome(game.initial)
    with pytest.raises(TypeError, match="missing a required argument: 'position'"):
        rules.outcome()


@pytest.mark.slow
def test_an_edit_compiles_again_what_depends_on_it_and_nothing_else(tmp_path):
    package = tmp_path / "cc_env"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    nine, some, seven, others = counts(COUNT_BOTH, tmp_path)
    assert (nine, seven) == (9, 7)
    assert min(some, others) >= 1
    assert counts(COUNT_BOTH, tmp_path) == [9, 0, 7, 0]

    for path in (
        "pictures/svg.py",
        "commands.py",
        "envs/single.py",
        "envs/kernels.py",
        "record.py",
    ):
        edit(package / path)
    edit(package / "games/capture_conquer/text.py")
    assert counts(COUNT_BOTH, tmp_path) == [9, 0, 7, 0]

    edit(package / "games/checkers/rules.py")
    first, none, second, some = counts(COUNT_BOTH, tmp_path)
    assert (first, none, second) == (9, 0, 7)
    assert some >= 1

    # The generic function lies in another file than the rule that changes.
    rules = package / "games/capture_conquer/rules.py"
    edit(rules, "if start & jumping:", "if start & jumping & ZERO:")
    fewer, some, second, none = counts(COUNT_BOTH, tmp_path)
    assert (fewer, second, none) == (7, 7, 0)
    assert some >= 1


EVERYTHING = """
import gymnasium, cc_env
import numpy as np
from cc_env import games, perft, playouts
from cc_env.games.capture_conquer.evaluation import Published
from cc_env.search import greedy
from cc_env.search.alphabeta import AlphaBeta
from cc_env.search.mcts import TreeSearch
game = games.make("capture_conquer")
print(perft.perft(game, game.initial, 4), playouts.play_randomly(game, 50, seed=1).turns)
env = gymnasium.make("cc_env/CaptureConquer-v0")
env.reset(seed=1)
print(int(env.step(8 if env.unwrapped.action_masks()[8] else 6)[0].sum()))
envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=3, opponent=None)
_, info = envs.reset(seed=1)
for _ in range(50):
    *_, info = envs.step(info["action_mask"].argmax(1))
print(int(info["action_mask"].sum()))
chains = game.from_text("6/1bb3/1brrr1/1r1r2/6/6 b")
print(AlphaBeta(game).search(game.initial, depth=4).line, greedy.scores(game, chains, Published()))
print(AlphaBeta(game, Published()).search(game.initial, depth=4).line)
print(TreeSearch(game).search(chains, np.random.default_rng(1), simulations=100).visits)
envs = gymnasium.make_vec("cc_env/CaptureConquer-v0", num_envs=3, opponent="minimax:depth=2")
_, info = envs.reset(seed=1)
print(envs.step(info["action_mask"].argmax(1))[0].sum())
print(len(list(game.turns(chains))), game.track(chains, game.parse_turn(chains, "1,2-3,0x3,3")))
"""


@pytest.mark.slow
def test_everything_compiled_runs_again_from_the_cache(tmp_path):
    (tmp_path / "cc_env").symlink_to(PACKAGE)
    cold = run(EVERYTHING, tmp_path)
    assert cold[0] == "98494"
    files = len(list((tmp_path / "cache").rglob("*.nbc")))
    assert run(EVERYTHING, tmp_path) == cold
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == files > 15


FOREIGN = """
from typing import NamedTuple
import numpy as np
from cc_env import rules
from cc_env.compile import jit

class Position(NamedTuple):
    left: np.uint64

@jit
def legal_actions(position, out):
    out[0] = {action}
    return 1

@jit
def other(position, *_):
    return 0

rules.register(Position, legal_actions=legal_actions, apply=other, to_move=other,
               mid_turn=other, outcome=other, observe=other)
"""

USE = (
    WATCH
    + """
import numpy as np
from foreign import Position
from cc_env.rules import legal_actions
out = np.zeros(1, np.int32)
legal_actions(Position(np.uint64(3)), out)
print(out[0], len(compiled))
"""
)


@pytest.mark.slow
def test_a_game_from_another_package_is_compiled_anew_when_it_is_edited(tmp_path):
    (tmp_path / "cc_env").symlink_to(PACKAGE)
    (tmp_path / "foreign.py").write_text(FOREIGN.format(action=5))
    assert counts(USE, tmp_path) > [5, 0]
    assert counts(USE, tmp_path) == [5, 0]
    (tmp_path / "foreign.py").write_text(FOREIGN.format(action=6))
    assert counts(USE, tmp_path) > [6, 0]


@pytest.mark.slow
def test_a_game_that_is_gone_leaves_a_cache_that_others_can_use(tmp_path):
    (tmp_path / "cc_env").symlink_to(PACKAGE)
    (tmp_path / "foreign.py").write_text(FOREIGN.format(action=5))
    assert counts(USE, tmp_path) > [5, 0]
    assert counts(COUNT, tmp_path) > [9, 0]
    (tmp_path / "foreign.py").unlink()
    assert counts(COUNT, tmp_path) == [9, 0]
