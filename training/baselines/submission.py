"""Submitted results: a match against a player of cc_env as a file, and its verification.

The file contains every game, so that any reader can replay them: `write_submission` makes one,
`verify` replays it. The openings follow from the seed; they cannot be chosen. A file is
untrusted: the names in it import nothing, and its size and its numbers are limited.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from cc_env.cli.arguments import check_new_file
from cc_env.errors import (
    BadOption,
    BadPlayer,
    BadRecord,
    check_integer,
    check_number_of_games,
    is_integer,
    is_number,
)
from cc_env.files import parse_json, read_bytes, reraise_as_bad_record, write_atomically
from cc_env.games.factory import make_game
from cc_env.match.confidence import clustered_interval
from cc_env.match.match import AGREED, FAULTS, RESIGNED, Match
from cc_env.match.openings import random_openings
from cc_env.match.record import POINTS, Record, replay
from cc_env.match.referee import Clock, Player, player_for_new_game, player_generators
from cc_env.players.specs import check_spec, make_player
from cc_env.registry.import_allowlist import untrusted_names
from cc_env.version import __version__
from training import arena
from training.arena.schedule import game_seed
from training.baselines.boards import BOARDS, FIXED_PLAYERS, GAMES, OPENING_SEED, OPENING_TURNS

KIND, FORMAT = "result of a match", 1
MAX_FILE_BYTES = 64 * 2**20
MAX_GAMES = 10_000
MAX_OPENING_TURNS = 20
MAX_SEED = 2**53
# The fields of a game: the text of its opening, its turns in notation, and its result.
_GAME_FIELDS = "start", "turns", "result", "reason"
# Characters of a name, a version or a player spec.
MAX_TEXT_LENGTH = 200
# Opponents whose decisions follow from the seed of a game and are quick to repeat.
REPEATED_PLAYERS = "random, greedy and minimax to depth 5"
_REPEATABLE = re.compile(r"random|greedy|minimax:depth=[1-5]")
# Number of decimals of the numbers in a claim.
_DECIMALS = 6


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The result of a match for the player: points per game, 0 to 1, with their 95 % interval."""

    score: float
    low: float
    high: float
    distinct_games: int


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A match of a player against a player spec.

    Games 2k and 2k + 1 begin in opening k; the player has the first seat in game 2k. Of a game, the
    file has the fields _GAME_FIELDS.
    """

    kind: str
    format: int
    version: str
    game: str
    options: Mapping[str, Any]
    player: str
    opponent: str
    opening_turns: int
    seed: int
    claim: Claim
    games: tuple[Record, ...]

    @property
    def forfeits(self) -> int:
        """The number of games that the player lost by an error, an illegal move, or its time."""
        return sum(record.forfeited_by is not None for record in self.games)


def write_submission(
    path: Path,
    player: str | Player,
    game: str,
    *,
    opponent: str,
    options: Mapping[str, Any] | None = None,
    games: int = GAMES,
    opening_turns: int = OPENING_TURNS,
    seed: int = OPENING_SEED,
    name: str | None = None,
) -> Submission:
    """Play a match and write it as a new file; `name` replaces the player's name in the file.

    Raises BadOption for bad values, and if the file exists or its folder does not, before anything
    is played; BadPlayer if the opponent forfeits a game, or the player raises an error; OSError.
    """
    check_number_of_games(games, MAX_GAMES)
    check_integer("opening_turns", opening_turns, 0, MAX_OPENING_TURNS)
    check_integer("seed", seed, 0, MAX_SEED)
    key = player if isinstance(player, str) else "player"
    for field_name, text in (("name", name or key), ("opponent", opponent)):
        if not _is_text(text):
            raise BadOption(f"{field_name}={text!r:.80}; expected: {_TEXT[1]}")
    if key == opponent:
        raise BadOption(f"player and opponent are both {opponent!r}; expected: two player specs")
    check_new_file(path)
    with warnings.catch_warnings():
        # Errors are raised below, and the submission counts other forfeits.
        warnings.simplefilter("ignore", arena.ForfeitWarning)
        tournament = arena.play_tournament(
            {key: player, opponent: opponent},
            game,
            options=options or {},
            games=games,
            opening_turns=opening_turns,
            seed=seed,
        )
    records = list(tournament.records.values())
    for number, record in enumerate(records, 1):
        loser = record.forfeited_by
        if loser == opponent or (loser is not None and record.reason == "error"):
            raise BadPlayer(f"game {number}: {record.forfeit}")
    created = make_game(game, **(options or {}))
    initial = created.to_text(created.initial)
    entries = [asdict(replace(record, start=record.start or initial)) for record in records]
    content = {
        "kind": KIND,
        "format": FORMAT,
        "version": __version__,
        "game": game,
        "options": dict(created.options),
        "player": name or key,
        "opponent": opponent,
        "opening_turns": opening_turns,
        "seed": seed,
        "claim": asdict(_claim(records)),
        "games": [{name: entry[name] for name in _GAME_FIELDS} for entry in entries],
    }
    text = _to_text(content)
    write_atomically(path, text)
    return _parse(json.loads(text))


def _to_text(content: Mapping[str, Any]) -> str:
    """Return a submission as JSON, a line for each game."""
    games = ",\n ".join(json.dumps(game, ensure_ascii=False) for game in content["games"])
    others = {name: value for name, value in content.items() if name != "games"}
    head = json.dumps(others, ensure_ascii=False)
    return f'{head[:-1]}, "games": [\n {games}\n]}}\n'


def read_submission(path: Path) -> Submission:
    """Return the submission in a file, its games not replayed; raise BadRecord if it is invalid."""
    with reraise_as_bad_record(path):
        content = read_bytes(path, MAX_FILE_BYTES)
    try:
        return _parse(parse_json(content.decode()))
    except (UnicodeDecodeError, BadRecord) as error:
        raise BadRecord(f"{path}: {error}") from None


def _is_text(value: object) -> bool:
    """Return whether a value is a short text without control characters and line breaks."""
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT_LENGTH and value.isprintable()


def _integer_to(maximum: int) -> tuple[Callable[[Any], bool], str]:
    """Return the entry of _FIELDS for an integer from 0."""
    return lambda value: is_integer(value, 0, maximum), f"an integer, 0 to {maximum:,}"


_TEXT = _is_text, f"a text of 1 to {MAX_TEXT_LENGTH} printable characters"
_OBJECT = (lambda value: isinstance(value, dict)), "an object"
_SHARE = (lambda value: is_number(value, 0, 1)), "0 to 1"
# Whether a value of a field is valid, and what is; `Record` checks the fields of games.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda value: value == KIND, repr(KIND)),
    "format": (lambda value: value == FORMAT, str(FORMAT)),
    **dict.fromkeys(("options", "claim"), _OBJECT),
    "opening_turns": _integer_to(MAX_OPENING_TURNS),
    "seed": _integer_to(MAX_SEED),
    "distinct_games": _integer_to(MAX_GAMES),
    "games": (
        lambda value: isinstance(value, list) and len(value) in range(2, MAX_GAMES + 1, 2),
        f"an even number of games, 2 to {MAX_GAMES:,}",
    ),
    **dict.fromkeys(("score", "low", "high"), _SHARE),
    # These are printed.
    **dict.fromkeys(("version", "game", "player", "opponent"), _TEXT),
}


def _parse(content: object) -> Submission:
    """Return the submission that a value of JSON describes; raise BadRecord."""
    values = _check_fields({field.name for field in fields(Submission)}, content, "submission")
    claim = _check_fields({field.name for field in fields(Claim)}, values["claim"], "claim")
    games = tuple(_parse_game(values, *numbered) for numbered in enumerate(values["games"]))
    return Submission(**{**values, "claim": Claim(**claim), "games": games})


def _parse_game(values: Mapping[str, Any], index: int, content: object) -> Record:
    """Return a game of the submission with these values; raise BadRecord."""
    entry = _check_fields(set(_GAME_FIELDS), content, f"game {index + 1}")
    entry = {name: tuple(part) if isinstance(part, list) else part for name, part in entry.items()}
    names = values["player"], values["opponent"]
    players = names if index % 2 == 0 else names[::-1]
    try:
        return Record(game=values["game"], options=values["options"], players=players, **entry)
    except BadRecord as error:
        raise BadRecord(f"game {index + 1}: {error}") from None


def _check_fields(names: set[str], content: object, place: str) -> dict[str, Any]:
    """Return a JSON object if it has these fields with valid values; raise BadRecord."""
    if not isinstance(content, dict):
        raise BadRecord(f"{place}: {type(content).__name__}; expected: an object")
    if differences := sorted(names ^ set(content)):
        state = "missing" if differences[0] in names else "unknown"
        raise BadRecord(f"{place}: field {differences[0]!r:.80} is {state}")
    for name, (is_valid, expected) in _FIELDS.items():
        if name in content and not is_valid(value := content[name]):
            given = f"an array of {len(value)}" if isinstance(value, list) else f"{value!r:.80}"
            raise BadRecord(f"{place}: field {name} is {given}; expected: {expected}")
    return content


def verify(
    submission: Submission,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    sample: int | None = None,
) -> int:
    """Replay a submission: openings, legal moves, results, the claim, the opponent's decisions.

    The decisions of REPEATED_PLAYERS are repeated, in all games or in a `sample` of this size,
    drawn without a fixed seed; for other opponents, only the rules are checked. Returns the number
    of games with repeated decisions. Raises BadOption for a sample below 1, BadRecord at the first
    difference, with its game and turn.
    """
    if sample is not None:
        check_integer("sample", sample, 1)
    try:
        with untrusted_names():
            game = make_game(submission.game, **submission.options)
            # Other players are modules of their authors, which are not imported.
            if "." not in submission.opponent.partition(":")[0]:
                check_spec(submission.opponent)
        count = len(submission.games) // 2
        openings = random_openings(game, submission.opening_turns, count, submission.seed)
    except (BadOption, BadPlayer, TypeError) as error:
        raise BadRecord(str(error)) from error
    repeated = _repeated_games(submission, sample)
    for index, entry in enumerate(submission.games):
        try:
            if entry.start != openings[index // 2]:
                expected = f"opening {index // 2 + 1} of seed {submission.seed}"
                raise BadRecord(f"start {entry.start!r:.80}; expected: {expected}")
            match = _replay(entry, index)
            if index in repeated:
                _repeat_decisions(submission, match, index)
        except BadRecord as error:
            raise BadRecord(f"game {index + 1}: {error}") from error
        on_progress(index + 1, len(submission.games))
    for name, value in asdict(_claim(submission.games)).items():
        claimed = getattr(submission.claim, name)
        if abs(value - claimed) > 10**-_DECIMALS:
            raise BadRecord(f"claim: {name}={claimed}; expected: {value}, computed from the games")
    return len(repeated)


def _repeated_games(submission: Submission, sample: int | None) -> set[int]:
    """Return the indices of the games in which the opponent's decisions are repeated."""
    if not _REPEATABLE.fullmatch(submission.opponent):
        return set()
    indices = range(len(submission.games))
    if sample is None or sample >= len(indices):
        return set(indices)
    return set(np.random.default_rng().choice(indices, sample, replace=False).tolist())


