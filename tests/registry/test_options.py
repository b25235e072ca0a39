"""Options as text: NAME=VALUE."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cc_env.registry.options import format_option, parse_options, split_options, text_options


def options(
    path: str,
    tables: str | Path | None,
    rule: Annotated[str, ("a", "b")],
    kind: Literal["x", "y"],
    size: int,
    limit: float | str,
    evaluation: object,
    missing: "str | None",
    free,
):
    pass


TEXTS = {"path": False, "tables": True, "rule": False, "kind": False, "missing": True}


def test_text_options_have_annotations_of_strings():
    assert text_options(options) == TEXTS


class UnknownAnnotation:
    def __init__(self, path: "NoSuchType") -> None:  # noqa: F821
        pass


@pytest.mark.parametrize("function", [UnknownAnnotation, type, 5])
def test_functions_without_readable_annotations_have_no_text_options(function):
    assert text_options(function) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", "1e3"),
        ("0x10", "0x10"),
        ("[1]", "[1]"),
        ("True", "True"),
        ("b'x'", "b'x'"),
        ("", ""),
        ("'1e3'", "1e3"),
        ('"a,b=c"', "a,b=c"),
        ("a=b", "a=b"),
        ("o'brien", "o'brien"),
    ],
)
def test_text_options_are_not_read_as_literals(text, value):
    assert parse_options([f"path={text}"], TEXTS) == {"path": value}


def test_none_is_a_text_unless_the_option_may_be_none():
    pairs = "path=None", "tables=None", "missing='None'", "size=None"
    assert parse_options(pairs, TEXTS) == {
        "path": "None", "tables": None, "missing": "None", "size": None,
    }  # fmt: skip


@given(
    text=st.text(max_size=20) | st.sampled_from(["1e3", "0x10", "None", "a,b=c", "'", '"x', " a"])
)
def test_formatted_texts_are_read_back(text):
    words = [format_option(name, text) for name in ("path", "missing", "other")]
    assert split_options(",".join(["easy", *words, "size=4"])) == ["easy", *words, "size=4"]
    expected = dict.fromkeys(("path", "missing", "other"), text)
    assert parse_options(words, TEXTS) == parse_options(words) == expected


@pytest.mark.parametrize("value", [1, 0.5, None, True, (1, 2)])
def test_formatted_literals_are_read_back(value):
    assert parse_options([format_option("x", value)]) == {"x": value}
