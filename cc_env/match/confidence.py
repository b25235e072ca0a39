"""Confidence intervals of shares, such as scores and accuracies."""

import math
from typing import NamedTuple

Z_95 = 1.959964  # quantile of the normal distribution for 95 %, two-sided


class Interval(NamedTuple):
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def minus(self, zero: float) -> "Interval":
        """Return the interval shifted down by `zero`."""
        return Interval(self.value - zero, self.low - zero, self.high - zero)


def wilson_interval(share: float, trials: float) -> Interval:
    """Return a share, 0 to 1, of more than 0 trials with the interval of Wilson (1927)."""
    shrunk = 1 + Z_95**2 / trials
    centre = (share + Z_95**2 / (2 * trials)) / shrunk
    half = Z_95 / shrunk * math.sqrt(share * (1 - share) / trials + Z_95**2 / (4 * trials**2))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))
