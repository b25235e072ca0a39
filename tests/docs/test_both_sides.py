"""Self-play of the tutorial: signs, the credit of the loser, and a policy that learns."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from cc_env.envs import score

TUTORIALS = Path(__file__).parents[2] / "docs/tutorials"


@pytest.fixture
def both_sides(monkeypatch):
    """The module of the tutorial."""
    monkeypatch.syspath_prepend(TUTORIALS)
    import both_sides

    return both_sides


def column(*numbers):
    return np.float32(numbers)[:, None]


def test_advantages_are_those_of_the_player_who_decided(both_sides):
    # The second player decides twice in a row; the first game ends with the fourth decision.
    rewards, dones = column(0, 0, 0, 1, 0), column(0, 0, 0, 1, 0)
    values, next_values = column(0.1, 0.2, 0.3, -0.4, 0.5), column(0.2, 0.3, -0.4, 0.5, 0.6)
    signs = column(-1, 1, -1, 1, -1)
    gamma, trace = both_sides.GAMMA, both_sides.GAMMA * both_sides.LAMBDA
    last = -gamma * 0.6 - 0.5
    fourth = 1 + 0.4
    third = gamma * 0.4 - 0.3 - trace * fourth
    second = gamma * 0.3 - 0.2 + trace * third
    first = -gamma * 0.2 - 0.1 - trace * second
    found = both_sides.advantages(rewards, values, next_values, dones, signs)
    assert found[:, 0] == pytest.approx([first, second, third, fourth, last], abs=1e-6)


def test_page_has_the_function_of_the_file(both_sides, capsys):
    blocks = re.findall("```python\n(.*?)```", (TUTORIALS / "both_sides.md").read_text(), re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(compile(block, "both_sides.md", "exec"), namespace)
    assert "[-0.71  0.79 -0.89  1.  ]" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    arrays = [rng.random((6, 3), np.float32) for _ in range(3)]
    flags = rng.integers(2, size=(2, 6, 3)).astype(np.float32)
    arguments = *arrays, flags[0], 2 * flags[1] - 1
    ours, theirs = namespace["advantages"](*arguments), both_sides.advantages(*arguments)
    assert np.array_equal(ours, theirs)


@pytest.mark.slow
def test_tutorial_self_play_learns(both_sides):
    torch.manual_seed(0)
    network = both_sides.train(size=4, rollouts=25)
    result = score(both_sides.player(network), "capture_conquer", size=4)
    assert result.value > 0.88, result
