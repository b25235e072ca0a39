"""Blocks: comments of a page that become Markdown when the documentation is built.

    <!-- make: planes checkers -->

    <!-- make: options checkers crowning=ends_move
    crowning: what the column "meaning" says of this option
    -->

The first word names the function, the others are its arguments, NAME=VALUE among them those of a
game. The lines below are the texts that only an author can write, each after its key; a block
refuses keys that are missing or unknown, so that no table describes what is gone.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cc_env import games, options
from cc_env.game import Game

_BLOCK = re.compile(r"<!-- make: (\w+)([^\n]*?)(?:\n(.*?))?\s*-->", re.DOTALL)


class BadBlock(ValueError):
    """A block that says what cannot be."""


@dataclass
class Page:
    """The page that blocks are on; it collects the files that they make."""

    path: str  # below docs/, such as environments/checkers.md
    files: dict[str, str | bytes] = field(default_factory=dict)  # by path below docs/

    def picture(self, content: str | bytes, alt: str, kind: str = "svg") -> str:
        """Keep a picture as a file of its own; return the Markdown that shows it."""
        stem = self.path.removesuffix(".md").replace("/", "-")
        name = f"pictures/{stem}-{len(self.files) + 1}.{kind}"
        self.files[name] = content
        return f"![{alt}]({posixpath.relpath(name, posixpath.dirname(self.path) or '.')})"


@dataclass(frozen=True)
class Block:
    """What a block says: its arguments, and the texts below them by their keys."""

    page: Page
    words: Sequence[str]
    texts: Mapping[str, str]

    def game(self) -> Game:
        """Return the game that the arguments name, with their options."""
        name, *given = self.words
        return games.make(name, **options.read(word for word in given if "=" in word))

    def texts_of(self, keys: Iterable[str]) -> Mapping[str, str]:
        """Return the texts; raise BadBlock unless they are of these keys."""
        wanted = list(keys)
        if set(wanted) != set(self.texts):
            odd = sorted(set(wanted) ^ set(self.texts))
            raise BadBlock(f"{self.page.path}: texts are missing or of nothing: {odd}")
        return self.texts


Maker = Callable[[Block], str]
MAKERS: dict[str, Maker] = {}


def maker(function: Maker) -> Maker:
    """Let blocks be made by this function, under its name."""
    MAKERS[function.__name__] = function
    return function


def expand(text: str, page: Page) -> str:
    """Return the text of a page with its blocks made; raise BadBlock for one that cannot be."""
    return _BLOCK.sub(lambda match: _made(match, page), text)


def _made(match: re.Match[str], page: Page) -> str:
    name, arguments, body = match[1], match[2], match[3] or ""
    if name not in MAKERS:
        raise BadBlock(f"{page.path}: there is no block {name!r}; there are: {sorted(MAKERS)}")
    return MAKERS[name](Block(page, shlex.split(arguments), _texts(body, page)))


def _texts(body: str, page: Page) -> dict[str, str]:
    """Return the texts by their keys; an indented line goes on with the one above."""
    texts: dict[str, str] = {}
    key = ""
    for line in filter(str.strip, body.splitlines()):
        if line[0] != " ":
            key, colon, line = line.partition(":")
            if not colon or key in texts:
                raise BadBlock(f"{page.path}: wanted KEY: TEXT, each key once, not {key!r}")
            texts[key] = ""
        texts[key] = f"{texts[key]} {line.strip()}".strip()
    return texts


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as Markdown; columns whose head begins with # are aligned to the right."""
    align = ["---:" if name.startswith("#") else "---" for name in head]
    lines = [[name.removeprefix("#") for name in head], align]
    lines += [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
