"""A tournament on disk: its config, the games played so far, and the results.

A game is finished when its line in games.jsonl is. Killed at any moment, the folder stays one that
can be continued: a half-written last line is dropped.
"""

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cc_env import record
from cc_env.errors import BadRecord, UnknownOption
from cc_env.files import drop_half_a_line, lines, write
from cc_env.record import Record
from training.arena.schedule import Config, Pairing

CONFIG, GAMES, RESULTS = "config.json", "games.jsonl", "results.json"
MISSING = "missing"


@contextmanager
def opened(path: Path, config: Config) -> Iterator[None]:
    """Make the folder one of this tournament's alone, and mend it, as long as the block runs.

    Raises UnknownOption, and changes nothing, where it is another tournament's, or in use.
    """
    _check(path, config)
    path.mkdir(parents=True, exist_ok=True)
    with (path / GAMES).open("ab") as file:
        lock(file, path)
        write(path / CONFIG, to_text(config.to_json()))
        drop_half_a_line(path / GAMES)
        yield


def played(path: Path, schedule: Sequence[Pairing]) -> dict[int, Record]:
    """Return the finished games by their index in the schedule.

    Raises BadRecord, with the number of the line, where one is broken or not of this schedule.
    """
    by_seed = {each.seed: each for each in schedule}
    found = {}
    for number, text in lines(path / GAMES):
        try:
            one = Record.from_json(text)
        except BadRecord as error:
            raise BadRecord(f"{path / GAMES}, line {number}: {error}") from error
        pairing = by_seed.get(one.seed or 0)
        if pairing is None or pairing.players != one.players:
            raise BadRecord(f"{path / GAMES}, line {number}: not a game of this tournament")
        found[pairing.index] = one
    return found


def append(path: Path, one: Record) -> None:
    """Add a finished game."""
    record.append(path / GAMES, one)


def lock(file: IO[bytes], path: Path) -> None:
    """Keep the file, and so the folder `path`, for this process; raise UnknownOption if in use."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UnknownOption(f"{path} is in use: another process works there") from None


def to_text(value: Any) -> str:
    """Return JSON that people can read."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_config(path: Path) -> dict[str, Any]:
    """Return the config of a folder; raise BadRecord where it is no JSON object."""
    try:
        found = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{path / CONFIG} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadRecord(f"{path / CONFIG}: wanted an object, got {found!r:.40}")
    return found


def _check(path: Path, config: Config) -> None:
    if not (path / CONFIG).exists():
        if (path / GAMES).exists():
            raise UnknownOption(f"{path} has {GAMES} but no {CONFIG}: wanted a folder of its own")
        return
    there = read_config(path)
    here = json.loads(to_text(config.to_json()))
    if there != here:
        raise UnknownOption(
            f"{path} holds another tournament: {'; '.join(differences(there, here))}; "
            "wanted the same, or another folder"
        )


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words where two configs differ."""
    for key in sorted({*there, *here}):
        old, new = there.get(key, MISSING), here.get(key, MISSING)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new)
        elif old != new:
            told = (each if each is MISSING else repr(each) for each in (old, new))
            yield "{} is {} there, {} here".format(key, *told)
