"""Compiled functions, alone and within others, and the rules that choose among them."""

import copy
import gc
import math
import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numba
import numpy as np
import pytest
from numba.core import errors, event

from cc_env.core import rules
from cc_env.games.factory import make_game
from cc_env.jit.compiler import jit, rule, specialize
from cc_env.jit.raw_arrays import as_raw, by_reference

PACKAGE = Path(__file__).parents[2] / "cc_env"


class Nested(NamedTuple):
    pair: Any
    number: float


@jit
def write_raw(arrays, nested):
    arrays, nested = as_raw(arrays), as_raw(nested)
    for _ in range(1000):
        arrays[0][0] += 1
        nested.pair[1][0] += nested.number


def test_specialize_keeps_the_result_and_reuses_compiled_code():
    position, legal = make_game("capture_conquer").initial, np.zeros(200, np.int32)

    @jit
    def count(position, legal):
        return rules.legal_actions(position, legal)

    entry_point = specialize(count, position, legal)
    assert entry_point(position, legal) == count(position, legal) == 16
    assert specialize(count, position, legal) is entry_point
    assert len(count.overloads) == 1


def test_raw_arrays_share_memory_without_reference_counts():
    first, second = np.zeros(3, np.int64), np.zeros(3)
    before = sys.getrefcount(first), sys.getrefcount(second)
    write_raw((first, second), Nested((first, second), 0.5))
    assert (first[0], second[0]) == (1000, 500)
    assert (sys.getrefcount(first), sys.getrefcount(second)) == before


@jit
def add_number(nested):
    nested.pair[1][0] += nested.number
    return nested


@jit
def write_by_reference(nested):
    nested = by_reference(nested)
    for _ in range(1000):
        nested = add_number(nested)


def test_named_tuples_by_reference_share_memory_without_reference_counts():
    first, second = np.zeros(3, np.int64), np.zeros(3)
    before = sys.getrefcount(first), sys.getrefcount(second)
    write_by_reference(Nested((first, second), 0.5))
    assert (first[0], second[0]) == (0, 500)
    assert (sys.getrefcount(first), sys.getrefcount(second)) == before


def test_constants_and_fields_of_records_compile_like_variables():
    inner = jit(lambda array, number: array[0] + number)
    record = np.zeros(1, [("array", np.int64, (3,))])[0]

    @jit
    def outer(record, array, number):
        return inner(record.array, 1) + inner(record.array, number) + inner(array, number)

    # Code from the disk would include that of `inner`.
    outer._cache.disable()
    assert outer(record, np.ones(3, np.int64), 5) == 12
    assert len(inner._inlined.overloads) == 1


def test_copies_of_compiled_functions_and_rules_are_identical():
    for function in (rules.reward, rules.apply, write_raw):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


class Words(NamedTuple):
    first: Any
    second: Any


@jit
def add_fields(position, number):
    return position.first + position.second + np.uint64(number)


def test_repeated_calls_of_a_rule_accept_the_types_of_the_first_call():
    """From the first call with fields of uint64 on, all integers are converted to these types."""
    added = rule(lambda position, number: None)
    added.add(Words, function=add_fields)
    words = Words(np.uint64(2**63), np.uint64(1))
    for position, number, expected in [
        (Words(4, 5), 6, 15),
        (words, 2, 2**63 + 3),
        (words, np.int32(2), 2**63 + 3),
        (Words(4, 5), np.uint64(6), 15),
    ]:
        assert added(position, number) == expected
    added.add(Words, function=lambda position, number: "another")
    assert added(words, 2) == added(words, 3) == "another"


@jit
def write_twice(position, out):
    out[0] = out[1] = position.first


def test_repeated_calls_of_a_rule_write_into_arrays_of_any_layout():
    written = rule(lambda position, out: None)
    written.add(Words, function=write_twice)
    for out in (np.zeros(2, np.int64), np.zeros((2, 3), np.int32)[:, 1], np.zeros(8)[::4]):
        written(Words(np.uint64(7), np.uint64(0)), out)
        assert out.tolist() == [7, 7]
        base = out if out.base is None else out.base
        assert base.sum() == 14


def test_unregistered_class_is_a_type_error():
    with pytest.raises(TypeError, match=r"no apply is registered for .*Nested"):
        rules.apply(Nested(None, 0.5), 0)


def both(first, second):
    """Return two functions, compiled."""
    return jit(first), jit(second)


def test_functions_with_equal_names_are_distinguished():
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


def test_recursion_works_and_mutual_recursion_is_rejected():
    assert factorial(10) == 3_628_800
    with pytest.raises(numba.core.errors.UnsupportedError, match="is_even: unsupported recursion"):
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
    """Return a function compiled by this compiler, the only one that calls `check_row`."""
    inner = jit(check_row.py_func)
    return compiler(lambda row: inner(row))


@pytest.mark.parametrize("compiler", [lambda _: check_row, jit, numba.njit])
def test_compiled_functions_print_and_raise_computed_errors(compiler, capfd):
    function = through(compiler)
    assert function(np.arange(2)) == 0
    assert capfd.readouterr().out == "[0 1]\n"
    with pytest.raises(ValueError, match="more than three") as raised:
        function(np.arange(4, 6))
    assert raised.value.args == ("more than three", 4)


class Observer(event.Listener):
    """Records whether garbage is collected, and how errors are marked, during compilations."""

    def __init__(self):
        self.observed = []

    def on_start(self, started):
        self.observed.append((gc.isenabled(), errors.termcolor().errmsg("text")))

    def on_end(self, ended):
        pass


def test_compiling_collects_no_garbage_and_colors_no_errors():
    observer, scheme, function = Observer(), errors._termcolor_inst, jit(lambda: 1)
    # Not loaded from the disk.
    function._cache.disable()
    with event.install_listener("numba:compile", observer):
        assert function() == 1
    assert observer.observed == [(False, "text")]
    assert gc.isenabled()
    assert errors._termcolor_inst is scheme


def test_lambdas_survive_pickling():
    inner = cloudpickle.loads(cloudpickle.dumps(jit(lambda x: x + 7)))
    assert inner(1) == 8


def test_rules_accept_keyword_arguments():
    game = make_game("mini_checkers")
    assert rules.outcome(position=game.initial) == rules.outcome(game.initial)
    with pytest.raises(TypeError, match="missing a required argument: 'position'"):
        rules.outcome()
