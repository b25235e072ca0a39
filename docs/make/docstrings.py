"""Docstrings as Markdown, an extension of Griffe: definitions become lists, fields are listed.

A definition is a word with its text behind it, in a column of its own, or below it:

    Action    one decision, with an id that means
              the same in every position

    Action
        one decision, with an id that means
        the same in every position
"""

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import griffe

_WORD = re.compile(r"[A-Z]\w*")
_SPACED = re.compile(r"\S+(?: \S+)? {2,}(?=\S)")  # a term, and the space before its text
_COMMENT = re.compile(r"  # (.*)$")
LEAST = 6  # columns before the text of a definition; what is indented less is something else


class Readable(griffe.Extension):
    """Rewrites the docstrings of a package."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite all docstrings of a package that was loaded."""
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
    """Return the fields of a class as a list, each with the comment behind it."""
    lines = []
    for name, field in node.members.items():
        if field.is_attribute and field.annotation and "property" not in field.labels:
            is_plain = field.value is not None and not str(field.value).startswith("field(")
            value = f" = {field.value}" if is_plain else ""
            comment = _COMMENT.search(field.lines[-1]) if field.lines else None
            told = f": {comment[1]}" if comment else ""
            if not name.startswith("_"):
                lines.append(f"- `{name}: {field.annotation}{value}`{told}")
    return "\n".join(lines)


def markdown(text: str) -> str:
    """Return a docstring, its definitions as definition lists."""
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    column = _column(lines)
    is_after = False  # a definition
    while lines:
        head, *lines = lines
        if term := _term(head, column, lines):
            count = next((n for n, line in enumerate(lines) if line[:4].strip() or not line), None)
            below, lines = lines[:count], lines[len(lines[:count]) :]
            text = "\n".join([head[len(term) :].strip(), dedent("\n".join(below))]).strip()
            first, *others = markdown(text).split("\n")
            yield from ("", term, "", f":   {first}", *(f"    {line}" for line in others), "")
        else:
            if is_after and head.startswith("    "):
                yield "<!-- a block of code, not of the definition -->\n"
            yield head
        is_after = bool(term) or (is_after and not head)


def _column(lines: list[str]) -> int:
    """Return the column in which the texts of definitions stand, 0 without definitions."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    columns = [indent for indent in indents if indent >= LEAST]
    columns += [len(match[0]) for match in map(_SPACED.match, lines) if match]
    return next((at for at in columns if any(_stands(line, at) for line in lines)), 0)


def _stands(line: str, column: int) -> bool:
    """Return whether a term stands in a line, and its text begins in this column."""
    term, text = line[:column], line[column:]
    return term.endswith(" ") and not term.startswith(" ") and bool(text[:1].strip())


def _term(head: str, column: int, below: list[str]) -> str:
    """Return the term that is defined in this line, "" if none is."""
    indent = len(below[0]) - len(below[0].lstrip()) if below else 0
    if column and _stands(head, column) and (indent == column or _SPACED.match(head)):
        return head[:column].strip()
    return head if _WORD.fullmatch(head) and indent == 4 else ""
