"""Random openings: positions after random turns, for tournaments, training and tuning."""

from collections.abc import Callable

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption

# Random games in a row without a new opening, after which openings may repeat.
MAX_TRIES = 200

# Index of this random stream among those of a tournament's seed.
OPENING_STREAM = 0


def play_random_turns(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return the position after `turns` random turns, or the final one if the game ends earlier."""
    position = game.initial
    turns_played = 0
    while turns_played < turns and game.outcome(position) == ONGOING:
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        turns_played += not game.mid_turn(position)
    return position


def random_opening(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return an unfinished position after 0 to `turns` random turns."""
    while True:
        position = play_random_turns(game, int(rng.integers(turns + 1)), rng)
        if game.outcome(position) == ONGOING:
            return position


def exact_opening(
    game: Game,
    turns: int,
    rng: np.random.Generator,
    accepts: Callable[[Position], bool] = lambda position: True,
) -> Position:
    """Return an unfinished position after `turns` random turns that `accepts`.

    Raises BadOption if MAX_TRIES random games in a row have none.
    """
    for _ in range(MAX_TRIES):
        position = play_random_turns(game, turns, rng)
        if game.outcome(position) == ONGOING and accepts(position):
            return position
    raise _end_earlier(game, turns)


def _end_earlier(game: Game, turns: int) -> BadOption:
    return BadOption(f"opening_turns={turns}: games of {game!r} end earlier; use fewer")


def random_openings(game: Game, turns: int, count: int, seed: int) -> list[str]:
    """Return `count` positions after `turns` random turns as texts, distinct ones if possible.

    Raises BadOption if random games end earlier.
    """
    rng = np.random.default_rng((seed, OPENING_STREAM))
    texts: list[str] = []
    distinct: set[str] = set()
    tries = 0
    may_repeat = False
    while len(texts) < count:
        position = play_random_turns(game, turns, rng)
        tries += 1
        may_repeat = may_repeat or tries > MAX_TRIES
        if game.outcome(position) == ONGOING:
            text = game.to_text(position)
            if may_repeat or text not in distinct:
                texts.append(text)
                distinct.add(text)
                tries = 0
        elif tries > MAX_TRIES:
            raise _end_earlier(game, turns)
    return texts
