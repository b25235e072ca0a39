"""Damage to the contents of files: arrays, JSON, bytes."""

import json

import numpy as np
from hypothesis import strategies as st

NUMBERS = (
    st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63, 2**64, 10**400, 32000, -32000])
    | st.sampled_from([0.5, -0.0, 1e300, float("nan"), float("inf"), float("-inf")])
    | st.integers()
    | st.floats()
)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NESTED = st.integers(2, 900).map(lambda depth: json.loads("[" * depth + "]" * depth))
JSON = VALUES | NESTED
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@st.composite
def json_damaged(draw, value):
    """Draw a JSON value in which one part is replaced, removed or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(json_damaged(value[name]))}
    if isinstance(value, dict) and draw(st.booleans()):
        rest = dict(value)
        if rest and draw(st.booleans()):
            del rest[draw(st.sampled_from(sorted(rest)))]
        else:
            rest[draw(st.text(max_size=5))] = draw(JSON)
        return rest
    return draw(JSON)


@st.composite
def array_damaged(draw, array):
    """Draw an array with a few other numbers, another shape, or another dtype."""
    damage = draw(st.sampled_from(["numbers", "numbers", "numbers", "shape", "dtype", "length"]))
    with np.errstate(all="ignore"):
        if damage == "dtype":
            return array.astype(draw(st.sampled_from(DTYPES)))
        if damage == "shape":
            return array.T if draw(st.booleans()) else array.reshape(-1)
        if damage == "length":
            return array[: draw(st.integers(0, 2))] if array.ndim else array[np.newaxis]
        array = array.copy()
        for _ in range(draw(st.integers(1, 4)) if array.size else 0):
            array.flat[draw(st.integers(0, array.size - 1))] = draw(_numbers(array.dtype))
        return array


def _numbers(dtype):
    """Return numbers that an array of this dtype can hold, the least and the greatest included."""
    if dtype.kind == "f":
        return st.sampled_from([0, 0.5, -1, 1, 2, np.nan, np.inf, -np.inf])
    if dtype.kind == "b":
        return st.booleans()
    minimum, maximum = np.iinfo(dtype).min, np.iinfo(dtype).max
    small = st.integers(max(minimum, -9), min(maximum, 99))
    return small | st.sampled_from([minimum, maximum]) | st.integers(minimum, maximum)


@st.composite
def bytes_damaged(draw, content):
    """Draw bytes of which a few were replaced, removed or inserted, or a few bits were flipped."""
    content = bytearray(content)
    only_flips = draw(st.booleans())
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        if only_flips and content:
            content[place] ^= 1 << draw(st.integers(0, 7))
            continue
        new = draw(st.binary(max_size=8))
        content[place : place + draw(st.sampled_from([len(new), len(new), 0, 99]))] = new
    return bytes(content)
