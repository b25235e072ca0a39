"""The source files that compiled code depends on, and their fingerprint.

Compiled code contains the machine code of its callees. So it depends on every module that its own
module imports, directly or not, imports inside functions included, and on the functions registered
for the classes of its arguments. Imports are followed into packages that compile and into modules
that are not installed; the standard library and other installed packages are ignored.

Dependencies without an import statement are not detected: constants from environment variables or
data files, and modules imported by a computed name. If these change, delete the cache, or set
NUMBA_CACHE_DIR to a new folder.
"""

import ast
import contextlib
import functools
import hashlib
import os
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_PARENT, _START = 1, 19  # indices of the fields of /proc/PID/stat after the command


def _states() -> Iterator[list[str]]:
    """Yield the fields of /proc/PID/stat of this process and of those it was forked from (Linux).

    A fork has its parent's command line, and the modules that its parent had imported.
    """
    with contextlib.suppress(OSError):
        process = Path("/proc/self")
        command = process.joinpath("cmdline").read_bytes()
        while process.joinpath("cmdline").read_bytes() == command:
            state = process.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()
            yield state
            process = Path("/proc", state[_PARENT])


def _process_started() -> float:
    """Return when the interpreter started, in seconds since the epoch; for a fork, its parent's.

    Without /proc it is estimated from the CPU time, which may be too late: waiting is not counted.
    """
    ticks = [int(state[_START]) + 1 for state in _states()]  # + 1: rounded up, before any import
    if not ticks:
        return time.time() - time.process_time()
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - since_boot + min(ticks) / os.sysconf("SC_CLK_TCK")


_STARTED = time.time()  # modules imported later were read after this time
_PROCESS_STARTED = _process_started()
_IMPORTED_BEFORE = frozenset(sys.modules)
_packages: set[str] = set()  # top-level packages whose imports are followed
# Module of a class -> what was registered for it: "NAME=FUNCTION" -> module of the function.
_registered: dict[str, dict[str, str]] = defaultdict(dict)
_INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib"))


def follow(module: str) -> None:
    """Follow imports into the package of this module, which contains compiled functions."""
    _packages.add(module.partition(".")[0])


def register(module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Record that code compiled for the classes of `module` depends on these functions."""
    for name, function in functions.items():
        chosen = f"{name}={function.__module__}.{function.__qualname__}"
        _registered[module][chosen] = function.__module__


def fingerprint(modules: Iterable[str]) -> str | None:
    """Return the hex SHA-256 of all sources that these modules reach.

    None if the source of one of the modules cannot be found, or if a source cannot be read or may
    have changed since it was imported: the code in memory may be older.
    """
    modules = set(modules)
    for module in modules:
        follow(module)
    try:
        paths = reached(modules)
        return _digest(paths) if modules <= set(paths) else None
    except (OSError, SyntaxError, ValueError):
        return None


def _digest(paths: Mapping[str, Path]) -> str | None:
    digest = hashlib.sha256()
    for name, path in sorted(paths.items()):
        registered = ",".join(sorted(_registered.get(name, ())))
        digest.update(f"{name}\0{registered}\0".encode() + _content_hash(path))
        times = path.stat()  # after reading, so that a change in between is noticed
        imported = _PROCESS_STARTED if name in _IMPORTED_BEFORE else _STARTED
        if max(times.st_mtime, times.st_ctime) > imported:
            return None
    return digest.hexdigest()


def reached(modules: Iterable[str]) -> dict[str, Path]:
    """Return the source files of all modules that these reach, themselves included, by name."""
    paths: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if path is not None and name not in paths:
            paths[name] = path
            waiting += _imports(name, path)
            waiting += _registered.get(name, {}).values()
    return paths


@functools.cache
def _content_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _source(module: str) -> Path | None:
    """Return the source file of a module; None if there is none or it is not followed."""
    top, *inner = module.split(".")
    package = sys.modules.get(top)
    if package is None or (top not in _packages and _is_installed(top)):
        return None
    if not inner:
        return _existing(Path(getattr(package, "__file__", None) or ""))
    for folder in getattr(package, "__path__", ()):
        base = Path(folder, *inner)
        path = _existing(base.with_name(base.name + ".py")) or _existing(base / "__init__.py")
        if path:
            return path
    return None


@functools.cache
def _is_installed(top: str) -> bool:
    """Return whether an imported package is in the standard library or site-packages."""
    package = sys.modules[top]
    files = [getattr(package, "__file__", None), *getattr(package, "__path__", ())]
    paths = [Path(file) for file in files if file]
    return not paths or any(path.is_relative_to(root) for path in paths for root in _INSTALLED)


def _existing(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() else None


@functools.cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    """Return the names that the source imports: modules, and names that may be modules."""
    tree = ast.parse(path.read_bytes())
    spec = getattr(
        sys.modules.get(module), "__spec__", None
    )  # the real package of a script run by -m
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    package = spec.parent if spec else package
    return tuple(name for node in ast.walk(tree) for name in _targets(node, package))


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the names imported by a statement in `package`; for `from a import b` also a.b."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
        origin = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
        inner = [f"{origin}.{alias.name}" for alias in node.names]
        yield from inner
        if any(_source(name) is None for name in inner):
            yield origin
