"""Files of network weights: those that ship with the package, and those of runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, format_list
from cc_env.games.factory import make_game

WEIGHTS = Path(__file__).parent / "weights"
# File names in the folder of a run.
NETWORK, CONFIG = "best.safetensors", "config.json"


def weights_file(game: Game, kind: str, path: str | None) -> Path:
    """Return the file of weights at `path`, by default the shipped one for a game."""
    # Options read a name such as 12 as a number.
    return shipped(game, kind) if path is None else weights_at(str(path))


def weights_at(path: str) -> Path:
    """Return the file of weights that a path means, which may be the folder of a run."""
    where = Path(path)
    return where / NETWORK if where.is_dir() else where


def shipped(game: Game, kind: str) -> Path:
    """Return the file of weights that cc_env ships for a game; raise BadCheckpoint without one."""
    path = shipped_file(game, kind)
    if not path.exists():
        configs = (json.loads(file.read_text()) for file in (WEIGHTS / kind).glob(f"*/{CONFIG}"))
        there = sorted(_as_typed(config["game"], config["options"]) for config in configs)
        wanted = f"cc_env train-{kind} trains a network, then {kind}:path=FOLDER plays"
        raise BadCheckpoint(
            f"cc_env ships no {kind} weights for {_as_typed(game.name, game.options)}, only for: "
            f"{format_list(there) or 'nothing'}; {wanted}"
        )
    return path


def _as_typed(name: str, options: Mapping[str, Any]) -> str:
    """Return a game's name, with those of its options that differ from the default."""
    usual = make_game(name).options
    chosen = [f"{option}={options[option]}" for option in usual if options[option] != usual[option]]
    return " ".join([name, *chosen])


def shipped_file(game: Game, kind: str) -> Path:
    """Return where the shipped weights for a game are, if there are any."""
    options = "-".join(str(value) for value in game.options.values())
    return WEIGHTS / kind / f"{game.name}-{options}" / NETWORK
