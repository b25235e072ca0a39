"""The file of a served game: its setup, then one JSON object per line for every change.

The field `at` of every line is the time in seconds since the epoch. Every line is written before
the change is sent to any client. After a crash, the file is read up to its last complete line.
"""

import json
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from cc_env import files
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS
from cc_env.errors import (
    BadRecord,
    check_bool,
    check_integer,
    check_number,
    format_list,
    invalid_value,
)
from cc_env.files import append_atomically, read_lines
from cc_env.games.factory import make_game
from cc_env.match.match import Limits, Result
from cc_env.match.referee import Decision, Player
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.import_allowlist import untrusted_names

# The name of a game is a secret: every client that has it may watch the game.
GAME_NAME = re.compile(r"[A-Za-z0-9_-]{16}")
CLIENT_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")
MAX_PLAYER_NAME_LENGTH = 20
# Number of clients of a game whose last command is remembered.
MAX_REMEMBERED_CLIENTS = 32
MAX_PACE_SECONDS = 10.0
MAX_DECISION_SECONDS = 1e9
# The details of decisions that are stored.
DETAIL_KEYS = "depth", "cuts_max", "cuts_min", "nodes"
# Kinds of lines that do not change the position.
UNVERSIONED_KINDS = "offer", "request_take_back", "decline", "pace", "offer_rematch", "rematch"
_to_json = json.JSONEncoder(separators=(",", ":"), default=int).encode

PlayerFactory = Callable[[str, Game], Player]


@dataclass(frozen=True)
class GameSetup:
    """The setup of a served game; its fields are the keys of a journal's first line.

    `start` is a position as text, None for the game's own. A client with one of the `tokens` holds
    that seat; a player's seat has the token "". The `owner` token controls the pace of a game
    between two players and is "" if a person plays. `assistance` allows hints and analysis during
    a game between two people.
    """

    game: str
    options: dict[str, Any]
    seats: tuple[str, str]
    start: str | None = None
    limits: dict[str, Any] = field(default_factory=Limits().to_dict)
    seed: int = 0
    tokens: tuple[str, str] = ("", "")
    owner: str = ""
    # Seconds between decisions of two players.
    pace: float = 0.8
    assistance: bool = False

    @property
    def request(self) -> dict[str, Any]:
        """The request of POST /games for a new game with this setup, at its own start."""
        limits = Limits(**self.limits)
        return {
            "game": self.game,
            "options": self.options,
            "seats": self.seats,
            "seconds": limits.seconds_per_game,
            "increment": limits.increment,
            "assistance": self.assistance,
        }

    def start_session(self, make_player: PlayerFactory) -> GameSession:
        """Return a new session; raise CcEnvError or TypeError if the setup is invalid."""
        with untrusted_names():
            game = make_game(self.game, **self.options)
            return GameSession(
                game,
                self.seats,
                start=None if self.start is None else game.from_text(self.start),
                limits=Limits(**self.limits),
                seed=self.seed,
                player_factory=make_player,
            )


def add_tokens(setup: GameSetup) -> GameSetup:
    """Return a setup with new tokens for its people, or for its owner if there are none."""
    first, second = (_new_token() if name == HUMAN else "" for name in setup.seats)
    return replace(setup, tokens=(first, second), owner="" if first or second else _new_token())


def _new_token() -> str:
    return secrets.token_urlsafe(18)


