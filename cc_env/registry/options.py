"""Options as typed on a command line: NAME=VALUE."""

import ast
import re
from collections.abc import Iterable
from typing import Any

from cc_env.errors import BadOption

MAX_OPTION_LENGTH = 4096  # characters of NAME=VALUE
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?=,|$)"""
_ITEM = re.compile(rf"[^=,]*=\s*{_QUOTED}|[^,]+", re.DOTALL)


def parse_options(pairs: Iterable[str]) -> dict[str, Any]:
    """Parse NAME=VALUE strings; a value is a Python literal or, failing that, a string.

    Raises BadOption for a text without "=", a repeated name, or a text of more than
    MAX_OPTION_LENGTH characters.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        if len(pair) > MAX_OPTION_LENGTH:
            size = f"option {pair[:40]!r}… has {len(pair):,} characters"
            raise BadOption(f"{size}; expected: at most {MAX_OPTION_LENGTH:,}")
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise BadOption(f"option {pair!r}; expected: NAME=VALUE, for example size=8")
        if name in options:
            raise BadOption(f"option {pair!r}: {name} is given twice; expected: one value")
        options[name] = _parse_value(text)
    return options


def split_options(text: str) -> list[str]:
    """Split a text at its commas, except those in a value that is one quoted string."""
    return [item[0].strip() for item in _ITEM.finditer(text) if item[0].strip()]


def _parse_value(text: str) -> Any:
    """Return the Python literal in a text, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
