"""The catalogue of games: every game has one entry here, and a module."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class GameEntry(NamedTuple):
    """The module of a game, and its attributes that are needed without an import."""

    # Name of a module that defines make(**options) -> Game.
    module: str
    # Gymnasium id of the environments.
    environment: str
    # Names of players of this game only.
    bots: tuple[str, ...] = ()
    # Suffixes of record files of other programs.
    formats: tuple[str, ...] = ()


GAMES = {
    "capture_conquer": GameEntry("cc_env.games.capture_conquer", "cc_env/CaptureConquer-v0"),
    "checkers": GameEntry("cc_env.games.checkers", "cc_env/Checkers-v0", formats=(".pdn",)),
    "mini_checkers": GameEntry("cc_env.games.mini_checkers", "cc_env/MiniCheckers-v0"),
    "morris": GameEntry("cc_env.games.morris", "cc_env/Morris-v0"),
    "cannon": GameEntry(
        "cc_env.games.cannon",
        "cc_env/Cannon-v0",
        bots=("aggressive", "enhanced", "defensive", "neutral"),
        formats=(".log",),
    ),
}


def rules_id(game: str) -> str:
    """Return the version of a game's rules, which is the id of its environment."""
    return GAMES[game].environment if game in GAMES else game


def file_stem(game: str, options: Mapping[str, Any], label: str = "") -> str:
    """Return the file name, without suffix, for data of a game with these options."""
    option_text = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    return "-".join(filter(None, (game, option_text, label)))
