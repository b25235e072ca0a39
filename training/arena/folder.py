"""A tournament on disk: its config, the games played so far, and the results.

A game is finished when its line in games.jsonl is. Killed at any moment, the folder stays one that
can be continued: a half-written last line is dropped. What is read there may be altered: each game
is played again by the rules, and is one of the schedule or refused; how long turns took, and the
words about a fault, are taken as they stand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from reprlib import Repr
from typing import Any

from filelock import FileLock, Timeout

from cc_env import record
from cc_env.errors import BadRecord, UnknownOption
from cc_env.files import drop_partial_line, lines, write
from cc_env.match import FAULTS
from cc_env.record import Record
from training.arena.schedule import Config, Pairing

CONFIG, GAMES, RESULTS, LOCK = "config.json", "games.jsonl", "results.json", ".lock"
MISSING = "missing"

_SHOWN = Repr()  # of values that are anybody's: neither deep nor long
_SHOWN.maxstring = _SHOWN.maxother = 200
_SHOWN.maxlist = _SHOWN.maxdict = 20


@contextmanager
def opened(path: Path, config: Config) -> Iterator[None]:
    """Make the folder one of this tournament's alone, and mend it, as long as the block runs.

    Raises UnknownOption, and changes nothing, where it is another tournament's, or in use.
    """
    _check(path, config)
    path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        _check(path, config)  # another process may have begun there just now
        write(path / CONFIG, to_text(config.to_json()))
        if (path / GAMES).exists():
            drop_partial_line(path / GAMES)
        yield


def played(path: Path, config: Config, schedule: Sequence[Pairing]) -> dict[int, Record]:
    """Return the finished games by their index in the schedule.

    Each is played again: its turns and its result are right by the rules. That a player took too
    long, raised an error or wanted what is illegal cannot be played again, and is believed of the
    player who was to move. Raises BadRecord, with the number of the line, where a game is broken,
    not of this schedule, or there twice.
    """
    by_seed = {each.seed: each for each in schedule}
    game = config.make_game()
    own_start, found = game.to_text(game.initial), dict[int, Record]()
    for number, text in lines(path / GAMES) if (path / GAMES).exists() else ():
        try:
            one = Record.from_json(text)
            pairing = by_seed.get(one.seed or 0)
            if pairing is None:
                raise BadRecord(f"not a game of this tournament: none has the seed {one.seed}")
            if pairing.index in found:
                raise BadRecord(f"game {pairing.index} of the tournament is there twice")
            _check_game(one, pairing, config, own_start)
        except BadRecord as error:
            raise BadRecord(f"{path / GAMES}, line {number}: {error}") from error
        found[pairing.index] = one
    return found


def append(path: Path, one: Record) -> None:
    """Add a finished game; raise OSError, and leave those that are there."""
    record.append(path / GAMES, one)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a folder for this process as long as the block runs; raise UnknownOption if in use."""
    try:
        lock = FileLock(path / LOCK).acquire(timeout=0)
    except Timeout:
        raise UnknownOption(f"{path} is in use: another process works there") from None
    with lock:
        yield


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
        raise BadRecord(f"{path / CONFIG}: wanted an object, got {_SHOWN.repr(found)}")
    return found


def _check(path: Path, config: Config) -> None:
    """Raise UnknownOption where the folder is another tournament's."""
    if not (path / CONFIG).exists():
        if (path / GAMES).exists() and (path / GAMES).stat().st_size:
            raise UnknownOption(f"{path} has {GAMES} but no {CONFIG}: wanted a folder of its own")
        return
    there = read_config(path)
    here = json.loads(to_text(config.to_json()))
    if there != here:
        raise UnknownOption(
            f"{path} holds another tournament: {'; '.join(differences(there, here))}; "
            "wanted the same, or another folder"
        )


def _check_game(one: Record, pairing: Pairing, config: Config, own_start: str) -> None:
    """Raise BadRecord where a record is not of this game of the schedule, or not by the rules."""
    wanted = {
        "game": config.game,
        "options": dict(config.options),
        "players": pairing.players,
        "start": None if pairing.start == own_start else pairing.start,
        "limits": asdict(config.limits),
    }
    if wrong := "; ".join(differences({name: getattr(one, name) for name in wanted}, wanted)):
        raise BadRecord(f"not a game of this tournament: {wrong}")
    match = record.replay(one)
    if match.result is None:
        raise BadRecord(f"the game is unfinished, after {len(match.turns)} turns")
    winner, reason = match.result
    if reason in FAULTS and winner == match.game.to_move(match.position):
        raise BadRecord(f"a fault ({reason}) of the player who was not to move")


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words where two configs differ."""
    for key in sorted({*there, *here}):
        old, new = there.get(key, MISSING), here.get(key, MISSING)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new)
        elif old != new:
            told = (each if each is MISSING else _SHOWN.repr(each) for each in (old, new))
            yield "{} is {} there, {} here".format(key, *told)
