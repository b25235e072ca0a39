"""Which players strangers may seat, and a bench of them that all games share.

A stranger's name is one of a list, never of a module, a path or a program, and its options have
bounds. Players that keep nothing of their game sit on a bench: each is lent for one decision, so
that a thousand games need no more of them than think at once.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from cc_env import options, players
from cc_env.errors import BadOption, BadPlayer, UnknownOption, is_number, listed
from cc_env.game import Game
from cc_env.referee import Clock, Decision, Player
from cc_env.rules import Position

LONGEST = 80  # characters of a name
IDLE = 16  # players that wait on a bench, at most

# The options that strangers may give, with bounds of numbers; () is a word that the player checks,
# but for evaluations: those have to be the game's, since a player takes paths of files, too.
OPTIONS: dict[str, dict[str, tuple[float, float] | tuple[()]]] = {
    "random": {},
    "greedy": {"evaluation": ()},
    "minimax": {
        "level": (),
        "depth": (1, 64),
        "nodes": (1, 1e9),
        "seconds": (0.001, 60),
        "evaluation": (),
    },
    "mcts": {
        "simulations": (1, 100_000),
        "seconds": (0.001, 60),
        "playout": (),
        "exploration": (0, 100),
        "evaluation": (),
    },
    "policy": {"contempt": (0, 1)},
    "alphazero": {
        "simulations": (1, 1000),  # for which each game has a tree of its own
        "exploration": (0, 100),
        "contempt": (0, 1),
    },
    "ppo": {"contempt": (0, 1)},
}


def listed_players(game: Game) -> dict[str, list[str]]:
    """Return the names that strangers may seat in a game, each with its levels."""
    there = [name for name in players.who_plays(game) if name in OPTIONS]
    kinds: dict[str, list[str]] = {name: [] for name in [*there, *game.search.bots]}
    kinds["minimax"] = list({**players.LEVELS, **game.search.levels})
    return kinds


def check(name: object, game: Game) -> None:
    """Raise BadOption unless a stranger may seat this player in the game."""
    known = listed_players(game)
    if not isinstance(name, str) or len(name) > LONGEST:
        raise BadPlayer(f"{str(name)[:LONGEST]!r} is not the name of a player")
    kind, _, rest = name.partition(":")
    if kind not in known:
        raise UnknownOption(f"there is no player {kind!r} here; there are: {listed(known, 99)}")
    words = [word for word in rest.split(",") if word]
    given = options.read(word if "=" in word else f"level={word}" for word in words)
    allowed = OPTIONS.get(kind, {})
    if unknown := [option for option in given if option not in allowed]:
        has = listed(allowed) or "none"
        raise UnknownOption(f"player {kind} has no option {listed(unknown)} here; it has: {has}")
    for option, value in given.items():
        bounds = allowed[option]
        if bounds and not is_number(value, *bounds):
            would_do = "{:g} to {:g}".format(*bounds)
            raise BadOption(f"{kind}: {option}={value!r}; wanted: {would_do}")
        if not bounds and not isinstance(value, str):
            raise BadOption(f"{kind}: {option}={value!r} is not a word")
        if option == "evaluation" and value not in game.search.evaluations:
            has = listed(game.search.evaluations) or "none"
            raise UnknownOption(f"{game.name} has no evaluation {value!r}; it has: {has}")


class Chooser(Protocol):
    """What lets a player decide by its name, such as `cc_env.play.workers.Workers`."""

    def choose(
        self, name: str, game: Game, position: Position, rng: np.random.Generator, clock: Clock
    ) -> Decision:
        """Return what the player of this name decides."""


class Bench:
    """Players by name, for all games of a process; safe to use from many threads."""

    def __init__(self, workers: Chooser | None = None) -> None:
        """Begin with nobody; players that keep nothing of their game decide among the workers."""
        self._workers = workers
        self._idle: OrderedDict[tuple[str, str], list[Player]] = OrderedDict()
        self._lock = threading.Lock()

    def make(self, name: str, game: Game) -> Player:
        """Return a player as `players.make`; one that keeps nothing of its game is lent."""
        player = self._take(name, game)
        if hasattr(player, "fresh"):
            return player
        self._give_back(name, game, player)
        return Lent(self, name, game)

    def choose(
        self, name: str, game: Game, position: Position, rng: np.random.Generator, clock: Clock
    ) -> Decision:
        """Return what the player of this name decides."""
        if self._workers:
            return self._workers.choose(name, game, position, rng, clock)
        with self.lent(name, game) as player:
            return player.choose(position, rng, clock)

    @contextmanager
    def lent(self, name: str, game: Game) -> Iterator[Player]:
        """Lend a player, as `players.make`, to one at a time."""
        player = self._take(name, game)
        try:
            yield player
        finally:
            self._give_back(name, game, player)

    def _take(self, name: str, game: Game) -> Player:
        with self._lock:
            if waiting := self._idle.get((repr(game), name)):
                return waiting.pop()
        return players.make(name, game)

    def _give_back(self, name: str, game: Game, player: Player) -> None:
        key = repr(game), name
        with self._lock:
            self._idle.setdefault(key, []).append(player)
            self._idle.move_to_end(key)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while sum(map(len, self._idle.values())) > IDLE:
            oldest = next(iter(self._idle))
            if self._idle[oldest]:
                self._idle[oldest].pop()
            if not self._idle[oldest]:
                del self._idle[oldest]


class Lent:
    """Stands for a player of a bench."""

    def __init__(self, bench: Bench, name: str, game: Game) -> None:
        self._bench, self._name, self._game = bench, name, game

    def choose(self, position: Position, rng: np.random.Generator, clock: Clock) -> Decision:
        """Return what the player decides."""
        return self._bench.choose(self._name, self._game, position, rng, clock)
