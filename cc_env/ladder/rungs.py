"""The ladder of a game: rungs, which are players of increasing, measured strength.

    for rung in rungs(make_game("capture_conquer")):
        print(rung.level, rung.name, rung.spec, rung.elo)

`make_player("ladder:3", game)` plays the third one. People know a rung by its level or its name.
Elo is relative to `random`, whose Elo is 0.
The command `measure-ladder` writes a file for each game, GAME-OPTIONS.json:

    players   spec, Elo with its 95 % interval, seconds per turn; the first is random
    matches   the results of each pair, from which `training.arena.ratings` computes the Elo
    decisions hashes of the decisions of players, which change with their strength
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from cc_env.core.game import Game
from cc_env.errors import BadRecord, UnknownOption, format_list, is_number
from cc_env.files import read_bytes
from cc_env.games.factory import describe_game, describe_games
from cc_env.match.confidence import Interval
from cc_env.registry.catalogue import file_stem, rules_id

MEASURED = Path(__file__).parent / "measured"
# Names of the rungs, by level.
NAMES = "Pebble", "Slate", "Flint", "Marble", "Granite", "Basalt", "Quartz", "Diamond"
# One line about each opponent, by level.
CHARACTERS = (
    "Plays what comes to mind",
    "Sees a capture, and often misses it",
    "Takes what it can get",
    "Thinks of your next move",
    "Makes few mistakes",
    "Punishes every slip",
    "Looks far ahead",
    "Hardly ever wrong",
)


class Rung(NamedTuple):
    """A player of a ladder."""

    # 1 for the weakest.
    level: int
    name: str
    # Player spec.
    spec: str
    # Relative to `random`.
    elo: Interval
    # Mean thinking time on the machine of the measurement.
    seconds_per_turn: float
    # The decision hash of the player at the measurement; None without one. The player has changed
    # since if it has another hash now, see `cc_env.players.decision_hash.is_stale`.
    decisions: str | None = None


def rungs(game: Game) -> list[Rung]:
    """Return the ladder of a game, weakest first.

    Raises UnknownOption if the game has none with its options.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.ladder import rungs
        >>> rungs(game)[0].name
        'Pebble'
    """
    if not has_ladder(game):
        games = describe_games(path.stem for path in MEASURED.glob("*.json"))
        raise UnknownOption(
            f"there is no ladder for {describe_game(game)}; there are ladders for: {games}"
        )
    return read_ladder(ladder_path(MEASURED, game), game)


def has_ladder(game: Game) -> bool:
    """Return whether a game has a ladder with its options."""
    return ladder_path(MEASURED, game).is_file()


def find_rung(game: Game, level: str) -> Rung:
    """Return the rung with a level, "1" or more, or a name; raise UnknownOption as `rungs`."""
    ladder = rungs(game)
    for rung in ladder:
        if level.casefold() in (str(rung.level), rung.name.casefold()):
            return rung
    valid = format_list(f"{rung.level} ({rung.name})" for rung in ladder)
    raise UnknownOption(f"the ladder of {game.name} has no level {level!r}; it has: {valid}")


def named_rung(game: Game, spec: str) -> Rung | None:
    """Return the rung that a player spec or the name of a rung names; None for other players.

    Raises UnknownOption for a level that the ladder does not have.
    """
    name, _, level = spec.partition(":")
    if name == "ladder":
        return find_rung(game, level.removeprefix("level=") or "1")
    ladder = rungs(game) if has_ladder(game) else []
    return next((rung for rung in ladder if rung.name.casefold() == spec.casefold()), None)


def ladder_path(folder: Path, game: Game) -> Path:
    """Return the file of a game's ladder in a folder."""
    return folder / f"{file_stem(game.name, game.options)}.json"


def read_ladder(path: Path, game: Game) -> list[Rung]:
    """Return the ladder in a file; raise OSError, or BadRecord for another game or damage."""
    try:
        content = json.loads(read_bytes(path))
        saved = content["game"], content["options"], content["rules"]
        players, hashes = content["players"][1:], content["decisions"]
        if saved != (game.name, dict(game.options), rules_id(game.name)):
            raise BadRecord(f"it is for {saved!r:.200}; expected: {game!r}")
        return [_parse_rung(index, player, hashes) for index, player in enumerate(players)]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise BadRecord(f"{path}: not a ladder of this game: {error!s:.300}") from error


def _parse_rung(index: int, player: Any, hashes: Any) -> Rung:
    """Return a rung; raise ValueError for invalid values."""
    spec, elo, seconds = player["spec"], player["elo"], player["seconds_per_turn"]
    if not isinstance(spec, str) or not all(map(is_number, (*elo, seconds))):
        raise ValueError(f"player {index + 1} has an invalid value")
    digest = hashes.get(spec)
    if not isinstance(digest, str | None):
        raise ValueError(f"player {index + 1} has an invalid hash")
    return Rung(index + 1, NAMES[index], spec, Interval(*elo), seconds, digest)
