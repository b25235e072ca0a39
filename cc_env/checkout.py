"""Where `agents` and `training` are: beside cc_env in a checkout, inside it in a wheel.

Their names are too common to be top-level packages of an installation. So they are found only in
processes that ask for them: the command line does, and `know_learned_players`.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
BUNDLED = HERE / "bundled"  # in a wheel; setup.py puts them there
TOOLS = {  # commands of cc_env that are modules of theirs
    "arena": "training.evaluate",
    "train-alphazero": "training.alphazero",
    "train-ppo": "training.ppo",
    "tune": "training.tune",
    "published": "training.published",
    "memory": "agents.memory",
}


def folder() -> Path | None:
    """Return the folder that `agents` and `training` are in, None where there is none."""
    return next((each for each in (HERE.parent, BUNDLED) if (each / "agents").is_dir()), None)


def reach() -> bool:
    """Let `agents` and `training` be imported; return whether they can be.

    They cannot where there is none, or where packages of these names are somebody else's.
    """
    here = folder()
    if here is None:
        return False
    if find_spec("agents") is None:
        sys.path.append(str(here))
    found = find_spec("agents")
    return bool(found and found.origin and Path(found.origin).parents[1] == here)


def know_learned_players() -> None:
    """Let the players that learned be known by name: policy, alphazero, ppo, memory."""
    if reach():
        with suppress(ImportError):  # what they need is not installed
            import_module("agents")
