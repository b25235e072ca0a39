"""Tokens of a PDN text: tags, numbers of moves, moves and results.

Comments, variations, marks of strength and whatever else says nothing about the course of a game
are skipped. What cannot be read becomes a token, too, and reading goes on behind it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cc_env.core.game import normalize_newlines
from cc_env.games.checkers.pdn_text import DASHES

END_OF_FILE = "\x1a"  # Ctrl-Z, of DOS
_TAG_NAME = r"\w[\w-]*"
# A comment or variation that reaches a line with a tag has lost its end.
_TAG_LINE = rf'^[^\S\n]* \[ \s* {_TAG_NAME} \s* "'
_COMMENT = rf"\{{ (?: [^}}\n] | \n (?! {_TAG_LINE} ) )* \}}"
_SEPARATOR = rf"[ ]?[{DASHES}xX×:хХ][ ]?"  # the last two are Cyrillic
_HYPHEN = rf"[ ]?[{DASHES}][ ]?"
# A tag's value has its quotes escaped; or a program forgot that, and it may end with a backslash.
_TOKEN = re.compile(
    rf"""
      (?P<blank> [\s\ufeff]+ )
    | (?P<skipped> ^%[^\n]* | {_COMMENT} | ; [^\n]* | [.…]+ | [!?]+ | \$ [0-9]+ )
    | \[ \s* (?P<tag> {_TAG_NAME} ) \s*
      (?: "(?P<value> (?: \\["\\] | (?! \\["\\] ) [^"] )* )" | "(?P<raw> [^"\n]* )" ) \s* \]
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
_ASIDE = re.compile(rf"{_COMMENT} | [(){{] | {_TAG_LINE}", re.VERBOSE | re.MULTILINE)
_NEXT_TAG = re.compile(_TAG_LINE, re.VERBOSE | re.MULTILINE)
_BROKEN_TAG = re.compile(rf"\[\s*({_TAG_NAME})?[^\n]*")
_WORD = re.compile(r"\S+")
_EXPECTED = 'a move such as 9-13, a result, [Tag "text"] or {a comment}'


class Token(NamedTuple):
    """A part of a PDN text.

    Its kind is tag, number, move, result, or star: `*` directly behind a move, which marks the move
    or is the result. What cannot be read is a "broken tag" or an "error", and its text says why.
    """

    kind: str
    text: str  # as in the file; of a tag its value
    line: int = 0  # from 1
    newlines: int = 0  # directly before it; 2 or more: an empty line
    name: str = ""  # of a tag, as in the file

    @property
    def is_tag(self) -> bool:
        """Whether this is a tag, which may be broken."""
        return self.kind in ("tag", "broken tag")

    @property
    def number(self) -> int:
        """The number of a move."""
        return int(re.split(r"[.…\s]", self.text)[0])


def is_tag_name(text: str) -> bool:
    """Return whether a text can be the name of a tag."""
    return bool(re.fullmatch(_TAG_NAME, text))


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, in which lines may end in any way."""
    text = normalize_newlines(text).partition(END_OF_FILE)[0]
    place, line, newlines = 0, 1, 0
    while place < len(text):
        token, end = _token(text, place)
        count = text.count("\n", place, end)
        if token:
            yield token._replace(line=line, newlines=newlines)
            newlines = 0
        elif text[place].isspace():
            newlines = max(newlines, count)
        place, line = end, line + count


def _token(text: str, place: int) -> tuple[Token | None, int]:
    """Return the token that begins at a place, None where it is to be skipped, and its end."""
    match = _TOKEN.match(text, place)
    kind = match.lastgroup if match else None
    if not match or not kind:
        return _unreadable(text, place)
    if kind in ("blank", "skipped"):
        return None, match.end()
    if kind in ("value", "raw"):
        return Token("tag", _value(match[kind]), name=match["tag"]), match.end()
    if kind == "open":
        end = _behind_variation(text, place)
        return (None, end) if end else _unreadable(text, place)
    return Token(kind, match[0]), match.end()


def _value(text: str) -> str:
    """Return the value of a tag, on one line, without the backslashes before " and others."""
    return re.sub(r'\\(["\\])', r"\1", re.sub(r"\s*\n\s*", " ", text))


def _behind_variation(text: str, place: int) -> int:
    """Return where a variation ends that begins here, or 0; others and comments may be in it."""
    depth = 0
    for match in _ASIDE.finditer(text, place):
        if match[0] not in "()" and not match[0].endswith("}"):
            return 0  # before its end the file goes on, or ends
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return 0


def _unreadable(text: str, place: int) -> tuple[Token, int]:
    """Return what is wrong here, and where to read on: behind it, or at the next line of tags."""
    start = text[place]
    if start == "[":
        tag = _BROKEN_TAG.match(text, place)
        assert tag, "a bracket, which begins it"
        return Token("broken tag", _complaint(text, place), name=tag[1] or ""), tag.end()
    if start in "{(":
        next_tag = _NEXT_TAG.search(text, place)
        what = "( without )" if start == "(" else _complaint(text, place)
        return Token("error", what), next_tag.start() if next_tag else len(text)
    word = _WORD.match(text, place)
    return Token("error", _complaint(text, place)), word.end() if word else place + 1


def _complaint(text: str, place: int) -> str:
    start = text[place : place + 20].partition("\n")[0]
    return f"cannot read '{start}'; expected: {_EXPECTED}"
