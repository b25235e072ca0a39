"""Confidence intervals of proportions, such as scores and accuracies."""

import math
from typing import NamedTuple

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
    return Interval(share, max(0.0, center - half), min(1.0, center + half))
