"""Random openings: positions after random turns, for tournaments, training and tuning."""

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption

TRIES = 200  # random games in a row without a new opening, after which a repeated one is used
STREAM = 0  # index of this random stream among those of a tournament's seed


def after_random_turns(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return the position after `turns` random turns, or at the end of the game if earlier."""
    position = game.initial
    played = 0
    while played < turns and game.outcome(position) == ONGOING:
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        played += not game.mid_turn(position)
    return position


def opening(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return an unfinished position after 0 to `turns` random turns."""
    while True:
        position = after_random_turns(game, int(rng.integers(turns + 1)), rng)
        if game.outcome(position) == ONGOING:
            return position


def openings(game: Game, turns: int, count: int, seed: int) -> list[str]:
    """Return `count` positions after `turns` random turns, as text; distinct, if there are enough.

    Raises BadOption if random games do not last that long.
    """
    rng = np.random.default_rng((seed, STREAM))
    texts: list[str] = []
    tries = 0
    while len(texts) < count:
        position = after_random_turns(game, turns, rng)
        tries += 1
        if game.outcome(position) == ONGOING:
            text = game.to_text(position)
            if text not in texts or tries > TRIES:
                texts.append(text)
                tries = 0
        elif tries > TRIES:
            raise BadOption(f"opening_turns={turns}: games of {game!r} end earlier; fewer will do")
    return texts
