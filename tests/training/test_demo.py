"""The demo trains a network, plays a tournament and writes a report."""

import json
from functools import partial

import pytest
from conftest import command_line

from cc_env.cli import application
from training.experiments import demo


@pytest.mark.slow
def test_demo_trains_and_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "OPPONENTS", ("minimax:depth=1", "minimax:depth=3"))
    (tmp_path / "runs" / "demo").mkdir(parents=True)
    out = command_line(
        partial(application.run, demo.app), "--minutes", 0.001, "--games", 2, "--workers", 0
    )
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
