"""The agent of the tutorial is strong: it beats the minimax that it was trained against."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/tutorials/your_agent.md"


@pytest.mark.slow
def test_tutorial_agent_beats_its_opponents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    blocks = re.findall("```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    namespace = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), namespace)
    standings = namespace["standings"]
    scores = {
        name: standings.pair("mine", name).tally.score.value
        for name in ("random", "greedy", "minimax:depth=1")
    }
    assert scores["random"] > 0.95, scores
    assert scores["greedy"] > 0.75, scores
    assert scores["minimax:depth=1"] > 0.75, scores
