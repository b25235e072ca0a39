"""The README: its examples run, its links lead somewhere, its rates are the measured ones."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_python_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block.replace("learn(20_000)", "learn(600)"), names)
    assert names["infos"]["action_mask"].shape == (1024, 410)
    output = capsys.readouterr().out.strip()
    assert output.startswith("<Accuracy: ")
    assert f"# {output}" in README


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README)
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / next(filter(None, target))).exists()


def test_rates_agree_with_the_speed_page():
    rates = re.findall(r"\| ([0-9.]+) (M|times)", README)
    speeds = (ROOT / "docs/reference/speed.md").read_text()
    measured = re.findall(r"\| ([0-9.]+)(?: ([kM]))? \| (?:\w+/s|times) \|", speeds)
    assert len(rates) == 4
    for figure, unit in rates:
        digits = len(figure.partition(".")[2])
        rounded = {
            f"{float(value):.{digits}f}" for value, scale in measured if (scale or "times") == unit
        }
        assert figure in rounded
