"""A tournament on disk: its config, the games played so far, and the results.

A game is stored once its line in games.jsonl is complete. The process may be killed at any moment:
a partial last line is dropped when the tournament resumes. The files are untrusted: each game is
replayed by the rules and must be in the schedule. Thinking times and the description of a fault
cannot be checked.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cc_env.errors import BadFolder, BadRecord
from cc_env.files import drop_partial_line, parse_json, read_bytes, read_lines, write_atomically
from cc_env.match import record
from cc_env.match.match import FAULTS
from cc_env.match.record import Record
from training.arena.schedule import Config, Pairing
from training.runs.folder import CONFIG, differences, locked, read_config, to_text

GAMES, RESULTS = "games.jsonl", "results.json"
# Field of the results: the processors of the machines that played games.
PROCESSORS = "processors"


@contextmanager
def open_tournament(path: Path, config: Config) -> Iterator[None]:
    """Lock the folder for this tournament and process during the block.

    Writes the config and drops a partial last game. Before any change, raises BadFolder if the
    folder holds another tournament, BadRecord if its config is invalid, and FolderInUse if another
    process uses it.
    """
    _check(path, config)
    path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        # Another process may have started before the lock.
        _check(path, config)
        write_atomically(path / CONFIG, to_text(config.to_json()))
        if (path / GAMES).exists():
            drop_partial_line(path / GAMES)
        yield


def read_processors(path: Path) -> set[str]:
    """Return the processors in the results of earlier sessions; none without valid results."""
    try:
        processors = parse_json(read_bytes(path / RESULTS).decode())[PROCESSORS]
    except (OSError, ValueError, LookupError, TypeError, BadRecord):
        return set()
    return {str(name) for name in processors} if isinstance(processors, list) else set()


def read_games(path: Path, config: Config, schedule: Sequence[Pairing]) -> dict[int, Record]:
    """Return the finished games by their index in the schedule.

    Each is replayed, so its turns and its result agree with the rules. A fault (time, an error, an
    illegal action) cannot be replayed; it is accepted if the player to move committed it. Raises
    BadRecord, with the line number, if a game is invalid, not in the schedule, or duplicated.
    """
    by_seed = {pairing.seed: pairing for pairing in schedule}
    game = config.make_game()
    default_start = game.to_text(game.initial)
    records: dict[int, Record] = {}
    for number, text in read_lines(path / GAMES) if (path / GAMES).exists() else ():
        try:
            loaded = Record.from_json(text)
            pairing = by_seed.get(loaded.seed or 0)
            if pairing is None:
                raise BadRecord(f"not a game of this tournament: none has the seed {loaded.seed}")
            if pairing.index in records:
                raise BadRecord(f"game {pairing.index} of the tournament is duplicated")
            _check_game(loaded, pairing, config, default_start)
        except BadRecord as error:
            raise BadRecord(f"{path / GAMES}, line {number}: {error}") from error
        records[pairing.index] = loaded
    return records


def _check(path: Path, config: Config) -> None:
    """Raise BadFolder if the folder holds another tournament, BadRecord for an invalid config."""
    if not (path / CONFIG).exists():
        if (path / GAMES).exists() and (path / GAMES).stat().st_size:
            raise BadFolder(f"{path} has {GAMES} but no {CONFIG}; expected: an empty or new folder")
        return
    saved = read_config(path)
    current = json.loads(to_text(config.to_json()))
    if saved != current:
        raise BadFolder(
            f"{path} holds another tournament: {'; '.join(differences(saved, current))}; "
            "expected: the same config, or another folder"
        )


def _check_game(loaded: Record, pairing: Pairing, config: Config, default_start: str) -> None:
    """Raise BadRecord if a record is not this game of the schedule, or breaks the rules."""
    expected = {
        "game": config.game,
        "options": dict(config.options),
        "players": pairing.players,
        "start": None if pairing.start == default_start else pairing.start,
        "limits": config.limits.to_dict(),
    }
    actual = {name: getattr(loaded, name) for name in expected}
    if changes := "; ".join(differences(actual, expected)):
        raise BadRecord(f"not a game of this tournament: {changes}")
    match = record.replay(loaded)
    if match.result is None:
        raise BadRecord(f"the game is unfinished, after {len(match.turns)} turns")
    winner, reason = match.result
    if reason in FAULTS and winner == match.game.to_move(match.position):
        raise BadRecord(f"a fault ({reason}) of the player that was not to move")
