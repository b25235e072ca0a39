"""Comparison of the rules with recorded positions and games.

A file has one JSON object per line and may be compressed with gzip. Its fields depend on the game:
legal turns, endings, games, perft. The modules of `cc_env.verification.recordings` describe them.
"""

import itertools
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

# Greater perft counts, and the counts of greater depths, are not checked.
MAX_PERFT = 20_000_000

# Errors that a field of the wrong type may cause.
_TYPE_ERRORS = TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError


class Comparison(NamedTuple):
    """The differences between the rules and one recorded position.

    `line` is the number of the line, from 1; a line may contain several positions.
    """

    line: int
    position: str
    differences: tuple[str, ...]


def compare(path: Path, game: str) -> Iterator[Comparison]:
    """Yield the comparisons of all lines of a file.

    Raises BadRecord, which names the line, for a broken line, and UnknownOption if the game has no
    reader of recorded positions.
    """
    read = recordings.find_reader(game)
    is_empty = True
    for number, text in read_lines(path):
        is_empty = False
        try:
            line_recordings = list(read(json.loads(text)))
            for recording in line_recordings:
                _check_types(recording)
        except (CcEnvError, json.JSONDecodeError) as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error
        except KeyError as error:
            raise BadRecord(f"{path}, line {number}: field {error} is missing") from error
        except _TYPE_ERRORS as error:
            wrong = f"not a recorded position of {game} ({error})"
            raise BadRecord(f"{path}, line {number}: {wrong}") from error
        for recording in line_recordings:
            position = recording.game.to_text(recording.position)
            yield Comparison(number, position, tuple(_differences(recording)))
    if is_empty:
        raise BadRecord(f"{path} contains no recorded position")


def _check_types(recording: Recording) -> None:
    """Raise TypeError if a field of a line has the wrong type."""
    texts = (*recording.path, *(recording.turns or ()), *(recording.actions or ()))
    for text in (*texts, recording.ending or ""):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a string")
    for number in (*recording.counts, recording.outcome or 0):
        if not is_integer(number, -1, 2**63 - 1):
            raise TypeError(f"{number!r} is neither a count nor an outcome")


def _differences(recording: Recording) -> Iterator[str]:
    """Yield the differences between the rules and a recording.

    After an illegal turn or with another outcome, the rest is not compared.
    """
    game = recording.game
    try:
        position = _play_path(recording)
    except CcEnvError as error:
        yield str(error)
        return
    if recording.final is not None and game.key(position) != game.key(recording.final):
        yield f"leads to {game.to_text(position)}, recorded {game.to_text(recording.final)}"
    outcome = game.outcome(position)
    if recording.outcome not in (None, outcome):
        yield f"outcome {outcome}, recorded {recording.outcome}"
        return
    if recording.ending not in (None, ending := game.ending(position)):
        yield f"ends by {ending}, recorded {recording.ending}"
    if outcome == ONGOING and recording.turns is not None:
        yield from _differing_turns(game, position, recording.turns)
    if outcome == ONGOING and recording.actions is not None:
        yield from _differing_texts(recording.actions, _texts(game, position))
    yield from _differing_counts(recording, position)


def _play_path(recording: Recording) -> Position:
    """Return the final position of a recording; raise BadRecord if a turn is not legal."""
    position = recording.position
    for number, text in enumerate(recording.path, 1):
        try:
            position = _play(recording.game, position, text)
        except CcEnvError as error:
            raise BadRecord(f"turn {number}: {error}") from None
    return position


def _differing_counts(recording: Recording, position: Position) -> Iterator[str]:
    """Yield the first perft count that differs, up to MAX_PERFT."""
    counts = itertools.takewhile(lambda count: count <= MAX_PERFT, recording.counts)
    for depth, count in enumerate(counts, 1):
        nodes = perft(recording.game, position, depth, decisions=recording.counts_decisions)
        if nodes != count:
            yield f"perft {depth} is {nodes}, recorded {count}"
            # Computing the counts of greater depths could take far longer than expected.
            break


def _play(game: Game, position: Position, text: str) -> Position:
    """Return the position after a decision or a turn."""
    for action in map(int, game.legal_actions(position)):
        if game.action_text(position, action) == text:
            return game.apply(position, action)
    return game.play_turn(position, game.parse_turn(position, text))


def _texts(game: Game, position: Position) -> Iterator[str]:
    for action in map(int, game.legal_actions(position)):
        yield game.action_text(position, action)
        yield from game.alternative_texts(position, action)


def _differing_turns(
    game: Game, position: Position, recorded: Mapping[str, Position | None]
) -> Iterator[str]:
    positions = {
        game.turn_text(position, turn): game.play_turn(position, turn)
        for turn in game.turns(position)
    }
    yield from _differing_texts(recorded.keys(), positions)
    for text in sorted(positions.keys() & recorded.keys()):
        expected = recorded[text]
        if expected is not None and game.key(expected) != game.key(positions[text]):
            actual = game.to_text(positions[text])
            yield f"{text} leads to {actual}, recorded {game.to_text(expected)}"


def _differing_texts(recorded: Set[str], legal: Iterable[str]) -> Iterator[str]:
    texts = set(legal)
    yield from (f"{text} is not recorded" for text in sorted(texts - recorded))
    yield from (f"{text} is recorded, but not legal" for text in sorted(recorded - texts))
