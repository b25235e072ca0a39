"""Paths of network weights: those shipped with the package and those of training runs."""

import json
from collections.abc import Mapping
from pathlib import Path

from cc_env.core.game import Game
from cc_env.errors import BadCheckpoint, format_list
from cc_env.games.factory import make_game
from cc_env.registry.catalogue import file_stem

WEIGHTS = Path(__file__).parent / "weights"
# Kinds of weights that ship for policy and value networks.
KINDS = "alphazero", "policy", "ppo"
# File names in the folder of a run.
NETWORK, CONFIG = "best.safetensors", "config.json"
# File in WEIGHTS with the estimated training cost of each network, including that of its initial
# weights: CPU time in core-hours, and minutes of a machine with a GPU that other runs may share.
COSTS = "costs.json"


def weights_file(game: Game, kind: str, path: str | None) -> Path:
    """Return the weights file at `path`, by default the shipped one for a game."""
    return shipped_weights(game, kind) if path is None else resolve_weights(path)


def resolve_weights(path: str) -> Path:
    """Return the weights file at `path`; if `path` is a run folder, the file inside it."""
    file = Path(path)
    return file / NETWORK if file.is_dir() else file


def shipped_weights(game: Game, kind: str) -> Path:
    """Return the shipped weights file for a game; raise BadCheckpoint if there is none."""
    path = shipped_path(game, kind)
    if not path.exists():
        # The player "policy" falls back to the folder "alphazero".
        folder_kind = path.parent.parent.name
        files = (WEIGHTS / folder_kind).glob(f"*/{CONFIG}")
        configs = (json.loads(file.read_text()) for file in files)
        available = sorted(_game_text(config["game"], config["options"]) for config in configs)
        advice = f"train some with `cc_env train-{folder_kind}` and use {kind}:path=FOLDER"
        raise BadCheckpoint(
            f"cc_env ships no {folder_kind} weights for {_game_text(game.name, game.options)}, "
            f"only for: {format_list(available) or 'nothing'}; {advice}"
        )
    return path


def _game_text(name: str, options: Mapping[str, object]) -> str:
    """Return a game's name and its options that differ from the default, as on a command line."""
    defaults = make_game(name).options
    changes = [f"{key}={options[key]}" for key in defaults if options[key] != defaults[key]]
    return " ".join([name, *changes])


def shipped_path(game: Game, kind: str) -> Path:
    """Return the path of the shipped weights for a game, which may not exist.

    Those of "policy" are those of "alphazero" unless the game has others, which are stronger
    without search and weaker with it.
    """
    folder = file_stem(game.name, game.options)
    if kind == "policy" and not (WEIGHTS / kind / folder).exists():
        kind = "alphazero"
    return WEIGHTS / kind / folder / NETWORK
