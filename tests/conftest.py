"""What all tests share."""

from pathlib import Path

import hypothesis
import pytest

import cc_env  # noqa: F401  registers the environments
from cc_env import games

hypothesis.settings.register_profile("here", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("here")

ORACLE = Path(__file__).parent / "oracle"


@pytest.fixture(scope="session")
def game():
    """C&C on 6×6."""
    return games.make("capture_conquer")
