"""Notebooks as pages, with their stored outputs: nothing is executed."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from docs.make.blocks import Page

# Colors of a terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PICTURES = {"image/svg+xml": "svg", "image/png": "png"}


def page_of(notebook: Path, page: Page) -> str:
    """Return a notebook as Markdown; its pictures become files of the page."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell, page))


def _cell(cell: dict[str, Any], page: Page) -> list[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] == "markdown":
        return [source]
    if cell["cell_type"] != "code" or not source:
        return []
    outputs = [_output(output, page) for output in cell["outputs"]]
    return [f"```python\n{source}\n```", *filter(None, outputs)]


def _output(output: dict[str, Any], page: Page) -> str:
    """Return an output: a picture, a table, or text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    for kind, ending in _PICTURES.items():
        if kind in data:
            content = "".join(data[kind])
            picture = base64.b64decode(content) if ending == "png" else content
            return page.picture(picture, "Output of the cell above", ending)
    if "text/html" in data:
        html = "\n".join(filter(str.strip, "".join(data["text/html"]).splitlines()))
        return f'<div class="output">\n{html}\n</div>'
    text = _ESCAPES.sub("", "".join(data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```" if text else ""
