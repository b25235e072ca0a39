"""Which games a tournament consists of: every pair in both seats from the same openings.

It goes opening by opening, then pair by pair, then seat by seat, so that any beginning of it is a
fair tournament. All of it follows from the config.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

import agents  # noqa: F401  adds its players to the table of spoken names
from cc_env import __version__, games, players
from cc_env.errors import BadOption, BadPlayer, UnknownOption, is_whole, listed
from cc_env.game import Game
from cc_env.match import Limits
from cc_env.openings import openings
from cc_env.referee import Player
from training.config import check_wholes

GAMES = 1  # the stream of random numbers that seeds come from; 0 is that of `cc_env.openings`


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tournament. The same config is the same games, unless limits of time decide them.

    Raises UnknownOption, saying what there is, where a player, a game, an option or a number cannot
    be.
    """

    players: tuple[str, ...]  # spoken names, see `cc_env.players`
    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(default_factory=dict)  # of the game; here completed
    games: int = 100  # of each pair; even: each opening is played in both seats
    opening_turns: int = 4  # random ones, before the players take over
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    learn: bool = False  # players that can, learn from each game before the next begins
    anchor: str | None = None  # whose Elo is 0; None: the mean of all. Decides no game

    def __post_init__(self) -> None:
        """Check all, and complete the options of the game."""
        for name in self.players:
            players.check(name)
        twice = sorted({name for name in self.players if self.players.count(name) > 1})
        if len(self.players) < 2 or twice:
            given = f"{listed(twice)} twice" if twice else listed(self.players) or "none"
            raise UnknownOption(f"players: {given}; wanted: two or more different ones")
        if not is_whole(self.games, 2) or self.games % 2:
            raise UnknownOption(
                f"games={self.games!r}; it is even, 2 or more: each opening is played in both seats"
            )
        if self.anchor is not None and self.anchor not in self.players:
            raise UnknownOption(f"anchor {self.anchor!r} does not play; {listed(self.players)} do")
        check_wholes(self, opening_turns=0, seed=0)
        if self.learn and self.opening_turns:
            given = f"learn, but opening_turns={self.opening_turns}"
            raise UnknownOption(f"{given}; what is learned are games from the start: 0 will do")
        object.__setattr__(self, "players", tuple(self.players))
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Return the game."""
        return games.make(self.game, **self.options)

    @cached_property
    def weights(self) -> dict[str, str]:
        """Fingerprints of what players have learned, by name; without those who learn here.

        Raises UnknownOption as `try_players`.
        """
        made = try_players(self.players, self.make_game())
        found = {name: getattr(each, "fingerprint", "") for name, each in made.items()}
        fixed = {name for name in made if not (self.learn and hasattr(made[name], "remember"))}
        return {name: found[name] for name in self.players if name in fixed and found[name]}

    def to_json(self) -> dict[str, Any]:
        """Return all that decides the games, version and weights included; raise as `weights`."""
        found = {**asdict(self), "players": list(self.players), "version": __version__}
        del found["anchor"]
        return found | ({"weights": self.weights} if self.weights else {})


def try_players(names: Iterable[str], game: Game) -> dict[str, Player]:
    """Return the players by name; raise BadPlayer, or as `players.make`, if one cannot be made."""
    made = {}
    for name in names:
        try:
            made[name] = players.make(name, game)
        except BadOption:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise BadPlayer(f"player {name} cannot be made: {why}") from error
    return made


@dataclass(frozen=True)
class Pairing:
    """A game of the tournament, to be played."""

    index: int  # in the schedule
    opening: int  # by number; the same for the same position
    players: tuple[str, str]  # in the first and in the second seat
    start: str  # position text
    seed: int  # below 2**53, which JSON keeps everywhere


def schedule(config: Config) -> list[Pairing]:
    """Return all games of the tournament; raise UnknownOption as `openings` does."""
    starts = openings(config.make_game(), config.opening_turns, config.games // 2, config.seed)
    pairs = combinations(config.players, 2)
    seats = [seating for one, other in pairs for seating in ((one, other), (other, one))]
    number = {start: index for index, start in reversed(list(enumerate(starts)))}  # where it is new
    return [
        Pairing(index, number[start], seating, start, game_seed(config.seed, index))
        for index, (start, seating) in enumerate(product(starts, seats))
    ]


def game_seed(seed: int, index: int) -> int:
    """Return the seed of a game of a tournament that has this seed."""
    words = np.random.SeedSequence((seed, GAMES, index)).generate_state(1, np.uint64)
    return int(words[0]) >> 11
