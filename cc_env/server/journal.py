"""The file of a game that is served: how it was begun, then every decision, one JSON object a line.

A line is written before anybody is told of it. What a killed process leaves is read again to the
last whole line.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cc_env import files
from cc_env.core.game import Game
from cc_env.core.rules import DRAW, FIRST_WINS, SECOND_WINS
from cc_env.errors import BadRecord, CcEnvError, check_bool, is_integer, is_number
from cc_env.files import append_atomically, read_lines
from cc_env.games.factory import make_game
from cc_env.match.match import Limits, Result
from cc_env.match.referee import Decision, Player
from cc_env.play.session import HUMAN, GameSession
from cc_env.registry.import_allowlist import untrusted_names

SLOWEST = 10.0  # seconds between two decisions of a watched game
LONGEST = 1e9  # seconds that a decision took
KEPT = "depth", "cuts_max", "cuts_min", "nodes"  # of what players say of their decisions
_written = json.JSONEncoder(separators=(",", ":"), default=int).encode
REQUESTS = "offer", "ask_back", "decline", "pace"  # lines that leave the position as it is

MakePlayer = Callable[[str, Game], Player]  # as `cc_env.players.specs.make`


@dataclass(frozen=True)
class Opening:
    """How a game was begun. Its fields are the keys of the first line."""

    game: str
    options: dict[str, Any]
    seats: tuple[str, str]
    start: str | None = None  # position text
    limits: dict[str, Any] = field(default_factory=lambda: asdict(Limits()))
    seed: int = 0
    tokens: tuple[str, str] = ("", "")  # who has one holds the seat; "" of a player's seat
    owner: str = ""  # the token of who opened a game to watch; "" where a person plays
    pace: float = 0.8  # seconds between two decisions where nobody plays
    assistance: bool = False  # hints and analysis are allowed between two people

    def session(self, make: MakePlayer) -> GameSession:
        """Return the game as it begins; raises CcEnvError where it cannot be."""
        with untrusted_names():
            game = make_game(self.game, **self.options)
            start = None if self.start is None else game.from_text(self.start)
            limits = Limits(**self.limits)
            return GameSession(
                game, self.seats, start=start, limits=limits, seed=self.seed, player_factory=make
            )


def with_tokens(opening: Opening) -> Opening:
    """Return an opening with new tokens: of its people, or of who watches it."""
    first, second = (_token() if name == HUMAN else "" for name in opening.seats)
    return replace(opening, tokens=(first, second), owner="" if first or second else _token())


def _token() -> str:
    return secrets.token_urlsafe(18)


@dataclass
class SavedGame:
    """A game as it stands, with what was asked for and is still open."""

    opening: Opening
    session: GameSession
    pace: float | None  # seconds between two decisions where nobody plays; None: paused
    wanted_back: int | None = None  # the player who asks to take back

    @classmethod
    def begun(cls, opening: Opening, make: MakePlayer) -> "SavedGame":
        """Return a game that begins; raises CcEnvError where it cannot be."""
        return cls(opening, opening.session(make), opening.pace)


BETWEEN = "seconds between decisions"


class Journal:
    """The file of one game."""

    def __init__(self, path: Path) -> None:
        """Read and write at `path`."""
        self.path = path
        self.version = 0  # rises with everything that changes the position or ends the game
        self.bytes = 0  # length of the file

    def _add(self, entry: dict[str, Any]) -> None:
        line = _written(entry) + "\n"
        append_atomically(self.path, line, must_exist=True)
        self.bytes += len(line)  # JSON is ASCII
        self.version += entry.get("do") not in REQUESTS

    def begin(self, opening: Opening) -> None:
        """Create the file with its first line; raises OSError, and leaves no file then."""
        line = _written(asdict(opening)) + "\n"
        files.create_private(self.path, line)
        self.bytes, self.version = len(line), 1

    def decided(self, decision: Decision, seconds: float) -> None:
        """Write a decision that took so many seconds; raises OSError."""
        details = {key: decision.details[key] for key in KEPT if key in decision.details}
        entry = {"do": "play", "action": int(decision.action), "seconds": round(seconds, 6)}
        if decision.value is not None:
            entry["value"] = float(decision.value)
        self._add({**entry, "details": details} if details else entry)

    def taken_back(self) -> None:
        """Write that people took back; raises OSError."""
        self._add({"do": "take_back"})

    def ended(self, result: Result, detail: str) -> None:
        """Write how a game ended for reasons that are not in its decisions; raises OSError."""
        entry = {"do": "end", "outcome": result.outcome, "reason": result.reason, "detail": detail}
        self._add(entry)

    def offered(self, player: int) -> None:
        """Write that a player offers a draw; raises OSError."""
        self._add({"do": "offer", "player": player})

    def asked_back(self, player: int) -> None:
        """Write that a player asks to take back; raises OSError."""
        self._add({"do": "ask_back", "player": player})

    def declined(self, offer: str) -> None:
        """Write that the offer of a "draw" or a "take_back" is declined; raises OSError."""
        self._add({"do": "decline", "offer": offer})

    def paced(self, seconds: float | None) -> None:
        """Write how fast a watched game goes on, None where it is paused; raises OSError."""
        self._add({"do": "pace", "seconds": seconds})

    def read(self, make: MakePlayer) -> SavedGame:
        """Return the game at its last confirmed decision; raises BadRecord, OSError."""
        files.drop_partial_line(self.path)
        entries, number, version = read_lines(self.path), 1, 1
        try:
            first = next(entries, None)
            if first is None:
                raise BadRecord("the file is empty; wanted: how the game was opened")
            standing = SavedGame.begun(_opening(json.loads(first[1])), make)
            for place, text in entries:
                number, entry = place, json.loads(text)
                _redo(standing, entry)
                version += entry["do"] not in REQUESTS
        except _BROKEN as error:
            raise BadRecord(f"{self.path}, line {number}: {error}") from error
        self.version, self.bytes = version, self.path.stat().st_size
        return standing


_BROKEN = (
    *(CcEnvError, ValueError, TypeError, KeyError),
    *(AttributeError, OverflowError, RecursionError),
)


def _opening(entry: dict[str, Any]) -> Opening:
    pairs = {key: tuple(entry[key]) for key in ("seats", "tokens")}
    opening = Opening(**{**entry, **pairs})
    tokens = *opening.tokens, opening.owner
    if len(tokens) != 3 or not all(isinstance(token, str) for token in tokens):
        raise BadRecord("a token is a text; wanted: one for each seat, and the owner's")
    _checked(opening.pace, BETWEEN, SLOWEST)
    check_bool("assistance", opening.assistance)
    return opening


def _redo(standing: SavedGame, entry: dict[str, Any]) -> None:
    """Do again what a line says; raises BadRecord, IllegalAction, KeyError."""
    session, wanted_back = standing.session, None
    match entry["do"]:
        case "play":
            seconds = _checked(entry["seconds"], "seconds for a decision", LONGEST)
            session.replay_decision(_decision(entry), seconds)
        case "take_back":
            session.take_back()
        case "end":
            session.restore_result(_result(entry), _text(entry["detail"]))
        case "offer":
            session.draw_offered_by = _player(entry)
        case "ask_back":
            wanted_back = _player(entry)
        case "decline":
            wanted_back = _decline(standing, entry["offer"])
        case "pace":
            seconds = entry["seconds"]
            is_paused = seconds is None
            standing.pace = None if is_paused else _checked(seconds, BETWEEN, SLOWEST)
            wanted_back = standing.wanted_back
        case other:
            raise BadRecord(f"{str(other)[:40]!r} is not something that is done in a game")
    standing.wanted_back = wanted_back


def _decline(standing: SavedGame, offer: object) -> int | None:
    """Decline an offer; return the player who still asks to take back, if any."""
    if offer == "take_back":
        return None
    if offer != "draw":
        raise BadRecord(f"{str(offer)[:40]!r} cannot be declined; wanted: draw or take_back")
    standing.session.draw_offered_by = None
    return standing.wanted_back


def _decision(entry: dict[str, Any]) -> Decision:
    action, value, details = entry["action"], entry.get("value"), entry.get("details", {})
    if not is_integer(action, 0):
        raise BadRecord(f"action {str(action)[:40]!r} is not the number of an action")
    if value is not None and not is_number(value, -1, 1):
        raise BadRecord(f"value {str(value)[:40]!r}; wanted: -1 to 1")
    if set(details) - set(KEPT) or not all(
        is_integer(number, 0, 2**63) for number in details.values()
    ):
        raise BadRecord(f"details of a decision are whole numbers, of: {', '.join(KEPT)}")
    return Decision(action, value, details)


def _result(entry: dict[str, Any]) -> Result:
    outcome = entry["outcome"]
    if not is_integer(outcome, -9, 9) or outcome not in (FIRST_WINS, SECOND_WINS, DRAW):
        raise BadRecord(f"outcome {str(outcome)[:40]!r} is not that of a game which is over")
    return Result(outcome, _text(entry["reason"]))


def _player(entry: dict[str, Any]) -> int:
    player = entry["player"]
    if not is_integer(player, 0, 1):
        raise BadRecord(f"player {str(player)[:40]!r}; wanted: 0 or 1")
    return int(player)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadRecord(f"{str(value)[:40]!r} is not a text")
    return value


def _checked(value: object, what: str, most: float) -> float:
    """Return a time in seconds, 0 to `most`; raises BadRecord for any other value."""
    if not is_number(value, 0, most):
        raise BadRecord(f"{str(value)[:40]!r} {what}; wanted: 0 to {most:g}")
    return float(value)  # type: ignore[arg-type]
