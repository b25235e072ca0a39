"""Records of games, one JSON object per line, and games in the formats of other programs.

All games are replayed when they are read; those that contradict the rules are rejected.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from cc_env.core.game import BrokenGame, Format, Game, PlayedGame, Turn
from cc_env.core.rules import DRAW, FIRST_WINS, ONGOING, SECOND_WINS
from cc_env.errors import (
    BadRecord,
    CcEnvError,
    UnknownOption,
    check_fields,
    format_list,
    is_number,
)
from cc_env.files import (
    append_atomically,
    parse_json,
    read_bytes,
    read_lines,
    reraise_as_bad_record,
)
from cc_env.games.factory import make_game
from cc_env.match.match import AGREED, FAULTS, RESIGNED, Limits, Match, Result
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.version import __version__

RESULTS = {FIRST_WINS: "1-0", SECOND_WINS: "0-1", DRAW: "1/2-1/2", ONGOING: "*"}
# Points of the first seat by result.
POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}

# The reason of a record whose result is *.
UNFINISHED = "unfinished"
_Entry = TypeVar("_Entry")
_RESULT_TEXTS = {
    FIRST_WINS: "won by the first player",
    SECOND_WINS: "won by the second",
    DRAW: "a draw",
}


class _WrongResult(BadRecord):
    """A result in a file that contradicts the rules."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a game. Fields are keys of the JSON object; those with defaults are optional.

    turns
        The finished turns in notation.
    result, reason
        1-0, 0-1, 1/2-1/2, or * for an unfinished game; the word for how the game ended.
    detail
        Description of a fault.
    start
        Text of the position in which the game begins; None for the initial position.
    seconds
        Thinking time of each turn, including an unfinished one.
    version
        Version of cc_env that wrote the record.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.match.match import Match
        >>> from cc_env.match.record import Record, replay
        >>> match = Match(game)
        >>> match.play(6)
        >>> record = Record.from_match(match, players=("Anna", "Bob"))
        >>> record.turns, record.result
        (('0,0-2,2',), '*')
        >>> Record.from_json(record.to_json()) == record
        True
        >>> game.to_text(replay(record).position)
        '1bb3/bb4/b1b3/5r/4rr/3rrr r'
    """

    game: str
    options: Mapping[str, Any]
    players: tuple[str, str]
    turns: tuple[str, ...]
    result: str
    reason: str
    detail: str = ""
    start: str | None = None
    limits: Mapping[str, Any] = field(default_factory=Limits().to_dict)
    seconds: tuple[float, ...] = ()
    seed: int | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        """Raise BadRecord if a field is invalid."""
        for name, (is_valid, expected) in _FIELDS.items():
            if not is_valid(value := getattr(self, name)):
                raise BadRecord(f"field {name} is {value!r:.200}; expected: {expected}")

    @property
    def forfeited_by(self) -> str | None:
        """The name of the player that lost by one of FAULTS; None without a fault."""
        if self.reason not in FAULTS:
            return None
        return self.players[self.result == RESULTS[FIRST_WINS]]

    @property
    def forfeit(self) -> str:
        """The player that lost by a fault, the fault and its description; "" without a fault."""
        loser = self.forfeited_by
        return "" if loser is None else f"{loser} forfeits ({self.reason}): {self.detail}"

    def to_json(self) -> str:
        """Return the record as one line of JSON, without a newline."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Record":
        """Return the record in one line of JSON; raise BadRecord if it is invalid."""
        line = parse_json(text)
        if not isinstance(line, dict):
            raise BadRecord(f"the record is a {type(line).__name__}; expected: a JSON object")
        valid = {spec.name for spec in fields(Record)}
        if unknown := set(line) - valid:
            raise BadRecord(
                f"unknown field {format_list(sorted(unknown))}; valid: {format_list(sorted(valid))}"
            )
        required = [
            spec.name
            for spec in fields(Record)
            if spec.default is MISSING and spec.default_factory is MISSING
        ]
        check_fields(line, required, "the record")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in line.items()
        }
        return Record(**values)

    @staticmethod
    def from_match(
        match: Match,
        *,
        players: Sequence[str],
        seconds: Sequence[float] = (),
        seed: int | None = None,
        detail: str = "",
    ) -> "Record":
        """Return the record of a match; if it is running, of its finished turns."""
        game, (outcome, reason) = match.game, match.result or Result(ONGOING, UNFINISHED)
        return Record(
            game=game.name,
            options=dict(game.options),
            players=(players[0], players[1]),
            turns=tuple(match.turns),
            result=RESULTS[outcome],
            reason=reason,
            detail=detail,
            start=None if match.start == game.initial else game.to_text(match.start),
            limits=match.limits.to_dict(),
            seconds=tuple(round(turn, 6) for turn in seconds),
            seed=None if seed is None else int(seed),
        )


