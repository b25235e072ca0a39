"""The values of this machine are those of all others."""

import json
import os
import platform
import subprocess
import sys

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


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the features are those of x86 processors"
)
def test_values_without_avx_are_the_recorded_ones():
    """Networks and their players, on a processor without fused multiply-add and byte products."""
    result = subprocess.run(
        [sys.executable, values.__file__, str(DECISIONS), "capture_conquer"],
        env=os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        text=True,
    )
    assert result.stdout.endswith("7 values, 0 different\n"), result.stdout + result.stderr
    assert "avx" not in result.stdout
