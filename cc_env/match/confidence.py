"""Confidence intervals of proportions, such as scores and accuracies.

Shapes: N games.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Quantile of the normal distribution for a two-sided interval of 95 %.
Z_95 = 1.959964


class Interval(NamedTuple):
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def wilson_interval(share: float, trials: float) -> Interval:
    """Return a proportion, 0 to 1, of more than 0 trials with its interval by Wilson (1927)."""
    scale = 1 + Z_95**2 / trials
    center = (share + Z_95**2 / (2 * trials)) / scale
    half = Z_95 / scale * math.sqrt(share * (1 - share) / trials + Z_95**2 / (4 * trials**2))
    # At 0 and 1, rounding could exclude the share itself.
    return Interval(share, max(0.0, min(share, center - half)), min(1.0, max(share, center + half)))


def clustered_interval(points: NDArray[np.float64], clusters: NDArray[np.int64]) -> Interval:
    """Return the mean of points, float64[N], 0 to 1, with its interval; 1/2 without games.

    Games with the same number in `clusters`, int64[N], such as those of an opening, may be
    correlated in any way; different clusters are independent. It is Wilson's interval with an
    effective number of trials: fewer than the clusters if the games of a cluster are positively
    correlated, more if negatively. The variance is estimated with two pseudo-clusters, a win and a
    loss, so it is never zero.
    """
    if not len(points):
        return Interval(0.5, 0.0, 1.0)
    _, indices = np.unique(clusters, return_inverse=True)
    means = np.bincount(indices, points) / np.bincount(indices)
    padded = np.append(means, (0.0, 1.0))
    # Variance relative to that of independent games; 1 if every cluster scores 0 or 1.
    variance_ratio = padded.var() / (padded.mean() * (1 - padded.mean()))
    return wilson_interval(float(points.mean()), len(means) / float(variance_ratio))
