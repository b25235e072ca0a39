"""Values in 16 bits: the result, the margin, and the number of turns to the end of the game.

    bit 15 set if the player to move loses · bits 10 to 14 the margin · bits 0 to 9 the turns

A draw is 0. The winner takes the greatest margin it can, then the fewest turns; the loser the
smallest margin, then the most turns. Only turns are counted, not the decisions within them.
"""

import numpy as np

from cc_env.core import rules
from cc_env.core.rules import DRAW, ONGOING, Int, Position
from cc_env.jit.compiler import jit

DRAW_VALUE, UNKNOWN = 0, 0xFFFF
MAX_TURNS, MAX_MARGIN = 1022, 31
LOST, MARGIN_SHIFT = 1 << 15, 10
VALUE_NAMES = {1: "won", 0: "drawn", -1: "lost"}

_TURNS = (1 << MARGIN_SHIFT) - 1


@jit
def win_value(margin: Int, turns: Int) -> Int:
    """Return the value of a win."""
    return np.int64(margin << MARGIN_SHIFT | turns)


@jit
def loss_value(margin: Int, turns: Int) -> Int:
    """Return the value of a loss."""
    return np.int64(LOST | margin << MARGIN_SHIFT | turns)


@jit
def turns_of(value: Int) -> Int:
    """Return the number of turns to the end of the game, including the last; 0 for a draw."""
    return value & _TURNS


@jit
def margin_of(value: Int) -> Int:
    """Return the margin of the win or loss; 0 for a draw."""
    return (value & (LOST - 1)) >> MARGIN_SHIFT


@jit
def result_of(value: Int) -> Int:
    """Return 1 for a win, -1 for a loss, 0 for a draw."""
    return np.int64(0) if value == DRAW_VALUE else np.int64(-1 if value & LOST else 1)


@jit
def ordering(value: Int) -> Int:
    """Return a number that is greater for values that are better for the player to move.

    It is positive for a win, 0 for a draw and negative for a loss. Its magnitude grows with the
    margin, and for equal margins with fewer turns.
    """
    if value == DRAW_VALUE:
        return np.int64(0)
    magnitude = margin_of(value) << MARGIN_SHIFT | (_TURNS - turns_of(value))
    return np.int64(-magnitude if value & LOST else magnitude)


@jit
def value_before_turn(value: Int) -> Int:
    """Return the value of a turn to its player, given the opponent's `value` after it.

    Toggling the bit LOST swaps win and loss; adding 1 counts the turn, in the lowest bits.
    """
    return np.int64(DRAW_VALUE) if value == DRAW_VALUE else (value ^ LOST) + 1


@jit
def terminal_value(position: Position) -> Int:
    """Return the value of a finished game; UNKNOWN for an unfinished one."""
    result = rules.outcome(position)
    if result == ONGOING:
        return np.int64(UNKNOWN)
    if result == DRAW:
        return np.int64(DRAW_VALUE)
    margin = np.int64(rules.margin(position))
    is_won = result == rules.to_move(position)
    return win_value(margin, np.int64(0)) if is_won else loss_value(margin, np.int64(0))
