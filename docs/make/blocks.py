"""Blocks: comments of a page, each followed by the Markdown that is generated from it.

    <!-- make: planes checkers -->

    | plane | what it shows | ...

    <!-- end -->

    <!-- make: options checkers crowning=ends_move
    crowning: the text of this option in the column "meaning"
    -->

`python -m docs.make` generates the text between a comment and its end, on all pages. The first word
names the function; the others are its arguments; NAME=VALUE is an option of a game. The
lines below are texts by an author, each after its key. Missing and unknown keys are rejected, so
that no table describes an option that does not exist.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cc_env.core.game import Game
from cc_env.games.factory import make_game
from cc_env.registry.options import parse_options

_END = "<!-- end -->"
_COMMENT = r"<!-- make: (?P<name>\w+)(?P<words>[^\n]*?)(?:\n(?P<texts>.*?))?\s*-->"
_GENERATED = rf"(?:\n\n(?:(?!<!-- make: ).)*?\n\n{_END})?"
_BLOCK = re.compile(f"(?P<comment>{_COMMENT}){_GENERATED}", re.DOTALL)


class BadBlock(ValueError):
    """A block with an unknown name, or invalid arguments or texts."""


@dataclass
class Page:
    """A page with blocks, and the files that they generate.

    Paths are relative to docs/, such as environments/checkers.md.
    """

    path: str
    files: dict[str, str | bytes] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """Prefix of the names of the page's pictures."""
        return self.path.removesuffix(".md").replace("/", "-")

    def picture(self, content: str | bytes, alt: str, kind: str = "svg") -> str:
        """Add a picture as a file of its own; return the Markdown that displays it."""
        name = f"pictures/{self.stem}-{len(self.files) + 1}.{kind}"
        self.files[name] = content
        return f"![{alt}]({posixpath.relpath(name, posixpath.dirname(self.path) or '.')})"


@dataclass(frozen=True)
class Block:
    """The content of a block: its arguments, and its texts by their keys."""

    page: Page
    words: Sequence[str]
    texts: Mapping[str, str]

    def game(self) -> Game:
        """Return the game that the arguments name, with their options."""
        name, *arguments = self.words
        return make_game(name, **parse_options(word for word in arguments if "=" in word))

    def texts_of(self, keys: Iterable[str]) -> Mapping[str, str]:
        """Return the texts; raise BadBlock unless they have exactly these keys."""
        valid_keys = list(keys)
        if set(valid_keys) != set(self.texts):
            missing = sorted(set(valid_keys) - set(self.texts))
            unknown = sorted(set(self.texts) - set(valid_keys))
            raise BadBlock(f"{self.page.path}: missing keys: {missing}; unknown keys: {unknown}")
        return self.texts


Maker = Callable[[Block], str]
MAKERS: dict[str, Maker] = {}


def maker(function: Maker) -> Maker:
    """Register a function that generates blocks of its name."""
    MAKERS[function.__name__] = function
    return function


def expand(text: str, page: Page) -> str:
    """Return the text of a page with its blocks generated again; raise BadBlock."""
    return _BLOCK.sub(
        lambda match: f"{match['comment']}\n\n{_content(match, page)}\n\n{_END}", text
    )


def without_generated_text(text: str) -> str:
    """Return the text of a page without generated text."""
    return _BLOCK.sub(lambda match: match["comment"], text)


def _content(match: re.Match[str], page: Page) -> str:
    name, arguments, body = match["name"], match["words"], match["texts"] or ""
    if name not in MAKERS:
        raise BadBlock(f"{page.path}: there is no block {name!r}; there are: {sorted(MAKERS)}")
    return MAKERS[name](Block(page, shlex.split(arguments), _texts(body, page))).strip()


def _texts(body: str, page: Page) -> dict[str, str]:
    """Return the texts by their keys; an indented line continues the one above."""
    texts: dict[str, str] = {}
    key = ""
    for line in filter(str.strip, body.splitlines()):
        if line[0] != " ":
            key, colon, line = line.partition(":")
            if not colon or key in texts:
                raise BadBlock(f"{page.path}: expected KEY: TEXT with unique keys, got {key!r}")
            texts[key] = ""
        texts[key] = f"{texts[key]} {line.strip()}".strip()
    return texts


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as Markdown; columns whose head begins with # are aligned to the right."""
    align = ["---:" if name.startswith("#") else "---" for name in head]
    lines = [[name.removeprefix("#") for name in head], align]
    lines += [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
