"""A hash of the decisions of a player, which states whether its search or evaluation changed."""

import hashlib
import json

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player

# Random turns before each decision; they also seed the random numbers.
_TURNS = range(0, 40, 2)
# Replace those of minimax, so that the hash is the same on every machine.
_LIMITS = {"level": None, "depth": 4, "nodes": None, "seconds": None}


def decision_hash(spec: str, game: Game) -> str | None:
    """Return 16 hex digits from the decisions of a player in positions of random games.

    They change with the evaluation and the search of greedy and minimax, but not with limits of
    depth, nodes or time. None for other players. Raises as `make_player`.
    """
    name = spec.partition(":")[0]
    if name not in ("greedy", "minimax"):
        return None
    player = make_player(spec, game, **(_LIMITS if name == "minimax" else {}))
    decisions = []
    for turns in _TURNS:
        rng = np.random.default_rng(turns)
        position = play_random_turns(game, turns, rng)
        if game.outcome(position) == ONGOING:
            decision = player.choose(position, rng, Clock())
            decisions.append((decision.action, round(decision.value or 0, 6)))
    return hashlib.sha256(json.dumps(decisions).encode()).hexdigest()[:16]
