"""Which source files compiled code depends on, and a fingerprint of them.

A compiled function holds the machine code of all that it calls, so it depends on every module that
its own module reaches by imports, those inside functions included, and on what was registered for
the classes among its arguments. Imports are followed into packages that compile and into modules
that are not installed; the standard library and other installed packages are left out.

What no import statement tells cannot be seen: constants that come from environment variables or
data files, and modules imported by a computed name. Code that depends on them must be compiled
again by hand: delete the cache, or set NUMBA_CACHE_DIR to a folder of its own.
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

_PARENT, _START = 1, 19  # places in the second part of /proc/PID/stat


def _states() -> Iterator[list[str]]:
    """Yield the state, by Linux's /proc, of this process and of those that it is a fork of.

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
    """Return when the interpreter began, in seconds since the epoch; of a fork its parent's.

    Where there is no /proc it may be earlier than told, as time spent waiting is not known of.
    """
    ticks = [int(state[_START]) + 1 for state in _states()]  # + 1: rounded up, before any import
    if not ticks:
        return time.time() - time.process_time()
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - since_boot + min(ticks) / os.sysconf("SC_CLK_TCK")


_STARTED = time.time()  # modules that are imported later are no older
_PROCESS_STARTED = _process_started()
_IMPORTED_BEFORE = frozenset(sys.modules)
_packages: set[str] = set()  # the top-level packages whose imports are followed
# By the module of a class: what was registered for it, NAME=FUNCTION, with the function's module.
_registered: dict[str, dict[str, str]] = defaultdict(dict)
_INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib"))


def follow(module: str) -> None:
    """Follow imports into the package of this module, which holds compiled functions."""
    _packages.add(module.partition(".")[0])


def register(module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Note that what is compiled for the classes of `module` depends on these functions."""
    for name, function in functions.items():
        chosen = f"{name}={function.__module__}.{function.__qualname__}"
        _registered[module][chosen] = function.__module__


def fingerprint(modules: Iterable[str]) -> str | None:
    """Return a hash of all sources that these modules reach, as text.

    None if the source of one of them is not to be found, or something reached cannot be read or may
    have been replaced since it was imported: what is in memory may be older.
    """
    modules = set(modules)
    for module in modules:
        follow(module)
    try:
        found = reached(modules)
        return _digest(found) if modules <= set(found) else None
    except (OSError, SyntaxError, ValueError):
        return None


def _digest(found: Mapping[str, Path]) -> str | None:
    digest = hashlib.sha256()
    for name, path in sorted(found.items()):
        registered = ",".join(sorted(_registered.get(name, ())))
        digest.update(f"{name}\0{registered}\0".encode() + _content_hash(path))
        times = path.stat()  # after it was read: what is replaced in between is seen
        imported = _PROCESS_STARTED if name in _IMPORTED_BEFORE else _STARTED
        if max(times.st_mtime, times.st_ctime) > imported:
            return None
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
            waiting += _registered.get(name, {}).values()
    return found


@functools.cache
def _content_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _source(module: str) -> Path | None:
    """Return the source file of a module that is followed; None where there is none."""
    top, *inner = module.split(".")
    package = sys.modules.get(top)
    if package is None or (top not in _packages and _is_installed(top)):
        return None
    if not inner:
        return _existing(Path(getattr(package, "__file__", None) or ""))
    for folder in getattr(package, "__path__", ()):
        base = Path(folder, *inner)
        found = _existing(base.with_name(base.name + ".py")) or _existing(base / "__init__.py")
        if found:
            return found
    return None


@functools.cache
def _is_installed(top: str) -> bool:
    """Return whether an imported package is of the standard library or installed beside it."""
    package = sys.modules[top]
    files = [getattr(package, "__file__", None), *getattr(package, "__path__", ())]
    paths = [Path(file) for file in files if file]
    return not paths or any(path.is_relative_to(root) for path in paths for root in _INSTALLED)


def _existing(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() else None


@functools.cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    """Return the names that the source imports: modules, and what may be one."""
    tree = ast.parse(path.read_bytes())
    spec = getattr(sys.modules.get(module), "__spec__", None)  # of a script by -m its real place
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    package = spec.parent if spec else package
    return tuple(name for node in ast.walk(tree) for name in _targets(node, package))


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield what a statement in `package` imports; `from a import b` may mean the module a.b."""
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
