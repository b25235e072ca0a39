"""UGI syntax shared by the engine and the driver."""

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadPosition

GO_NUMBERS = "depth", "nodes", "movetime", "p1time", "p2time", "p1inc", "p2inc", "movestogo"


def turn_word(text: str) -> str:
    """Return the notation of a turn as one word; `Game.parse_turn` does not need its spaces."""
    return "".join(text.split())


def split_first(line: str) -> tuple[str, str]:
    """Split a line into its first word and the rest."""
    first, rest = [*line.split(maxsplit=1), "", ""][:2]
    return first, rest.strip()


def one_line(message: object) -> str:
    """Return a message with all whitespace collapsed, as one line."""
    return " ".join(str(message).split())


def game_words(game: Game) -> str:
    """Return the arguments of `setgame` for a game."""
    return " ".join([game.name, *(f"{name}={value}" for name, value in game.options.items())])


def position_words(game: Game, start: Position, turns: list[str]) -> str:
    """Return the arguments of `position` for a start position and the turns played."""
    origin = "startpos" if start == game.initial else f"text {game.to_text(start)}"
    return " ".join([origin, *(["moves", *map(turn_word, turns)] if turns else [])])


def parse_position(game: Game, arguments: str) -> tuple[Position, list[str]]:
    """Parse the arguments of `position`: return the start position and the turns played.

    Raises BadPosition if there is no position or its text is invalid.
    """
    words = arguments.split()
    end = words.index("moves") if "moves" in words else len(words)
    first, text, turns = words[:1], " ".join(words[1:end]), words[end + 1 :]
    if first == ["startpos"] and not text:
        return game.initial, turns
    if first in (["text"], ["fen"]):
        return game.from_text(text), turns
    raise BadPosition(
        f"position {arguments[:40]!r}; expected: startpos or text POSITION (also: fen POSITION), "
        "optionally followed by moves TURN …"
    )
