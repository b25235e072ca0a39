"""Import of untrusted text: records, files of other programs, exported pictures, positions."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from cc_env.core.game import BrokenGame, Format, Game, Turn, normalize_newlines
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadPosition, BadRecord, format_list
from cc_env.games.factory import make_game
from cc_env.match.match import Match
from cc_env.match.record import RESULTS, record_foreign, replay_lines, replay_text
from cc_env.play.descriptions import describe_result
from cc_env.registry.catalogue import GAMES
from cc_env.rendering.svg import read_metadata

# Games read from one text.
MAX_GAMES = 50
MAX_POSITION_LENGTH = 1000
MAX_REASON_LENGTH = 300


@dataclass(frozen=True)
class ImportedGame:
    """A game, or a position without turns."""

    game: Game
    start: Position
    turns: tuple[Turn, ...] = ()
    players: tuple[str, str] = "", ""
    # Description of the result, "" for an unfinished game.
    result: str = ""


@dataclass(frozen=True)
class ImportedGames:
    """The valid and the invalid games among the first MAX_GAMES of a text."""

    games: tuple[ImportedGame, ...]
    # Number of games in the text, including invalid and unread ones.
    total: int
    refused: tuple[BrokenGame, ...] = ()


def read_games(text: str, game: Game | None = None) -> ImportedGames:
    """Parse the games in a text, or its position as a game without turns.

    The text is a record, an exported picture with a record, a position, or in another format of
    `game`; by default all games of the catalogue are tried. Raises BadRecord, with the reasons, if
    there is no valid game.
    """
    text = normalize_newlines(text).strip("\ufeff \t\n")
    if not text:
        raise BadRecord("the text is empty; expected: a game or a position")
    if text.startswith("<svg"):
        text = record_from_svg(text)
    if _is_record(text):
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        return _collect_games(_recorded_games(lines), len(lines))
    return _read_in_game(text, game, is_selected=True) if game else _read_in_any_game(text)


def _read_in_any_game(text: str) -> ImportedGames:
    """Parse the games and positions in a text by the rules of all games of the catalogue."""
    read: list[ImportedGames] = []
    candidates = [make_game(name) for name in GAMES]
    for candidate in candidates:
        with suppress(BadRecord):
            read.append(_read_in_game(text, candidate, is_selected=False))
    if not read:
        suffixes = (f"{end} of {other.name}" for other in candidates for end in other.formats)
        formats = format_list([".jsonl", *suffixes])
        raise BadRecord(
            f"neither a game in a known format ({formats}) nor a position of any game; "
            "select the game to get the exact errors"
        )
    return ImportedGames(
        tuple(game for part in read for game in part.games),
        sum(part.total for part in read),
        tuple(broken for part in read for broken in part.refused),
    )


def _read_in_game(text: str, game: Game, *, is_selected: bool) -> ImportedGames:
    """Return the position, or the games in a format of this game.

    `is_selected` is whether the user selected the game and its options. Raises BadRecord, with the
    reason for each format, if the text is neither.
    """
    errors = []
    if "\n" not in text and len(text) <= MAX_POSITION_LENGTH:
        try:
            return ImportedGames((ImportedGame(game, game.from_text(text)),), total=1)
        except BadPosition as error:
            errors.append(str(error))
    for suffix, form in game.formats.items():
        try:
            return _collect_games(
                _foreign_games(text, game, form, is_selected=is_selected), form.count(text)
            )
        except BadRecord as error:
            errors.append(f"{game.name}, as {suffix}: {error}")
    reasons = "; ".join(errors) or f"{game.name}: a position is one line"
    raise BadRecord(reasons[:MAX_REASON_LENGTH])


def record_from_svg(text: str) -> str:
    """Return the record in an exported picture; raise BadRecord if it has none."""
    metadata = read_metadata(text)
    if not metadata:
        raise BadRecord("the picture contains no record; only exported pictures do")
    return metadata


def game_from_match(
    match: Match, players: tuple[str, str] = ("", ""), result: str = ""
) -> ImportedGame:
    """Return a match as an imported game, with its complete turns.

    `players` may be "?", unknown. `result` describes an unfinished match; it is ignored if the
    match is finished.
    """
    if set(players) == {"?"}:
        players = "", ""
    turns = tuple(turn for _, turn in match.history)
    result = describe_result(match.game, match.result) if match.result else result
    return ImportedGame(match.game, match.start, turns, players, result)


def _is_record(text: str) -> bool:
    """Return whether a text begins with a JSON object that has a game."""
    try:
        first = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "game" in first


def _collect_games(entries: Iterator[ImportedGame | BrokenGame], total: int) -> ImportedGames:
    """Return the first MAX_GAMES entries of a text; raise BadRecord if none of them is valid."""
    read, refused = list[ImportedGame](), list[BrokenGame]()
    for entry in islice(entries, MAX_GAMES):
        if isinstance(entry, BrokenGame):
            refused.append(entry._replace(reason=entry.reason[:MAX_REASON_LENGTH]))
        else:
            read.append(entry)
    if not read:
        raise BadRecord(str(refused[0]) if refused else "the text contains no game")
    return ImportedGames(tuple(read), total, tuple(refused))


def _recorded_games(lines: list[tuple[int, str]]) -> Iterator[ImportedGame | BrokenGame]:
    """Yield the games of numbered lines, which are records."""
    for entry in replay_lines(lines):
        if isinstance(entry, BrokenGame):
            yield entry
        else:
            _, game_record, match = entry
            yield game_from_match(match, game_record.players)


def _foreign_games(
    text: str, game: Game, form: Format, *, is_selected: bool
) -> Iterator[ImportedGame | BrokenGame]:
    """Yield the games of another program's format.

    They have the options of `game` if the user selected it, else the usual options of the format.
    """
    reader = game if is_selected else make_game(game.name, **{**game.options, **form.options})
    for entry in replay_text(text, reader, form):
        if isinstance(entry, BrokenGame):
            yield entry
            continue
        played_game, match = entry
        game_record = record_foreign(match, played_game)
        undecided = game_record.result == RESULTS[ONGOING]
        yield game_from_match(
            match,
            game_record.players,
            "" if undecided else f"{game_record.result} ({game_record.detail})",
        )
