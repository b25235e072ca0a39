"""Which source files compiled code depends on, and a fingerprint of them.

A compiled function holds the machine code of all that it calls, so it depends on every module that
its own module reaches by imports, those inside functions included, and on what was registered for
the classes among its arguments. Only packages that compile are followed: this one, and those of
games and players from elsewhere that use `cc_env.compile.jit`.
"""

import ast
import functools
import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

_STARTED = time.time()
_packages: set[str] = set()  # the top-level packages whose imports are followed
_registered: dict[str, set[str]] = defaultdict(set)  # by module of a class: modules of its rules


def follow(module: str) -> None:
    """Follow imports into the package of this module, which holds compiled functions."""
    _packages.add(module.partition(".")[0])


def register(module: str, others: Iterable[str]) -> None:
    """Note that what is compiled for the classes of `module` depends on the modules `others`."""
    _registered[module] |= set(others)


def fingerprint(modules: Iterable[str]) -> str | None:
    """Return a hash of all sources that these modules reach, as text.

    None if the source of one of them is not to be found, or something reached was edited after
    this process began: what is in memory may be older.
    """
    modules = set(modules)
    found = reached(modules)
    if not modules <= set(found):
        return None
    digest = hashlib.sha256()
    for name, path in sorted(found.items()):
        if path.stat().st_mtime > _STARTED:
            return None
        digest.update(name.encode() + b"\0" + _content_hash(path))
    return digest.hexdigest()


def reached(modules: Iterable[str]) -> dict[str, Path]:
    """Return the source file of every module that these reach, themselves included, by name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if path is not None and name not in found:
            found[name] = path
            waiting += _imports(name, path)
            waiting += _registered.get(name, ())
    return found


@functools.cache
def _content_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _source(module: str) -> Path | None:
    """Return the source file of a module of the followed packages; None where there is none."""
    top, *inner = module.split(".")
    package = sys.modules.get(top)
    if top not in _packages or package is None:
        return None
    if not inner:
        return _existing(Path(getattr(package, "__file__", None) or ""))
    for folder in getattr(package, "__path__", ()):
        base = Path(folder, *inner)
        found = _existing(base.with_name(base.name + ".py")) or _existing(base / "__init__.py")
        if found:
            return found
    return None


def _existing(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() else None


@functools.cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    """Return the names that the source imports: modules, and what may be one."""
    tree = ast.parse(path.read_bytes())
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return tuple(name for node in ast.walk(tree) for name in _targets(node, package))


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield what a statement in `package` imports; `from a import b` may mean the module a.b."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
            if not alias.asname:  # binds the outermost package
                yield alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
        origin = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
        inner = [f"{origin}.{alias.name}" for alias in node.names]
        yield from inner
        if any(_source(name) is None for name in inner):
            yield origin
