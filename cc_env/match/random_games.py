"""Compiled games between random players, for statistics and benchmarks.

Shapes: A actions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.jit.compiler import jit


class RandomGameCounts(NamedTuple):
    """Results of random games, and their total numbers of turns and decisions.

    Unfinished games reached `max_turns`.
    """

    first_wins: int
    second_wins: int
    draws: int
    unfinished: int
    turns: int
    decisions: int


def play_random_games(
    game: Game, games: int, seed: int = 0, max_turns: int = 1000
) -> RandomGameCounts:
    """Play `games` games from the initial position, choosing uniformly among legal actions."""
    counts = np.zeros(len(RandomGameCounts._fields), np.int64)
    state = random_streams.streams(seed, 1)[0]
    _play_games(game.initial, games, state, max_turns, np.empty(game.num_actions, np.int32), counts)
    return RandomGameCounts(*counts.tolist())


@jit
def _play_games(
    start: Position,
    games: int,
    state: np.uint64,
    max_turns: int,
    legal: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Add results to `counts`, int64[6] as RandomGameCounts; `legal`, int32[A], is a buffer."""
    for _ in range(games):
        position = start
        turns = 0
        result = rules.outcome(position)
        while result == ONGOING and turns < max_turns:
            count = rules.legal_actions(position, legal)
            position = rules.apply(position, np.int64(legal[random_streams.below(state, count)]))
            state = random_streams.advance(state)
            turns += not rules.mid_turn(position)
            counts[5] += 1
            result = rules.outcome(position)
        counts[result if result != ONGOING else 3] += 1
        counts[4] += turns
