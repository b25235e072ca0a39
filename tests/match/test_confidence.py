import numpy as np
import pytest

from cc_env.match.confidence import clustered_interval, wilson_interval


def test_wilson_interval_has_the_published_values():
    """Agresti and Coull, "Approximate is better than exact" (1998): 0 of 10 and 5 of 10."""
    assert wilson_interval(0, 10) == pytest.approx((0, 0, 0.2775), abs=1e-4)
    assert wilson_interval(0.5, 10) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_interval_contains_the_share(share):
    for trials in range(1, 400):
        _, low, high = wilson_interval(share, trials)
        assert low <= share <= high


def test_games_of_a_cluster_count_as_one_if_they_agree():
    independent = clustered_interval(np.array([1.0, 0.0] * 20), np.arange(40))
    twice = clustered_interval(np.array([1.0, 1.0, 0.0, 0.0] * 20), np.arange(80) // 2)
    assert twice == pytest.approx(independent)
