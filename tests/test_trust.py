"""A file of a stranger's names no code that is run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cc_env
from cc_env import games, players, record, trust
from cc_env.commands import app
from cc_env.errors import BadRecord, CcEnvError, UnknownOption
from cc_env.record import Record
from training import alphazero, ppo, runs

ELSEWHERE = "elsewhere.tictactoe"
GAME = {"options": {}, "players": ["a", "b"], "turns": [], "result": "1-0", "reason": "x"}
DRAWN = "a1 b1 c1 a2 b2 a3 c2 c3 b3".split()


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch):
    monkeypatch.setattr(trust, "_allowed", set())


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module below the working folder, and the file that it writes when it is imported."""
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "evil.py").write_text("open('hit', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "hit"
    sys.modules.pop("runs.x.evil", None)


def stored(path, **change):
    path.write_text(json.dumps(GAME | change) + "\n")
    return path