@dataclass(eq=False, repr=False)
class SavedGame:
    """The current state of a stored game.

    `pace` is the number of seconds between decisions of two players, None while paused.
    `take_back_requested_by` and `rematch_offered_by` are the players with an open request or offer,
    if any; `rematch` is the name of the game that is the rematch.
    """

    setup: GameSetup
    session: GameSession
    pace: float | None
    take_back_requested_by: int | None = None
    rematch_offered_by: int | None = None
    rematch: str | None = None

    def close_requests(self) -> None:
        """Close the open request and the open offer of a rematch."""
        self.take_back_requested_by = self.rematch_offered_by = None

    def apply(self, entry: Mapping[str, Any]) -> None:
        """Apply a line of the journal; raise one of _ENTRY_ERRORS if it is invalid."""
        match entry["do"]:
            case "play":
                seconds = _read_seconds(entry["seconds"])
                self.session.replay_decision(_read_decision(entry), seconds)
                self.close_requests()
            case "take_back":
                self.session.take_back()
                self.close_requests()
            case "end":
                seconds = _read_seconds(entry.get("seconds", 0))
                result, detail = _read_result(entry), _read_text(entry, "detail")
                self.session.restore_result(result, detail, seconds)
                self.close_requests()
            case "offer":
                self.session.offer_draw(_read_player(entry))
                self.close_requests()
            case "request_take_back":
                self.take_back_requested_by = _read_player(entry)
            case "offer_rematch" | "rematch" if self.session.result is None:
                raise BadRecord("a rematch before the end of the game")
            case "offer_rematch":
                self.rematch_offered_by = _read_player(entry)
            case "rematch":
                self.rematch, self.rematch_offered_by = _read_game_name(entry), None
            case "decline":
                self._close_offer(entry["offer"])
            case "pace":
                if entry["seconds"] is not None:
                    check_number("pace", entry["seconds"], 0, MAX_PACE_SECONDS)
                self.pace = entry["seconds"]
            case kind:
                raise BadRecord(f"unknown kind of line {str(kind)[:40]!r}")

    def _close_offer(self, offer: object) -> None:
        """Decline an offer, if there is one."""
        match offer:
            case "draw":
                if self.session.draw_offered_by is not None:
                    self.session.decline_draw(1 - self.session.draw_offered_by)
            case "take_back":
                self.take_back_requested_by = None
            case "rematch":
                self.rematch_offered_by = None
            case _:
                raise invalid_value("offer", offer, "draw, take_back or rematch")


class CommandId(NamedTuple):
    """The client and the number of a command; the numbers of a client increase."""

    client: str
    number: int


class Journal:
    """The file of one game.

    `version` increases with every line that changes the position or ends the game. `bytes` is the
    size of the file. `executed` contains the number of the last executed command of each client
    that numbers its commands, by the name of the client: of at most MAX_REMEMBERED_CLIENTS, the one
    with the latest command last.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`."""
        self.path, self.version, self.bytes = path, 1, 0
        self.executed: dict[str, int] = {}
        self._command: CommandId | None = None

    def create(self, setup: GameSetup) -> None:
        """Create the file with its first line; on OSError, leave no file."""
        line = _to_json({**asdict(setup), "at": int(time.time())}) + "\n"
        files.create_private(self.path, line)
        self.bytes = len(line)

    def append(self, *entries: Mapping[str, object]) -> None:
        """Append lines that `SavedGame.apply` reads, all or none; raise OSError if that fails."""
        source = {"at": int(time.time()), **(self._command._asdict() if self._command else {})}
        text = "".join(_to_json({**entry, **source}) + "\n" for entry in entries)
        append_atomically(self.path, text, must_exist=True)
        # JSON is ASCII: one byte per character.
        self.bytes += len(text)
        self.version += sum(entry["do"] not in UNVERSIONED_KINDS for entry in entries)

    @contextmanager
    def execution(self, command: CommandId) -> Iterator[None]:
        """Write a command's number into the lines of the block; at its end, it is executed."""
        self._command = command
        try:
            yield
        finally:
            self._command = None
        self._remember(command)

    def _remember(self, command: CommandId) -> None:
        """Move the command's client to the end of `executed`; drop the longest idle one."""
        self.executed.pop(command.client, None)
        self.executed[command.client] = command.number
        if len(self.executed) > MAX_REMEMBERED_CLIENTS:
            del self.executed[next(iter(self.executed))]

    def read(self, make_player: PlayerFactory) -> SavedGame:
        """Return the game after the last complete line; a partial one is removed from the file.

        Raises BadRecord for an invalid line, OSError if the file cannot be read.
        """
        files.drop_partial_line(self.path)
        self.bytes = self.path.stat().st_size
        entries = read_lines(self.path)
        number = 1
        try:
            first = next(entries, None)
            if first is None:
                raise BadRecord("the file is empty; expected: the setup of a game")
            setup = _read_setup(json.loads(first[1]))
            saved_game = SavedGame(setup, setup.start_session(make_player), setup.pace)
            for line_number, text in entries:
                number = line_number
                entry = json.loads(text)
                saved_game.apply(entry)
                self.version += entry["do"] not in UNVERSIONED_KINDS
                if "number" in entry:
                    self._remember(_read_command_id(entry))
        except _ENTRY_ERRORS as error:
            if isinstance(error.__cause__, OSError):
                # The file may be undamaged.
                raise error.__cause__ from None
            raise BadRecord(f"{self.path}, line {number}: {error}") from error
        return saved_game


