"""The command `ladder`, and whether its players are those that were measured."""

import json

import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.games.factory import make_game
from cc_env.ladder.rungs import MEASURED, ladder_path, rungs
from cc_env.players.decision_hash import is_stale

GAME = make_game("checkers")


def run(*arguments, status=0):
    return command_line(main, "ladder", *arguments, status=status, columns=200)


@pytest.fixture
def changed_ladder(tmp_path, monkeypatch):
    """Replace the ladder of checkers by one whose third player has changed since."""
    content = json.loads(ladder_path(MEASURED, GAME).read_text())
    spec = content["players"][3]["spec"]
    content["decisions"][spec] = "0123456789abcdef"
    ladder_path(tmp_path, GAME).write_text(json.dumps(content))
    monkeypatch.setitem(rungs.__globals__, "MEASURED", tmp_path)
    return spec


def test_shipped_ladder_is_listed_without_marks():
    lines = run("-g", "checkers").splitlines()
    assert lines[0].split() == ["level", "Elo", "95", "%", "ms/turn", "player", "spec"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [str(rung.level), rung.name] for rung in rungs(GAME)
    ]
    assert [line.split()[-1] for line in lines[1:]] == [rung.spec for rung in rungs(GAME)]


def test_player_that_has_changed_since_the_measurement_is_marked(changed_ladder):
    *lines, note = run("-g", "checkers").splitlines()
    marked = [line for line in lines if line.endswith("†")]
    assert len(marked) == 1
    assert changed_ladder in marked[0]
    assert note.startswith("†: stale; 1 player ")
    assert [is_stale(rung, GAME) for rung in rungs(GAME)] == [
        rung.level == 3 for rung in rungs(GAME)
    ]


def test_marks_can_be_omitted(changed_ladder):
    assert "†" not in run("-g", "checkers", "--no-check")
