"""The demo: it trains, holds a tournament and writes its report."""

import json

from training import demo


def test_it_trains_and_tells_what_was_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "OTHERS", ("policy", "minimax:depth=1", "minimax:depth=3"))
    for name in ("demo", "demo-2"):
        demo.app(["--minutes", "0.01", "--games", "2", "--workers", "0"], standalone_mode=False)
        run = tmp_path / "runs" / name
        assert (run / "best.safetensors").exists()
        report = (run / "tournament" / "report.html").read_text()
        assert "How it learned" in report
        assert "data:image/png;base64," in report
        results = json.loads((run / "tournament" / "results.json").read_text())
        assert f"policy:path=runs/{name}" in results["config"]["players"]
    out = capsys.readouterr().out
    assert "AlphaZero learns C&C 6×6" in out
    assert "minimax:depth=3" in out
    assert "report: runs/demo-2/tournament/report.html" in " ".join(out.split())
