"""Fingerprints of the source files that compiled code depends on.

Compiled code contains the machine code of its callees. It depends on every module that its own
module imports, directly or indirectly, imports inside functions included, and on the functions
registered for the classes of its arguments. Imports are followed into packages with compiled
functions and into modules that are not installed; the standard library and other installed packages
are ignored.

Dependencies without an import statement are not detected: constants from environment variables or
data files, and modules imported by a computed name. If these change, delete the cache, or set
NUMBA_CACHE_DIR to a new folder.
"""

import ast
import contextlib
import functools
import hashlib
import os
import re
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

# Fields of /proc/PID/stat after the command.
_PARENT_PID, _START_TICKS = 1, 19


def _process_stats() -> Iterator[list[str]]:
    """Yield the fields of /proc/PID/stat of this process and of those it was forked from (Linux).

    A fork has the command line of its parent, and the modules that its parent had imported.
    """
    with contextlib.suppress(OSError):
        process = Path("/proc/self")
        command = process.joinpath("cmdline").read_bytes()
        while process.joinpath("cmdline").read_bytes() == command:
            fields = process.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()
            yield fields
            process = Path("/proc", fields[_PARENT_PID])


def _process_start_time() -> float:
    """Return the start of the interpreter in seconds since the epoch; for a fork, its parent's.

    Without /proc it is estimated from the CPU time. The estimate may be late, as idle time is not
    included.
    """
    # Rounded up by a tick, which is still before the first import.
    ticks = [int(fields[_START_TICKS]) + 1 for fields in _process_stats()]
    if not ticks:
        return time.time() - time.process_time()
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - since_boot + min(ticks) / os.sysconf("SC_CLK_TCK")


# Other modules are read after the first time; those imported before this one, after the second.
_IMPORT_TIME = time.time()
_PROCESS_START_TIME = _process_start_time()
_IMPORTED_BEFORE = frozenset(sys.modules)

# Top-level packages with compiled functions.
_packages: set[str] = set()

# Module of a class -> "NAME=FUNCTION" of each function registered for it -> the function's module.
_registered: dict[str, dict[str, str]] = defaultdict(dict)

# At the beginning of a line or after another statement; parentheses may contain comments.
_IMPORT_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t\f]*((?:from|import)\b(?:[^\n;#()\\]|\\\n|\((?:[^)#]|#[^\n]*)*\))*)",
    re.MULTILINE,
)

_INSTALL_FOLDERS = tuple(Path(sysconfig.get_path(n)) for n in ("stdlib", "purelib", "platlib"))
# Names of such folders of other environments, whose packages this one may share.
_INSTALL_FOLDER_NAMES = frozenset(["site-packages", "dist-packages"])


class NamedFunction(Protocol):
    """A function with a module and a name."""

    __module__: str
    __qualname__: str


def follow_package(module: str) -> None:
    """Follow imports into the package of this module, which contains compiled functions."""
    _packages.add(module.partition(".")[0])


def register(module: str, functions: Mapping[str, NamedFunction]) -> None:
    """Record that code compiled for the classes of `module` depends on these functions."""
    for name, function in functions.items():
        entry = f"{name}={function.__module__}.{function.__qualname__}"
        _registered[module][entry] = function.__module__


def fingerprint(modules: Iterable[str]) -> str | None:
    """Return the hex SHA-256 of all sources that these modules depend on.

    Returns None if the source of one of the modules is missing, or if a source may have changed
    since it was imported, because the code in memory may be older.
    """
    modules = set(modules)
    for module in modules:
        follow_package(module)
    try:
        paths = source_files(modules)
        return _digest(paths) if modules <= set(paths) else None
    except OSError:
        return None


def _digest(paths: Mapping[str, Path]) -> str | None:
    digest = hashlib.sha256()
    for name, path in sorted(paths.items()):
        registered = ",".join(sorted(_registered.get(name, ())))
        digest.update(f"{name}\0{registered}\0".encode() + _content_hash(path))
        # Requested after reading the content, so that an edit during reading is noticed.
        times = path.stat()
        import_time = _PROCESS_START_TIME if name in _IMPORTED_BEFORE else _IMPORT_TIME
        if max(times.st_mtime, times.st_ctime) > import_time:
            return None
    return digest.hexdigest()


def source_files(modules: Iterable[str]) -> dict[str, Path]:
    """Return the source files of these modules and all that they depend on, by module name."""
    paths: dict[str, Path] = {}
    queue = list(modules)
    while queue:
        name = queue.pop()
        path = _source(name)
        if path is not None and name not in paths:
            paths[name] = path
            queue += _imports(name, path)
            queue += _registered.get(name, {}).values()
    return paths


@functools.cache
def _content_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _source(module: str) -> Path | None:
    """Return the source file of a module; None if it does not exist or is not followed."""
    top, *submodules = module.split(".")
    package = sys.modules.get(top)
    if package is None or (top not in _packages and _is_installed(top)):
        return None
    if not submodules:
        return _source_or_none(Path(getattr(package, "__file__", None) or ""))
    for folder in getattr(package, "__path__", ()):
        base = Path(folder, *submodules)
        module_file = base.with_name(base.name + ".py")
        path = _source_or_none(module_file) or _source_or_none(base / "__init__.py")
        if path:
            return path
    return None


@functools.cache
def _is_installed(top: str) -> bool:
    """Return whether an imported package is in the standard library or site-packages."""
    package = sys.modules[top]
    files = [getattr(package, "__file__", None), *getattr(package, "__path__", ())]
    paths = [Path(file) for file in files if file]
    return not paths or any(map(_is_in_install_folder, paths))


def _is_in_install_folder(path: Path) -> bool:
    is_shared = not _INSTALL_FOLDER_NAMES.isdisjoint(path.parts)
    return is_shared or any(path.is_relative_to(root) for root in _INSTALL_FOLDERS)


def _source_or_none(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() else None


@functools.cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    """Return the names that the source imports: modules, and names that may be modules."""
    # Only the spec contains the real package of a script run by `python -m`.
    spec = getattr(sys.modules.get(module), "__spec__", None)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    package = spec.parent if spec else package
    # Without the byte order mark, with which a line would not begin with an import.
    nodes = _import_statements(path.read_text(encoding="utf-8-sig", errors="replace"))
    return tuple(name for node in nodes for name in _targets(node, package))


def _import_statements(source: str) -> Iterator[ast.stmt]:
    """Yield the import statements of a source, and those that are quoted in its texts.

    Parsing the whole source would take a sixth of the time in which a process makes its first step.
    """
    for match in _IMPORT_STATEMENT.finditer(source):
        # A sentence may begin with these words.
        with contextlib.suppress(SyntaxError, ValueError):
            yield from ast.parse(match[1]).body


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the names imported by a statement in `package`, a.b for `from a import b`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
        origin = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
        names = [f"{origin}.{alias.name}" for alias in node.names]
        yield from names
        if any(_source(name) is None for name in names):
            yield origin
