"""Precompilation, and announcements of compilation."""

import contextlib
import io
import subprocess
import sys

import pytest
from numba.core.caching import NullCache

from cc_env.cli.warmup import warmup_tasks
from cc_env.errors import UnknownOption
from cc_env.jit import compiler
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


def call_output(function, argument, screen):
    """Call the function; return everything printed to `screen` so far."""
    with contextlib.redirect_stderr(screen):
        assert function(argument) == argument + argument
    return screen.getvalue()


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.delenv(compiler.QUIET_VARIABLE, raising=False)
    monkeypatch.setattr(compiler._Compiler, "_reported", set())
    return Terminal()


def test_compilation_is_announced_once_on_a_terminal(screen, twice):
    line = f"cc_env: compiling {__name__} (once, some seconds; see `python -m cc_env warm`; "
    line += "CC_ENV_QUIET=1 hides this)\n"
    assert call_output(twice, 1, screen) == line
    assert call_output(twice, 1.5, screen) == line


def test_announcements_can_be_disabled(screen, twice, monkeypatch):
    monkeypatch.setenv(compiler.QUIET_VARIABLE, "1")
    assert not call_output(twice, 1, screen)


def test_nothing_is_announced_without_a_terminal(screen, twice, monkeypatch):
    monkeypatch.setattr(screen, "isatty", lambda: False)
    assert not call_output(twice, 1, screen)


@pytest.mark.parametrize("name", GAMES)
def test_warmup_tasks_include_every_player_and_evaluation(name):
    labels = {task.label for task in warmup_tasks(name)}
    assert {
        "perft",
        "environment",
        "vector environment, opponent=random, threads=2",
        *GAMES[name].bots,
    } <= labels
    assert "minimax:depth=1,evaluation=standard" in labels


def test_warmup_rejects_an_unknown_game():
    with pytest.raises(UnknownOption, match="no game 'chess'"):
        list(warmup_tasks("chess"))


SCRIPT = """
from contextlib import closing
from functools import partial
from itertools import product
import gymnasium
from cc_env.cli.warmup import warmup_tasks
from cc_env.games.factory import game_module, make_game
from cc_env.jit import disk_cache
from cc_env.match import record
from cc_env.match.referee import play_match
from cc_env.players.specs import make_player
from cc_env.registry.catalogue import GAMES
from cc_env.verification import perft

OTHER_OPTIONS = {
    "capture_conquer": {"size": 8},
    "checkers": {"crowning": "ends_move"},
    "mini_checkers": {"first": "white"},
    "morris": game_module("morris").STANDARD_RULES,
    "cannon": {"rows": 10, "columns": 10},
}

def warm_up():
    for name in GAMES:
        for task in warmup_tasks(name):
            task.run()

def use_environments(entry, options):
    makers = gymnasium.make, gymnasium.make_vec, partial(gymnasium.make_vec, num_envs=2, threads=2)
    for make, opponent in product(makers, ("greedy", "minimax:depth=1", "mcts:simulations=2")):
        with closing(make(entry.environment, opponent=opponent, **options)) as env:
            env.reset(seed=1)
            env.step(env.action_space.sample())

def play_game(game):
    players = [make_player(name, game) for name in ("greedy", "mcts:simulations=3")]
    record.replay(play_match(game, players, seed=1))
    return perft.perft(game, game.initial, 2)

warm_up()
loaded, load = set(), disk_cache.DiskCache.load_overload

def note(self, *arguments):
    loaded.add(self._name)
    return load(self, *arguments)

disk_cache.DiskCache.load_overload = note
for name, entry in GAMES.items():
    for options in ({}, OTHER_OPTIONS[name]):
        use_environments(entry, options)
        print(play_game(make_game(name, **options)))
print(*disk_cache.write_failures, *loaded)
"""


@pytest.mark.slow
def test_warmup_compiles_all_code_that_later_runs_need():
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *counts, not_compiled = done.stdout.splitlines()
    assert not_compiled == ""
    # Sequences of two decisions, of each game with its default options and with others.
    assert counts == ["257", "576", "49", "49", "25", "25", "552", "552", "1369", "2209"]
