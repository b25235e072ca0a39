"""A hash of the decisions of a player, which states whether its search or evaluation changed."""

import hashlib
import json
import platform

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING
from cc_env.jit.simd import HAS_BYTE_PRODUCTS
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
# Whether networks have the same outputs on this processor as on others: x86 with products of bytes.
_HAS_REFERENCE_OUTPUTS = HAS_BYTE_PRODUCTS and platform.machine() in ("x86_64", "AMD64")


def decision_hash(spec: str, game: Game) -> str | None:
    """Return 16 hex digits from the decisions of a player in positions of random games.

    They change with the weights, the evaluation and the search, but not with limits of depth,
    nodes, simulations or time. None for players other than greedy, minimax, policy, ppo and
    alphazero, and for those with networks on processors other than x86 with products of bytes.
    Raises as `make_player`.
    """
    name = spec.partition(":")[0]
    if name not in _OPTIONS:
        return None
    has_network = "device" in _OPTIONS[name]
    if has_network and not _HAS_REFERENCE_OUTPUTS:
        return None
    # Values of networks may differ slightly between versions of the system's functions.
    decimals = 3 if has_network else 6
    player = make_player(spec, game, **_OPTIONS[name])
    decisions = []
    for turns in _TURNS:
        rng = np.random.default_rng(turns)
        position = play_random_turns(game, turns, rng)
        if game.outcome(position) == ONGOING:
            decision = player.choose(position, rng, Clock())
            decisions.append((decision.action, round(decision.value or 0, decimals)))
    return hashlib.sha256(json.dumps(decisions).encode()).hexdigest()[:16]