def _is_text(value: object) -> bool:
    """Return whether a value is a text without lone surrogates, which cannot be encoded."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _are_settings(value: object) -> bool:
    """Return whether a value is a mapping of names to JSON values."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _are_players(value: object) -> bool:
    return isinstance(value, tuple) and _are_texts(value) and len(value) == 2


def _are_times(value: object) -> bool:
    return isinstance(value, tuple) and all(is_number(second, 0) for second in value)


def _is_seed(value: object) -> bool:
    return value is None or (isinstance(value, int) and is_number(value, 0))


_TEXT = _is_text, "a text of valid Unicode characters"
_SETTINGS = _are_settings, "an object of JSON values"
# Whether a value of a field is valid, and what is.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "game": _TEXT,
    "options": _SETTINGS,
    "players": (_are_players, "two texts"),
    "turns": (_are_texts, "an array of texts"),
    "result": (lambda value: value in RESULTS.values(), " or ".join(RESULTS.values())),
    "reason": _TEXT,
    "detail": _TEXT,
    "start": (lambda value: value is None or _is_text(value), "a text, or null"),
    "limits": _SETTINGS,
    "seconds": (_are_times, "an array of numbers, 0 or more"),
    "seed": (_is_seed, "an integer, 0 or more, or null"),
    "version": _TEXT,
}


def replay(record: Record) -> Match:
    """Replay a record and return its match; raise BadRecord, naming the turn, if it is illegal."""
    try:
        with untrusted_names():
            game = make_game(record.game, **record.options)
        start = None if record.start is None else game.from_text(record.start)
        match = Match(game, start, Limits(**record.limits))
    except (CcEnvError, TypeError) as error:
        raise BadRecord(str(error)) from error
    _play_turns(match, record.turns)
    _check_end(record, match)
    return match


def _play_turns(match: Match, turns: Iterable[str | Turn]) -> None:
    """Play turns, texts or actions; raise BadRecord, naming the turn, if one is illegal."""
    for number, turn in enumerate(turns, 1):
        try:
            if match.result is not None:
                raise BadRecord(f"the game was already over ({match.result.reason})")
            if isinstance(turn, str):
                turn = match.game.parse_turn(match.position, turn)
            for action in turn:
                match.play(action)
        except CcEnvError as error:
            raise BadRecord(f"turn {number}: {error}") from error


def _check_end(record: Record, match: Match) -> None:
    """Apply a recorded fault or agreement; raise BadRecord if the results differ."""
    if match.result is None and record.reason in (*FAULTS, RESIGNED):
        match.forfeit(0 if record.result == RESULTS[SECOND_WINS] else 1, record.reason)
    elif match.result is None and record.reason == AGREED:
        match.agree_on_draw()
    outcome, reason = match.result or Result(ONGOING, UNFINISHED)
    if (RESULTS[outcome], reason) != (record.result, record.reason):
        replayed = f"after turn {len(record.turns)} the game is {RESULTS[outcome]} ({reason})"
        raise BadRecord(f"{replayed}, recorded {record.result} ({record.reason})")


def read_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the line number and record of each game in a file; raise BadRecord at a broken one.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from pathlib import Path
        >>> from cc_env.match.record import append_record, read_records
        >>> player = cc_env.make_player("random", game)
        >>> for seed in range(2):
        ...     record = cc_env.play_match(game, [player, player], seed=seed)
        ...     append_record(Path("games.jsonl"), record)
        >>> [(line, record.seed) for line, record in read_records(Path("games.jsonl"))]
        [(1, 0), (2, 1)]
    """
    return ((number, record) for number, record, _ in valid_games(path, replay_records(path)))


def replay_records(path: Path) -> Iterator[tuple[int, Record, Match] | BrokenGame]:
    """Yield the line number, record and replayed match of each game in a file.

    A broken game is yielded as a BrokenGame. Raises BadRecord if the file cannot be read.
    """
    return replay_lines(read_lines(path))


def replay_lines(
    lines: Iterable[tuple[int, str]],
) -> Iterator[tuple[int, Record, Match] | BrokenGame]:
    """Yield the number, record and replayed match of each numbered line, or a BrokenGame."""
    for number, text in lines:
        try:
            record = Record.from_json(text)
            match = replay(record)
        except BadRecord as error:
            yield BrokenGame(number, str(error))
        else:
            yield number, record, match


def valid_games(source: Path | str, entries: Iterable[_Entry | BrokenGame]) -> Iterator[_Entry]:
    """Yield the games of a file; raise BadRecord, which names this source, at a broken one."""
    for entry in entries:
        if isinstance(entry, BrokenGame):
            raise BadRecord(f"{source}, {entry}")
        yield entry


def append_record(path: Path, record: Record) -> None:
    """Append a record to a file as one line, completely or not at all; raise OSError."""
    append_atomically(path, record.to_json() + "\n")


def read_foreign(
    path: Path, game: Game, dialect: str | None = None
) -> Iterator[tuple[PlayedGame, Match] | BrokenGame]:
    """Yield each game in a file of another program with its replayed match.

    A game that is broken or contradicts the rules is yielded as a BrokenGame. `dialect` is one of
    those of the format. Raises UnknownOption if the game has no format for such a file, or the
    format no such dialect, BadRecord if the file cannot be read.
    """
    return replay_text(read_text(path), game, find_format(game, path, dialect))


def replay_text(
    text: str, game: Game, form: Format
) -> Iterator[tuple[PlayedGame, Match] | BrokenGame]:
    """Yield each game in a text of this format with its replayed match, or a BrokenGame."""
    for entry in form.read(text, game):
        if isinstance(entry, BrokenGame):
            yield entry
            continue
        try:
            match = replay_foreign(game, entry)
        except BadRecord as error:
            advice = form.result_hint if isinstance(error, _WrongResult) else ""
            yield BrokenGame(entry.line, f"{error}{form.hint(entry.game or game)}{advice}")
        else:
            yield entry, match


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 or Windows-1252.

    Raises BadRecord if it cannot be read, is not a regular file or has more than MAX_FILE_BYTES.
    """
    with reraise_as_bad_record(path):
        return decode_text(read_bytes(path))


