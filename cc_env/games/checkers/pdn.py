"""Portable Draughts Notation (PDN): the format of checkers for files of other programs.

pdn_reader.py has the grammar, and what is strict and what is liberal about it; pdn_text.py has
turns and positions as text. Games are written by the restrictions of PDN 3.0 (pdn.fmjd.org), except
that the result is written after the moves, too.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping

from cc_env.core.game import Format, Game, PlayedGame, Turn
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, format_list
from cc_env.games.checkers.pdn_reader import (
    BOTH_LOSE,
    ENGLISH,
    GAME_TYPE,
    RESULTS,
    RULES,
    PdnGame,
    check_game_type,
    count,
    hint,
    meaning,
    read,
    rules_text,
)
from cc_env.games.checkers.pdn_text import parse_position, parse_turn, position_text, turn_text
from cc_env.games.checkers.pdn_tokens import END_OF_FILE, is_tag_name

__all__ = [
    "ENGLISH",
    "FORMAT",
    "RESULTS",
    "PdnGame",
    "export",
    "parse_position",
    "parse_turn",
    "position_text",
    "read",
    "turn_text",
    "write",
]

_WORDS = {outcome: word for word, outcome in RESULTS.items()}
_OURS = {"FEN": "start", "SetUp": "start", "Result": "result", RULES: "game"}  # made of these


def write(
    game: Game,
    turns: tuple[Turn, ...],
    *,
    start: Position | None = None,
    tags: Mapping[str, str] | None = None,
    result: str = "*",
) -> str:
    """Return a game as PDN; raise IllegalAction for a turn that is not legal, else BadRecord.

    `start` is None for the game's own, the result one of RESULTS.
    """
    if result not in RESULTS:
        raise BadRecord(f"result {result!r}; it is one of: {format_list(RESULTS)}")
    for name in tags or {}:
        if name in _OURS:
            raise BadRecord(f"tag {name}: {_OURS[name]}= is for that")
    moves = _moves(game, turns, game.initial if start is None else start)
    head = _head(game, start, {**(tags or {}), "Result": result})
    return _file(head, [*moves, result])


def export(game: Game, played: PlayedGame) -> str:
    """As `cc_env.core.game.Format.write`; the tags of a PdnGame stay, so far as they are true."""
    tags = dict(played.tags) if isinstance(played, PdnGame) else {}
    result, written = _WORDS[played.outcome], tags.get("Result", "*")
    meant = meaning(written)
    is_other = meant is None or (meant == BOTH_LOSE and played.outcome == ONGOING)
    for name in _OURS:
        tags.pop(name, None)
    for color, name in zip(("Black", "White"), played.players, strict=True):
        tags.setdefault(color, re.sub(rf"[\s{END_OF_FILE}]+", " ", name).strip())
    if game.options["crowning"] != ENGLISH["crowning"]:
        tags.pop("GameType", None)
    tags["Result"] = written if is_other else result
    start = None if played.start == game.initial else played.start
    moves = _moves(game, played.turns, played.start)
    return _file(_head(game, start, tags), [*moves, result])


def _file(head: list[str], words: list[str]) -> str:
    moves = textwrap.wrap(" ".join(words), 79, break_on_hyphens=False)
    return "\n".join([*head, "", *moves, ""])


def _head(game: Game, start: Position | None, tags: dict[str, str]) -> list[str]:
    """Return the lines of all tags, of which Result is the last."""
    for name, value in tags.items():
        if not is_tag_name(name) or re.search(rf"[\n\r{END_OF_FILE}]", value):
            raise BadRecord(f"tag {name!r}: {value!r}; expected: a word, and a text of one line")
    check_game_type(tags.get("GameType", GAME_TYPE))
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
    """Yield the numbers and the texts of turns."""
    position, first = start, game.to_move(start)
    if game.mid_turn(position):
        raise BadRecord(f"'{game.to_text(position)}' is amid a turn, which PDN cannot express")
    for index, turn in enumerate(turns, first):
        if index % 2 == 0 or index == first:
            yield f"{index // 2 + 1}." + ".." * (index % 2)
        yield turn_text(game, position, turn)
        position = game.play_turn(position, turn)


FORMAT = Format(read, count, export, ENGLISH, hint)
