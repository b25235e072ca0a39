"""Tournaments of players: the names of `training.arena`, from a checkout and a wheel alike.

    from cc_env import arena

    standings = arena.hold(("minimax:depth=3", "greedy"), games=20).standings

The package `training` is importable under its own name only in a checkout, see `cc_env.checkout`.
"""

from importlib import import_module
from typing import Any

from cc_env import checkout
from cc_env.errors import MissingExtra


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if not checkout.reach():
        raise MissingExtra("cc_env.arena", "the packages agents and training", "train")
    try:
        return getattr(import_module("training.arena"), name)
    except ModuleNotFoundError as missing:
        raise MissingExtra("cc_env.arena", str(missing.name), "train") from missing
