"""Compiling beforehand, and what is said of compiling."""

import contextlib
import io

import pytest
from numba.core.caching import NullCache
from test_compile import WATCH, counts, run

from cc_env import compile as compiling
from cc_env.compile import jit
from cc_env.errors import UnknownOption
from cc_env.table import GAMES
from cc_env.warm import uses


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def twice():
    """A compiled function that no cache has."""

    @jit
    def twice(number):
        return number + number

    twice._cache = NullCache()
    return twice


def said(function, argument, screen):
    """Return what goes to the screen while the function is called."""
    with contextlib.redirect_stderr(screen):
        assert function(argument) == argument + argument
    return screen.getvalue()


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.delenv(compiling.QUIET, raising=False)
    monkeypatch.setattr(compiling._EntryCompiler, "_announced", set())
    return Terminal()


def test_who_watches_is_told_once_what_is_compiled(screen, twice):
    line = f"cc_env: compiling {__name__} (once, some seconds; `python -m cc_env warm` does it "
    line += "beforehand, CC_ENV_QUIET=1 hides this)\n"
    assert said(twice, 1, screen) == line
    assert said(twice, 1.5, screen) == line


def test_nothing_is_said_where_that_is_wanted(screen, twice, monkeypatch):
    monkeypatch.setenv(compiling.QUIET, "1")
    assert not said(twice, 1, screen)


def test_nothing_is_said_where_nobody_watches(screen, twice, monkeypatch):
    monkeypatch.setattr(screen, "isatty", lambda: False)
    assert not said(twice, 1, screen)


@pytest.mark.parametrize("name", GAMES)
def test_every_player_and_evaluation_of_a_game_is_among_its_uses(name):
    found = {use.label for use in uses(name)}
    assert {
        "perft",
        "environment",
        "vector environment, opponent=random",
        *GAMES[name].bots,
    } <= found
    assert "minimax:depth=1,evaluation=standard" in found


def test_a_game_that_is_not_there_is_refused():
    with pytest.raises(UnknownOption, match="no game 'chess'"):
        list(uses("chess"))


@pytest.mark.slow
def test_after_warming_nothing_is_left_to_compile(tmp_path):
    warm = "from cc_env.commands import app; app(['warm', 'mini_checkers'], standalone_mode=False)"
    assert run(warm, tmp_path)[:2] == ["mini_checkers:", "compiled,"]
    use = """
import gymnasium
from cc_env import perft, players
from cc_env.referee import play
game = games.make("mini_checkers", first="white")
env = gymnasium.make("cc_env/MiniCheckers-v0", opponent="minimax:depth=2")
env.reset(seed=1)
env.step(env.action_space.sample())
envs = gymnasium.make_vec("cc_env/MiniCheckers-v0", num_envs=3, opponent="minimax:depth=1")
envs.reset(seed=1)
envs.step(envs.action_space.sample())
env = gymnasium.make("cc_env/MiniCheckers-v0", opponent="random", render_mode="ansi")
env.reset(seed=1)
env.render()
players = [players.make(name, game) for name in ("greedy", "mcts:simulations=3")]
play(game, players, seed=1)
print(perft.perft(game, game.initial, 3), len(compiled))
"""
    assert counts(WATCH + use, tmp_path) == [106, 0]
