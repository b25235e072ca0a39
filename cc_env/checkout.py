"""The location of `agents` and `training`: beside cc_env in a checkout, inside it in a wheel.

Their names are too common for top-level packages of an installation. So they can be imported only
in processes that call `reach`, as the command line and `know_learned_players` do.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
BUNDLED = HERE / "bundled"  # filled by setup.py when a wheel is built
TOOLS = {  # commands of cc_env and the modules that run them
    "arena": "training.evaluate",
    "train-alphazero": "training.alphazero",
    "train-ppo": "training.ppo",
    "train-evaluation": "training.evaluation",
    "train-distillation": "training.distillation",
    "tune": "training.tune",
    "accuracy": "training.accuracy",
    "hardest": "training.hardest",
    "published": "training.published",
    "memory": "agents.memory",
}


def folder() -> Path | None:
    """Return the folder that contains `agents` and `training`, or None."""
    return next((path for path in (HERE.parent, BUNDLED) if (path / "agents").is_dir()), None)


def reach() -> bool:
    """Make `agents` and `training` importable; return whether they are.

    They are not if they are missing, or if other packages with these names are installed.
    """
    here = folder()
    if here is None:
        return False
    if find_spec("agents") is None:
        sys.path.append(str(here))
    spec = find_spec("agents")
    return bool(spec and spec.origin and Path(spec.origin).parents[1] == here)


def know_learned_players() -> None:
    """Register the learned players by name: policy, alphazero, ppo, memory."""
    if reach():
        with suppress(ImportError):  # their dependencies are not installed
            import_module("agents")
