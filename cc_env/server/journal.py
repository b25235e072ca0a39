"""The file of a served game: its setup, then one JSON object per line for every change.

Every line is written before the change is sent to any client. After a crash, the file is read up to
its last complete line.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cc_env import files
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS
from cc_env.errors import BadRecord, check_bool, format_list
from cc_env.files import append_atomically, read_lines
from cc_env.games.factory import make_game
from cc_env.match.match import Limits, Result
from cc_env.match.referee import Decision, Player
from cc_env.play import messages
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.import_allowlist import untrusted_names

MAX_PACE_SECONDS = 10.0
MAX_DECISION_SECONDS = 1e9
# The details of decisions that are stored.
DETAIL_KEYS = "depth", "cuts_max", "cuts_min", "nodes"
# Kinds of lines that do not change the position.
UNVERSIONED_KINDS = "offer", "ask_back", "decline", "pace"
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
    limits: dict[str, Any] = field(default_factory=lambda: asdict(Limits()))
    seed: int = 0
    tokens: tuple[str, str] = ("", "")
    owner: str = ""
    # Seconds between decisions of two players.
    pace: float = 0.8
    assistance: bool = False

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


@dataclass
class SavedGame:
    """The current state of a stored game.

    `pace` is the number of seconds between decisions of two players, None while paused.
    `take_back_requested_by` is the player with an open request to take back, if any.
    """

    setup: GameSetup
    session: GameSession
    pace: float | None
    take_back_requested_by: int | None = None


class Journal:
    """The file of one game.

    `version` increases with every line that changes the position or ends the game. `bytes` is the
    size of the file.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`."""
        self.path, self.version, self.bytes = path, 1, 0

    def create(self, setup: GameSetup) -> None:
        """Create the file with its first line; on OSError, leave no file."""
        line = _to_json(asdict(setup)) + "\n"
        files.create_private(self.path, line)
        self.bytes = len(line)

    def append(self, kind: str, **fields: object) -> None:
        """Append a line of a kind that `_replay` reads; raise OSError if that fails."""
        line = _to_json({"do": kind, **fields}) + "\n"
        append_atomically(self.path, line, must_exist=True)
        # JSON is ASCII: one byte per character.
        self.bytes += len(line)
        self.version += kind not in UNVERSIONED_KINDS

    def append_decision(self, decision: Decision, seconds: float) -> None:
        """Append a decision and its time; raise OSError if that fails."""
        fields: dict[str, object] = {"action": int(decision.action), "seconds": round(seconds, 6)}
        if decision.value is not None:
            fields["value"] = float(decision.value)
        details = {key: decision.details[key] for key in DETAIL_KEYS if key in decision.details}
        if details:
            fields["details"] = details
        self.append("play", **fields)

    def append_result(self, result: Result, detail: str) -> None:
        """Append a result that does not follow from the decisions; raise OSError if that fails."""
        self.append("end", outcome=result.outcome, reason=result.reason, detail=detail)

    def read(self, make_player: PlayerFactory) -> SavedGame:
        """Return the game after the last complete line.

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
                _replay(saved_game, entry)
                self.version += entry["do"] not in UNVERSIONED_KINDS
        except _ENTRY_ERRORS as error:
            if isinstance(error.__cause__, OSError):
                # The file may be undamaged.
                raise error.__cause__ from None
            raise BadRecord(f"{self.path}, line {number}: {error}") from error
        return saved_game


# Errors that an invalid line causes; a CcEnvError is a ValueError.
_ENTRY_ERRORS = ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError


def _read_setup(entry: Mapping[str, Any]) -> GameSetup:
    """Return the setup in the first line of a journal; raise BadRecord or TypeError if invalid."""
    pairs = {key: tuple(entry[key]) for key in ("seats", "tokens")}
    setup = GameSetup(**{**entry, **pairs})
    tokens = *setup.tokens, setup.owner
    if len(tokens) != 3 or not all(isinstance(token, str) for token in tokens):
        raise BadRecord("invalid tokens; expected: one string per seat, and the owner's")
    messages.read_number(setup.pace, "pace", 0, MAX_PACE_SECONDS)
    check_bool("assistance", setup.assistance)
    return setup


def _replay(saved_game: SavedGame, entry: Mapping[str, Any]) -> None:
    """Apply a line to a game; raise CcEnvError or KeyError if it is invalid."""
    session = saved_game.session
    requested_by = None
    match entry["do"]:
        case "play":
            seconds = messages.read_number(entry["seconds"], "seconds", 0, MAX_DECISION_SECONDS)
            session.replay_decision(_read_decision(entry), seconds)
        case "take_back":
            session.take_back()
        case "end":
            session.restore_result(_read_result(entry), _read_text(entry, "detail"))
        case "offer":
            session.draw_offered_by = messages.read_integer(entry["player"], "player", 0, 1)
        case "ask_back":
            requested_by = messages.read_integer(entry["player"], "player", 0, 1)
        case "decline":
            requested_by = _replay_decline(saved_game, entry["offer"])
        case "pace":
            saved_game.pace = entry["seconds"]
            if saved_game.pace is not None:
                messages.read_number(saved_game.pace, "pace", 0, MAX_PACE_SECONDS)
            requested_by = saved_game.take_back_requested_by
        case kind:
            raise BadRecord(f"unknown kind of line {str(kind)[:40]!r}")
    saved_game.take_back_requested_by = requested_by


def _replay_decline(saved_game: SavedGame, offer: object) -> int | None:
    """Decline an offer; return the player whose request to take back stays open, if any."""
    if offer == "take_back":
        return None
    if offer != "draw":
        raise messages.invalid_value("offer", offer, "draw or take_back")
    saved_game.session.draw_offered_by = None
    return saved_game.take_back_requested_by


def _read_decision(entry: Mapping[str, Any]) -> Decision:
    """Return the decision of a line "play"; raise CcEnvError or KeyError if it is invalid."""
    value, details = entry.get("value"), entry.get("details", {})
    if value is not None:
        messages.read_number(value, "value", -1, 1)
    if unknown := set(details) - set(DETAIL_KEYS):
        raise BadRecord(f"unknown details: {format_list(unknown)}")
    for name, count in details.items():
        messages.read_integer(count, name, maximum=2**63)
    return Decision(messages.read_integer(entry["action"], "action"), value, details)


def _read_result(entry: Mapping[str, Any]) -> Result:
    outcome = messages.read_integer(entry["outcome"], "outcome", FIRST_WINS, DRAW)
    return Result(outcome, _read_text(entry, "reason"))


def _read_text(entry: Mapping[str, Any], name: str) -> str:
    value = entry[name]
    if not isinstance(value, str):
        raise messages.invalid_value(name, value, "a string")
    return value
