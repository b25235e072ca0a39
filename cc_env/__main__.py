"""Entry point of `cc_env` and `python -m cc_env`; see `cc_env.cli.commands`."""

import math
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from cc_env.cli.tools import TOOLS
from cc_env.errors import MissingExtra
from cc_env.registry.plugins import make_importable

# With less address space, imports and compilation fail or hang.
MIN_ADDRESS_SPACE_BYTES = 512 * 2**20
# Exit status of shells after Ctrl+C: 128 + SIGINT.
INTERRUPTED = 130


def main() -> int:
    """Run the command line; return the exit status: 0, 2 for bad input, 130 after Ctrl+C."""
    try:
        return _run()
    # Raised, for example, during imports.
    except KeyboardInterrupt:
        return INTERRUPTED


def _run() -> int:
    if (limit := _address_space_bytes()) < MIN_ADDRESS_SPACE_BYTES:
        required = f"at least {MIN_ADDRESS_SPACE_BYTES / 2**20:.0f} MiB are required (ulimit -v)"
        print(
            f"error: address space is limited to {limit / 2**20:.0f} MiB; {required}",
            file=sys.stderr,
        )
        return 2
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        # As with `python -m`, games and players can be modules of the current folder.
        sys.path.append(str(Path.cwd()))
    command, *arguments = sys.argv[1:] or [""]
    name = f"cc_env {command}".rstrip()
    if command not in TOOLS:
        return run_app("cc_env.cli.commands", name, "play" if command == "serve" else "cli")
    if not make_importable():
        print(f"error: {name} needs the packages agents and training", file=sys.stderr)
        return 2
    return run_app(TOOLS[command].module, name, TOOLS[command].extra, arguments)


def _address_space_bytes() -> float:
    """Return the maximum address space of this process, infinity if it is unlimited."""
    try:
        import resource
    # Windows has no resource limits.
    except ImportError:
        return math.inf
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def run_app(module: str, name: str, extra: str, arguments: Sequence[str] | None = None) -> int:
    """Run the command line `app` of a module; return the exit status.

    The status is 2, after an error message, if a package of the extra is missing. `arguments` are
    by default those of this process. Error messages give `name` as the name of the command; usage
    messages do so if `arguments` are given.
    """
    try:
        from cc_env.cli.application import run

        program = None if arguments is None else name
        # Worker processes find the functions of a module by its name, so it is not run as __main__.
        return run(import_module(module).app, program, arguments)
    except ModuleNotFoundError as missing:
        error = MissingExtra(name, str(missing.name), extra)
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
