"""Perft: the number of turn sequences of a given length, the standard test of move generators."""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Bool, Position
from cc_env.errors import check_integer
from cc_env.jit.compiler import jit


def perft(game: Game, position: Position, depth: int, *, decisions: bool = False) -> int:
    """Return the number of sequences of `depth` turns from a position.

    Finished games are not extended. With `decisions`, count sequences of `depth` decisions, several
    of which may make up a turn. Raises BadOption for a depth below 0.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> from cc_env.verification.perft import perft
        >>> [perft(game, game.initial, depth) for depth in range(4)]
        [1, 16, 257, 4945]
    """
    check_integer("perft: depth", depth, 0)
    buffer = np.empty(0, np.int32)
    return int(_perft(position, depth, buffer, game.num_actions, decisions)) if depth else 1


@jit
def _perft(
    position: Position, depth: int, buffer: NDArray[np.int32], num_actions: int, decisions: Bool
) -> int:
    """Return the number of sequences of `depth` turns from a position, or of `depth` decisions.

    `buffer`, int32[>= 0], is scratch memory for lists of actions.
    """
    if rules.outcome(position) != ONGOING:
        return 0
    if buffer.size < num_actions:
        buffer = np.empty(16 * num_actions, np.int32)
    count = rules.legal_actions(position, buffer)
    total = 0
    for index in range(count):
        after = rules.apply(position, np.int64(buffer[index]))
        if rules.mid_turn(after) and not decisions:
            total += _perft(after, depth, buffer[count:], num_actions, decisions)
        elif depth == 1:
            total += 1
        else:
            total += _perft(after, depth - 1, buffer[count:], num_actions, decisions)
    return total
