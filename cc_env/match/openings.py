"""Random openings: positions after random turns, for tournaments, training and tuning."""

import numpy as np

from cc_env.core.game import Game
from cc_env.core.rules import ONGOING, Position
from cc_env.errors import BadOption

MAX_TRIES = 200  # random games in a row without a new opening, after which a repeated one is used
OPENING_STREAM = 0  # index of this random stream among those of a tournament's seed


def play_random_turns(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return the position after `turns` random turns, or at the end of the game if earlier."""
    position = game.initial
    played = 0
    while played < turns and game.outcome(position) == ONGOING:
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        played += not game.mid_turn(position)
    return position


def random_opening(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return an unfinished position after 0 to `turns` random turns."""
    while True:
        position = play_random_turns(game, int(rng.integers(turns + 1)), rng)
        if game.outcome(position) == ONGOING:
            return position


def random_openings(game: Game, turns: int, count: int, seed: int) -> list[str]:
    """Return `count` positions after `turns` random turns, as text; distinct, if there are enough.

    Raises BadOption if random games do not last that long.
    """
    rng = np.random.default_rng((seed, OPENING_STREAM))
    texts: list[str] = []
    tries = 0
    while len(texts) < count:
        position = play_random_turns(game, turns, rng)
        tries += 1
        if game.outcome(position) == ONGOING:
            text = game.to_text(position)
            if text not in texts or tries > MAX_TRIES:
                texts.append(text)
                tries = 0
        elif tries > MAX_TRIES:
            raise BadOption(f"opening_turns={turns}: games of {game!r} end earlier; fewer will do")
    return texts
