"""Hooks of MkDocs: notebooks and files of the repository become pages of the site."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as StructurePage

from docs.make import notebooks
from docs.make.blocks import Page

ROOT = Path(__file__).parents[2]
ICON = ROOT / "cc_env/server/page/icon.svg"

# Pages of files of the repository, by file name.
PAGES = {"CONTRIBUTING.md": "project/contributing.md", "CHANGELOG.md": "project/changes.md"}
LINKS = {**PAGES, "README.md": "index.md"}
_LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages of notebooks and of the files in PAGES, and the icon."""
    files.append(File.generated(config, "assets/icon.svg", content=ICON.read_text()))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = Page(f"tutorials/{notebook.stem}.md")
        text = _rewrite_links(notebooks.page_of(notebook, page), page.path)
        files.append(File.generated(config, page.path, content=text))
        _add(page, files, config)
    for name, path in PAGES.items():
        text = _rewrite_links((ROOT / name).read_text(encoding="utf-8"), path)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(
    markdown: str, *, page: StructurePage, config: MkDocsConfig, files: Files
) -> str:
    """Return the text of a page; its links to files outside of docs/ lead to their pages."""
    path = page.file.src_uri

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
        own_page = _page_of(target) if target.startswith("../") else None
        return match[0] if own_page is None else _link(own_page, match[2], path)

    return _LINK.sub(lead, markdown)


def _rewrite_links(text: str, path: str) -> str:
    """Return the text of a file of the repository as a page, with links to other pages."""

    def lead(match: re.Match[str]) -> str:
        is_page = "docs/" in match[1]
        target = match[1].partition("docs/")[2] if is_page else _page_of(match[1])
        return match[0] if target is None else _link(target, match[2], path)

    return _LINK.sub(lead, text)


def _page_of(file: str) -> str | None:
    """Return the page of a notebook or of a file in LINKS, None for other files."""
    name = posixpath.basename(file)
    if name.endswith(".ipynb"):
        return f"tutorials/{name.removesuffix('.ipynb')}.md"
    return LINKS.get(name)


def _link(target: str, anchor: str | None, path: str) -> str:
    """Return the end of a link in a page at `path` to a page and an anchor, such as "#x"."""
    return f"]({posixpath.relpath(target, posixpath.dirname(path))}{anchor or ''})"


def _add(page: Page, files: Files, config: MkDocsConfig) -> None:
    for path, content in page.files.items():
        files.append(File.generated(config, path, content=content))
