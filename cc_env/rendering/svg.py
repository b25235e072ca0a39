"""Pictures as SVG, for notebooks and web pages."""

import re
from xml.sax.saxutils import escape, unescape

from cc_env.rendering.picture_data import PictureData
from cc_env.rendering.shapes import Disc, Polyline, Shape, Square, shapes, size

# Maximum width of a document with several pictures.
MAX_SHEET_WIDTH = 960


def to_svg(*pictures: PictureData, columns: int = 4, metadata: str = "") -> str:
    """Return an SVG document of pictures, arranged in rows of `columns`.

    `metadata` is any text; it is not drawn, and `read_metadata` returns it.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.rendering.picture import draw
        >>> from cc_env.rendering.svg import to_svg
        >>> to_svg(draw(game, game.initial)).startswith("<svg")
        True
    """
    sizes = [size(picture) for picture in pictures]
    width, height = (max(lengths) for lengths in zip(*sizes, strict=True))
    columns = min(columns, len(pictures))
    sheet_width, rows = columns * width, -(-len(pictures) // columns)
    scale = min(1.0, MAX_SHEET_WIDTH / sheet_width) if len(pictures) > 1 else 1.0
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scale * sheet_width:g}" '
        f'height="{scale * rows * height:g}" viewBox="0 0 {sheet_width} {rows * height}" '
        'font-family="sans-serif" text-anchor="middle">'
    )
    background = f'<rect width="{sheet_width}" height="{rows * height}" fill="#ffffff"/>'
    parts = [head, background]
    if metadata:
        parts.insert(1, f"<metadata>{escape(metadata)}</metadata>")
    for index, (picture, (own_width, own_height)) in enumerate(zip(pictures, sizes, strict=True)):
        row, column = divmod(index, columns)
        x, y = column * width + (width - own_width) // 2, row * height + (height - own_height) // 2
        parts.append(f'<g transform="translate({x} {y})">')
        parts += [*map(element, shapes(picture)), "</g>"]
    return "\n".join([*parts, "</svg>"])


def read_metadata(document: str) -> str:
    """Return the metadata of a document made by `to_svg`, "" if it has none."""
    match = re.search("<metadata>([^<]*)</metadata>", document)
    return unescape(match[1]) if match else ""


def element(shape: Shape) -> str:
    """Return a shape as an element of a document."""
    match shape:
        case Square(x, y, edge, fill):
            return f'<rect x="{x}" y="{y}" width="{edge}" height="{edge}" fill="{fill}"/>'
        case Disc(x, y, radius, fill, rim, width):
            stroke = f'fill="{fill}" stroke="{rim}" stroke-width="{width}"'
            return f'<circle cx="{x}" cy="{y}" r="{radius}" {stroke}/>'
        case Polyline(points, color, width):
            joined = " ".join(f"{x},{y}" for x, y in points)
            stroke = f'stroke="{color}" stroke-width="{width}" stroke-linejoin="round"'
            return f'<polyline points="{joined}" fill="none" {stroke} stroke-linecap="round"/>'
        case label:
            attributes = (
                f'x="{label.x}" y="{label.y}" font-size="{label.size}" fill="{label.color}"'
            )
            return f'<text {attributes} dominant-baseline="central">{escape(label.text)}</text>'
