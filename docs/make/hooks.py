"""Hooks of MkDocs: notebooks and files of the repository become pages of the site."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

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


def _rewrite_links(text: str, path: str) -> str:
    """Return the text of a file of the repository as a page, with links to other pages."""

    def lead(match: re.Match[str]) -> str:
        name = match[1].rpartition("/")[2]
        if "docs/" in match[1]:
            target = match[1].partition("docs/")[2]
        elif name.endswith(".ipynb"):
            target = f"tutorials/{name.removesuffix('.ipynb')}.md"
        elif name in LINKS:
            target = LINKS[name]
        else:
            return match[0]
        return f"]({posixpath.relpath(target, posixpath.dirname(path))}{match[2] or ''})"

    return _LINK.sub(lead, text)


def _add(page: Page, files: Files, config: MkDocsConfig) -> None:
    for path, content in page.files.items():
        files.append(File.generated(config, path, content=content))
