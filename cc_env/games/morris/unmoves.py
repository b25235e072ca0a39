"""The unmoves of morris: beads move back along lines, or from anywhere if their move was free.

A turn is quiet if it completes no mill; the next move of its player is then not free.

Shapes: M positions, F fields of a position.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, lowest_bit, lowest_index
from cc_env.core.rules import Int
from cc_env.games.morris.rules import ALL, NEIGHBORS, NEVER_FREE, Position, can_fly, mills
from cc_env.jit.compiler import jit


@jit
def unmoves(position: Position, out: NDArray[np.uint64]) -> Int:
    """Write the positions from which a quiet turn leads here, after a pass, to uint64[M, F].

    Return their number.
    """
    count: Int = np.int64(0)
    if position.enemy_free:
        return count
    count = _add_unmoves(position, out, count)
    if not position.options & NEVER_FREE:
        own, enemy, own_hand, enemy_hand, own_free, _, pending, player, options = position
        free = Position(own, enemy, own_hand, enemy_hand, own_free, ONE, pending, player, options)
        count = _add_unmoves(free, out, count)
    return count


@jit
def _add_unmoves(position: Position, out: NDArray[np.uint64], count: Int) -> Int:
    """Append the positions before a move that was free if `enemy_free`; return the new count."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options = position
    empty = ALL & ~(own | enemy)
    is_free = can_fly(pass_turn(position))
    beads = enemy
    while beads:
        end = lowest_bit(beads)
        beads ^= end
        point = lowest_index(end)
        if mills(enemy ^ end, point):
            continue
        starts = empty if is_free else empty & NEIGHBORS[point]
        while starts:
            start = lowest_bit(starts)
            starts ^= start
            before = enemy ^ start ^ end
            rules.store(
                Position(
                    own,
                    before,
                    own_hand,
                    enemy_hand,
                    own_free,
                    enemy_free,
                    pending,
                    player,
                    options,
                ),
                out[count],
            )
            count += 1
    return count


@jit
def pass_turn(position: Position) -> Position:
    """Return the position with the other player to move."""
    own, enemy, own_hand, enemy_hand, own_free, enemy_free, pending, player, options = position
    return Position(
        enemy, own, enemy_hand, own_hand, enemy_free, own_free, pending, player ^ ONE, options
    )


rules.register_unmoves(Position, unmoves=unmoves, pass_turn=pass_turn)
