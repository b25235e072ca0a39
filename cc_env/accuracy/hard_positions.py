"""The hardest positions known of solved boards: a test suite, as chess has its mates.

In each, the player to move wins, one action alone keeps the win, and alpha-beta chooses another
down to a great depth. `python -m training.experiments.hard_positions` finds them. A suite is a file
with a JSON object in each line:

    {"position": "2r2/5/1b3/3r1/4b b", "action": "2,1-3,2", "turns": 13, "missed": 11}
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.errors import BadRecord, CcEnvError, is_integer
from cc_env.files import read_lines
from cc_env.registry.catalogue import file_stem
from cc_env.tablebase.tablebase import SHIPPED


class HardPosition(NamedTuple):
    """A position that is won by one action alone."""

    position: Position
    action: int
    turns: int  # until it is won, if the winner hurries and the loser delays
    missed: int  # the greatest depth, of those tried, at which alpha-beta chooses another action

    def told(self, game: Game) -> dict[str, Any]:
        """Return it as JSON's values."""
        return {
            "position": game.to_text(self.position),
            "action": game.action_text(self.position, self.action),
            "turns": self.turns,
            "missed": self.missed,
        }


def shipped_hard_positions(game: Game) -> list[HardPosition]:
    """Return the suite that ships for a game, the hardest first; nothing for most games."""
    if game.numbering is None:
        return []
    path = SHIPPED / suite_name(game)
    return read_suite(path, game) if path.exists() else []


def suite_name(game: Game) -> str:
    """Return the name of the file of a game's suite."""
    assert game.numbering is not None
    return file_stem(game.name, game.numbering.options, "hardest") + ".jsonl"


def read_suite(path: Path, game: Game) -> list[HardPosition]:
    """Return the positions of a file; raise BadRecord, with the line, for anything else."""
    suite = []
    for number, line in read_lines(path):
        try:
            suite.append(_hard(json.loads(line), game))
        except (ValueError, KeyError, TypeError, RecursionError, CcEnvError) as error:
            raise BadRecord(f"{path}, line {number}: {error!s:.200}") from error
    return suite


def _hard(told: Any, game: Game) -> HardPosition:
    position = game.from_text(told["position"])
    texts = {game.action_text(position, a): a for a in map(int, game.legal_actions(position))}
    if told["action"] not in texts:
        raise BadRecord(f"{told['action']!r:.40} is not legal in '{game.to_text(position)}'")
    for name in ("turns", "missed"):
        if not is_integer(told[name], 0):
            raise BadRecord(f"{name}={told[name]!r:.40}; wanted: a whole number, 0 or more")
    return HardPosition(position, texts[told["action"]], told["turns"], told["missed"])