def differences_from_baselines(submission: Submission) -> list[str]:
    """Return how the conditions of a match differ from those of the baselines; empty if equal."""
    game = make_game(submission.game, **submission.options)
    boards = [repr(board.make_game()) for board in BOARDS.values()]
    differences = []
    if repr(game) not in boards:
        differences.append(f"{game!r} is not one of their boards")
    if submission.opponent not in FIXED_PLAYERS:
        differences.append(f"opponent {submission.opponent}")
    for name, value, expected in (
        ("games", len(submission.games), GAMES),
        ("opening turns", submission.opening_turns, OPENING_TURNS),
        ("seed", submission.seed, OPENING_SEED),
    ):
        if value != expected:
            differences.append(f"{name}: {value}, not {expected}")
    return differences


def _replay(record: Record, index: int) -> Match:
    """Return the replayed match of a game; raise BadRecord if it breaks the rules."""
    match = replay(record)
    if match.result is None:
        raise BadRecord(f"the game is unfinished, after {len(match.turns)} turns")
    winner, reason = match.result
    if reason == AGREED:
        raise BadRecord("a draw by agreement; expected: a result by the rules")
    if reason in (*FAULTS, RESIGNED) and (winner == index % 2 or winner == match.mover):
        raise BadRecord(f"a fault ({reason}) of the opponent, or of a player not to move")
    return match


