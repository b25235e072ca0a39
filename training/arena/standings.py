"""The standings of a tournament: ratings, scores of pairs and seats, endings, thinking times.

Shapes: N games.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.games.factory import make_game
from cc_env.match.confidence import Interval, clustered_interval
from cc_env.match.match import FAULTS
from cc_env.match.record import POINTS, Record
from training.arena.ratings import Array, Games, elo
from training.arena.schedule import Config

# Number of parts of a tournament for learning curves.
LEARNING_PARTS = 10
JSON_DECIMALS = 6


@dataclass(frozen=True)
class Tally:
    """Wins, draws, losses and score of a player, against one opponent or all."""

    wins: int
    draws: int
    losses: int
    score: Interval

    def __str__(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}"

    @property
    def games(self) -> int:
        """The number of games."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class PlayerResult:
    """The result of a player in a tournament."""

    name: str
    elo: Interval
    tally: Tally
    # Games lost by time, an illegal action or an error, by reason.
    faults: Mapping[str, int]


@dataclass(frozen=True)
class Pair:
    """The games of two players; `tally` is that of the first one, who has the higher Elo.

    `first_seat` is the score of the first seat.
    """

    players: tuple[str, str]
    tally: Tally
    first_seat: Interval


@dataclass(frozen=True)
class Standings:
    """All tables, which are independent of thinking times.

    `players` are sorted by Elo, best first, and `pairs` likewise. `turns` are those of each game
    without the opening, `endings` numbers of games by reason, most frequent first. `learning` has
    each player's score in each tenth of the tournament; it is empty without `learn`.
    """

    players: tuple[PlayerResult, ...]
    pairs: tuple[Pair, ...]
    first_seat: Tally
    turns: tuple[int, ...]
    endings: Mapping[str, int]
    learning: Mapping[str, tuple[float, ...]]

    def pair(self, name: str, other: str) -> Pair:
        """Return the games of two players, `name` first; raise KeyError if there are none."""
        for pair in self.pairs:
            if pair.players == (name, other):
                return pair
            if pair.players == (other, name):
                return Pair((name, other), _swap_players(pair.tally), pair.first_seat)
        raise KeyError(f"{name} did not play {other}")

    def to_json(self) -> dict[str, Any]:
        """Return the tables as JSON objects, with rounded numbers.

        `turns` is replaced by its mean and median; it is empty without games.
        """
        turns = {"mean": mean(self.turns), "median": median(self.turns)} if self.turns else {}
        tables = _round_numbers({**asdict(self), "turns": turns})
        assert isinstance(tables, dict)
        return tables


def standings(config: Config, records: Sequence[Record], openings: Sequence[int]) -> Standings:
    """Return the tables of these games; `openings` has the opening number of each game."""
    players, anchor = config.players, config.anchor
    number = {name: index for index, name in enumerate(players)}
    results = Games(
        first=np.array([number[game.players[0]] for game in records], np.int64),
        second=np.array([number[game.players[1]] for game in records], np.int64),
        points=np.array([POINTS[game.result] for game in records]),
        openings=np.array(openings, np.int64),
    )
    ratings = elo(results, len(players), None if anchor is None else number[anchor])
    order = sorted(range(len(players)), key=lambda index: -ratings[index].value)
    return Standings(
        players=tuple(
            PlayerResult(
                players[i],
                ratings[i],
                make_tally(*_games_of(results, i)),
                _faults(records, players[i]),
            )
            for i in order
        ),
        pairs=tuple(_pair(results, players, indices) for indices in combinations(order, 2)),
        first_seat=make_tally(results.points, results.openings),
        turns=tuple(len(game.turns) for game in records),
        endings=dict(Counter(sorted(game.reason for game in records)).most_common()),
        learning={name: _parts(results, i) for name, i in number.items()} if config.learn else {},
    )


def _parts(results: Games, player: int) -> tuple[float, ...]:
    """Return a player's score in each tenth of its games, or in each game if there are fewer."""
    points, _ = _games_of(results, player)
    parts = np.array_split(points, min(LEARNING_PARTS, len(points))) if len(points) else []
    return tuple(float(part.mean()) for part in parts)


def _games_of(results: Games, player: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the points of a player and the opening numbers, for each of its games."""
    points = np.where(results.first == player, results.points, 1 - results.points)
    mask = (results.first == player) | (results.second == player)
    return points[mask], results.openings[mask]


def make_tally(points: Array, openings: NDArray[np.int64]) -> Tally:
    """Return the tally of points float64[N] (0, 1/2 or 1) and opening numbers int64[N]."""
    wins, draws = int((points == 1).sum()), int((points == 0.5).sum())
    return Tally(wins, draws, len(points) - wins - draws, clustered_interval(points, openings))


def _pair(results: Games, players: Sequence[str], indices: tuple[int, int]) -> Pair:
    """Return the result of the games between two players; `indices` has the better one first."""
    better, worse = indices
    mask = np.isin(results.first, indices) & np.isin(results.second, indices)
    columns: list[Any] = [column[mask] for column in results]
    games = Games(*columns)
    names, tally = (players[better], players[worse]), make_tally(*_games_of(games, better))
    return Pair(names, tally, clustered_interval(games.points, games.openings))


def _swap_players(tally: Tally) -> Tally:
    """Return a tally from the other player's point of view."""
    value, low, high = tally.score
    return Tally(tally.losses, tally.draws, tally.wins, Interval(1 - value, 1 - high, 1 - low))


def _faults(records: Sequence[Record], name: str) -> dict[str, int]:
    """Return a player's number of faults by reason."""
    lost = (game.reason for game in records if game.reason in FAULTS and name == loser(game))
    return dict(sorted(Counter(lost).items()))


def loser(game: Record) -> str:
    """Return the name of the player that lost a decided game."""
    first, second = game.players
    return second if game.result == "1-0" else first


def _round_numbers(value: Any) -> Any:
    """Return a JSON value with all numbers rounded; intervals become objects."""
    if isinstance(value, Interval):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _round_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_round_numbers(item) for item in value]
    return round(value, JSON_DECIMALS) if isinstance(value, float) else value


@dataclass(frozen=True)
class Times:
    """Thinking times of a player per turn, in seconds."""

    mean: float
    longest: float


def times(players: Sequence[str], records: Sequence[Record]) -> dict[str, Times]:
    """Return the times of each player with at least one turn."""
    times: dict[str, list[float]] = {name: [] for name in players}
    for record in records:
        first = _first_to_move(record)
        for turn, seconds in enumerate(record.seconds):
            times[record.players[(first + turn) % 2]].append(seconds)
    return {name: Times(mean(all_), max(all_)) for name, all_ in times.items() if all_}


def _first_to_move(record: Record) -> int:
    """Return the player to move at the start of a game, 0 or 1."""
    game = make_game(record.game, **record.options)
    return game.to_move(game.initial if record.start is None else game.from_text(record.start))
