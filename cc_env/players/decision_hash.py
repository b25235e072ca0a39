"""A hash of the decisions of a player, which states whether its search or evaluation changed.

Measurements of strength contain it. They are stale for players whose hash is another one now.
"""

import hashlib
import json

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING
from cc_env.ladder.rungs import Rung
from cc_env.match.openings import play_random_turns
from cc_env.match.referee import Clock
from cc_env.players.specs import make_player

# Random turns before each decision; they also seed the random numbers.
_TURNS = range(0, 40, 2)
# Options by player that replace those of its spec, so that the hash is the same on every machine.
_OPTIONS: dict[str, dict[str, object]] = {
    "greedy": {},
    "minimax": {"level": None, "depth": 4, "nodes": None, "seconds": None},
    "policy": {"device": "cpu"},
    "ppo": {"device": "cpu"},
    "alphazero": {"device": "cpu", "simulations": 64, "seconds": None},
}


def decision_hash(spec: str, game: Game) -> str | None:
    """Return 16 hex digits from the decisions of a player in positions of random games.

    They change with the weights, the evaluation and the search, but not with limits of depth,
    nodes, simulations or time, nor with the processor. None for players other than greedy, minimax,
    policy, ppo and alphazero. Raises as `make_player`.
    """
    name = spec.partition(":")[0]
    if name not in _OPTIONS:
        return None
    # The values of the networks of earlier versions depended on the system's tanh.
    decimals = 3 if "device" in _OPTIONS[name] else 6
    options = _OPTIONS[name]
    if "temperature=" in spec:
        # All actions are compared, which takes longer.
        options = options | {"depth": 2}
    player = make_player(spec, game, **options)
    decisions = []
    for turns in _TURNS:
        rng = np.random.default_rng(turns)
        position = play_random_turns(game, turns, rng)
        if game.outcome(position) == ONGOING:
            decision = player.choose(position, rng, Clock())
            decisions.append((decision.action, round(decision.value or 0, decimals)))
    return hashlib.sha256(json.dumps(decisions).encode()).hexdigest()[:16]


def is_stale(rung: Rung, game: Game) -> bool:
    """Return whether a rung's player decides otherwise than when its Elo was measured.

    That takes a few seconds, a minute if nothing is compiled. Raises as `make_player`.
    """
    return decision_hash(rung.spec, game) != rung.decisions
