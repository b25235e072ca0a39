"""Tokens of a PDN text: tags, numbers of moves, moves and results.

Comments, variations, annotation glyphs and other parts without effect on the game are skipped.
Unreadable text becomes a token, and tokenization continues after it.

Names of tags are more general than those of PDN: any text without brackets, quotes and line ends.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cc_env.core.game import normalize_newlines
from cc_env.games.checkers.pdn_text import DASHES

# Ctrl-Z of DOS.
END_OF_FILE = "\x1a"
_TAG_NAME = r"\w[\w-]*"
# Of other programs, such as Time/move or BlackType: (the colon does not belong to the name).
_ANY_TAG_NAME = r'[^\s"\[\]] [^"\n\[\]]*+'
# A line with a tag ends an unclosed comment or variation.
_TAG_LINE = rf'^[^\S\n]* \[ \s* {_TAG_NAME} \s* "'
_COMMENT = rf"\{{ (?: [^}}\n] | \n (?! {_TAG_LINE} ) )* \}}"
# The last two letters are Cyrillic.
_SEPARATOR = rf"[ ]?[{DASHES}xX×:хХ][ ]?"
_HYPHEN = rf"[ ]?[{DASHES}][ ]?"
# A tag's value has escaped quotes, or, from faulty programs, none, and may end with a backslash.
_TOKEN = re.compile(
    rf"""
      (?P<blank> [\s\ufeff]+ )
    | (?P<skipped> ^%[^\n]* | {_COMMENT} | ; [^\n]* | [.…]+ | [!?]+ | \$ [0-9]+ )
    | \[ \s* (?P<tag> {_ANY_TAG_NAME} ) \s*
      (?: "(?P<value> (?: \\["\\] | (?! \\["\\] ) [^"] )* )" | "(?P<raw> [^"\n]* )" ) \s* \]
    | \[ \s* (?P<bare> {_TAG_NAME} ) \s* \]
    | (?P<number> (?: [0-9]{{1,3}} \s* | [0-9]{{4,9}} ) [.…]+ (?: \s+ [.…]+ )*
                | [0-9]{{1,3}} (?= \s [0-9]{{1,2}} {_SEPARATOR} [0-9] ) )
    | (?P<star> (?<=[0-9!?]) \* )
    | (?P<result> (?: [012] {_HYPHEN} 0 | 0 {_HYPHEN} [12] | 1 {_HYPHEN} 1
                    | 1/2 {_HYPHEN} 1/2 | ½ {_HYPHEN} ½ | \* ) (?! [{DASHES}\w] ) )
    | (?P<move> (?: [0-9]{{1,2}} (?: {_SEPARATOR} [0-9]{{1,2}} )+ | [0-9]{{4}} ) (?! \w ) )
    | (?P<open> \( )
    """,
    re.VERBOSE | re.MULTILINE,
)
_VARIATION_PARTS = re.compile(rf"{_COMMENT} | [(){{] | {_TAG_LINE}", re.VERBOSE | re.MULTILINE)
_NEXT_TAG = re.compile(_TAG_LINE, re.VERBOSE | re.MULTILINE)
# The rest of the line, or less if another tag or moves may follow a closing bracket.
_BROKEN_TAG = re.compile(
    rf"\[ \s* (?P<name> {_TAG_NAME} )? (?: [^\n]*? \] (?= [^\S\n]* [\[0-9*{{(] ) | [^\n]* )",
    re.VERBOSE,
)
_WORD = re.compile(r"\S+")
_EXPECTED = 'a move such as 9-13, a result, [Tag "text"] or {a comment}'


class Token(NamedTuple):
    """A part of a PDN text.

    `kind` is tag, number, move, result, or star: `*` directly after a move, which marks the move or
    is the result. A "bare tag" has no value. Unreadable text is a "broken tag" or an "error".
    `text` is that of the file, the value of a tag, or the description of an error. `line` counts
    from 1. `newlines` is the number of line ends before the token; 2 mean an empty line. `name` is
    that of a tag, the first word of a broken one.
    """

    kind: str
    text: str
    line: int = 0
    newlines: int = 0
    name: str = ""

    @property
    def is_tag(self) -> bool:
        """Whether the token is a tag, possibly bare or broken."""
        return self.kind in ("tag", "bare tag", "broken tag")

    @property
    def is_regular_tag(self) -> bool:
        """Whether the token is a tag of PDN, not other text in brackets."""
        return self.kind == "tag" and is_tag_name(self.name)

    @property
    def number(self) -> int:
        """The number of a move."""
        return int(re.split(r"[.…\s]", self.text)[0])


def is_tag_name(text: str) -> bool:
    """Return whether a text is a valid tag name."""
    return bool(re.fullmatch(_TAG_NAME, text))


def tokenize(text: str) -> Iterator[Token]:
    """Yield the tokens of a text with any kind of line ends."""
    text = normalize_newlines(text).partition(END_OF_FILE)[0]
    index, line, newlines = 0, 1, 0
    while index < len(text):
        token, end = _token(text, index)
        count = text.count("\n", index, end)
        if token:
            yield token._replace(line=line, newlines=newlines)
            newlines = 0
        elif text[index].isspace():
            newlines = max(newlines, count)
        index, line = end, line + count


def _token(text: str, index: int) -> tuple[Token | None, int]:
    """Return the token at an index and its end; None for a skipped part."""
    match = _TOKEN.match(text, index)
    kind = match.lastgroup if match else None
    if not match or not kind:
        return _unreadable(text, index)
    if kind in ("blank", "skipped"):
        return None, match.end()
    if kind in ("value", "raw"):
        return Token("tag", _value(match[kind]), name=_name(match["tag"])), match.end()
    if kind == "bare":
        return Token("bare tag", "", name=match["bare"]), match.end()
    if kind == "open":
        end = _end_of_variation(text, index)
        return (None, end) if end else _unreadable(text, index)
    return Token(kind, match[0]), match.end()


def _name(text: str) -> str:
    """Return the name of a tag without the colon or equals sign before its value."""
    return re.sub(r"[\s:=]+$", "", text) or text.strip()


def _value(text: str) -> str:
    """Return the value of a tag on one line, without escapes."""
    return re.sub(r'\\(["\\])', r"\1", re.sub(r"\s*\n\s*", " ", text))


def _end_of_variation(text: str, index: int) -> int:
    """Return the end of the variation at an index, with nested ones and comments; 0 if unclosed."""
    depth = 0
    for match in _VARIATION_PARTS.finditer(text, index):
        if match[0] not in "()" and not match[0].endswith("}"):
            return 0
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return 0


def _unreadable(text: str, index: int) -> tuple[Token, int]:
    """Return the error at an index and the end of the unreadable text."""
    start = text[index]
    if start == "[":
        tag = _BROKEN_TAG.match(text, index)
        assert tag, "the bracket matches"
        return Token("broken tag", _error_text(text, index), name=tag["name"] or ""), tag.end()
    if start in "{(":
        next_tag = _NEXT_TAG.search(text, index)
        error = "( without )" if start == "(" else _error_text(text, index)
        return Token("error", error), next_tag.start() if next_tag else len(text)
    word = _WORD.match(text, index)
    return Token("error", _error_text(text, index)), word.end() if word else index + 1


def _error_text(text: str, index: int) -> str:
    start = text[index : index + 20].partition("\n")[0]
    return f"cannot read '{start}'; expected: {_EXPECTED}"
