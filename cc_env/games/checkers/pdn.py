"""Portable Draughts Notation (PDN), the file format of checkers games.

pdn_reader.py describes the grammar; pdn_text.py converts turns and positions. Games are written in
the strict form of PDN 3.0 (pdn.fmjd.org), except that the result also follows the moves.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial

from cc_env.core.game import Format, Game, PlayedGame, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, format_list
from cc_env.games.checkers.pdn_dialects import (
    BOTH_LOSE,
    DIALECTS,
    GAME_TYPE,
    PDN,
    RESULTS,
    Dialect,
    check_game_type,
    normalize_result,
)
from cc_env.games.checkers.pdn_reader import (
    ENGLISH,
    RULES,
    PdnGame,
    count,
    hint,
    read,
    rules_text,
)
from cc_env.games.checkers.pdn_text import parse_position, parse_turn, position_text, turn_text
from cc_env.games.checkers.pdn_tokens import END_OF_FILE, is_tag_name

__all__ = [
    "DIALECTS",
    "ENGLISH",
    "FORMAT",
    "export",
    "parse_position",
    "parse_turn",
    "position_text",
    "read",
    "turn_text",
    "write",
]

# The result of each outcome in PDN.
_PDN_RESULTS = {outcome: result for result, outcome in RESULTS.items()}
# Tags that `write` generates, and the arguments that determine them.
_GENERATED_TAGS = {"FEN": "start", "SetUp": "start", "Result": "result", RULES: "game"}


def write(
    game: Game,
    turns: tuple[Turn, ...],
    *,
    start: Position | None = None,
    tags: Mapping[str, str] | None = None,
    result: str = "*",
) -> str:
    """Return the PDN text of a game from `start`, by default the start of the game.

    `result` is one of RESULTS. Raises IllegalAction for an illegal turn, BadRecord for a game that
    PDN cannot express.
    """
    if result not in RESULTS:
        raise BadRecord(f"result {result!r}; expected: one of: {format_list(RESULTS)}")
    for name in tags or {}:
        if name in _GENERATED_TAGS:
            raise BadRecord(f"tag {name}: use the argument {_GENERATED_TAGS[name]}")
    check_game_type((tags or {}).get("GameType", GAME_TYPE))
    moves = _moves(game, turns, game.initial if start is None else start)
    tag_lines = _tag_lines(game, start, {**(tags or {}), "Result": result})
    return _file(tag_lines, [*moves, result])


def export(game: Game, played_game: PlayedGame, dialect: Dialect = PDN) -> str:
    """Return the PDN text of a game, with the tags of a PdnGame as far as they are still valid.

    Raises IllegalAction for an illegal turn, BadRecord for a game that PDN cannot express.
    """
    is_usual = played_game.start == dialect.start(game) and not dialect.always_fen
    tags = _valid_tags(game, played_game)
    check_game_type(tags.get("GameType", GAME_TYPE))
    tags["Result"] = dialect.convert_result(tags["Result"])
    if dialect.game_type != GAME_TYPE:
        tags["GameType"] = dialect.game_type
    moves = _moves(game, played_game.turns, played_game.start)
    result = dialect.convert_result(_PDN_RESULTS[played_game.outcome])
    return _file(_tag_lines(game, None if is_usual else played_game.start, tags), [*moves, result])


def _valid_tags(game: Game, played_game: PlayedGame) -> dict[str, str]:
    """Return the valid tags of a game with names of PDN, with its players and its result."""
    tags = dict(played_game.tags) if isinstance(played_game, PdnGame) else {}
    tags = {name: value for name, value in tags.items() if is_tag_name(name)}
    tag_result = tags.get("Result", "*")
    for name in _GENERATED_TAGS:
        tags.pop(name, None)
    for color, player in zip(("Black", "White"), played_game.players, strict=True):
        tags.setdefault(color, re.sub(rf"[\s{END_OF_FILE}]+", " ", player).strip())
    if game.options["crowning"] != ENGLISH["crowning"]:
        tags.pop("GameType", None)
    # A result is kept if RESULTS cannot express it: any other text, or a game that both lose.
    normalized = normalize_result(tag_result)
    is_lost_by_both = normalized == BOTH_LOSE and played_game.outcome == ONGOING
    keeps_result = normalized is None or is_lost_by_both
    tags["Result"] = tag_result if keeps_result else _PDN_RESULTS[played_game.outcome]
    return tags


def _file(tag_lines: list[str], words: list[str]) -> str:
    """Return the text of a game, with its moves in lines of at most 79 characters."""
    moves = textwrap.wrap(" ".join(words), 79, break_on_hyphens=False)
    return "\n".join([*tag_lines, "", *moves, ""])


def _tag_lines(game: Game, start: Position | None, tags: dict[str, str]) -> list[str]:
    """Return the lines of all tags; Result is the last."""
    for name, value in tags.items():
        if not is_tag_name(name) or re.search(rf"[\n\r{END_OF_FILE}]", value):
            raise BadRecord(f"tag {name!r}: {value!r}; expected: a word and a single line of text")
    result = tags.pop("Result")
    if game.options["crowning"] == ENGLISH["crowning"]:
        tags.setdefault("GameType", GAME_TYPE)
    if game.options != ENGLISH:
        tags[RULES] = rules_text(game.options)
    if start is not None:
        tags |= {"SetUp": "1", "FEN": position_text(start)}
    tags["Result"] = result
    escaped = {name: re.sub(r'(["\\])', r"\\\1", value) for name, value in tags.items()}
    return [f'[{name} "{value}"]' for name, value in escaped.items()]


def _moves(game: Game, turns: tuple[Turn, ...], start: Position) -> Iterator[str]:
    """Yield the move numbers and the notation of turns."""
    position, first = start, game.to_move(start)
    if game.mid_turn(position):
        raise BadRecord(
            f"'{game.to_text(position)}' is in the middle of a turn, which PDN cannot express"
        )
    for index, turn in enumerate(turns, first):
        if index % 2 == 0 or index == first:
            yield f"{index // 2 + 1}." + ".." * (index % 2)
        yield turn_text(game, position, turn)
        position = game.play_turn(position, turn)


def _format(dialect: Dialect, dialects: Mapping[str, Format]) -> Format:
    return Format(
        partial(read, dialect=dialect),
        count,
        partial(export, dialect=dialect),
        ENGLISH,
        hint,
        result_hint="; 1-0 is won by Black in PDN, by White in the dialect py-draughts",
        dialects=dialects,
    )


FORMAT = _format(PDN, {name: _format(dialect, {}) for name, dialect in DIALECTS.items()})
