"""Pages of the documentation and pictures of their blocks that are out of date."""

from collections.abc import Iterator
from pathlib import Path

from docs.make import MODULES
from docs.make.blocks import Page, expand

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "pictures"
PAGES = sorted(DOCS.rglob("*.md"))

assert MODULES  # imported so that their blocks are registered


def find_outdated(path: Path) -> Iterator[tuple[Path, bytes | None]]:
    """Yield the page and those of its pictures whose generated content has changed.

    Each comes with its new content, None for a picture that no block generates. Raises BadBlock.
    """
    page = Page(path.relative_to(DOCS).as_posix())
    text = expand(path.read_text(encoding="utf-8"), page)
    files = {path: text.encode()}
    for name, content in page.files.items():
        files[DOCS / name] = content.encode() if isinstance(content, str) else content
    for file, content in files.items():
        if not file.exists() or file.read_bytes() != content:
            yield file, content
    for picture in PICTURES.glob(f"{page.stem}-[0-9]*.*"):
        if picture not in files:
            yield picture, None
