"""The schedule of a tournament: every pair in both seats from the same openings.

Its order is opening, pair, seat, so that an incomplete tournament is fair. It depends only on the
config.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from cc_env.core.game import Game
from cc_env.errors import BadOption, BadPlayer, check_name, check_number_of_games, format_list
from cc_env.games.factory import make_game
from cc_env.match.match import Limits
from cc_env.match.openings import random_openings
from cc_env.match.referee import Player
from cc_env.players.decision_hash import decision_hash
from cc_env.players.specs import make_player
from cc_env.version import __version__
from training.runs import checked

# Random stream of seeds; `cc_env.match.openings` uses stream 0.
SEED_STREAM = 1


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a tournament.

    The same config gives the same games, unless time limits decide them. Raises BadOption for an
    unknown player, game or option, or a value out of range.
    """

    # Player specs.
    players: checked.PlayerSpecs
    game: str = "capture_conquer"
    # Options of the game; missing ones are filled in.
    options: Mapping[str, Any] = field(default_factory=dict)
    # Games per pair; even, because each opening is played in both seats.
    games: int = 100
    # Random turns before the first decision of a player.
    opening_turns: checked.Natural = 4
    limits: Limits = field(default_factory=Limits)
    seed: checked.Natural = 0
    # Whether players with `remember` learn from each game before the next.
    learn: bool = False
    # Player whose Elo is 0; None: the mean Elo is 0.
    anchor: str | None = None

    def __post_init__(self) -> None:
        """Raise BadOption if a field is invalid; fill in the options of the game."""
        checked.check_fields(self)
        duplicates = sorted({name for name in self.players if self.players.count(name) > 1})
        if duplicates:
            raise BadOption(f"players: {format_list(duplicates)} twice; expected: distinct players")
        if len(self.players) < 2:
            names = format_list(self.players) or "none"
            raise BadOption(f"players: {names}; expected: two or more")
        check_number_of_games(self.games)
        if self.anchor is not None:
            check_name("anchor", self.anchor, self.players)
        if self.learn and self.opening_turns:
            raise BadOption(
                f"opening_turns={self.opening_turns} with learn=True; expected: 0, because "
                "players learn only from games that begin at the initial position"
            )
        object.__setattr__(self, "players", tuple(self.players))
        object.__setattr__(self, "options", dict(self.make_game().options))

    def make_game(self) -> Game:
        """Create the configured game."""
        return make_game(self.game, **self.options)

    @cached_property
    def weights_hashes(self) -> dict[str, str]:
        """The hashes of weights files by player, without players that learn in the tournament.

        Raises BadOption if a player cannot be created.
        """
        players = make_players(self.players, self.make_game())
        hashes = {
            name: getattr(player, "fingerprint", "")
            for name, player in players.items()
            if not (self.learn and hasattr(player, "remember"))
        }
        return {name: digest for name, digest in hashes.items() if digest}

    @cached_property
    def decision_hashes(self) -> dict[str, str]:
        """The hashes of `decision_hash` by player, without players that have none.

        Raises BadOption if a player cannot be created.
        """
        game = self.make_game()
        hashes = {name: decision_hash(name, game) for name in self.players}
        return {name: digest for name, digest in hashes.items() if digest}

    def to_json(self) -> dict[str, Any]:
        """Return everything that determines the games, and hashes of the players, as a JSON object.

        Raises BadOption if a player cannot be created.
        """
        fields = {**asdict(self), "limits": self.limits.to_dict(), "version": __version__}
        fields["players"] = list(self.players)
        del fields["anchor"]
        versions = {"weights": self.weights_hashes, "decisions": self.decision_hashes}
        return fields | {name: hashes for name, hashes in versions.items() if hashes}


def make_players(names: Iterable[str], game: Game) -> dict[str, Player]:
    """Return players by spec; raise BadOption if one cannot be created."""
    players = {}
    for name in names:
        try:
            players[name] = make_player(name, game)
        except BadOption:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise BadPlayer(f"player {name} cannot be created: {reason}") from error
    return players


@dataclass(frozen=True)
class Pairing:
    """A scheduled game.

    Equal starting positions have equal `opening` numbers. `players` are in the order of seats,
    `start` is the text of a position. `seed` is below 2**53, which every JSON reader represents
    exactly.
    """

    index: int
    opening: int
    players: tuple[str, str]
    start: str
    seed: int


def schedule(config: Config) -> list[Pairing]:
    """Return all games of the tournament; raise BadOption if openings outlast the game."""
    starts = random_openings(
        config.make_game(), config.opening_turns, config.games // 2, config.seed
    )
    pairs = combinations(config.players, 2)
    seats = [seating for a, b in pairs for seating in ((a, b), (b, a))]
    # The number of an opening is the index of its first occurrence.
    number = {start: index for index, start in reversed(list(enumerate(starts)))}
    return [
        Pairing(index, number[start], seating, start, game_seed(config.seed, index))
        for index, (start, seating) in enumerate(product(starts, seats))
    ]


def game_seed(seed: int, index: int) -> int:
    """Return the seed of game `index` in a tournament with this seed."""
    words = np.random.SeedSequence((seed, SEED_STREAM, index)).generate_state(1, np.uint64)
    return int(words[0]) >> 11
