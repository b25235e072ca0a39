import pytest

from cc_env.match.confidence import wilson_interval


def test_wilson_interval_has_the_published_values():
    """Agresti and Coull, "Approximate is better than exact" (1998): 0 of 10 and 5 of 10."""
    assert wilson_interval(0, 10) == pytest.approx((0, 0, 0.2775), abs=1e-4)
    assert wilson_interval(0.5, 10) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)
