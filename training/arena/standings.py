"""What the games of a tournament say: tables of who beat whom, from which seat, how, how long."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import mean, median
from typing import Any

import numpy as np

from cc_env import games
from cc_env.match import FAULTS
from cc_env.record import Record
from training.arena.ratings import Games, Interval, elo, score
from training.arena.schedule import Config

POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}  # of the first seat
PARTS = 10  # of a tournament in which players learn
DIGITS = 6  # after the point, in JSON


@dataclass(frozen=True)
class Line:
    """How somebody did against somebody, or everybody."""

    wins: int
    draws: int
    losses: int
    score: Interval  # 0 to 1

    def __str__(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}"

    @property
    def games(self) -> int:
        """How many games there were."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class Standing:
    """How a player did in a tournament."""

    name: str
    elo: Interval
    line: Line
    faults: Mapping[str, int]  # games lost by time, an illegal action or an error


@dataclass(frozen=True)
class Pair:
    """How the better of two players did against the other, and the first seat in their games."""

    players: tuple[str, str]
    line: Line
    first_seat: Interval


@dataclass(frozen=True)
class Standings:
    """All tables. Nothing in them depends on how fast the players were."""

    players: tuple[Standing, ...]  # by Elo, best first
    pairs: tuple[Pair, ...]  # in the order of the players
    first_seat: Line  # whoever had it
    turns: tuple[int, ...]  # of each game, by the players alone
    endings: Mapping[str, int]  # reasons, most frequent first
    learning: Mapping[
        str, tuple[float, ...]
    ]  # by name: the score in each tenth of the games, where
    # players learn

    def pair(self, one: str, other: str) -> Pair:
        """Return how `one` did against `other`; raise KeyError where they did not meet."""
        for pair in self.pairs:
            if pair.players == (one, other):
                return pair
            if pair.players == (other, one):
                return Pair((one, other), _turned(pair.line), pair.first_seat)
        raise KeyError(f"{one} did not play {other}")

    def to_json(self) -> dict[str, Any]:
        """Return the tables as JSON objects."""
        turns = {"mean": mean(self.turns), "median": median(self.turns)} if self.turns else {}
        found = _rounded({**asdict(self), "turns": turns})
        assert isinstance(found, dict)
        return found


def standings(config: Config, records: Sequence[Record], openings: Sequence[int]) -> Standings:
    """Return the tables of the games of these records, each with the number of its opening."""
    players, anchor = config.players, config.anchor
    number = {name: index for index, name in enumerate(players)}
    found = Games(
        first=np.array([number[each.players[0]] for each in records], np.int64),
        second=np.array([number[each.players[1]] for each in records], np.int64),
        points=np.array([POINTS[each.result] for each in records]),
        openings=np.array(openings, np.int64),
    )
    ratings = elo(found, len(players), None if anchor is None else number[anchor])
    order = sorted(range(len(players)), key=lambda index: -ratings[index].value)
    return Standings(
        players=tuple(
            Standing(players[i], ratings[i], _line(found, i), _faults(records, players[i]))
            for i in order
        ),
        pairs=tuple(_pair(found, players, two) for two in combinations(order, 2)),
        first_seat=tally(found.points, found.openings),
        turns=tuple(len(each.turns) for each in records),
        endings=dict(Counter(sorted(each.reason for each in records)).most_common()),
        learning={name: _parts(found, i) for name, i in number.items()} if config.learn else {},
    )


def _parts(found: Games, player: int) -> tuple[float, ...]:
    """Return the score of a player in each tenth of its games, of each game where they are few."""
    points = _points(found, player)
    parts = np.array_split(points, min(PARTS, len(points))) if len(points) else []
    return tuple(float(each.mean()) for each in parts)


def _of(found: Games, player: int) -> Any:
    return (found.first == player) | (found.second == player)


def _points(found: Games, player: int) -> Any:
    """Return what a player scored in each of its games."""
    points = np.where(found.first == player, found.points, 1 - found.points)
    return points[_of(found, player)]


def tally(points: Any, openings: Any) -> Line:
    """Return the line of games with these points (0, 1/2 or 1), from openings by number."""
    wins, draws = int((points == 1).sum()), int((points == 0.5).sum())
    return Line(wins, draws, len(points) - wins - draws, score(points, openings))


def _line(found: Games, player: int) -> Line:
    """Return how a player did against everybody."""
    return tally(_points(found, player), found.openings[_of(found, player)])


def _pair(found: Games, players: Sequence[str], two: tuple[int, int]) -> Pair:
    one, other = two
    theirs = np.isin(found.first, two) & np.isin(found.second, two)
    points, openings = found.points[theirs], found.openings[theirs]
    mine = np.where(found.first[theirs] == one, points, 1 - points)
    return Pair((players[one], players[other]), tally(mine, openings), score(points, openings))


def _turned(line: Line) -> Line:
    value, low, high = line.score
    return Line(line.losses, line.draws, line.wins, Interval(1 - value, 1 - high, 1 - low))


def _faults(records: Sequence[Record], name: str) -> dict[str, int]:
    lost = (
        each.reason
        for each in records
        if each.reason in FAULTS and name == each.players[each.result == "1-0"]
    )
    return dict(sorted(Counter(lost).items()))


def _rounded(value: Any) -> Any:
    """Return a JSON value with all numbers rounded; intervals become value, low and high."""
    if isinstance(value, Interval):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


@dataclass(frozen=True)
class Times:
    """How long a player thought about a turn, in seconds."""

    mean: float
    longest: float


def times(players: Sequence[str], records: Sequence[Record]) -> dict[str, Times]:
    """Return the times of each player that made a turn. Players take turns in turn."""
    found: dict[str, list[float]] = {name: [] for name in players}
    for each in records:
        begins = _begins(each)
        for turn, seconds in enumerate(each.seconds):
            found[each.players[(begins + turn) % 2]].append(seconds)
    return {name: Times(mean(each), max(each)) for name, each in found.items() if each}


def _begins(each: Record) -> int:
    """Return the player to move in the position that a game began with."""
    game = games.make(each.game, **each.options)
    return game.to_move(game.initial if each.start is None else game.from_text(each.start))
