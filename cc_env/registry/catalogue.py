"""The catalogue of games: every game has one entry here, and a module."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class GameEntry(NamedTuple):
    """The module of a game, and facts that are needed without importing it."""

    module: str  # defines make(**options) -> Game
    environment: str  # id of its environments
    bots: tuple[str, ...] = ()  # spoken names of this game's own players, see `Game.bots`
    formats: tuple[str, ...] = ()  # suffixes of other programs' files, see `Game.formats`


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
    """Return the name, without a suffix, of a file that is of a game with these options."""
    chosen = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    return "-".join(filter(None, (game, chosen, label)))
