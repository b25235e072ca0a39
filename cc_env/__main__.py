"""The command `cc_env`, which is `python -m cc_env`; its commands are in commands.py."""

import runpy
import sys
from pathlib import Path

from cc_env import checkout
from cc_env.errors import MissingExtra


def main() -> int:
    """Run the command line; return the exit status: 0, or 2 for bad input."""
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        sys.path.append(str(Path.cwd()))  # games and players of your own, as for python -m
    word, *rest = sys.argv[1:] or [""]
    if word in checkout.TOOLS:
        return _run_tool(word, rest)
    try:
        from cc_env.commands import app
        from cc_env.terminal import run
    except MissingExtra as missing:
        print(missing, file=sys.stderr)
        return 2
    return run(app)


def _run_tool(word: str, rest: list[str]) -> int:
    """Run a command that is a module of `agents` or `training`; return the exit status."""
    if not checkout.reach():
        print(f"error: cc_env {word} needs the packages agents and training", file=sys.stderr)
        return 2
    sys.argv = [f"cc_env {word}", *rest]  # usage names the command by the first
    try:
        runpy.run_module(checkout.TOOLS[word], run_name="__main__")
    except ModuleNotFoundError as missing:
        told = MissingExtra(f"cc_env {word}", str(missing.name), "train")
        print(f"error: {told}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
