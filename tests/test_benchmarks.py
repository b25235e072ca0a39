"""The benchmark table: our own rows measure something, and a missing peer is only a row."""

import ctypes
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import by_hand, learning, load, ours, peers
from benchmarks.measure import row
from cc_env.core import random_streams
from cc_env.games.factory import make_game
from cc_env.registry.catalogue import GAMES
from cc_env.verification.perft import perft

commands = pytest.importorskip("benchmarks.commands")
TINY = 1e-4  # seconds
SEARCHES = "alpha-beta|MCTS|minimax|worst"
BEGINNINGS = "import cc_env|first use"


def check(tasks):
    """Check that every task has a positive rate."""
    rows = list(commands.measured(tasks, TINY))
    assert rows
    for measured in rows:
        assert measured.value, measured
        assert measured.value > 0


def test_our_rows_have_a_positive_rate():
    pytest.importorskip("pettingzoo")
    check([task for task in ours.tasks() if not re.search(f"{SEARCHES}|{BEGINNINGS}", task.what)])


@pytest.mark.slow
def test_our_rows_of_searches_have_a_positive_rate():
    searches = [task for task in ours.tasks() if re.search(SEARCHES, task.what)]
    check([task for task in searches if "depth 12" not in task.what])  # some ten seconds


@pytest.mark.slow
def test_first_use_takes_some_time(monkeypatch):
    run, kept = ours._seconds_to_run, os.environ.get("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(ours, "_seconds_to_run", lambda code, cache: run(code, kept))
    check([task for task in ours.tasks() if re.search("import cc_env|warm cache", task.what)])


def test_first_uses_are_measured_in_new_processes_with_caches_of_their_own(monkeypatch):
    begun = []

    def note(code, cache):
        begun.append((code, cache, any(Path(cache).iterdir())))
        return 1.0

    monkeypatch.setattr(ours, "_seconds_to_run", note)
    check([task for task in ours.tasks() if "first use" in task.what])
    assert not any(used for *_, used in begun)
    caches = Counter(cache for _, cache, _ in begun)
    assert sorted(caches.values()) == [1] * len(GAMES) + [2], "one is measured cold, then warm"
    for entry in GAMES.values():
        assert any(f'make("{entry.environment}")' in code for code, *_ in begun)


def test_self_play_is_measured_with_and_without_batches(monkeypatch):
    monkeypatch.setattr(learning, "BOARDS", 32)
    monkeypatch.setattr(learning, "SIMULATIONS", 8)
    batched, games_an_hour, share, *in_turn, plain = commands.measured(learning.tasks(), TINY)
    assert batched.value > plain.value > 0
    assert games_an_hour.value > 0
    assert 0 < share.value < 100
    compiled, torch, cpu_times, wall_times = (measured.value for measured in in_turn)
    assert cpu_times == pytest.approx(compiled / torch)
    assert wall_times > 0


def test_the_command_prints_the_picked_rows_as_a_github_table(capsys):
    commands.app(
        ["--seconds", str(TINY), "--only", "vector, 1 .*C&C", "--markdown"], standalone_mode=False
    )
    head, rule, line, gap, conditions = capsys.readouterr().out.splitlines()
    assert head == "| what | who | rate | unit | note |"
    assert rule.count("|") == head.count("|")
    assert line.startswith("| vector, 1 × C&C 6×6 | cc_env ")
    assert not gap
    assert "Python 3" in conditions


@pytest.mark.parametrize("pattern", ["no-such-row", "[[", "[[]{9}"])  # Python warns of [[
def test_a_pattern_that_picks_nothing_is_refused(pattern):
    with pytest.raises(commands.typer.BadParameter, match=re.escape(pattern)):
        commands.app(["--only", pattern], standalone_mode=False)


@pytest.mark.parametrize(
    ("module", "pip", "what"),
    [
        ("pyspiel", "open_spiel", "checkers"),
        ("pettingzoo", "pettingzoo", "AEC, connect four"),
        ("chess", "chess", "AEC, chess"),
        ("pgx", "pgx", "1 × othello"),
        ("jax", "jax", "1 × othello"),
    ],
)
def test_a_missing_peer_is_a_row_that_says_what_to_install(monkeypatch, module, pip, what):
    monkeypatch.setitem(sys.modules, module, None)
    if module == "chess":  # whatever else its row needs is there
        monkeypatch.setitem(sys.modules, "pygame", sys)
    task = next(task for task in peers.tasks() if task.what == what)
    missing = row(task, TINY)
    assert missing.value is None
    assert missing.note.startswith("not installed: pip install ")
    assert pip in missing.note


@pytest.mark.parametrize("size", [6, 8])
def test_the_listed_moves_are_those_that_perft_counts(size):
    game = make_game("capture_conquer", size=size)
    rng = np.random.default_rng(0)
    moves = np.empty(game.num_actions * 64, np.uint32)
    position = game.initial
    while len(legal := game.legal_actions(position)):
        count = ours.list_moves(position, moves)
        assert len(set(moves[:count].tolist())) == count == perft(game, position, 1)
        position = game.apply(position, int(rng.choice(legal)))
        while game.mid_turn(position):
            position = game.apply(position, int(rng.choice(game.legal_actions(position))))


needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, by_hand.COMPILERS)), reason="there is no C compiler"
)


