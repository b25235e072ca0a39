"""Suites of hard positions on solved boards, like the mate puzzles of chess.

The player to move wins, a single action keeps the win, and alpha-beta chooses another one up to a
high depth. `python -m training.experiments.hard_positions` finds them. A suite is a file
with a JSON object in each line:

    {"position": "2r2/5/1b3/3r1/4b b", "action": "2,1-3,2", "turns": 13, "missed": 11}
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadRecord, CcEnvError, check_integer
from cc_env.files import read_lines
from cc_env.registry.catalogue import file_stem
from cc_env.tablebase.tablebase import SHIPPED


class HardPosition(NamedTuple):
    """A position that is won by a single action."""

    position: Position
    action: int
    # Turns to the win with best play of both sides.
    turns: int
    # Greatest tested depth at which alpha-beta chooses another action.
    missed: int

    def to_json(self, game: Game) -> dict[str, object]:
        """Return the entry of a suite as a JSON object."""
        return {
            "position": game.to_text(self.position),
            "action": game.action_text(self.position, self.action),
            "turns": self.turns,
            "missed": self.missed,
        }


def shipped_hard_positions(game: Game) -> list[HardPosition]:
    """Return the suite shipped for a game, hardest first; empty for most games."""
    if game.numbering is None:
        return []
    path = SHIPPED / suite_file_name(game)
    return read_suite(path, game) if path.exists() else []


def suite_file_name(game: Game) -> str:
    """Return the file name of a game's suite."""
    assert game.numbering is not None
    return file_stem(game.name, game.numbering.options, "hard_positions") + ".jsonl"


def read_suite(path: Path, game: Game) -> list[HardPosition]:
    """Return the positions of a file; raise BadRecord, with the line, for an invalid entry."""
    suite = []
    for number, line in read_lines(path):
        try:
            suite.append(_parse_entry(json.loads(line), game))
        except (ValueError, KeyError, TypeError, RecursionError, CcEnvError) as error:
            raise BadRecord(f"{path}, line {number}: {error!s:.200}") from error
    return suite


def _parse_entry(entry: Any, game: Game) -> HardPosition:
    position = game.from_text(entry["position"])
    legal = game.legal_actions(position).tolist()
    actions = {game.action_text(position, action): action for action in legal}
    if entry["action"] not in actions:
        raise BadRecord(f"{entry['action']!r:.40} is not legal in '{game.to_text(position)}'")
    for name in ("turns", "missed"):
        check_integer(name, entry[name], 0)
    return HardPosition(position, actions[entry["action"]], entry["turns"], entry["missed"])
