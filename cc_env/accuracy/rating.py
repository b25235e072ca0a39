"""The Elo of a player, measured against the rungs of a game's ladder.

    rating = rate("policy", make_game("capture_conquer"))
    print(rating.elo, rating.games)

The player meets the opponents nearest to its rating so far, each opening in both seats, until the
confidence interval is narrow enough. Elo is that of the ladder, in which `random` has 0. The
interval takes the ratings of the rungs as exact. As the number of games depends on their results,
the interval contains the Elo somewhat less often than in 95 % of the measurements.

`compare_with_rung` only decides whether a player is stronger than a rung, by a sequential test,
which needs fewer games: the generalized sequential probability ratio test for pairs of games, as in
the tests of chess programs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.game import Game
from cc_env.core.random_streams import check_seed
from cc_env.errors import check_integer, check_number
from cc_env.ladder.rungs import find_rung, rungs
from cc_env.match.confidence import Z_95, Interval
from cc_env.match.match import Limits
from cc_env.match.openings import exact_opening
from cc_env.match.record import POINTS
from cc_env.match.referee import Player, play_match
from cc_env.players.builtin import PolicyFunction
from cc_env.players.specs import as_player, make_player
from cc_env.processes import ProcessPool, in_order

Array = NDArray[np.float64]

ANCHOR = "random"
OPENING_TURNS = 4
LIMITS = Limits(max_turns=200, repetitions=3)
MIN_WIDTH, MAX_WIDTH, DEFAULT_WIDTH, DEFAULT_GAMES = 5.0, 10_000.0, 60.0, 1000

# Names of the players in records.
_RATED, _OPPONENT = "rated", "opponent"
# Openings of a batch, each in both seats.
_BATCH = 4
# Games before a narrow interval ends a rating: the variance of a few games is uncertain.
_MIN_GAMES = 80
# Elo beyond the ends of the ladder at which a rating ends.
_MAX_DISTANCE = 150
_ELO_PER_LOG_ODDS = 400 / math.log(10)
# The test distinguishes a player that is stronger by this Elo from one that is weaker by as much,
# with 5 % errors of either kind.
_TEST_ELO, _TEST_LOG_ODDS = 30.0, math.log(0.95 / 0.05)


class Opponent(NamedTuple):
    """A player with a known rating."""

    name: str
    spec: str
    elo: float


class RatedPair(NamedTuple):
    """Two games against an opponent from one opening, in both seats."""

    # Index of the opponent.
    opponent: int
    # Points of the rated player in both games: 0, 1/2, …, 2.
    points: float
    # Reasons why the rated player forfeited games.
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rating:
    """A player's games against opponents with known ratings."""

    # Weakest first.
    opponents: tuple[Opponent, ...]
    pairs: tuple[RatedPair, ...]

    @property
    def games(self) -> int:
        """The number of games."""
        return 2 * len(self.pairs)

    @property
    def faults(self) -> tuple[str, ...]:
        """The reason of each game that the player forfeited."""
        return tuple(fault for pair in self.pairs for fault in pair.faults)

    @property
    def elo(self) -> Interval:
        """The player's Elo with its 95 % interval, by maximum likelihood.

        The prior, two drawn games against the opponents in the middle, keeps it finite.
        """
        ratings = np.array([opponent.elo for opponent in self.opponents])
        prior = ratings[[(len(ratings) - 1) // 2, len(ratings) // 2]]
        elos = ratings[[pair.opponent for pair in self.pairs]]
        points = np.array([pair.points for pair in self.pairs])

        def excess(elo: float) -> float:
            above = (points - 2 * expected_points(elo - elos)).sum()
            return float(above + (0.5 - expected_points(elo - prior)).sum())

        value = _root(excess, ratings.min() - 2000, ratings.max() + 2000)
        expected, in_prior = expected_points(value - elos), expected_points(value - prior)
        information = (2 * expected * (1 - expected)).sum() + (in_prior * (1 - in_prior)).sum()
        spread = ((points - 2 * expected) ** 2).sum()
        spread += ((in_prior**2 + (1 - in_prior) ** 2) / 2).sum()
        half = Z_95 * math.sqrt(spread) / information * _ELO_PER_LOG_ODDS
        return Interval(value, value - half, value + half)

    @property
    def is_out_of_range(self) -> bool:
        """Whether the player is far above or below the ladder, so that its Elo is uncertain."""
        elos = [opponent.elo for opponent in self.opponents]
        low, high = self.elo[1:]
        return low > max(elos) + _MAX_DISTANCE or high < min(elos) - _MAX_DISTANCE

    def score(self, opponent: int) -> tuple[int, float]:
        """Return the number of games against an opponent, and the points in them."""
        points = [pair.points for pair in self.pairs if pair.opponent == opponent]
        return 2 * len(points), sum(points)


class RungTest(NamedTuple):
    """The result of a sequential test."""

    # None: undecided after the maximum number of games.
    is_stronger: bool | None
    rating: Rating


def rate(
    player: str | Player | PolicyFunction,
    game: Game,
    *,
    width: float = DEFAULT_WIDTH,
    max_games: int = DEFAULT_GAMES,
    seed: int = 0,
    workers: int = 0,
    report: Callable[[Rating], None] = lambda rating: None,
) -> Rating:
    """Rate a player: a player spec, a player, or a function `(observation, info) -> action`.

    Ends when the half-width of the interval is at most `width`, after at least 80 games; when the
    player is clearly out of the ladder's range; or after `max_games`.

    `workers` is the number of processes that play games at once, 0 for this process alone; with
    more than four, batches of games are larger. `report` is called after each batch. Raises
    UnknownOption if the game has no ladder, BadOption for a number out of range or a player that
    cannot be created or, with workers, not be pickled; ChildProcessError if a worker fails.
    """
    check_number("width", width, MIN_WIDTH, MAX_WIDTH)
    rating = start = _empty_rating(game)
    with ProcessPool(_Games(player, game, seed), workers) as pool:
        for rating in _batches(pool, start, _choose_opponent, max_games, workers):
            report(rating)
            elo = rating.elo
            is_narrow = elo.high - elo.value <= width and rating.games >= _MIN_GAMES
            if is_narrow or rating.is_out_of_range:
                break
    return rating


def compare_with_rung(
    player: str | Player | PolicyFunction,
    game: Game,
    level: str,
    *,
    max_games: int = DEFAULT_GAMES,
    seed: int = 0,
    workers: int = 0,
    report: Callable[[Rating], None] = lambda rating: None,
) -> RungTest:
    """Test whether a player is stronger than a rung of the ladder, 5 % errors of either kind.

    `level` is the level of the rung, "1" or more, or its name; the other arguments are those of
    `rate`. Raises as `rate`, and UnknownOption if the ladder has no such rung.
    """
    opponent = find_rung(game, level).level
    rating = start = _empty_rating(game)
    with ProcessPool(_Games(player, game, seed), workers) as pool:
        for rating in _batches(pool, start, lambda rating: opponent, max_games, workers):
            report(rating)
            log_odds = _log_likelihood_ratio(np.array([pair.points / 2 for pair in rating.pairs]))
            if abs(log_odds) >= _TEST_LOG_ODDS:
                return RungTest(log_odds > 0, rating)
    return RungTest(None, rating)


def _empty_rating(game: Game) -> Rating:
    ladder = (
        Opponent(f"{rung.level} {rung.name}", rung.spec, rung.elo.value) for rung in rungs(game)
    )
    return Rating((Opponent(ANCHOR, ANCHOR, 0.0), *ladder), ())


class _Task(NamedTuple):
    """A game to be played."""

    # Player spec.
    opponent: str
    # Number of the opening.
    number: int
    # Seat of the rated player.
    seat: int


class _GameResult(NamedTuple):
    """The result of the rated player in a game."""

    points: float
    # Reason of its forfeit; "" without a fault.
    fault: str


class _Games:
    """Games of a rated player; copies in other processes have own players."""

    def __init__(self, player: str | Player | PolicyFunction, game: Game, seed: int) -> None:
        check_seed(seed)
        self._arguments = player, game, seed
        self._rated = as_player(player, game)
        self._opponents: dict[str, Player] = {}

    def __reduce__(self) -> tuple[type["_Games"], tuple[object, ...]]:
        return _Games, self._arguments

    def __call__(self, task: _Task) -> _GameResult:
        """Play a game and return its result."""
        _, game, seed = self._arguments
        if task.opponent not in self._opponents:
            self._opponents[task.opponent] = make_player(task.opponent, game)
        players = [self._rated, self._opponents[task.opponent]]
        start = exact_opening(game, OPENING_TURNS, np.random.default_rng((seed, task.number)))
        # Below 2**53, as in tournaments.
        words = np.random.SeedSequence((seed, task.number, task.seat)).generate_state(1)
        names = [_RATED, _OPPONENT]
        if task.seat:
            players, names = players[::-1], names[::-1]
        record = play_match(
            game, players, names=names, start=start, limits=LIMITS, seed=int(words[0])
        )
        points = POINTS[record.result]
        is_forfeit = record.forfeited_by == _RATED
        return _GameResult(
            points=1 - points if task.seat else points,
            fault=f"{record.reason}: {record.detail}" if is_forfeit else "",
        )


def _batches(
    pool: ProcessPool[_Task, _GameResult],
    rating: Rating,
    choose: Callable[[Rating], int],
    max_games: int,
    workers: int,
) -> Iterator[Rating]:
    """Yield the rating after each batch of games against the opponent that `choose` returns."""
    check_integer("max_games", max_games, 2 * _BATCH)
    while len(rating.pairs) < max_games // 2:
        index = choose(rating)
        last = min(len(rating.pairs) + max(_BATCH, workers), max_games // 2)
        numbers = range(len(rating.pairs), last)
        spec = rating.opponents[index].spec
        tasks = [_Task(spec, number, seat) for number in numbers for seat in (0, 1)]
        results = in_order(pool.map_unordered(tasks), tasks)
        pairs = zip(results[::2], results[1::2], strict=True)
        played = (_rated_pair(index, *pair) for pair in pairs)
        rating = Rating(rating.opponents, (*rating.pairs, *played))
        yield rating


def _rated_pair(opponent: int, first: _GameResult, second: _GameResult) -> RatedPair:
    faults = tuple(filter(None, (first.fault, second.fault)))
    return RatedPair(opponent, first.points + second.points, faults)


def _choose_opponent(rating: Rating) -> int:
    """Return the opponent with the fewest games among the two nearest to the player's Elo."""
    if not rating.pairs:
        return len(rating.opponents) // 2
    elo = rating.elo.value
    order = sorted(range(len(rating.opponents)), key=lambda i: abs(rating.opponents[i].elo - elo))
    return min(order[:2], key=lambda index: rating.score(index)[0])


def expected_points(difference: Array) -> Array:
    """Return the expected points of a game for differences of Elo."""
    return np.asarray(1 / (1 + np.exp(-difference / _ELO_PER_LOG_ODDS)))


def _log_likelihood_ratio(points: Array) -> float:
    """Return the log likelihood ratio of "stronger" to "weaker" for mean points of pairs.

    Normal approximation, with the variance of the sample and of two pseudo-pairs.
    """
    stronger = expected_points(np.array([_TEST_ELO])).item()
    variance = float(np.append(points, (0.0, 1.0)).var())
    return len(points) * (2 * stronger - 1) * (float(points.mean()) - 0.5) / variance


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a decreasing function between two numbers, by bisection."""
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2
