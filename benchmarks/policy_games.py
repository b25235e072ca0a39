"""Games of a random player against a policy in one compiled loop, without an environment."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.rules import ONGOING, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.policies import decide

# Longer games are ended, as in environments.
MAX_TURNS = 200


@jit(nogil=True)
def play(
    start: Position, packed_policy: Any, steps: Int, legal: NDArray[np.int32], state: np.uint64
) -> np.uint64:
    """Play games until the random player has made `steps` decisions; return the random state.

    The players change seats after each game. `legal`, int32[num_actions], is a buffer.
    """
    policy, legal = as_raw(packed_policy), as_raw(legal)
    decisions, seat = 0, 0
    while decisions < steps:
        position, turns = start, 0
        while rules.outcome(position) == ONGOING and turns < MAX_TURNS:
            state = random_streams.advance(state)
            if rules.to_move(position) == seat:
                count = rules.legal_actions(position, legal)
                action = np.int64(legal[random_streams.below(state, count)])
                decisions += 1
            else:
                action = np.int64(decide(policy, position, state))
            position = rules.apply(position, action)
            turns += not rules.mid_turn(position)
        seat = 1 - seat
    return state
