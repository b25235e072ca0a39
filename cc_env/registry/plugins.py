"""Import of `agents` and `training`, next to cc_env in a checkout and inside it in a wheel.

Their names are too common for top-level packages of an installation. They can be imported after
`make_importable`, which `import_plugin` calls.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from cc_env.errors import MissingExtra
from cc_env.registry.extras import extra_of_package

PACKAGE = Path(__file__).parents[1]
# Filled by setup.py when a wheel is built.
BUNDLED = PACKAGE / "bundled"


def plugin_folder() -> Path | None:
    """Return the folder that contains `agents` and `training`; None if they are missing."""
    return next((path for path in (PACKAGE.parent, BUNDLED) if (path / "agents").is_dir()), None)


def make_importable() -> bool:
    """Make `agents` and `training` importable; return whether it succeeded.

    It fails if they are missing or if other packages with these names are installed.
    """
    folder = plugin_folder()
    if folder is None:
        return False
    if find_spec("agents") is None:
        sys.path.append(str(folder))
    spec = find_spec("agents")
    return bool(spec and spec.origin and Path(spec.origin).parents[1] == folder)


def import_plugin(module: str) -> ModuleType:
    """Return a module of `agents` or `training`.

    Raises MissingExtra if the packages or a library that the module imports are missing.
    """
    if not make_importable():
        raise MissingExtra(module, "the packages agents and training", "train")
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        extra = extra_of_package(missing.name) or "train"
        raise MissingExtra(module, str(missing.name), extra) from missing
