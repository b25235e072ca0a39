"""Warming the cache, and messages about compiling."""

import contextlib
import io
import subprocess
import sys

import pytest
from numba.core.caching import NullCache

from cc_env.cli.warmup import warmup_tasks
from cc_env.errors import UnknownOption
from cc_env.jit import compiler as compiling
from cc_env.jit.compiler import jit
from cc_env.registry.catalogue import GAMES


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def twice():
    """A compiled function that is in no cache."""

    @jit
    def twice(number):
        return number + number

    twice._cache = NullCache()
    return twice


def said(function, argument, screen):
    """Return what is printed while the function is called."""
    with contextlib.redirect_stderr(screen):
        assert function(argument) == argument + argument
    return screen.getvalue()


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.delenv(compiling.QUIET_VARIABLE, raising=False)
    monkeypatch.setattr(compiling._EntryCompiler, "_announced", set())
    return Terminal()


def test_who_watches_is_told_once_what_is_compiled(screen, twice):
    line = f"cc_env: compiling {__name__} (once, some seconds; `python -m cc_env warm` does it "
    line += "beforehand, CC_ENV_QUIET=1 hides this)\n"
    assert said(twice, 1, screen) == line
    assert said(twice, 1.5, screen) == line


def test_nothing_is_said_where_that_is_wanted(screen, twice, monkeypatch):
    monkeypatch.setenv(compiling.QUIET_VARIABLE, "1")
    assert not said(twice, 1, screen)


def test_nothing_is_announced_without_a_terminal(screen, twice, monkeypatch):
    monkeypatch.setattr(screen, "isatty", lambda: False)
    assert not said(twice, 1, screen)


@pytest.mark.parametrize("name", GAMES)
def test_every_player_and_evaluation_of_a_game_is_among_its_uses(name):
    labels = {use.label for use in warmup_tasks(name)}
    assert {
        "perft",
        "environment",
        "vector environment, opponent=random",
        *GAMES[name].bots,
    } <= labels
    assert "minimax:depth=1,evaluation=standard" in labels


def test_a_game_that_is_not_there_is_refused():
    with pytest.raises(UnknownOption, match="no game 'chess'"):
        list(warmup_tasks("chess"))


WARMED = """
from contextlib import closing
from itertools import product
import gymnasium
from cc_env import games
from cc_env.cli.warmup import uses
from cc_env.games import factory
from cc_env.games.factory import make_game
from cc_env.jit import disk_cache
from cc_env.match import record
from cc_env.match.referee import play
from cc_env.players import specs
from cc_env.registry.catalogue import GAMES
from cc_env.verification import perft

OTHERWISE = {
    "capture_conquer": {"size": 8},
    "checkers": {"crowning": "ends_move"},
    "mini_checkers": {"first": "white"},
    "morris": games.module("morris").STANDARD_RULES,
    "cannon": {"rows": 10, "columns": 10},
}

def warmed():
    for name in GAMES:
        for use in uses(name):
            use.run()

def used(entry, options):
    opponents = "minimax:depth=1", "mcts:simulations=2"
    for make, opponent in product((gymnasium.make, gymnasium.make_vec), opponents):
        with closing(make(entry.environment, opponent=opponent, **options)) as env:
            env.reset(seed=1)
            env.step(env.action_space.sample())

def played(game):
    both = [players.make(name, game) for name in ("greedy", "mcts:simulations=3")]
    record.replay(play(game, both, seed=1))
    return perft.perft(game, game.initial, 2)

warmed()
asked, load = set(), disk_cache.DiskCache.load_overload

def note(self, *arguments):
    asked.add(self._name)
    return load(self, *arguments)

disk_cache.DiskCache.load_overload = note
for name, entry in GAMES.items():
    for options in ({}, OTHERWISE[name]):
        used(entry, options)
        print(played(make_game(name, **options)))
print(*disk_cache.write_failures, *asked)
"""


@pytest.mark.slow
def test_what_warming_compiles_is_kept_and_is_all_that_games_and_players_need():
    command = [sys.executable, "-c", WARMED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *counts, not_warmed = done.stdout.splitlines()
    assert not_warmed == ""
    assert counts == ["257", "576", "49", "49", "25", "25", "552", "552", "1369", "2209"]
