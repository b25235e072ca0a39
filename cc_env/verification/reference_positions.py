"""Recorded positions and games, and how the rules compare with them.

A file has one JSON object a line, and may be compressed with gzip. What fields a line has depends
on the game, see `cc_env.verification.recordings`: legal turns, endings, games, perft.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadRecord, CcEnvError, is_integer
from cc_env.files import read_lines
from cc_env.verification import recordings
from cc_env.verification.perft import perft
from cc_env.verification.recordings import Recording

MOST_COUNTED = 20_000_000  # larger counts, and those after them, are not checked

# What reading may raise where a field has the wrong type.
_WRONG = TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError


class Comparison(NamedTuple):
    """What the rules say of one recorded position; a line can have several."""

    line: int  # counted from 1
    position: str
    differences: tuple[str, ...]  # empty where they agree


def compare(path: Path, game: str) -> Iterator[Comparison]:
    """Yield the comparisons of each line of the file.

    Raises BadRecord, naming the line, where one is broken, and UnknownOption where nothing reads
    recorded positions of the game.
    """
    read = recordings.reader(game)
    is_empty = True
    for number, text in read_lines(path):
        is_empty = False
        try:
            known = list(read(json.loads(text)))
            for recording in known:
                _check(recording)
        except (CcEnvError, json.JSONDecodeError) as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error
        except KeyError as error:
            raise BadRecord(f"{path}, line {number}: field {error} is missing") from error
        except _WRONG as error:
            wrong = f"not a recorded position of {game} ({error})"
            raise BadRecord(f"{path}, line {number}: {wrong}") from error
        for recording in known:
            position = recording.game.to_text(recording.position)
            yield Comparison(number, position, tuple(_differences(recording)))
    if is_empty:
        raise BadRecord(f"{path}: there is no recorded position in it")


def _check(recording: Recording) -> None:
    """Raise TypeError where a field of the line has the wrong type."""
    texts = (*recording.played, *(recording.turns or ()), *(recording.actions or ()))
    for text in (*texts, recording.ending or ""):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a text")
    for number in (*recording.counts, recording.outcome or 0):
        if not is_integer(number, -1, 2**63 - 1):
            raise TypeError(f"{number!r} is neither a count nor an outcome")


def _differences(recording: Recording) -> Iterator[str]:
    game, position = recording.game, recording.position
    for number, text in enumerate(recording.played, 1):
        try:
            position = _follow(game, position, text)
        except CcEnvError as error:
            yield f"turn {number}: {error}"
            return
    if recording.reached is not None and game.key(position) != game.key(recording.reached):
        yield f"leads to {game.to_text(position)}, recorded {game.to_text(recording.reached)}"
    outcome = game.outcome(position)
    if recording.outcome is not None and outcome != recording.outcome:
        yield f"outcome {outcome}, recorded {recording.outcome}"
        return
    if recording.ending is not None and game.ending(position) != recording.ending:
        yield f"ends by {game.ending(position)}, recorded {recording.ending}"
    if outcome == ONGOING:
        if recording.turns is not None:
            yield from _differing_turns(game, position, recording.turns)
        if recording.actions is not None:
            yield from _missing(recording.actions, _texts(game, position))
    for depth, count in enumerate(recording.counts, 1):
        if count > MOST_COUNTED:
            return
        counted = perft(game, position, depth, decisions=recording.in_decisions)
        if counted != count:  # deeper counts may then be far larger than recorded
            yield f"perft {depth} is {counted}, recorded {count}"
            return


def _follow(game: Game, position: Position, text: str) -> Position:
    """Return the position after a decision or a turn."""
    for action in map(int, game.legal_actions(position)):
        if game.action_text(position, action) == text:
            return game.apply(position, action)
    return game.play_turn(position, game.parse_turn(position, text))


def _texts(game: Game, position: Position) -> Iterator[str]:
    for action in map(int, game.legal_actions(position)):
        yield game.action_text(position, action)
        yield from game.notation.other_texts(position, action)


def _differing_turns(
    game: Game, position: Position, recorded: Mapping[str, Position | None]
) -> Iterator[str]:
    after = {
        game.turn_text(position, turn): game.play_turn(position, turn)
        for turn in game.turns(position)
    }
    yield from _missing(recorded.keys(), after)
    for text in sorted(after.keys() & recorded.keys()):
        wanted = recorded[text]
        if wanted is not None and game.key(wanted) != game.key(after[text]):
            reached = game.to_text(after[text])
            yield f"{text} leads to {reached}, recorded {game.to_text(wanted)}"


def _missing(recorded: Set[str], legal: Iterable[str]) -> Iterator[str]:
    texts = set(legal)
    yield from (f"{text} is not recorded" for text in sorted(texts - recorded))
    yield from (f"{text} is recorded, but not legal" for text in sorted(recorded - texts))
