"""Options as people type them: NAME=VALUE."""

import ast
import re
from collections.abc import Iterable
from typing import Any

from cc_env.errors import UnknownOption

LONGEST = 4096  # characters of NAME=VALUE
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?=,|$)"""
_ITEM = re.compile(rf"[^=,]*=\s*{_QUOTED}|[^,]+", re.DOTALL)


def read(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the options of NAME=VALUE texts; a value that is no Python literal is a word.

    Raises UnknownOption where a text has no "=" or is too long, or a name comes twice.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        if len(pair) > LONGEST:
            told = f"{pair[:40]!r}… has {len(pair):,} characters"
            raise UnknownOption(f"{told}; an option has {LONGEST:,} at most")
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise UnknownOption(f"{pair!r}: wanted NAME=VALUE, for example size=8")
        if name in options:
            raise UnknownOption(f"{pair!r}: {name} is given twice")
        options[name] = _value(text)
    return options


def split(text: str) -> list[str]:
    """Return the texts between commas; one in quotes, a whole value, may have commas of its own."""
    return [each[0].strip() for each in _ITEM.finditer(text) if each[0].strip()]


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
