"""The worst known positions for C&C's move generator, and what they cost.

They were found by hill climbing on crowded 8x8 boards: change a few cells, and keep the change
unless full generation (legal actions, and the captures after each) becomes faster.
"""

from collections.abc import Callable
from functools import partial
from timeit import repeat

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Position
from cc_env.jit.compiler import jit

WORST = (
    "1b1r3r/bb1b1bb1/8/bb1b1b1b/5r1r/bbbbrbb1/1b1rbr1r/1brrbbbb b",
    "br1b1b1b/rbbb1b2/5b2/bb1b1bbb/7r/1b1b1bb1/1b3r1b/rrrb1bbb b",
    "1b1r1b2/bb1b1bbr/1b3b2/rb1bbb1b/br1r3r/rbrb1br1/1b1r1b1b/rrrbrbbr b",
    "1r3r2/rb1b1bbr/br5r/rb1b1bb1/1r5b/bb1b1bbr/1b1b1b1b/b2r1r2 b",
    "1b1r1r2/rbb1bbr1/br5r/rbb1bbbr/1b6/bb2bbbb/1b1b1b1b/rrrb2bb b",
)

# Generations of the legal actions per measurement: a call from Python takes longer than one.
GENERATIONS = 1000
REPEATS = 5


@jit
def _generate_legal(position: Position, generations: int, out: NDArray[np.int32]) -> int:
    """Generate the legal actions `generations` times; return their total number."""
    actions = 0
    for _ in range(generations):
        actions += rules.legal_actions(position, out)
    return actions


def legal_microseconds(game: Game, position: Position) -> float:
    """Return the time to generate the legal actions."""
    out = np.empty(game.num_actions, np.int32)
    return _microseconds(partial(_generate_legal, position, GENERATIONS, out)) / GENERATIONS


def slowest_microseconds(game: Game, position: Position) -> float:
    """Return the time of the slowest action, with the generation of its capture decisions."""
    actions = game.legal_actions(position).tolist()
    return max(_microseconds(partial(rules.apply, position, action)) for action in actions)


def _microseconds(call: Callable[[], object]) -> float:
    """Return the minimum duration of a call over REPEATS, since other programs interfere."""
    return 1e6 * min(repeat(call, number=1, repeat=REPEATS))
