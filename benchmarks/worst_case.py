"""Search for positions in which C&C's move generator is slow, and the worst known ones.

    python -m benchmarks.worst_case --seconds 60

Hill climbing on crowded 8x8 boards: change a few cells, and keep the change unless full generation
(legal actions, and the captures after each) becomes faster.
"""

import argparse
import re
import time
from collections.abc import Callable
from functools import partial
from timeit import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.games.factory import make_game
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


class Cost(NamedTuple):
    """The cost of a position in microseconds.

    legal
        Generating the legal actions.
    slowest
        Playing the slowest action, including the generation of its capture decisions.
    everything
        Generating and playing all legal actions.
    """

    legal: float
    slowest: float
    everything: float


@jit
def _legal(position: Position, generations: int, out: NDArray[np.int32]) -> int:
    """Generate the legal actions `generations` times; return their total number."""
    actions = 0
    for _ in range(generations):
        actions += rules.legal_actions(position, out)
    return actions


@jit
def _everything(position: Position, out: NDArray[np.int32]) -> int:
    """Play every legal action; return the number of unfinished turns."""
    captures = 0
    for index in range(rules.legal_actions(position, out)):
        captures += rules.mid_turn(rules.apply(position, np.int64(out[index])))
    return captures


def cost(game: Game, position: Position, repeats: int = 5) -> Cost:
    """Measure a position; return minima over repeats, since other programs interfere."""
    out = np.empty(game.num_actions, np.int32)
    legal = _microseconds(lambda: _legal(position, GENERATIONS, out), repeats) / GENERATIONS
    slowest = max(
        _microseconds(partial(rules.apply, position, action), repeats)
        for action in map(int, game.legal_actions(position))
    )
    return Cost(legal, slowest, _microseconds(lambda: _everything(position, out), repeats))


def _microseconds(call: Callable[[], object], repeats: int) -> float:
    """Return the minimum duration of a call, in microseconds."""
    return 1e6 * min(repeat(call, number=1, repeat=repeats))


def search(seconds: float, seed: int) -> None:
    """Print each position that is worse than all earlier ones, until the time is up."""
    game = make_game("capture_conquer", size=8)
    # Compile before the first measurement.
    cost(game, game.initial)
    rng = np.random.default_rng(seed)
    until = time.monotonic() + seconds
    worst = 0.0
    while time.monotonic() < until:
        text, costs = _climb(game, rng, until)
        if costs.slowest > worst:
            worst = costs.slowest
            line = f"legal {costs.legal:.0f} us, slowest {costs.slowest:.0f} us"
            print(f"{line}, everything {costs.everything:.0f} us: {text}", flush=True)


def _climb(game: Game, rng: np.random.Generator, until: float) -> tuple[str, Cost]:
    """Improve a position by random changes until 1000 fail; return it as text, and its cost."""
    cells = _cells(rng.choice(list(WORST))) if rng.random() < 0.5 else _crowded(rng)
    best = cost(game, _position(game, cells), 1)
    out = np.empty(game.num_actions, np.int32)
    stale = 0
    while stale < 1000 and time.monotonic() < until:
        changed = cells.copy()
        for _ in range(rng.integers(1, 4)):
            changed[rng.integers(8), rng.integers(8)] = rng.choice(list(".br"))
        if "b" not in changed or "r" not in changed:
            continue
        position = _position(game, changed)
        if game.outcome(position) != ONGOING:
            continue
        everything = _microseconds(partial(_everything, position, out), 2)
        stale = 0 if everything > best.everything * 1.02 else stale + 1
        if everything >= best.everything:
            cells, best = changed, best._replace(everything=everything)
    position = _position(game, cells)
    return game.to_text(position), cost(game, position)


def _crowded(rng: np.random.Generator) -> NDArray[np.str_]:
    """Return a crowded board, nearly empty where row and column are both even.

    A hop keeps these parities: the few pieces there can hop over many pieces to many empty cells.
    """
    cells = rng.choice(list("bbbr."), (8, 8))
    cells[::2, ::2] = rng.choice(list("b........"), (4, 4))
    return cells


def _cells(text: str) -> NDArray[np.str_]:
    """Return the letters of a position text, str[8, 8]."""
    rows = re.sub(r"\d", lambda digit: "." * int(digit[0]), text.split()[0]).split("/")
    return np.array([list(row) for row in rows])


def _position(game: Game, cells: NDArray[np.str_]) -> Position:
    """Return the position with these letters, str[8, 8], and blue to move."""
    return game.from_text(f"{'/'.join(map(''.join, cells))} b")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    search(**vars(parser.parse_args()))
