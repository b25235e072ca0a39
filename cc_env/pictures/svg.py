"""Pictures as SVG, for notebooks and pages."""

from xml.sax.saxutils import escape

from cc_env.pictures import Picture
from cc_env.pictures.shapes import Disc, Line, Shape, Square, shapes, size


def to_svg(picture: Picture) -> str:
    """Return an SVG document."""
    width, height = size(picture)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, background, *map(_element, shapes(picture)), "</svg>"])


def _element(shape: Shape) -> str:
    match shape:
        case Square(x, y, edge, fill):
            return f'<rect x="{x}" y="{y}" width="{edge}" height="{edge}" fill="{fill}"/>'
        case Disc(x, y, radius, fill, rim, width):
            stroke = f'fill="{fill}" stroke="{rim}" stroke-width="{width}"'
            return f'<circle cx="{x}" cy="{y}" r="{radius}" {stroke}/>'
        case Line(points, colour, width):
            joined = " ".join(f"{x},{y}" for x, y in points)
            stroke = f'stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"'
            return f'<polyline points="{joined}" fill="none" {stroke} stroke-linecap="round"/>'
        case words:
            place = f'x="{words.x}" y="{words.y}" font-size="{words.size}" fill="{words.colour}"'
            return f'<text {place} dominant-baseline="central">{escape(words.text)}</text>'
