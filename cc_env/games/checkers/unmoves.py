"""The unmoves of checkers: steps backward by men, and in all directions by kings.

A turn is quiet if it is a step that crowns no man. It is legal only if no capture is possible.

Shapes: M positions, F fields of a position.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit, reverse_bits
from cc_env.core.rules import Int
from cc_env.games.checkers.rules import USED, Position, jumping
from cc_env.games.jumps import down_left, down_right, movable, up_left, up_right
from cc_env.jit.compiler import jit


@jit
def unmoves(position: Position, out: NDArray[np.uint64]) -> Int:
    """Write the positions from which a quiet turn leads here, after a pass, to uint64[M, F].

    Return their number.
    """
    own, enemy, kings, jumper, idle, player, options = position
    empty = USED & ~(own | enemy)
    count: Int = np.int64(0)
    pieces = enemy
    while pieces:
        end = lowest_bit(pieces)
        pieces ^= end
        # The opponent's men step down, in the frame of the player to move.
        starts = up_left(end) | up_right(end)
        if end & kings:
            starts |= down_left(end) | down_right(end)
        starts &= empty
        while starts:
            start = lowest_bit(starts)
            starts ^= start
            kings_before = kings ^ start ^ end if end & kings else kings
            enemy_before = enemy ^ start ^ end
            before = Position(own, enemy_before, kings_before, jumper, idle, player, options)
            passed = pass_turn(before)
            if not movable(jumping(passed, passed.own)):
                rules.store(before, out[count])
                count += 1
    return count


@jit
def pass_turn(position: Position) -> Position:
    """Return the position with the other player to move."""
    return Position(
        reverse_bits(position.enemy),
        reverse_bits(position.own),
        reverse_bits(position.kings),
        ZERO,
        position.idle,
        position.player ^ ONE,
        position.options,
    )


rules.register_unmoves(Position, unmoves=unmoves, pass_turn=pass_turn)