# Errors that an invalid line causes; a CcEnvError is a ValueError.
_ENTRY_ERRORS = ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError


def _read_setup(entry: Mapping[str, Any]) -> GameSetup:
    """Return the setup in the first line of a journal.

    Raises BadRecord, BadOption, KeyError, AttributeError or TypeError if it is invalid.
    """
    pairs = {key: tuple(entry[key]) for key in ("seats", "tokens")}
    fields = {key: value for key, value in entry.items() if key != "at"}
    setup = GameSetup(**{**fields, **pairs})
    tokens = *setup.tokens, setup.owner
    if len(tokens) != 3 or not all(isinstance(token, str) for token in tokens):
        raise BadRecord("invalid tokens; expected: one string per seat, and the owner's")
    check_number("pace", setup.pace, 0, MAX_PACE_SECONDS)
    check_bool("assistance", setup.assistance)
    return setup


def decision_entry(decision: Decision) -> dict[str, object]:
    """Return the entry of a decision without thinking time."""
    entry: dict[str, object] = {"do": "play", "action": int(decision.action), "seconds": 0.0}
    if decision.value is not None:
        entry["value"] = float(decision.value)
    details = {key: decision.details[key] for key in DETAIL_KEYS if key in decision.details}
    if details:
        entry["details"] = details
    return entry


def result_entry(session: GameSession) -> dict[str, object]:
    """Return the entry of a result that does not follow from the decisions."""
    assert session.result is not None
    return {"do": "end", **session.result._asdict(), "detail": session.detail, "seconds": 0.0}


def _read_player(entry: Mapping[str, Any]) -> int:
    return check_integer("player", entry["player"], 0, 1)


def _read_seconds(value: object) -> float:
    return check_number("seconds", value, 0, MAX_DECISION_SECONDS)


def _read_game_name(entry: Mapping[str, Any]) -> str:
    name = _read_text(entry, "game")
    if not GAME_NAME.fullmatch(name):
        raise invalid_value("game", name, "16 letters, digits, _ or -")
    return name


def _read_command_id(entry: Mapping[str, Any]) -> CommandId:
    return CommandId(read_client_name(entry["client"]), read_command_number(entry["number"]))


def read_client_name(value: object) -> str:
    """Return the name of a client; raise BadOption if it is invalid."""
    if not isinstance(value, str) or not CLIENT_NAME.fullmatch(value):
        raise invalid_value("client", value, "1 to 32 letters, digits, _ or -")
    return value


def read_player_name(value: object) -> str:
    """Return the name of a person, "" without one; raise BadOption if it is invalid."""
    if isinstance(value, str) and value.isprintable() and len(value) <= MAX_PLAYER_NAME_LENGTH:
        return value.strip()
    raise invalid_value("name", value, f"text of at most {MAX_PLAYER_NAME_LENGTH} characters")


def read_command_number(value: object) -> int:
    """Return the number of a command; raise BadOption if it is invalid."""
    return check_integer("number", value, 1)


def _read_decision(entry: Mapping[str, Any]) -> Decision:
    """Return the decision of a line "play"; raise one of _ENTRY_ERRORS if it is invalid."""
    value, details = entry.get("value"), entry.get("details", {})
    if value is not None:
        check_number("value", value, -1, 1)
    if unknown := set(details) - set(DETAIL_KEYS):
        valid = format_list(DETAIL_KEYS)
        raise BadRecord(f"unknown details: {format_list(unknown)}; expected: {valid}")
    for name, count in details.items():
        check_integer(name, count, 0, 2**63)
    return Decision(check_integer("action", entry["action"], 0), value, details)


def _read_result(entry: Mapping[str, Any]) -> Result:
    outcome = check_integer("outcome", entry["outcome"], FIRST_WINS, DRAW)
    return Result(outcome, _read_text(entry, "reason"))


def _read_text(entry: Mapping[str, Any], name: str) -> str:
    value = entry[name]
    if not isinstance(value, str):
        raise invalid_value(name, value, "a string")
    return value
