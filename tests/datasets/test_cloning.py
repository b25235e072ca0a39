"""The behavior-cloning example of the documentation plays as well as it states."""

import re
from pathlib import Path

import pytest
import torch

from agents.network import Network
from cc_env.envs import score

PAGE = Path(__file__).parents[2] / "docs/guide/datasets.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Half of the games of the page, whose scores are higher.
CHANGES = {"games=2000": "games=1000", "games=400": "games=200"}


@pytest.mark.slow
def test_clone_of_minimax_plays_like_greedy(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    page = PAGE.read_text(encoding="utf-8")
    for text, shorter in CHANGES.items():
        assert text in page
        page = page.replace(text, shorter)
    names = {"__name__": "page"}
    for block in PYTHON.findall(page):
        exec(compile(block, PAGE.name, "exec"), names)
    scores = names["scores"]
    assert scores["random"].value >= 0.95
    assert scores["greedy"].value >= 0.4
    torch.manual_seed(0)
    names["network"] = Network(names["game"], names["network"].size)
    assert score(names["choose"], "capture_conquer", "greedy", games=100).value < 0.1
