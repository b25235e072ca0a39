"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import cc_env  # noqa: F401  registers the environments
from cc_env import games

QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # on a busy machine
settings.register_profile("here", derandomize=True, max_examples=60, **QUIET)
settings.load_profile("here")

ORACLE = Path(__file__).parent / "oracle"


def pytest_addoption(parser):
    """Add --fuzz N."""
    parser.addoption(
        "--fuzz",
        type=int,
        metavar="N",
        help="draw N new random examples for each test, instead of a few that are always the same",
    )


def pytest_configure(config):
    """Let --fuzz decide how many examples a test draws."""
    if count := config.getoption("--fuzz"):
        settings.register_profile("fuzz", derandomize=False, max_examples=count, **QUIET)
        settings.load_profile("fuzz")


@pytest.fixture(scope="session")
def game():
    """C&C on 6×6."""
    return games.make("capture_conquer")
