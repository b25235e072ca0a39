"""Positions after random turns, for games to begin in: of tournaments, of learners, of tuning."""

import numpy as np

from cc_env.errors import UnknownOption
from cc_env.game import Game
from cc_env.rules import ONGOING, Position

TRIES = 200  # random openings before one that was there already will do
STREAM = 0  # of random numbers, of those that the seed of a tournament has


def after_random_turns(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return a position after so many random turns, or at the end of the game if that is sooner."""
    position = game.initial
    played = 0
    while played < turns and game.outcome(position) == ONGOING:
        position = game.apply(position, int(rng.choice(game.legal_actions(position))))
        played += not game.mid_turn(position)
    return position


def opening(game: Game, turns: int, rng: np.random.Generator) -> Position:
    """Return a position after 0 to `turns` random turns, in which the game goes on."""
    while True:
        position = after_random_turns(game, int(rng.integers(turns + 1)), rng)
        if game.outcome(position) == ONGOING:
            return position


def openings(game: Game, turns: int, count: int, seed: int) -> list[str]:
    """Return `count` texts of positions after random turns, distinct as far as there are so many.

    Raises UnknownOption where random play does not last so many turns.
    """
    rng = np.random.default_rng((seed, STREAM))
    found: list[str] = []
    tries = 0
    while len(found) < count:
        position = after_random_turns(game, turns, rng)
        tries += 1
        if game.outcome(position) == ONGOING:
            text = game.to_text(position)
            if text not in found or tries > TRIES:
                found.append(text)
                tries = 0
        elif tries > TRIES:
            raise UnknownOption(
                f"opening_turns={turns}: games of {game!r} end before; fewer will do"
            )
    return found
