"""The demo: it trains, holds a tournament and writes its report."""

import json

import pytest
from conftest import command_line

from training.experiments import demo


@pytest.mark.slow
def test_it_trains_and_tells_what_was_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "OTHERS", ("minimax:depth=1", "minimax:depth=3"))
    (tmp_path / "runs" / "demo").mkdir(parents=True)  # of somebody before
    out = command_line(demo.main, "--minutes", 0.001, "--games", 2, "--workers", 0)
    run = tmp_path / "runs" / "demo-2"
    assert (run / "best.safetensors").exists()
    report = (run / "tournament" / "report.html").read_text()
    assert "Learning curves" in report
    assert "data:image/png;base64," in report
    results = json.loads((run / "tournament" / "results.json").read_text())
    assert "policy:path=runs/demo-2" in results["config"]["players"]
    assert "AlphaZero learns C&C 6×6" in out
    assert "minimax:depth=3" in out
    assert "report: runs/demo-2/tournament/report.html" in " ".join(out.split())
