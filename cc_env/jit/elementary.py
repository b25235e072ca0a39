"""exp, log and tanh in compiled code, with the same results on every processor.

Those of the system's library differ in the last bit between versions and processors. These consist
of additions, multiplications and divisions in float64, whose results IEEE 754 defines. Their errors
are at most three units in the last place, so a result that is rounded to float32 is nearly always
the exact one, rounded.
"""

import math

import numpy as np

from cc_env.jit.compiler import jit

# log(2) as a sum: the product of the first part and a small integer is exact.
_LOG2_HIGH, _LOG2_LOW = (
    float.fromhex("0x1.62e42fee00000p-1"),
    float.fromhex("0x1.a39ef35793c76p-33"),
)
_INVERSE_LOG2 = 1 / math.log(2)
# Below the first argument the result of `exp` is 0, above the second it is infinite. The others are
# normal numbers.
_MIN_EXPONENT, _MAX_EXPONENT = -708.396, 709.0
# Powers of 2, from the exponent _MIN_POWER on.
_MIN_POWER = -1022
_POWERS = np.ldexp(1.0, np.arange(_MIN_POWER, 1024))
# Up to this argument, the Taylor series of exp(x) - 1 replaces a difference that would cancel.
_MAX_SERIES = 0.6
# Above this argument, tanh rounds to 1.
_MAX_TANH = 20.0
_SQRT_HALF = math.sqrt(0.5)
# 1 / k!, the highest k first, and 2 / k for odd k: the coefficients of the series.
_EXP_SERIES = tuple(1 / math.factorial(k) for k in range(17, 0, -1))
# Coefficients for odd and even k up to 13, enough for arguments up to log(2) / 2 in size.
_EXP_PAIRS = tuple(zip(_EXP_SERIES[4::2], (0.0, *_EXP_SERIES[5::2]), strict=True))
_LOG_SERIES = tuple(2 / k for k in range(23, 0, -2))


@jit
def _exp_minus_one(x: float) -> float:
    """Return exp(x) - 1 for x from 0 to _MAX_SERIES."""
    total = 0.0
    for coefficient in _EXP_SERIES:
        total = (total + coefficient) * x
    return total


@jit
def exp(x: float) -> float:
    """Return e to the power of x."""
    if not _MIN_EXPONENT <= x <= _MAX_EXPONENT:
        # NaN stays NaN.
        return 0.0 if x < 0 else x if x != x else math.inf
    exponent = math.floor(x * _INVERSE_LOG2 + 0.5)
    rest = (x - exponent * _LOG2_HIGH) - exponent * _LOG2_LOW
    square, odd, even = rest * rest, 0.0, 0.0
    # The processor computes both sums at the same time.
    for odd_coefficient, even_coefficient in _EXP_PAIRS:
        odd = odd * square + odd_coefficient
        even = even * square + even_coefficient
    power: float = _POWERS[exponent - _MIN_POWER]
    return (1.0 + (odd + even * rest) * rest) * power


@jit
def log(x: float) -> float:
    """Return the natural logarithm of a positive, finite x."""
    fraction, exponent = math.frexp(x)
    if fraction < _SQRT_HALF:
        fraction, exponent = 2.0 * fraction, exponent - 1
    ratio = (fraction - 1.0) / (fraction + 1.0)
    square, total = ratio * ratio, 0.0
    for coefficient in _LOG_SERIES:
        total = total * square + coefficient
    return exponent * _LOG2_HIGH + (exponent * _LOG2_LOW + total * ratio)


@jit
def tanh(x: float) -> float:
    """Return the hyperbolic tangent of x."""
    twice = 2.0 * abs(x)
    if twice > 2.0 * _MAX_TANH:
        return 1.0 if x > 0 else -1.0
    power = _exp_minus_one(twice) if twice <= _MAX_SERIES else exp(twice) - 1.0
    result = power / (power + 2.0)
    return result if x >= 0 else -result
