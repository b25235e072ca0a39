"""Control characters of untrusted texts, escaped before a terminal or a log receives them."""

import re

# C0 and C1 controls and DEL, which terminals obey; line separators; half surrogate pairs, which
# cannot be encoded; the Bidi_Control characters of Unicode (UAX #9), which reorder a line.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters as Python writes them, such as \x1b or \u202e.

    The text then stays on one line; other characters, and escapes, stay as they are.
    """
    return _CONTROL.sub(_escaped, text)


def escape_lines(text: str) -> str:
    """Return a text of several lines, each with its control characters escaped."""
    return "\n".join(map(escape_controls, text.split("\n")))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
