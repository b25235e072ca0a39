"""The schedule of a tournament: every pair in both seats from the same openings.

Its order is opening, pair, seat, so that the tournament is fair whenever it stops. It follows from
the config alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from cc_env.core.game import Game
from cc_env.errors import BadOption, BadPlayer, format_list, is_integer
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.openings import random_openings
from cc_env.match.referee import Player
from cc_env.players.specs import check_spec, make_player
from cc_env.version import __version__
from training.runs.config import check_wholes

GAMES = 1  # stream of random numbers for seeds; 0 is that of `cc_env.match.openings`


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tournament. The same config gives the same games, unless time limits decide them.

    Raises BadOption if there is no such player, game or option, or a value is out of range.
    """

    players: tuple[str, ...]  # names, see `cc_env.players.specs`
    game: str = "capture_conquer"
    options: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the game; missing ones are filled in
    games: int = 100  # per pair; even, since each opening is played in both seats
    opening_turns: int = 4  # random turns before the players take over
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    learn: bool = False  # let players with `remember` learn from each game before the next
    anchor: str | None = None  # player whose Elo is 0; None: the mean of all is 0

    def __post_init__(self) -> None:
        """Check the fields, and fill in the options of the game."""
        for name in self.players:
            check_spec(name)
        twice = sorted({name for name in self.players if self.players.count(name) > 1})
        if len(self.players) < 2 or twice:
            given = f"{format_list(twice)} twice" if twice else format_list(self.players) or "none"
            raise BadOption(f"players: {given}; wanted two or more different ones")
        if not is_integer(self.games, 2) or self.games % 2:
            raise BadOption(
                f"games={self.games!r}; it is even, 2 or more: each opening is played in both seats"
            )
        if self.anchor is not None and self.anchor not in self.players:
            raise BadOption(f"anchor {self.anchor!r} does not play; {format_list(self.players)} do")
        check_wholes(self, opening_turns=0, seed=0)
        if self.learn and self.opening_turns:
            given = f"learn=True, but opening_turns={self.opening_turns}"
            raise BadOption(f"{given}; players learn games from the start only: set it to 0")
        object.__setattr__(self, "players", tuple(self.players))
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Return the game."""
        return make_game(self.game, **self.options)

    @cached_property
    def weights(self) -> dict[str, str]:
        """Hashes of the files that players have learned, by player.

        Players that learn during the tournament are left out. Raises BadOption as
        `try_players`.
        """
        made = try_players(self.players, self.make_game())
        hashes = {name: getattr(player, "fingerprint", "") for name, player in made.items()}
        fixed = {name for name in made if not (self.learn and hasattr(made[name], "remember"))}
        return {name: hashes[name] for name in self.players if name in fixed and hashes[name]}

    def to_json(self) -> dict[str, Any]:
        """Return all that the games depend on, with version and weights; raise as `weights`."""
        fields = {**asdict(self), "players": list(self.players), "version": __version__}
        del fields["anchor"]
        return fields | ({"weights": self.weights} if self.weights else {})


def try_players(names: Iterable[str], game: Game) -> dict[str, Player]:
    """Return the players by name; raise BadPlayer, or as `players.make`, if one cannot be made."""
    made = {}
    for name in names:
        try:
            made[name] = make_player(name, game)
        except BadOption:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise BadPlayer(f"player {name} cannot be made: {why}") from error
    return made


@dataclass(frozen=True)
class Pairing:
    """A game to be played."""

    index: int  # in the schedule
    opening: int  # number; equal positions have equal numbers
    players: tuple[str, str]  # in the first and the second seat
    start: str  # position text
    seed: int  # below 2**53: exact in every JSON reader


def schedule(config: Config) -> list[Pairing]:
    """Return all games of the tournament; raise BadOption as `openings`."""
    starts = random_openings(
        config.make_game(), config.opening_turns, config.games // 2, config.seed
    )
    pairs = combinations(config.players, 2)
    seats = [seating for a, b in pairs for seating in ((a, b), (b, a))]
    number = {
        start: index for index, start in reversed(list(enumerate(starts)))
    }  # of its first occurrence
    return [
        Pairing(index, number[start], seating, start, game_seed(config.seed, index))
        for index, (start, seating) in enumerate(product(starts, seats))
    ]


def game_seed(seed: int, index: int) -> int:
    """Return the seed of a game, given the seed of its tournament."""
    words = np.random.SeedSequence((seed, GAMES, index)).generate_state(1, np.uint64)
    return int(words[0]) >> 11
