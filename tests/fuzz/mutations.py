"""Mutations of valid input: texts with parts removed, repeated or swapped, JSON with other values.

Each mutation is made from a seed, which costs Hypothesis less than drawing every character. A
failing example is therefore not shrunk, but printed completely.
"""

import json
import random
from collections.abc import Sequence

from hypothesis import strategies as st

SEEDS = st.integers(0, 2**64 - 1)
PIECES = (
    *("", " ", "\n", "\r\n", "\t", "\0", "\x1b[2J", "\ufeff", "\u2028", "\x85", "\ud800", "\udfff"),
    *("é", "٣", "²", "½", "–", "日本", "𝟗", "%s", "{0}", "\\", '"', "'", "/", "//", ":", ";", "*"),
    *("0", "-1", "00", "9" * 20, "9" * 5000, "1e999", "NaN", "0x1F", "1_000", "[red]", "None"),
    *("[", "]", "{", "}", "(", ")", "[" * 5000, "{" * 5000, "(" * 5000, "x", "-", "x" * 5000),
)
# Values that replace parts of JSON.
UNEXPECTED_VALUES = (
    *(None, True, False, 0, -1, 1, 2, 255, 2**31, 2**64, -(10**30), 10**400, 0.5, -0.0, 6.0),
    *(float("nan"), float("inf"), -float("inf"), 1e308, "", " ", "b", "w", "r", "1-0", "0" * 5000),
    *("\ud800", "\0", "é", "-", [], [[]], [None], [1, 2], ["a"], [[0, 0]], {}, {"": 0}, {"a": {}}),
    *([0] * 3000, "[" * 3000, [[[[[[[]]]]]]], {"size": 6}, ["S 2 5 M 1 4"] * 3, ["51-40", {}]),
)
MAX_LENGTH = 20_000


def texts(valid: Sequence[str], max_length: int = MAX_LENGTH) -> st.SearchStrategy[str]:
    """Return a strategy of mutations of valid texts, at most `max_length` characters long."""
    return st.builds(lambda seed: _text(random.Random(seed), valid, max_length), SEEDS)


def mutate(text: str, seed: int, max_length: int = MAX_LENGTH) -> str:
    """Return a mutation of a text."""
    return _text(random.Random(seed), [text], max_length)


def lines(valid: Sequence[str]) -> st.SearchStrategy[str]:
    """Return a strategy of mutations of valid JSON texts."""
    return st.builds(lambda seed: _line(random.Random(seed), valid), SEEDS)


def _text(rng: random.Random, valid: Sequence[str], max_length: int) -> str:
    text = rng.choice(valid)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8))):
        text = _changed(rng, text, valid)[:max_length]
    return text


def _changed(rng: random.Random, text: str, valid: Sequence[str]) -> str:
    """Return the text after one random change."""
    first, last = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    # Most changes are small.
    if rng.random() < 0.7:
        last = min(last, first + rng.randrange(4))
    head, part, tail = text[:first], text[first:last], text[last:]
    changes = (
        lambda: head + tail,
        lambda: head + rng.choice(PIECES) + tail,
        lambda: head + rng.choice(PIECES) + part + tail,
        lambda: head + part * rng.choice((2, 3, 100, 3000)) + tail,
        lambda: head + part[::-1] + tail,
        lambda: head + part.swapcase() + tail,
        lambda: head + "".join(chr(max(0, ord(c) + rng.choice((-1, 1)))) for c in part) + tail,
        lambda: head + _part(rng, rng.choice(valid)) + tail,
        lambda: "".join(rng.sample(text.split(" "), len(text.split(" ")))),
        lambda: rng.choice(PIECES).join(text.split(rng.choice((" ", "\n", "/", ",")))),
    )
    return rng.choice(changes)()


def _part(rng: random.Random, text: str) -> str:
    first, last = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[first:last]


def _line(rng: random.Random, valid: Sequence[str]) -> str:
    value = json.loads(rng.choice(valid))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        value = _other(rng, value, json.loads(rng.choice(valid)))
    line = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    return _changed(rng, line, valid) if rng.random() < 0.15 else line


def _other(rng: random.Random, value: object, donor: object) -> object:
    """Return the JSON value after one random change; new parts may come from `donor`."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            return {name: item for name, item in value.items() if name != key}
        if isinstance(donor, dict) and rng.random() < 0.2:
            return value | {key: rng.choice(list(donor.values()) or [None])}
        return value | {key: _other(rng, value[key], None)}
    if isinstance(value, list) and value and rng.random() < 0.6:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _other(rng, value[at], None), *value[at + 1 :]]
    if isinstance(value, str) and rng.random() < 0.5:
        return _changed(rng, value, [value])[:MAX_LENGTH]
    if isinstance(value, int) and rng.random() < 0.4:
        return value + rng.choice((-1, 1, 10, -(2**32)))
    return rng.choice(UNEXPECTED_VALUES)
