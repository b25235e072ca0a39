"""Elo ratings with 95 % confidence intervals that are clustered by opening.

The sampling unit is the opening, not the game: games from the same opening, of one pair or of
several, may be correlated in any way; different openings are independent.

The model is that of Bradley and Terry, a draw being half a win; ratings by `choix` (I-LSR: Maystre
and Grossglauser 2015). A prior of one drawn game per pair keeps the ratings finite. Intervals come
from the sandwich estimator H^-1 M H^-1 (Huber 1967): H is the Fisher information, M the sum over
openings of the outer products of their score vectors, with the prior's part. The quantile is that
of Student's t with as many degrees of freedom as openings. With a single opening, its games count
as one.

Elo covers both seats and assumes that strength is one number. A player that beats a stronger one
shows in the scores of pairs, not in Elo.

Shapes: N games, P players.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.match.confidence import Z_95, Interval

Array = NDArray[np.float64]

UPPER_PROBABILITY = 0.975
ELO_PER_LOG_ODDS = 400 / np.log(10)
# Wins of each player of a pair in the prior: one drawn game.
PRIOR = 0.5


class Games(NamedTuple):
    """The results of N games: indices of players, points of the first seat, opening numbers.

    Points are 0, 1/2 or 1.
    """

    first: NDArray[np.int64]  # [N]
    second: NDArray[np.int64]  # [N]
    points: Array  # [N]
    openings: NDArray[np.int64]  # [N]


def elo(games: Games, players: int, anchor: int | None = None) -> list[Interval]:
    """Return the Elo of each player relative to the player `anchor`, or to the mean if it is None.

    Intervals are those of the difference.
    """
    # Imported late: it takes a second, and worker processes do not need it.
    import choix
    from scipy.special import stdtrit

    wins = np.zeros((players, players))
    np.add.at(wins, (games.first, games.second), games.points)
    np.add.at(wins, (games.second, games.first), 1 - games.points)
    wins += PRIOR * (1 - np.eye(players))
    rating = choix.ilsr_pairwise_dense(wins)
    # Weights of the players in the mean that has Elo 0.
    origin = np.full(players, 1 / players) if anchor is None else np.eye(players)[anchor]
    contrasts = np.eye(players) - origin
    variance = np.diag(contrasts @ _covariance(games, wins, rating) @ contrasts.T)
    openings = len(np.unique(games.openings))
    width = stdtrit(openings, UPPER_PROBABILITY) if openings > 1 else Z_95
    values = ELO_PER_LOG_ODDS * (contrasts @ rating)
    half_widths = ELO_PER_LOG_ODDS * width * np.sqrt(np.maximum(variance, 0))
    return [
        Interval(float(value), float(value - half), float(value + half))
        for value, half in zip(values, half_widths, strict=True)
    ]


def _covariance(games: Games, wins: Array, rating: Array) -> Array:
    """Return the covariance float64[P, P] of the ratings by the sandwich estimator."""
    # [i, j]: expected points of i against j.
    expected = 1 / (1 + np.exp(rating - rating[:, None]))
    bread = np.linalg.pinv(_laplacian((wins + wins.T) * expected * expected.T), hermitian=True)
    prior = PRIOR * (expected**2 + expected.T**2) * (wins > 0)
    _, opening_indices = np.unique(games.openings, return_inverse=True)
    # Points above expectation, by opening and player.
    excess = np.zeros((opening_indices.max(initial=0) + 1, len(rating)))
    above = games.points - expected[games.first, games.second]
    np.add.at(excess, (opening_indices, games.first), above)
    np.add.at(excess, (opening_indices, games.second), -above)
    spread = excess.T @ excess
    # A single opening has no variance: assume that all games of a pair have the same result.
    if len(excess) == 1:
        spread = _laplacian(expected * expected.T * (wins > 0)) * (wins + wins.T).max() ** 2
    return np.asarray(bread @ (spread + _laplacian(prior)) @ bread)


def _laplacian(weights: Array) -> Array:
    """Return the sum of weights[i, j] (e_i - e_j)(e_i - e_j)' over all pairs, float64[P, P]."""
    off_diagonal = weights - np.diag(np.diag(weights))
    return np.diag(off_diagonal.sum(axis=1)) - off_diagonal