def decode_text(content: bytes) -> str:
    """Decode UTF-16 or UTF-8 with a byte order mark, else UTF-8, else Windows-1252.

    Invalid bytes become U+FFFD.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def find_format(game: Game, path: Path, dialect: str | None = None) -> Format:
    """Return the format of a file by its suffix, in a dialect of the format.

    Raises UnknownOption if the game has no such format, or the format no such dialect.
    """
    ending = path.suffix.lower()
    if ending not in game.formats:
        valid = format_list(game.formats) or "none of its own"
        raise UnknownOption(f"{path}: {game.name} has no format {ending!r}; it has: {valid}")
    form = game.formats[ending]
    if dialect is None:
        return form
    if dialect not in form.dialects:
        valid = format_list(form.dialects) or "none"
        raise UnknownOption(f"{path}: {ending} has no dialect {dialect!r}; it has: {valid}")
    return form.dialects[dialect]


def export_match(match: Match, players: tuple[str, str]) -> PlayedGame:
    """Return the finished turns of a match as a game for files of other programs."""
    outcome, reason = match.result or Result(ONGOING, "")
    return PlayedGame(
        match.start,
        tuple(turn for _, turn in match.history),
        players,
        outcome,
        scores=match.score if match.game.has_scores else None,
        fault=reason if reason in FAULTS else "",
    )


def replay_foreign(game: Game, foreign: PlayedGame) -> Match:
    """Replay a game of a file and return its match; raise BadRecord if it breaks the rules."""
    match = Match(foreign.game or game, foreign.start, Limits(max_turns=None, repetitions=None))
    _play_turns(match, foreign.turns)
    if foreign.fault and foreign.outcome != ONGOING:
        if match.result:
            when = f"after the game was over ({match.result.reason})"
            raise BadRecord(f"a fault ({foreign.fault}) {when}")
        match.forfeit(1 - foreign.outcome, foreign.fault)
    result = match.result
    if result and foreign.outcome not in (ONGOING, result.outcome):
        replayed = f"{_RESULT_TEXTS[result.outcome]} ({result.reason})"
        recorded = _RESULT_TEXTS[foreign.outcome]
        raise _WrongResult(f"by the rules it is {replayed}, by the file {recorded}")
    if foreign.scores is not None:
        _check_scores(foreign.scores, match)
    return match


def record_foreign(match: Match, foreign: PlayedGame) -> Record:
    """Return the record of a game of a file and its replayed match.

    If the file has a result that the rules do not give, the loser resigned or the players agreed on
    a draw: files do not contain other reasons.
    """
    record = Record.from_match(match, players=foreign.players)
    if match.result or foreign.outcome == ONGOING:
        return record
    reason = AGREED if foreign.outcome == DRAW else RESIGNED
    detail = "the file has only the result"
    return replace(record, result=RESULTS[foreign.outcome], reason=reason, detail=detail)


def _check_scores(scores: tuple[float, float], match: Match) -> None:
    """Raise BadRecord if these are not the scores of the match."""
    recorded = "{:g} - {:g}".format(*scores)
    if match.score is None:
        raise BadRecord(f"scores {recorded}, but no result after turn {len(match.turns)}")
    if not all(map(math.isclose, scores, match.score)):
        replayed = "{:g} - {:g}".format(*match.score)
        raise BadRecord(f"by the rules the scores are {replayed}, by the file {recorded}")
