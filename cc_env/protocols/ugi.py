"""The words of UGI that both sides read and write."""

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadPosition

GO_NUMBERS = "depth", "nodes", "movetime", "p1time", "p2time", "p1inc", "p2inc"


def turn_word(text: str) -> str:
    """Return the notation of a turn as one word: `Game.parse_turn` does without its blanks."""
    return "".join(text.split())


def split_first(line: str) -> tuple[str, str]:
    """Return the first word of a line and the rest; any run of blanks separates words."""
    first, rest = [*line.split(maxsplit=1), "", ""][:2]
    return first, rest.strip()


def one_line(message: object) -> str:
    """Return a message as it can stand in one line."""
    return " ".join(str(message).split())


def game_words(game: Game) -> str:
    """Return what `setgame` says of a game."""
    return " ".join([game.name, *(f"{name}={value}" for name, value in game.options.items())])


def position_words(game: Game, start: Position, turns: list[str]) -> str:
    """Return what `position` says of a position that turns led to."""
    begin = "startpos" if start == game.initial else f"text {game.to_text(start)}"
    return " ".join([begin, *(["moves", *map(turn_word, turns)] if turns else [])])


def read_moves(game: Game, said: str) -> tuple[Position, list[str]]:
    """Return the position where `position` begins, and the turns played from there.

    Raises BadPosition where it says no position.
    """
    words = said.split()
    end = words.index("moves") if "moves" in words else len(words)
    kind, text, turns = words[:1], " ".join(words[1:end]), words[end + 1 :]
    if kind == ["startpos"] and not text:
        return game.initial, turns
    if kind in (["text"], ["fen"]):
        return game.from_text(text), turns
    raise BadPosition(f"position {said[:40]}: wanted startpos or text POSITION, then moves TURN …")
