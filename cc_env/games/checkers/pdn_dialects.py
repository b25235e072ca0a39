"""Results and game types of PDN, and the dialects of programs that use them differently."""

import re
from typing import NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS, Position
from cc_env.errors import BadRecord
from cc_env.games.checkers.pdn_text import DASHES, parse_position, position_text

# Outcomes by the score of Black, the first player.
RESULTS = {"1-0": FIRST_WINS, "0-1": SECOND_WINS, "1/2-1/2": DRAW, "*": ONGOING}
BOTH_LOSE = "0-0"
GAME_TYPE = "21"
# The parts of the GameType of English draughts in PDN 3.0, 21,B,8,8,N1,0.
_GAME_TYPE_PARTS = {
    "number": GAME_TYPE,
    "color of the first mover": "B",
    "width": "8",
    "height": "8",
    "notation": "N1",
    "invert flag": "0",
}
_NORMALIZED_RESULTS = {text: text for text in (*RESULTS, BOTH_LOSE)}
_NORMALIZED_RESULTS |= {"2-0": "1-0", "0-2": "0-1", "1-1": "1/2-1/2", "½-½": "1/2-1/2"}
_SWAPPED_RESULTS = {"1-0": "0-1", "0-1": "1-0"}


class Dialect(NamedTuple):
    """Conventions of a program, for games by the rules of English draughts.

    `game_type` is the GameType that the program writes; GAME_TYPE is accepted, too. With
    `white_first`, White's score comes first in results, and White moves first in games without a
    FEN. With `always_fen`, all games need a FEN.
    """

    game_type: str = GAME_TYPE
    white_first: bool = False
    always_fen: bool = False

    def start(self, game: Game) -> Position:
        """Return the start position of games without a FEN."""
        if not self.white_first:
            return game.initial
        return parse_position(game, f"W{position_text(game.initial)[1:]}")

    def convert_tag(self, name: str, value: str) -> str:
        """Return the value of a tag of this dialect in PDN.

        Raises BadRecord for a GameType that contradicts the dialect.
        """
        if name == "Result":
            return self.convert_result(value)
        if name != "GameType":
            return value
        if value.strip() == self.game_type:
            return GAME_TYPE
        check_game_type(value)
        return value

    def convert_result(self, result: str) -> str:
        """Return a result of this dialect in PDN, or the reverse."""
        normalized = normalize_result(result)
        if not self.white_first or normalized is None:
            return result
        return _SWAPPED_RESULTS.get(normalized, result)


PDN = Dialect()
# The conventions of other programs, by name.
DIALECTS = {
    # AmericanBoard of py-draughts 1.10.1, which reads no GameType.
    "py-draughts": Dialect("23", white_first=True, always_fen=True),
}


def normalize_result(result: str) -> str | None:
    """Return a result in the form of RESULTS or BOTH_LOSE, None for other texts."""
    return _NORMALIZED_RESULTS.get(re.sub(f"[{DASHES}]", "-", "".join(result.split())))


def check_game_type(value: str) -> None:
    """Raise BadRecord if the value of a GameType tag contradicts English draughts."""
    parts = [part.strip().upper() for part in value.split(",")]
    if len(parts) > len(_GAME_TYPE_PARTS):
        count = len(_GAME_TYPE_PARTS)
        raise BadRecord(f"GameType {value!r} has {len(parts)} parts; expected: at most {count}")
    for part, (name, expected) in zip(parts, _GAME_TYPE_PARTS.items(), strict=False):
        if part != expected:
            full = ",".join(_GAME_TYPE_PARTS.values())
            message = f"GameType {value!r}, {name} {part!r}; English draughts is {full!r}"
            raise BadRecord(message + _advice(value.strip()))


def _advice(game_type: str) -> str:
    """Return which dialects have a GameType, for an error message."""
    names = [name for name, dialect in DIALECTS.items() if dialect.game_type == game_type]
    return f"; the dialect {' or '.join(names)} has it" if names else ""
