"""Docstrings as Markdown, an extension of Griffe: definition lists, and lists of fields.

A definition is a word, followed by its text in a column of its own or below it:

    Action    one decision, with an id that means
              the same in every position

    Action
        one decision, with an id that means
        the same in every position
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from textwrap import dedent
from typing import Any

import griffe

_WORD = re.compile(r"[A-Z]\w*")
# A term, and the space before its text.
_SPACED = re.compile(r"\S+(?: \S+)? {2,}(?=\S)")
_COMMENT = re.compile(r"  # (.*)$")
# Lines with a smaller indentation are not the text of a definition.
MIN_COLUMN = 6


class Readable(griffe.Extension):
    """Rewrites the docstrings of a package."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite all docstrings of a loaded package."""
        for node in _within(pkg):
            texts = [markdown(node.docstring.value)] if node.docstring else []
            if node.is_class and (listed := _fields(node)):
                texts.append(listed)
            if texts:
                node.docstring = griffe.Docstring("\n\n".join(texts), parent=node)


def _within(node: Any) -> Iterator[Any]:
    yield node
    for member in node.members.values():
        if not member.is_alias:
            yield from _within(member)


def _fields(node: Any) -> str:
    """Return the fields of a class as a list, with their comments."""
    lines = []
    for name, field in node.members.items():
        if field.is_attribute and field.annotation and "property" not in field.labels:
            is_plain = field.value is not None and not str(field.value).startswith("field(")
            value = f" = {field.value}" if is_plain else ""
            if not name.startswith("_"):
                comment = _comment(node, field)
                suffix = f": {comment}" if comment else ""
                lines.append(f"- `{name}: {field.annotation}{value}`{suffix}")
    return "\n".join(lines)


def _comment(node: Any, field: Any) -> str:
    """Return the comment above a field of a class and the one at the end of its line."""
    above = node.lines[: field.lineno - node.lineno]
    comments = takewhile(lambda line: line.startswith("# "), map(str.strip, reversed(above)))
    words = [line.removeprefix("# ") for line in reversed(list(comments))]
    trailing = _COMMENT.search(field.lines[-1]) if field.lines else None
    return " ".join([*words, *([trailing[1]] if trailing else [])])


def markdown(text: str) -> str:
    """Return a docstring with its definitions as definition lists."""
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    column = _column(lines)
    is_after_definition = False
    while lines:
        head, *lines = lines
        if term := _term(head, column, lines):
            count = next((n for n, line in enumerate(lines) if line[:4].strip() or not line), None)
            below, lines = lines[:count], lines[len(lines[:count]) :]
            text = "\n".join([head[len(term) :].strip(), dedent("\n".join(below))]).strip()
            first, *rest = markdown(text).split("\n")
            yield from ("", term, "", f":   {first}", *(f"    {line}" for line in rest), "")
        else:
            if is_after_definition and head.startswith("    "):
                yield "<!-- a block of code, not of the definition -->\n"
            yield head
        is_after_definition = bool(term) or (is_after_definition and not head)


def _column(lines: list[str]) -> int:
    """Return the column in which the texts of definitions begin, 0 without definitions."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    columns = [indent for indent in indents if indent >= MIN_COLUMN]
    columns += [len(match[0]) for match in map(_SPACED.match, lines) if match]
    return next((c for c in columns if any(_is_definition(line, c) for line in lines)), 0)


def _is_definition(line: str, column: int) -> bool:
    """Return whether a line has a term whose text begins in this column."""
    term, text = line[:column], line[column:]
    return term.endswith(" ") and not term.startswith(" ") and bool(text[:1].strip())


def _term(head: str, column: int, below: list[str]) -> str:
    """Return the term that is defined in this line, "" if none is."""
    indent = len(below[0]) - len(below[0].lstrip()) if below else 0
    if column and _is_definition(head, column) and (indent == column or _SPACED.match(head)):
        return head[:column].strip()
    return head if _WORD.fullmatch(head) and indent == 4 else ""
