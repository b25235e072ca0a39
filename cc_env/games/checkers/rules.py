"""The compiled rules of checkers; the package's docstring describes positions and actions.

Shapes: A actions; C planes, H rows and W columns of an observation; K sets of a numbering.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.bitboard import ONE, ZERO, reverse_bits
from cc_env.core.rules import DRAW, ONGOING, Bool, Int
from cc_env.games.jumps import (
    BACKWARD,
    FORWARD,
    Movers,
    Word,
    jumpers,
    make_jump_tables,
    movable,
    steppers,
    write,
)
from cc_env.jit.compiler import jit

SIZE = 8
PLANES = "own men", "own kings", "enemy men", "enemy kings", "piece that must continue capturing"

# The crowning row: row 0 in the mover's frame.
_FAR_ROW = np.uint64(0xFF)

# The cells in use, and the tables of actions, see `jumps.JumpTables`.
CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r + c) % 2 == 0]
USED = np.uint64(sum(1 << (8 * row + column) for row, column in CELLS))
STARTS, ENDINGS, JUMPED, STEP_ID, JUMP_ID = make_jump_tables(CELLS, (*FORWARD, *BACKWARD))


class Position(NamedTuple):
    """A position; the package's docstring describes the fields."""

    own: np.uint64
    enemy: np.uint64
    kings: np.uint64
    jumper: np.uint64
    idle: np.uint64
    player: np.uint64
    options: np.uint64


def initial(crowning_ends_move: bool, no_progress_limit: int) -> Position:
    """Return the start position; a `no_progress_limit` of 0 means none."""
    own = sum(1 << (8 * row + column) for row, column in CELLS if row > 4)
    enemy = sum(1 << (8 * row + column) for row, column in CELLS if row < 3)
    options = np.uint64(2 * no_progress_limit + crowning_ends_move)
    return Position(np.uint64(own), np.uint64(enemy), ZERO, ZERO, ZERO, ZERO, options)


@jit
def legal_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the legal actions, ascending, into `out` (int32[>= A]); return their number."""
    jumps = jumping(position, position.jumper if position.jumper else position.own)
    if position.jumper or movable(jumps):
        return write(jumps, JUMP_ID, out)
    return write(stepping(position), STEP_ID, out)


@jit
def jumping(position: Position, pieces: Word) -> Movers:
    """Return the pieces of `pieces` that can jump, by direction."""
    empty = ~(position.own | position.enemy)
    return jumpers(pieces, pieces & position.kings, position.enemy, empty)


@jit
def stepping(position: Position) -> Movers:
    """Return the pieces of the player to move that can step, by direction."""
    own, empty = position.own, ~(position.own | position.enemy)
    return steppers(own, own & position.kings, empty)


@jit
def apply(position: Position, action: Int) -> Position:
    """Return the position after a legal action."""
    start, end = ONE << STARTS[action], ONE << ENDINGS[action]
    captured = JUMPED[action]
    is_man = not position.kings & start
    is_crowned = is_man and end & _FAR_ROW
    kings = position.kings & ~(start | captured)
    if is_crowned or not is_man:
        kings |= end
    own, enemy = position.own ^ start ^ end, position.enemy ^ captured
    ends_move = is_crowned and position.options & ONE
    if captured and not ends_move:
        after = Position(own, enemy, kings, end, ZERO, position.player, position.options)
        if movable(jumping(after, end)):
            return after
    idle = ZERO if captured or is_man else position.idle + ONE
    return Position(
        reverse_bits(enemy),
        reverse_bits(own),
        reverse_bits(kings),
        ZERO,
        idle,
        position.player ^ ONE,
        position.options,
    )


@jit
def mid_turn(position: Position) -> bool:
    """Return whether a piece must continue its jump."""
    return True if position.jumper else False  # noqa: SIM210 (compiled)


@jit
def outcome(position: Position) -> Int:
    """Return the winner if the player to move has no move, DRAW at the limit, else ONGOING."""
    if position.jumper:
        return ONGOING
    if not movable(stepping(position)) and not movable(jumping(position, position.own)):
        return 1 - np.int64(position.player)
    return DRAW if is_idle(position) else ONGOING


@jit
def is_idle(position: Position) -> Bool:
    """Return whether the limit of turns without a capture or a man's step is reached."""
    limit = no_progress_limit(position)
    return bool(limit and position.idle >= limit)


@jit
def no_progress_limit(position: Position) -> np.uint64:
    """Return the number of turns without progress that draws the game, 0 for no limit."""
    return position.options >> ONE


@jit
def observe(position: Position, player: Int, planes: NDArray[np.int8]) -> None:
    """Write the planes named in PLANES, in the frame of `player`, into int8[C, H, W]."""
    own, enemy, kings, jumper = position.own, position.enemy, position.kings, position.jumper
    if player != np.int64(position.player):
        own, enemy, kings, jumper = (
            reverse_bits(enemy),
            reverse_bits(own),
            reverse_bits(kings),
            reverse_bits(jumper),
        )
    layers = own & ~kings, own & kings, enemy & ~kings, enemy & kings, jumper
    for plane, cells in enumerate(layers):
        for cell in range(64):
            planes[plane, cell >> 3, cell & 7] = cells >> np.uint64(cell) & ONE


@jit
def tactical_actions(position: Position, out: NDArray[np.int32]) -> int:
    """Write the captures into `out` (int32[>= A]); return their number."""
    pieces = position.jumper if position.jumper else position.own
    return write(jumping(position, pieces), JUMP_ID, out)


@jit
def key(position: Position) -> np.uint64:
    """Return a hash of all fields but `idle`, the number of turns without progress."""
    own, enemy, kings, jumper, _, player, options = position
    return rules.hash_fields(Position(own, enemy, kings, jumper, ZERO, player, options))


@jit
def turns_to_draw(position: Position) -> Int:
    """Return the number of turns without progress until a draw, UNLIMITED if there is none."""
    limit = no_progress_limit(position)
    return np.int64(limit - min(limit, position.idle)) if limit else np.int64(rules.UNLIMITED)


rules.register(
    Position,
    legal_actions=legal_actions,
    apply=apply,
    mid_turn=mid_turn,
    outcome=outcome,
    observe=observe,
    tactical_actions=tactical_actions,
    key=key,
    turns_to_draw=turns_to_draw,
)


@jit
def to_sets(position: Position) -> tuple[Word, Word, Word, Word]:
    """Return the own men, the enemy men, the own kings and the enemy kings."""
    own, enemy, kings = position.own, position.enemy, position.kings
    return own & ~kings, enemy & ~kings, own & kings, enemy & kings


@jit
def from_sets(sets: NDArray[np.uint64], state: Int, like: Position) -> Position:
    """Return the position with these sets (uint64[K]), the first player to move."""
    own, enemy, kings = sets[0] | sets[2], sets[1] | sets[3], sets[2] | sets[3]
    return Position(own, enemy, kings, ZERO, ZERO, ZERO, like.options)


rules.register_numbering(Position, to_sets=to_sets, from_sets=from_sets)
rules.register_inputs(Position, to_sets)
