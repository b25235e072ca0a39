"""The file of a game that is served: how it was begun, then every decision, one JSON object a line.

A line is written before anybody is told of it. What a killed process leaves is read again to the
last whole line.
"""

import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cc_env import files, games, trust
from cc_env.errors import BadRecord, CcEnvError
from cc_env.match import Limits, Result
from cc_env.play.bench import Bench
from cc_env.play.sitting import HUMAN, Sitting
from cc_env.referee import Decision

KEPT = "depth", "cuts_max", "cuts_min", "nodes"  # of what players say of their decisions


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

    def sitting(self, bench: Bench) -> Sitting:
        """Return the game as it begins; raises CcEnvError where it cannot be."""
        with trust.names_from_file():
            game = games.make(self.game, **self.options)
            start = None if self.start is None else game.from_text(self.start)
            limits = Limits(**self.limits)
            return Sitting(
                game, self.seats, start=start, limits=limits, seed=self.seed, make=bench.make
            )


def with_tokens(opening: dict[str, Any]) -> Opening:
    """Return an opening whose people get new tokens."""
    seats = opening["seats"]
    first, second = (secrets.token_urlsafe(18) if name == HUMAN else "" for name in seats)
    return Opening(**{**opening, "tokens": (first, second)})


class Journal:
    """The file of one game."""

    def __init__(self, path: Path) -> None:
        """Read and write at `path`."""
        self.path, self.lines = path, 0  # so many are confirmed

    def _add(self, entry: dict[str, Any]) -> None:
        files.append(self.path, json.dumps(entry, separators=(",", ":"), default=int) + "\n")
        self.lines += 1

    def begin(self, opening: Opening) -> None:
        """Write the first line; raises OSError."""
        self._add(asdict(opening))

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

    def read(self, bench: Bench) -> tuple[Opening, Sitting]:
        """Return the game at its last confirmed decision; raises BadRecord, OSError."""
        files.drop_half_a_line(self.path)
        entries = files.lines(self.path)
        number = 1
        try:
            opening = _opening(json.loads(next(entries)[1]))
            sitting = opening.sitting(bench)
            for place, text in entries:
                number = place
                _redo(sitting, json.loads(text))
        except (CcEnvError, ValueError, TypeError, KeyError, StopIteration) as error:
            raise BadRecord(f"{self.path}, line {number}: {error}") from error
        self.lines = number  # the last that was read
        return opening, sitting


def _opening(entry: dict[str, Any]) -> Opening:
    pairs = {key: tuple(entry[key]) for key in ("seats", "tokens")}
    return Opening(**{**entry, **pairs})


def _redo(sitting: Sitting, entry: dict[str, Any]) -> None:
    match entry["do"]:
        case "play":
            decision = Decision(entry["action"], entry.get("value"), entry.get("details", {}))
            sitting.restore(decision, entry["seconds"])
        case "take_back":
            sitting.take_back()
        case "end":
            sitting.end(Result(entry["outcome"], entry["reason"]), entry["detail"])
        case other:
            raise BadRecord(f"{other!r} is not something that is done in a game")
