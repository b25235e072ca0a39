"""Records of games: one JSON object a line, which replays to the same positions or is refused."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from cc_env import __version__, games
from cc_env.errors import BadRecord, CcEnvError, listed
from cc_env.files import lines
from cc_env.match import FAULTS, Limits, Match
from cc_env.rules import DRAW, FIRST_WINS, SECOND_WINS

RESULTS = {FIRST_WINS: "1-0", SECOND_WINS: "0-1", DRAW: "1/2-1/2"}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished game. Its fields are the keys of the JSON object; those with defaults may lack."""

    game: str
    options: Mapping[str, Any]
    players: tuple[str, str]
    turns: tuple[str, ...]  # in notation
    result: str  # 1-0, 0-1 or 1/2-1/2
    reason: str  # see `cc_env.match.Result`
    detail: str = ""  # of a fault
    start: str | None = None  # position text; None is the game's own start
    limits: Mapping[str, Any] = field(default_factory=lambda: asdict(Limits()))
    seconds: tuple[float, ...] = ()  # for each turn, an unfinished last one included
    seed: int | None = None
    version: str = __version__  # of cc_env

    def __post_init__(self) -> None:
        """Raise BadRecord where a field is not what it must be."""
        for name, is_right in _FIELDS.items():
            if not is_right(getattr(self, name)):
                raise BadRecord(f"field {name} cannot be {getattr(self, name)!r}")

    def to_json(self) -> str:
        """Return the record as one line, without the line end."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Record":
        """Return the record of one line; raise BadRecord where it is none."""
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"not JSON: {error}") from None
        if not isinstance(line, dict):
            raise BadRecord(f"wanted an object, got {type(line).__name__}")
        known = {each.name for each in fields(Record)}
        if unknown := set(line) - known:
            raise BadRecord(
                f"unknown field {listed(sorted(unknown))}; known: {listed(sorted(known))}"
            )
        try:
            return Record(**{key: _frozen(value) for key, value in line.items()})
        except TypeError as error:
            raise BadRecord(str(error).removeprefix("Record.__init__() ")) from None

    @staticmethod
    def of(
        match: Match,
        *,
        players: Sequence[str],
        seconds: Sequence[float] = (),
        seed: int | None = None,
        detail: str = "",
    ) -> "Record":
        """Return the record of a finished match; raise BadRecord where it goes on."""
        if match.result is None:
            raise BadRecord(f"the match goes on, after {len(match.turns)} turns")
        game = match.game
        return Record(
            game=game.name,
            options=dict(game.options),
            players=(players[0], players[1]),
            turns=tuple(match.turns),
            result=RESULTS[match.result.outcome],
            reason=match.result.reason,
            detail=detail,
            start=None if match.start == game.initial else game.to_text(match.start),
            limits=asdict(match.limits),
            seconds=tuple(round(each, 6) for each in seconds),
            seed=None if seed is None else int(seed),
        )


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "game": lambda value: isinstance(value, str),
    "options": lambda value: isinstance(value, Mapping),
    "players": lambda value: _is_texts(value) and len(value) == 2,
    "turns": _is_texts,
    "result": lambda value: value in RESULTS.values(),
    "reason": lambda value: isinstance(value, str),
    "detail": lambda value: isinstance(value, str),
    "start": lambda value: value is None or isinstance(value, str),
    "limits": lambda value: isinstance(value, Mapping),
    "seconds": lambda value: (
        isinstance(value, tuple) and all(isinstance(each, int | float) for each in value)
    ),
    "seed": lambda value: value is None or isinstance(value, int),
    "version": lambda value: isinstance(value, str),
}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def replay(record: Record) -> Match:
    """Return the match played again; raise BadRecord, naming the turn, where it cannot be."""
    try:
        game = games.make(record.game, **record.options)
        start = None if record.start is None else game.from_text(record.start)
        match = Match(game, start, Limits(**record.limits))
    except (CcEnvError, TypeError) as error:
        raise BadRecord(str(error)) from error
    for number, text in enumerate(record.turns, 1):
        try:
            if match.result is not None:
                raise BadRecord(f"the game was over before it ({match.result.reason})")
            for action in game.parse_turn(match.position, text):
                match.play(action)
        except CcEnvError as error:
            raise BadRecord(f"turn {number}: {error}") from error
    _check_end(record, match)
    return match


def _check_end(record: Record, match: Match) -> None:
    """Give a match that a fault ended its result; raise BadRecord where record and rules differ."""
    if match.result is None and record.reason in FAULTS:
        loser = match.game.to_move(match.position)
        match.forfeit(loser, record.reason)
    result = match.result
    found = f"{RESULTS[result.outcome]} ({result.reason})" if result else "not over"
    recorded = f"{record.result} ({record.reason})"
    if found != recorded:
        raise BadRecord(f"after turn {len(record.turns)} the game is {found}, recorded {recorded}")


def read(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file with their line numbers, each replayed.

    Raises BadRecord, with the number of the line, at the first that is broken.
    """
    for number, text in lines(path):
        try:
            record = Record.from_json(text)
            replay(record)
        except BadRecord as error:
            raise BadRecord(f"{path}, line {number}: {error}") from error
        yield number, record


def append(path: Path, record: Record) -> None:
    """Add the record to a file as one line, all of it or nothing."""
    with path.open("a", encoding="utf-8") as file:
        file.write(record.to_json() + "\n")
