"""The diagram of the packages of cc_env, from the imports of their modules."""

from html import escape
from pathlib import Path

import grimp

from docs.make.blocks import Block, maker

LIBRARY = Path(__file__).parents[2] / "cc_env"
# Lengths in pixels.
BOX_WIDTH, BOX_HEIGHT = 132, 28
ROW_HEIGHT, COLUMN_WIDTH, MARGIN = 64, 168, 12
STYLE = """text { font: 12px sans-serif; text-anchor: middle; fill: #23272e }
rect { fill: #e8eef6; stroke: #2f74c0; rx: 5 }
path { fill: none; stroke: #8a919c; stroke-opacity: 0.7 }"""
Edges = dict[str, set[str]]


@maker
def architecture(block: Block) -> str:
    """Return the diagram, with a line for each import that other imports do not imply."""
    edges = transitive_reduction(imports())
    alt = "The packages of cc_env: each imports only packages below it"
    return block.page.picture(to_svg(edges), alt)


def imports() -> Edges:
    """Return the packages that each package of cc_env imports, typing-only imports included."""
    graph = grimp.build_graph("cc_env", cache_dir=None)
    edges: Edges = {path.parent.name: set() for path in LIBRARY.glob("*/__init__.py")}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            package, target = _package_of(module), _package_of(imported)
            if package in edges and target in edges and package != target:
                edges[package].add(target)
    return edges


def _package_of(module: str) -> str:
    """Return the name of the package below cc_env that contains a module, "" if none does."""
    return "".join(module.split(".")[1:2])


def transitive_reduction(edges: Edges) -> Edges:
    """Return the edges of an acyclic graph that no longer path implies."""

    def reachable(package: str) -> set[str]:
        return {package}.union(*(reachable(target) for target in edges[package]))

    return {
        package: {
            target
            for target in targets
            if not any(target in reachable(other) for other in targets - {target})
        }
        for package, targets in edges.items()
    }


def to_svg(edges: Edges) -> str:
    """Return the diagram: a package stands one row above the highest package that it imports."""

    def height_of(package: str) -> int:
        return max((1 + height_of(target) for target in edges[package]), default=0)

    rows: dict[int, list[str]] = {}
    for package in sorted(edges):
        rows.setdefault(height_of(package), []).append(package)
    centers = {
        package: (
            (index - len(row) / 2 + height % 2 / 2) * COLUMN_WIDTH,
            MARGIN + (len(rows) - 1 - height) * ROW_HEIGHT,
        )
        for height, row in rows.items()
        for index, package in enumerate(row)
    }
    lines = [_line(centers[start], centers[end]) for start in sorted(edges) for end in edges[start]]
    boxes = [_box(package, *center) for package, center in centers.items()]
    minimum = min(x for x, _ in centers.values()) - BOX_WIDTH / 2 - MARGIN
    maximum = max(x for x, _ in centers.values()) + BOX_WIDTH / 2 + MARGIN
    width, height = maximum - minimum, len(rows) * ROW_HEIGHT
    size = f'viewBox="{minimum:g} 0 {width:g} {height}" width="{width:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *sorted(lines), *boxes, "</svg>\n"])


def _box(package: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x - BOX_WIDTH / 2:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}"/>'
        f'<text x="{x:g}" y="{y + 18:g}">{escape(package)}</text>'
    )


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a curve from the bottom of one box to the top of another."""
    (x, y), (end_x, end_y) = start, end
    y += BOX_HEIGHT
    middle = (y + end_y) / 2
    return f'<path d="M{x:g} {y:g} C{x:g} {middle:g} {end_x:g} {middle:g} {end_x:g} {end_y:g}"/>'
