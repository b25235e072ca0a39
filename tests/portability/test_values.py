"""The values of this machine are those of all others."""

import json

import pytest
from portability import values

RECORDED = json.loads(values.RECORDED.read_text())
DECISIONS = 5


@pytest.mark.slow
@pytest.mark.parametrize("game", values.GAMES, ids=values.label)
def test_values_are_the_recorded_ones(game):
    measured = dict(values.measure(game, DECISIONS))
    assert len(measured) == 3 + len(values.PLAYERS)
    for name, value in measured.items():
        assert value == values.expected_value(RECORDED, name, DECISIONS), name
