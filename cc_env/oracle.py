"""Recorded positions with their complete legal turns, and how the rules compare with them.

A file has one JSON object a line, and may be compressed with gzip. What fields a line has depends
on the game, whose `read_recording` understands them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cc_env import games
from cc_env.errors import BadRecord, CcEnvError
from cc_env.files import lines
from cc_env.game import Recording
from cc_env.rules import ONGOING


class Comparison(NamedTuple):
    """What the rules say of one recorded position."""

    line: int  # counted from 1
    position: str
    differences: tuple[str, ...]  # none where they agree


def compare(path: Path, game: str) -> Iterator[Comparison]:
    """Yield a comparison for each line of the file; raise BadRecord, naming it, at a bad one."""
    read = games.module(game).read_recording
    found = False
    for number, text in lines(path):
        found = True
        try:
            recording = read(json.loads(text))
        except (CcEnvError, json.JSONDecodeError) as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error
        except KeyError as error:
            raise BadRecord(f"{path}, line {number}: field {error} is missing") from error
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            wrong = f"no recorded position of {game} ({error})"
            raise BadRecord(f"{path}, line {number}: {wrong}") from error
        position = recording.game.to_text(recording.position)
        yield Comparison(number, position, tuple(_differences(recording)))
    if not found:
        raise BadRecord(f"{path}: there is no recorded position in it")


def _differences(recording: Recording) -> Iterator[str]:
    game, position, outcome, turns = recording
    if game.outcome(position) != outcome:
        yield f"outcome {game.outcome(position)}, recorded {outcome}"
    elif outcome == ONGOING:
        found = {game.turn_text(position, turn) for turn in game.turns(position)}
        yield from (f"{turn} is not recorded" for turn in sorted(found - turns))
        yield from (f"{turn} is recorded, but not legal" for turn in sorted(turns - found))
