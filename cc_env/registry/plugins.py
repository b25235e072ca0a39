"""The location of `agents` and `training`: beside cc_env in a checkout, inside it in a wheel.

Their names are too common for top-level packages of an installation. So they can be imported only
in processes that call `make_importable`, as the command line and `know_learned_players` do.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from cc_env.errors import MissingExtra

PACKAGE = Path(__file__).parents[1]
BUNDLED = PACKAGE / "bundled"  # filled by setup.py when a wheel is built


def plugin_folder() -> Path | None:
    """Return the folder that contains `agents` and `training`, or None."""
    return next((path for path in (PACKAGE.parent, BUNDLED) if (path / "agents").is_dir()), None)


def make_importable() -> bool:
    """Make `agents` and `training` importable; return whether they are.

    They are not if they are missing, or if other packages with these names are installed.
    """
    here = plugin_folder()
    if here is None:
        return False
    if find_spec("agents") is None:
        sys.path.append(str(here))
    spec = find_spec("agents")
    return bool(spec and spec.origin and Path(spec.origin).parents[1] == here)


def know_learned_players() -> None:
    """Register the learned players by name: policy, alphazero, ppo, memory."""
    if make_importable():
        with suppress(ImportError):  # their dependencies are not installed
            import_module("agents")


def import_plugin(module: str) -> ModuleType:
    """Return a module of `agents` or `training`; raise MissingExtra if it cannot be imported."""
    if not make_importable():
        raise MissingExtra(module, "the packages agents and training", "train")
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise MissingExtra(module, str(missing.name), "train") from missing
