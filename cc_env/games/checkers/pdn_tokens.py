"""What a PDN file consists of: tags, numbers of moves, moves and results; and where a game ends.

Read liberally, as files of many programs are: comments, variations, marks of strength and whatever
else says nothing about the course of a game is skipped. What cannot be read becomes a token, too,
and reading goes on behind it.
"""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

_TAG_LINE = r'^\[ \s* \w+ \s+ "'  # a comment or variation that reaches one has lost its end
_COMMENT = rf"\{{ (?: [^}}\n] | \n (?! {_TAG_LINE} ) )* \}}"
# A tag's value has its quotes escaped; or a program forgot that, and it may end with a backslash.
_TOKEN = re.compile(
    rf"""
      (?P<blank> [\s\ufeff]+ | ^%[^\n]* | {_COMMENT} | ; [^\n]* )
    | \[ \s* (?P<tag> \w+ ) \s*
      (?: "(?P<value> (?: \\["\\] | (?! \\["\\] ) [^"] )* )" | "(?P<raw> [^"\n]* )" ) \s* \]
    | (?P<mark> \.+ | [!?]+ | \$ [0-9]+ )
    | (?P<number> [0-9]{{1,9}} \s* \.+ )
    | (?P<star> (?<=[0-9]) \* )
    | (?P<result> [012]-0 | 0-[12] | 1-1 | 1/2-1/2 | ½-½ | \* )(?![-\w])
    | (?P<move> [0-9]{{1,2}} (?: [ ]?[-–xX:][ ]?[0-9]{{1,2}} )+ | [0-9]{{4}} )(?!\w)
    | (?P<open> \( )
    """,
    re.VERBOSE | re.MULTILINE,
)
_ASIDE = re.compile(rf"{_COMMENT} | [(){{] | {_TAG_LINE}", re.VERBOSE | re.MULTILINE)
_NEXT_TAG = re.compile(_TAG_LINE, re.VERBOSE | re.MULTILINE)
_WANTED = 'a move such as 9-13, a result, [Tag "text"] or {a comment}'


class Token(NamedTuple):
    """A part of a file."""

    kind: str  # tag, number, move, result; broken tag, error: then the text says what is wrong
    text: str  # as it stands there; of a tag its name, a blank and its value
    line: int  # counted from 1


_END = Token("end", "", 0)
_TAGS = "tag", "broken tag"


def games(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of one game after another; none of them is empty.

    A game ends with its result or, where that is missing, before the tags of the next.
    """
    game: list[Token] = []
    for token, following in pairwise(chain(_tokens(text), [_END])):
        if token.kind == "star":  # a mark of the move before it, or the result
            if _goes_on(game, following):
                continue
            token = token._replace(kind="result")
        if token.kind in _TAGS and game and game[-1].kind not in _TAGS:
            yield game
            game = []
        game.append(token)
        if token.kind == "result":
            yield game
            game = []
    if game:
        yield game


def _goes_on(game: list[Token], token: Token) -> bool:
    """Return whether what comes next is still of this game: a move, or the next number."""
    if token.kind != "number" or token.text.endswith(".."):
        return token.kind in ("number", "move")
    last = next((part.text for part in reversed(game) if part.kind == "number"), "1")
    return int(token.text.rstrip(".")) == int(last.rstrip(".")) + 1


def _tokens(text: str) -> Iterator[Token]:
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        end = _behind_aside(text, place) if match and match["open"] else match and match.end()
        if not match or not end:
            yield _unreadable(text, place, line)
            end = _behind_unreadable(text, place)
        elif match["tag"]:
            value = match["raw"] if match["value"] is None else match["value"]
            yield Token("tag", f"{match['tag']} {_value(value)}", line)
        elif match.lastgroup in ("number", "move", "star", "result"):
            yield Token(match.lastgroup, match[0], line)
        line += text.count("\n", place, end)
        place = end


def _value(text: str) -> str:
    """Return the value of a tag, on one line, without the backslashes before " and others."""
    return re.sub(r'\\(["\\])', r"\1", re.sub(r"\s*\n\s*", " ", text))


def _behind_aside(text: str, place: int) -> int:
    """Return where a variation ends that begins here, or 0; others and comments may be in it."""
    depth = 0
    for match in _ASIDE.finditer(text, place):
        if match[0] == "{" or match[0].startswith("["):
            return 0  # before its end the file goes on, or ends
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return 0


def _unreadable(text: str, place: int, line: int) -> Token:
    """Return what tells of this place; a broken tag stands among the tags, as if it were one."""
    if text[place] == "(":
        return Token("error", "( without )", line)
    what = f"cannot read '{text[place : place + 20].splitlines()[0]}'; wanted: {_WANTED}"
    return Token("broken tag" if text[place] == "[" else "error", what, line)


def _behind_unreadable(text: str, place: int) -> int:
    """Return where to read on: at the next word, or the next line of tags where more is lost."""
    if text[place] in "{(":
        tag = _NEXT_TAG.search(text, place)
        return tag.start() if tag else len(text)
    pattern = r"[^\n]+" if text[place] == "[" else r"\S+"
    match = re.compile(pattern).match(text, place)
    return match.end() if match else place + 1
