"""Perft: the number of sequences of turns of a length, the standard test of move generators."""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Bool, Position
from cc_env.errors import BadOption, is_integer
from cc_env.jit.compiler import jit


def perft(game: Game, position: Position, depth: int, *, decisions: bool = False) -> int:
    """Return the number of sequences of `depth` turns; finished games are not extended.

    With `decisions`, sequences of `depth` decisions, of which a turn may take several. Raises
    BadOption for a depth below 0.
    """
    if not is_integer(depth, 0):
        raise BadOption(f"perft: depth={depth!r}; it is 0 or more")
    free = np.empty(0, np.int32)
    return int(_perft(position, depth, free, game.num_actions, decisions)) if depth else 1


@jit
def _perft(
    position: Position, depth: int, free: NDArray[np.int32], most: int, decisions: Bool
) -> int:
    """Count below `position`; `free`, int32[>= 0], is room for lists of `most` actions at most."""
    if rules.outcome(position) != ONGOING:
        return 0
    if free.size < most:
        free = np.empty(16 * most, np.int32)
    count = rules.legal_actions(position, free)
    total = 0
    for index in range(count):
        after = rules.apply(position, np.int64(free[index]))
        if rules.mid_turn(after) and not decisions:
            total += _perft(after, depth, free[count:], most, decisions)
        elif depth == 1:
            total += 1
        else:
            total += _perft(after, depth - 1, free[count:], most, decisions)
    return total
