"""Elementary functions of compiled code."""

import math

import numpy as np
import pytest

from cc_env.jit import elementary
from cc_env.jit.compiler import jit

RANDOM = np.random.default_rng(0)
# Arguments of each function, over all magnitudes.
ARGUMENTS = {
    "exp": np.concatenate((RANDOM.uniform(-745, 709, 20_000), RANDOM.normal(0, 1, 20_000))),
    "log": np.concatenate((np.exp(RANDOM.uniform(-700, 700, 20_000)), RANDOM.random(20_000))),
    "tanh": RANDOM.choice([-1, 1], 40_000) * np.exp(RANDOM.uniform(-30, 3.5, 40_000)),
}


def compiled(name):
    """Return the function with this name for arrays float64[N]."""
    function = getattr(elementary, name)

    @jit
    def evaluate(arguments, out):
        for index in range(len(arguments)):
            out[index] = function(arguments[index])

    def call(arguments):
        out = np.empty(len(arguments))
        evaluate(arguments, out)
        return out

    return call


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="longdouble is float64 here")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_values_have_the_precision_of_float64(name):
    arguments = ARGUMENTS[name]
    actual = compiled(name)(arguments)
    exact = getattr(np, name)(arguments.astype(np.longdouble))
    is_normal = np.abs(exact) > np.finfo(np.float64).tiny
    errors = np.abs(actual - exact)[is_normal] / np.spacing(np.abs(exact[is_normal]).astype(float))
    assert errors.max() <= 3
    # Rounded to float32, the values are exact.
    with np.errstate(over="ignore"):
        assert np.array_equal(actual.astype(np.float32), exact.astype(np.float32))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("exp", [0.0, -0.0, -1e4, 1e4, math.inf, -math.inf], [1, 1, 0, math.inf, math.inf, 0]),
        ("log", [1.0, 2.0, 5e-324], [0, math.log(2), math.log(5e-324)]),
        ("tanh", [0.0, 25.0, -25.0, math.inf, -math.inf, 1e-300], [0, 1, -1, 1, -1, 1e-300]),
    ],
)
def test_special_arguments_have_exact_values(name, arguments, expected):
    assert compiled(name)(np.array(arguments)).tolist() == expected


def test_nan_stays_nan():
    for name in ("exp", "tanh"):
        assert np.isnan(compiled(name)(np.array([math.nan]))).all()
