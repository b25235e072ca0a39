"""Configs: field checks, and construction from options and saved files."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import pytest

from cc_env.errors import MAX_INTEGER, BadOption
from training import alphazero, dqn
from training.distillation import distillation
from training.learned_evaluation import fitting
from training.ppo import ppo
from training.runs import checked
from training.runs.config import build_config, check_limits, merge, nest, type_of


@dataclass(frozen=True)
class Part:
    size: checked.Count = 4
    rate: checked.Fraction = 0.1

    def __post_init__(self):
        checked.check_fields(self)


@dataclass(frozen=True)
class Whole:
    part: Part = field(default_factory=lambda: Part(size=2))
    names: tuple[str, ...] = ("a",)
    count: int | None = None
    word: str | None = None


def test_missing_values_have_the_defaults_of_their_field():
    assert build_config(Whole, {}) == Whole()
    assert build_config(Whole, {"part": {"rate": 0.5}}) == Whole(part=Part(size=2, rate=0.5))
    assert build_config(Whole, {"names": ["b", "c"], "count": None}).names == ("b", "c")


@pytest.mark.parametrize("kind", [alphazero.Config, ppo.Config])
def test_saved_config_is_rebuilt(kind):
    config = build_config(kind, {"options": {"size": 4}, "network": {"blocks": 1}, "minutes": 5})
    assert build_config(kind, json.loads(json.dumps(asdict(config)))) == config
    assert config.network.channels == kind().network.channels


def test_optional_word_may_be_none():
    assert build_config(Whole, {"word": "it"}).word == "it"
    assert build_config(Whole, {"word": None}).word is None


def test_word_becomes_a_tuple_of_one():
    assert build_config(Whole, {"names": "one"}).names == ("one",)
    assert build_config(Whole, {"names": ["one", "two"]}).names == ("one", "two")


def test_dotted_names_are_nested():
    assert nest({"a.b.c": 1, "a.d": 2, "e": 3}) == {"a": {"b": {"c": 1}, "d": 2}, "e": 3}
    with pytest.raises(BadOption, match=r"a\.b: a already has a value"):
        nest({"a": 1, "a.b": 2})


def test_merge_replaces_old_values():
    old = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(old, {"a": {"c": 4}, "e": 5}) == {"a": {"b": 1, "c": 4}, "d": 3, "e": 5}
    assert merge(old, {"a": None}) == {"a": None, "d": 3}
    assert old == {"a": {"b": 1, "c": 2}, "d": 3}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"other": 1}, "unknown option other; expected: part, names, count, word"),
        ({"part": {"other": 1}}, "unknown option part.other; expected: size, rate"),
        ({"names": 5}, "names=5; expected: a string, or a list"),
        ({"names": [1]}, r"names=\[1\]; expected: a string, or a list"),
        ({"count": "abc"}, "count='abc'; expected: a number, or None"),
        ({"count": {"x": 1}}, "count={'x': 1}; expected: a number, or None"),
        ({"word": 3}, "word=3; expected: a string"),
        ({"part": 3}, "part=3; expected: part.PART=VALUE"),
        ({"part": {"size": 0}}, "size=0; expected: an integer, 1"),
        ({"part": {"size": 2**31}}, "size=2147483648; expected: an integer, 1 to 2,147,"),
        ({"part": {"size": 1.5}}, "size=1.5; expected: an integer, 1"),
        ({"part": {"rate": "x"}}, "part.rate='x'; expected: a number, or None"),
        ({"part": {"rate": 1.5}}, "rate=1.5; expected: 0 to 1"),
        ({"part": {"rate": True}}, "rate=True; expected: 0 to 1"),
    ],
)
def test_invalid_values_are_rejected(values, message):
    with pytest.raises(BadOption, match=message):
        build_config(Whole, values)


def test_invalid_run_limits_are_rejected():
    check_limits(minutes=0.5, rounds=None)
    with pytest.raises(BadOption, match="minutes=None, rounds=None; set at least one of them"):
        check_limits(minutes=None, rounds=None)
    for wrong in (0, -1, "long", True):
        with pytest.raises(BadOption, match=f"rounds={wrong!r}; expected: more than 0"):
            check_limits(minutes=1, rounds=wrong)
    with pytest.raises(BadOption, match=r"rounds=2\.5; expected: an integer"):
        check_limits(minutes=1, rounds=2.5)


# Integers that allocate no memory and start no processes, or whose memory the boards limit.
TAKES_ONLY_TIME = {
    *("considered", "epochs", "evaluate_every", "least_window", "max_turns", "n_epochs", "n_steps"),
    *("repetitions", "rounds", "seed", "steps", "target_interval", "warm_up"),
}


def field_names(values, prefix=""):
    """Yield the dotted names of the fields in a nested config."""
    for name, value in values.items():
        if isinstance(value, Mapping) and name != "options":
            yield from field_names(value, f"{prefix}{name}.")
        elif name != "options":
            yield f"{prefix}{name}"


@pytest.mark.parametrize(
    "kind", [alphazero.Config, distillation.Config, dqn.Config, fitting.Config, ppo.Config]
)
def test_numbers_that_allocate_memory_are_bounded(kind):
    tested = 0
    for path in field_names(asdict(kind())):
        name = path.rpartition(".")[2]
        if type_of(kind, path) in (int, int | None) and name not in TAKES_ONLY_TIME:
            with pytest.raises(BadOption, match=f"^{name}={MAX_INTEGER - 1}; expected: "):
                build_config(kind, nest({path: MAX_INTEGER - 1}))
            tested += 1
    assert tested > 5


def test_rollout_size_is_bounded():
    message = "^n_steps=1563; expected: an integer, 1 to 1,562$"
    with pytest.raises(BadOption, match=message):
        ppo.Config(boards=64_000, n_steps=1563)


def test_number_of_workers_is_bounded():
    for kind in (alphazero.Config, distillation.Config, fitting.Config):
        kind(workers=1024)
        with pytest.raises(
            BadOption, match=r"^workers=1000000; expected: an integer, [01] to 1,024"
        ):
            kind(workers=1_000_000)
