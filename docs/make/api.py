"""The reference of the API: every module of a package, and every public name in it."""

from pathlib import Path

from docs.make.blocks import BadBlock, Block, maker

ROOT = Path(__file__).parents[2]


@maker
def api(block: Block) -> str:
    """Return the mkdocstrings directives of these modules.

    A package that ends in .* stands for itself and all of its modules.
    """
    names = [name for word in block.words for name in modules(word)]
    return "\n\n".join(f"::: {name}" for name in names)


def modules(word: str) -> list[str]:
    """Return the modules that a word names; raise BadBlock if it names no module."""
    name = word.removesuffix(".*")
    path = ROOT / name.replace(".", "/")
    if name == word:
        paths = [path.with_suffix(".py"), path / "__init__.py"]
    else:
        paths = sorted(path.rglob("*.py"))
    names = [_name(path) for path in paths if path.exists() and path.name != "__main__.py"]
    if not names:
        raise BadBlock(f"there is no module {word}")
    return names


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
