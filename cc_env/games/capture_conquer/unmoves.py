"""The unmoves of C&C: steps backward, and chains over own pieces, whose reverse is such a chain.

A turn is quiet if it captures nothing.

Shapes: M positions, F fields of a position.
"""

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, lowest_bit
from cc_env.core.rules import Int
from cc_env.games.capture_conquer.chains import (
    Field,
    Word,
    between,
    ends_capturing,
    hops_over,
    reachable,
    remove_victim,
    takeoffs,
)
from cc_env.games.capture_conquer.rules import BOARD, Position, play_jump, rotate, steps
from cc_env.jit.compiler import jit


@jit
def unmoves(position: Position, out: NDArray[np.uint64]) -> Int:
    """Write the positions from which a quiet turn leads here, after a pass, to uint64[M, F].

    Return their number.
    """
    own, pieces, pending, player, size = position
    empty = BOARD[size] & ~(own | pieces)
    hops = hops_over(pieces, empty)
    count: Int = np.int64(0)
    remaining = pieces
    while remaining:
        end = lowest_bit(remaining)
        remaining ^= end
        # The opponent's steps lead away from the far corner of the player to move.
        starts = steps(end, empty) | reachable(end, hops, pieces, empty) ^ end
        while starts:
            start = lowest_bit(starts)
            starts ^= start
            before = Position(own, pieces ^ start ^ end, pending, player, size)
            rules.store(before, out[count])
            count += 1
    return count


@jit
def turns(position: Position, legal: NDArray[np.int32], out: NDArray[np.uint64]) -> Int:
    """Write the positions after all turns to uint64[M, F]; return their number.

    All chains of a piece that capture the same victim are found together. `legal` is not used.
    """
    own, enemy, size = position.own, position.enemy, position.size
    empty = BOARD[size] & ~(own | enemy)
    over_own, over_enemy = hops_over(own, empty), takeoffs(hops_over(enemy, empty))
    field = Field(own, own | enemy, empty, hops_over(own | enemy, empty))
    count: Int = np.int64(0)
    pieces = own
    while pieces:
        start = lowest_bit(pieces)
        pieces ^= start
        before = reachable(start, over_own, own, empty)
        ends = steps(start, empty) | before ^ start
        count = _write_turns(position, start, ends, ZERO, out, count)
        victims = between(before, empty, enemy) if before & over_enemy else ZERO
        while victims:
            victim = lowest_bit(victims)
            victims ^= victim
            ends = ends_capturing(start, before, victim, empty, remove_victim(victim, field))
            count = _write_turns(position, start, ends, victim, out, count)
    return count


@jit
def _write_turns(
    position: Position, start: Word, ends: Word, victim: Word, out: NDArray[np.uint64], count: Int
) -> Int:
    """Append the positions after the turns from `start` to `ends`; return the new count."""
    while ends:
        end = lowest_bit(ends)
        ends ^= end
        rules.store(play_jump(position, start, end, victim), out[count])
        count += 1
    return count


@jit
def pass_turn(position: Position) -> Position:
    """Return the position with the other player to move."""
    own, enemy = rotate(position.enemy, position.size), rotate(position.own, position.size)
    return Position(own, enemy, ZERO, position.player ^ ONE, position.size)


rules.register_unmoves(Position, unmoves=unmoves, pass_turn=pass_turn, turns=turns)