def _repeat_decisions(submission: Submission, match: Match, index: int) -> None:
    """Raise BadRecord at the first turn that the opponent plays differently in this game."""
    game, seat = match.game, 1 - index % 2
    rng = player_generators(game_seed(submission.seed, index))[seat]
    opponent = player_for_new_game(make_player(submission.opponent, game))
    for number, (before, turn) in enumerate(match.history, 1):
        if game.to_move(before) != seat:
            continue
        position = before
        for action in turn:
            chosen = int(opponent.choose(position, rng, Clock()).action)
            if chosen != action:
                recorded = game.action_text(position, action)
                expected = game.action_text(position, chosen)
                versions = ""
                if submission.version != __version__:
                    versions = f"; written by cc_env {submission.version}, this is {__version__}"
                raise BadRecord(
                    f"turn {number}: {submission.opponent} plays {expected!r}, recorded: "
                    f"{recorded!r}{versions}"
                )
            position = game.apply(position, action)


def _claim(games: Sequence[Record]) -> Claim:
    """Return the result of games for the player."""
    openings = {start: number for number, start in enumerate(dict.fromkeys(g.start for g in games))}
    points = [
        POINTS[entry.result] if index % 2 == 0 else 1 - POINTS[entry.result]
        for index, entry in enumerate(games)
    ]
    numbers = np.array([openings[entry.start] for entry in games], np.int64)
    interval = clustered_interval(np.array(points), numbers)
    value, low, high = (round(part, _DECIMALS) for part in interval)
    distinct = len({(entry.start, entry.turns) for entry in games})
    return Claim(score=value, low=low, high=high, distinct_games=distinct)