@needs_compiler
@pytest.mark.parametrize("size", [6, 8])
def test_the_c_program_plays_the_same_game(size):
    game = make_game("capture_conquer", size=size)
    for depth in (1, 2, 3):
        assert by_hand.program().perft(size, depth) == perft(game, game.initial, depth)


@needs_compiler
@pytest.mark.parametrize("size", [6, 8])
def test_games_are_as_long_and_lists_as_those_of_the_c_program(size):
    number, listed, ours_listed = 1000, ctypes.c_int64(), 0
    turns = by_hand.program().play(size, number, 1, ctypes.byref(listed))
    game = make_game("capture_conquer", size=size)
    moves, ours_listed = np.empty(game.num_actions * 64, np.uint32), np.zeros(1, np.int64)
    state = random_streams.streams(1, 1)[0]
    our_turns = ours.play_listed(game.initial, number, state, moves, ours_listed)
    assert turns == pytest.approx(our_turns, rel=0.05)
    assert listed.value / turns == pytest.approx(ours_listed[0] / our_turns, rel=0.03)


@needs_compiler
def test_both_are_measured_in_turn(monkeypatch):
    monkeypatch.setattr(by_hand, "GAMES", 2)
    rows = list(commands.measured(by_hand.tasks(), TINY))
    assert [measured.unit for measured in rows] == ["turns/s", "times"] * 2
    assert all(measured.value > 0 for measured in rows)


def test_a_missing_compiler_is_a_row_that_says_so(monkeypatch):
    by_hand.program.cache_clear()
    by_hand.race.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    missing = row(by_hand.tasks()[0], TINY)
    assert missing.value is None
    assert missing.note == "not measured: there is no C compiler: cc, gcc, clang"


@pytest.mark.parametrize(
    ("value", "text"), [(1.234, "1.23"), (45.67, "45.7"), (999.6, "1.00 k"), (2.5e6, "2.50 M")]
)
def test_rates_have_three_digits(value, text):
    assert commands._short(value) == text


@pytest.mark.slow
def test_a_server_is_measured_while_people_play_and_others_think():
    measured = load.measure(load.Load(games=4, thinking=1, seconds=2, kinds=("mini_checkers",)))
    assert len(measured.answers) >= 4
    assert min(measured.answers) > 0
    assert measured.received / len(measured.answers) < 4000
    assert re.fullmatch(
        r"[\d,]+ moves: p50 .* bytes a move, [\d.]+ s of CPU; .* kB a game", str(measured)
    )
