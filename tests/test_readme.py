"""The examples of the README run."""

import re
from pathlib import Path

import pytest

from cc_env import players

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run(capsys, monkeypatch):

    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 6
    monkeypatch.setattr(players, "PLAYERS", dict(players.PLAYERS))
    names = {}
    for block in blocks:
        exec(block.replace("learn(20_000)", "learn(600)"), names)
    assert names["infos"]["action_mask"].shape == (1024, 410)
    assert names["found"].pair("rusher", "random").line.score.value > 0
    assert "1,2-3,2x2,3" in capsys.readouterr().out


def test_files_and_pictures_that_it_names_exist():
    for target in re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README):
        assert (Path(__file__).parents[1] / next(filter(None, target))).exists()
