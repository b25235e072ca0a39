"""Scores and Elo with honest 95 % intervals.

The unit that both count is the opening, never the game: the two games of an opening, and the games
of all pairs from it, may hang together as they like; different openings are independent draws.

Scores  Wilson's interval (Wilson 1927) with as many trials as the openings are worth: fewer where
        both games of an opening end alike, more where seats or draws even them out. The spread
        within is estimated with one more opening won and one lost, so that it is never zero.
Elo     the Bradley-Terry model, a draw being half a win; ratings by `choix` (I-LSR: Maystre and
        Grossglauser 2015). Each pair counts one more game, drawn, so that ratings are finite.
        Intervals come from the sandwich H^-1 M H^-1 (Huber 1967): H the Fisher information, M the
        squared scores summed over openings, the drawn games' included; their width from Student's t
        with as many degrees of freedom as there are openings. One opening is worth one game.

Elo is of both seats together, and assumes that strength is one number: who beats whom by a special
weakness shows in the scores of pairs, not here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Z = 1.959964  # of the normal distribution, for 95 %
UPPER = 0.975  # the probability below it
ELO = 400 / np.log(10)  # Elo for one unit of log odds
PRIOR = 0.5  # wins that each of a pair has before its first game: a drawn game


class Interval(NamedTuple):
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def minus(self, zero: float) -> "Interval":
        """Return the interval with another zero."""
        return Interval(self.value - zero, self.low - zero, self.high - zero)


class Games(NamedTuple):
    """The results of n games, all arrays of n."""

    first: NDArray[np.int64]  # who had the first seat, by number
    second: NDArray[np.int64]
    points: Array  # of the first seat: 0, 1/2 or 1
    openings: NDArray[np.int64]  # by number


def score(points: Array, openings: NDArray[np.int64]) -> Interval:
    """Return the mean of points (0 to 1) of games from these openings; 1/2 where there are none."""
    if not len(points):
        return Interval(0.5, 0.0, 1.0)
    _, number = np.unique(openings, return_inverse=True)
    means = np.bincount(number, points) / np.bincount(number)
    padded = np.append(means, (0.0, 1.0))
    spread = padded.var() / (padded.mean() * (1 - padded.mean()))  # 1: all openings are 0 or 1
    return _wilson(float(points.mean()), len(means) / float(spread))


def _wilson(value: float, trials: float) -> Interval:
    shrunk = 1 + Z**2 / trials
    centre = (value + Z**2 / (2 * trials)) / shrunk
    half = Z / shrunk * np.sqrt(value * (1 - value) / trials + Z**2 / (4 * trials**2))
    return Interval(value, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def elo(games: Games, players: int, anchor: int | None = None) -> list[Interval]:
    """Return the Elo of each player, `anchor` being 0, or the mean of the field where it is None.

    Intervals are of the difference to that zero.
    """
    import choix  # takes a second, which the processes that play need not wait for
    from scipy.special import stdtrit

    wins = np.zeros((players, players))
    np.add.at(wins, (games.first, games.second), games.points)
    np.add.at(wins, (games.second, games.first), 1 - games.points)
    wins += PRIOR * (1 - np.eye(players))
    rating = choix.ilsr_pairwise_dense(wins)
    contrasts = np.eye(players) - _zero(players, anchor)
    variance = np.diag(contrasts @ _covariance(games, wins, rating) @ contrasts.T)
    openings = len(np.unique(games.openings))
    width = stdtrit(openings, UPPER) if openings > 1 else Z
    values, halves = contrasts @ rating, width * np.sqrt(np.maximum(variance, 0))
    return [
        Interval(float(ELO * value), float(ELO * (value - half)), float(ELO * (value + half)))
        for value, half in zip(values, halves, strict=True)
    ]


def _zero(players: int, anchor: int | None) -> Array:
    """Return the weights of the players in the zero of the scale."""
    return np.full(players, 1 / players) if anchor is None else np.eye(players)[anchor]


def _covariance(games: Games, wins: Array, rating: Array) -> Array:
    """Return the covariance of the ratings, by the sandwich."""
    expected = 1 / (1 + np.exp(rating - rating[:, None]))  # [i, j]: of i against j
    bread = np.linalg.pinv(_laplacian((wins + wins.T) * expected * expected.T), hermitian=True)
    prior = PRIOR * (expected**2 + expected.T**2) * (wins > 0)
    _, number = np.unique(games.openings, return_inverse=True)
    found = np.zeros((number.max(initial=0) + 1, len(rating)))  # points above expectation
    above = games.points - expected[games.first, games.second]
    np.add.at(found, (number, games.first), above)
    np.add.at(found, (number, games.second), -above)
    spread = found.T @ found
    if len(found) == 1:  # no spread to be seen: as if all games of a pair had to end alike
        spread = _laplacian(expected * expected.T * (wins > 0)) * (wins + wins.T).max() ** 2
    return np.asarray(bread @ (spread + _laplacian(prior)) @ bread)


def _laplacian(weights: Array) -> Array:
    """Return the sum of weight times (e_i - e_j)(e_i - e_j)' over the pairs i < j."""
    off = weights - np.diag(np.diag(weights))
    return np.diag(off.sum(axis=1)) - off
