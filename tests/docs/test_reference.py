"""Docstrings in the API reference: definitions and fields become lists."""

import griffe
import pytest
from markdown import Markdown

from docs.make.docstrings import Readable, markdown

COLUMNS = """A game.

Position  cells: the board
          as bits; player: who is to move
Ending    a draw

    3x3 start:  ...
"""
BELOW = """An environment.

Reward
    +1 for a win,
    0 for a draw

It is fast."""


def html(text):
    return Markdown(extensions=["def_list"]).convert(markdown(text))


def test_definitions_in_columns_become_a_list():
    text = html(COLUMNS)
    assert text.count("<dt>") == 2
    assert "<dt>Position</dt>" in text
    assert "as bits; player: who is to move" in text
    assert "<pre><code>3x3 start:  ..." in text


def test_definitions_below_their_terms_become_a_list():
    text = html(BELOW)
    assert text.count("<dt>") == 1
    assert "+1 for a win,\n0 for a draw" in text
    assert text.endswith("<p>It is fast.</p>")


def test_nested_definitions_become_nested_lists():
    text = html(
        "Parameters Those of every game:\n           size   the edge\n           seed   of all\n"
    )
    assert text.count("<dl>") == 2
    assert "<dt>size</dt>" in text


@pytest.mark.parametrize(
    "text",
    [
        "Shapes: N games,\nP players.",
        "- A point that goes on\n  in the next line.",
        "Return it.\n\n    code here\n",
    ],
)
def test_other_texts_are_unchanged(text):
    assert markdown(text) == text


def test_fields_are_listed_with_their_comments(tmp_path):
    source = """
class Size:
    \"\"\"The size of a network.\"\"\"

    blocks: int = 4  # residual ones
    parts: list = field(default_factory=list)
    _hidden: int = 1
"""
    (tmp_path / "sized.py").write_text(source)
    extensions = griffe.load_extensions(Readable)
    package = griffe.load("sized", search_paths=[tmp_path], extensions=extensions)
    text = package["Size"].docstring.value
    listed = "- `blocks: int = 4`: residual ones\n- `parts: list`"
    assert text == f"The size of a network.\n\n{listed}"
