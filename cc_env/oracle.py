"""Recorded positions and games, and how the rules compare with them.

A file has one JSON object a line, and may be compressed with gzip. What fields a line has depends
on the game, whose `read_recordings` understands them: legal turns, endings, games, perft.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cc_env import games
from cc_env.errors import BadRecord, CcEnvError
from cc_env.files import lines
from cc_env.game import Game, Recording
from cc_env.perft import perft
from cc_env.rules import ONGOING, Position

MOST_COUNTED = 20_000_000  # counts beyond that are not walked


class Comparison(NamedTuple):
    """What the rules say of one recorded position; a line can have several."""

    line: int  # counted from 1
    position: str
    differences: tuple[str, ...]  # none where they agree


def compare(path: Path, game: str) -> Iterator[Comparison]:
    """Yield what each line of the file brings; raise BadRecord, naming it, at a bad one."""
    read = games.module(game).read_recordings
    found = False
    for number, text in lines(path):
        found = True
        try:
            recordings = list(read(json.loads(text)))
        except (CcEnvError, json.JSONDecodeError) as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error
        except KeyError as error:
            raise BadRecord(f"{path}, line {number}: field {error} is missing") from error
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            wrong = f"no recorded position of {game} ({error})"
            raise BadRecord(f"{path}, line {number}: {wrong}") from error
        for recording in recordings:
            position = recording.game.to_text(recording.position)
            yield Comparison(number, position, tuple(_differences(recording)))
    if not found:
        raise BadRecord(f"{path}: there is no recorded position in it")


def _differences(recording: Recording) -> Iterator[str]:
    game, position, outcome, ending, turns, played, final, counts = recording
    found = game.outcome(position)
    if outcome is not None and found != outcome:
        yield f"outcome {found}, recorded {outcome}"
        return
    if ending is not None and game.ending(position) != ending:
        yield f"ends by {game.ending(position)}, recorded {ending}"
    if turns is not None and found == ONGOING:
        legal = {game.turn_text(position, turn) for turn in game.turns(position)}
        yield from (f"{turn} is not recorded" for turn in sorted(legal - turns))
        yield from (f"{turn} is recorded, but not legal" for turn in sorted(turns - legal))
    if final is not None:
        yield from _differences_of_play(game, position, played, final)
    for depth, count in enumerate(counts, 1):
        if count <= MOST_COUNTED and (reached := perft(game, position, depth)) != count:
            yield f"perft {depth} is {reached}, recorded {count}"


def _differences_of_play(
    game: Game, position: Position, played: tuple[str, ...], final: Position
) -> Iterator[str]:
    for number, text in enumerate(played, 1):
        try:
            position = game.play_turn(position, game.parse_turn(position, text))
        except CcEnvError as error:
            yield f"turn {number}: {error}"
            return
    if game.key(position) != game.key(final):
        yield f"leads to {game.to_text(position)}, recorded {game.to_text(final)}"
