"""The command `cc_env`, which is `python -m cc_env`; its commands are in commands.py."""

import math
import sys
from importlib import import_module
from pathlib import Path

from cc_env.cli.tools import TOOLS
from cc_env.errors import MissingExtra
from cc_env.registry.plugins import make_importable

MIN_ADDRESS_SPACE = 512 * 2**20  # bytes; with less, imports and compilation fail or never end
INTERRUPTED = 130  # exit status after Ctrl+C, as shells have it: 128 + SIGINT


def main() -> int:
    """Run the command line; return the exit status: 0, 2 for bad input, 130 after Ctrl+C."""
    try:
        return _run()
    except KeyboardInterrupt:  # such as while modules are imported
        return INTERRUPTED


def _run() -> int:
    if (limit := _address_space()) < MIN_ADDRESS_SPACE:
        wanted = f"wanted: {MIN_ADDRESS_SPACE / 2**20:.0f} MiB or more (ulimit -v)"
        print(
            f"error: this process is limited to {limit / 2**20:.0f} MiB; {wanted}", file=sys.stderr
        )
        return 2
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        sys.path.append(str(Path.cwd()))  # games and players of your own, as for python -m
    word, *rest = sys.argv[1:] or [""]
    if word in TOOLS:
        return _run_tool(word, rest)
    try:
        from cc_env.cli.application import run
        from cc_env.cli.commands import app
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 2
    return run(app)


def _address_space() -> float:
    """Return how much memory this process may map, in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _run_tool(word: str, rest: list[str]) -> int:
    """Run a command that is a module of `agents` or `training`; return the exit status."""
    if not make_importable():
        print(f"error: cc_env {word} needs the packages agents and training", file=sys.stderr)
        return 2
    sys.argv = [f"cc_env {word}", *rest]  # usage names the command by the first
    try:
        from cc_env.cli.application import run

        # Imported under its own name, by which worker processes find its functions.
        return run(import_module(TOOLS[word]).app)
    except ModuleNotFoundError as missing:
        error = MissingExtra(f"cc_env {word}", str(missing.name), "train")
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
