"""The benchmark table: rows have positive rates, and missing packages are reported in a row."""

import ctypes
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import by_hand, learning, listed_moves, load, ours, peers
from benchmarks.measure import measure_row
from cc_env.core import random_streams
from cc_env.games.factory import make_game
from cc_env.registry.catalogue import GAMES
from cc_env.verification.perft import perft

commands = pytest.importorskip("benchmarks.commands")
TINY = 1e-4  # seconds
SEARCHES = "alpha-beta|MCTS|minimax|worst"
STARTS = "import cc_env|first use"


def check(tasks):
    """Check that every task has a positive rate."""
    rows = list(commands.measure_tasks(tasks, TINY))
    assert rows
    for measured in rows:
        assert measured.value, measured
        assert measured.value > 0


def test_our_rows_have_a_positive_rate(monkeypatch):
    pytest.importorskip("pettingzoo")
    make_boards = ours._make_boards
    monkeypatch.setattr(ours, "_make_boards", lambda n, **rest: make_boards(min(n, 16), **rest))
    monkeypatch.setattr(ours, "PLAIN_STEPS", 50)
    check([task for task in ours.tasks() if not re.search(f"{SEARCHES}|{STARTS}", task.label)])


@pytest.mark.slow
def test_our_rows_of_searches_have_a_positive_rate():
    searches = [task for task in ours.tasks() if re.search(SEARCHES, task.label)]
    # Depth 12 takes ten seconds.
    check([task for task in searches if "depth 12" not in task.label])


@pytest.mark.slow
def test_import_and_warm_start_have_positive_times(monkeypatch):
    run, warm_cache = ours._seconds_to_run, os.environ.get("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(ours, "_seconds_to_run", lambda code, cache: run(code, warm_cache))
    check([task for task in ours.tasks() if re.search("import cc_env|warm cache", task.label)])


def test_first_use_is_measured_with_an_empty_cache(monkeypatch):
    starts = []

    def record_start(code, cache):
        starts.append((code, cache, any(Path(cache).iterdir())))
        return 1.0

    monkeypatch.setattr(ours, "_seconds_to_run", record_start)
    check([task for task in ours.tasks() if "first use" in task.label])
    assert not any(is_used for *_, is_used in starts)
    caches = Counter(cache for _, cache, _ in starts)
    assert sorted(caches.values()) == [1] * len(GAMES) + [2], "one is measured cold, then warm"
    for entry in GAMES.values():
        assert any(f'make("{entry.environment}")' in code for code, *_ in starts)


def test_self_play_has_positive_rates(monkeypatch):
    monkeypatch.setattr(learning, "BOARDS_PER_THREAD", 8)
    monkeypatch.setattr(learning, "SIMULATIONS_PER_DECISION", 4)
    batched, games_per_hour, share, *compared, plain = commands.measure_tasks(
        learning.tasks(), TINY
    )
    assert batched.value > plain.value > 0
    assert games_per_hour.value > 0
    assert 0 < share.value < 100
    compiled, torch, cpu_times, wall_times = (measured.value for measured in compared)
    assert cpu_times == pytest.approx(compiled / torch)
    assert wall_times > 0


def test_selected_rows_are_printed_as_a_github_table(capsys):
    commands.app(
        ["--seconds", str(TINY), "--only", "vector, 1 .*C&C", "--markdown"], standalone_mode=False
    )
    head, rule, line, gap, conditions = capsys.readouterr().out.splitlines()
    assert head == "| what | who | rate | unit | note |"
    assert rule.count("|") == head.count("|")
    assert line.startswith("| vector, 1 × C&C 6×6 | cc_env ")
    assert not gap
    assert "Python 3" in conditions


@pytest.mark.parametrize("pattern", ["no-such-row", "[[", "[[]{9}"])
def test_invalid_or_unmatched_pattern_is_rejected(pattern):
    with pytest.raises(commands.typer.BadParameter, match=re.escape(pattern)):
        commands.app(["--only", pattern], standalone_mode=False)


@pytest.mark.parametrize(
    ("module", "pip", "label"),
    [
        ("pyspiel", "open_spiel", "checkers"),
        ("pettingzoo", "pettingzoo", "AEC, connect four"),
        ("chess", "chess", "AEC, chess"),
        ("pgx", "pgx", "1 × othello"),
        ("jax", "jax", "1 × othello"),
    ],
)
def test_missing_package_is_reported_in_its_row(monkeypatch, module, pip, label):
    monkeypatch.setitem(sys.modules, module, None)
    # The row of chess also needs pygame.
    if module == "chess":
        monkeypatch.setitem(sys.modules, "pygame", sys)
    task = next(task for task in peers.tasks() if task.label == label)
    missing = measure_row(task, TINY)
    assert missing.value is None
    assert missing.note.startswith("not installed: pip install ")
    assert pip in missing.note


@pytest.mark.parametrize("size", [6, 8])
def test_listed_moves_agree_with_perft(size):
    game = make_game("capture_conquer", size=size)
    rng = np.random.default_rng(0)
    moves = np.empty(game.num_actions * 64, np.uint32)
    position = game.initial
    while len(legal := game.legal_actions(position)):
        count = listed_moves.list_moves(position, moves)
        assert len(set(moves[:count].tolist())) == count == perft(game, position, 1)
        position = game.apply(position, int(rng.choice(legal)))
        while game.mid_turn(position):
            position = game.apply(position, int(rng.choice(game.legal_actions(position))))


needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, by_hand.COMPILERS)), reason="there is no C compiler"
)


@needs_compiler
@pytest.mark.parametrize("size", [6, 8])
def test_c_program_agrees_with_perft(size):
    game = make_game("capture_conquer", size=size)
    for depth in (1, 2, 3):
        assert by_hand.load_program().perft(size, depth) == perft(game, game.initial, depth)


@needs_compiler
@pytest.mark.parametrize("size", [6, 8])
def test_game_and_list_lengths_agree_with_the_c_program(size):
    number, listed = 1000, ctypes.c_int64()
    turns = by_hand.load_program().play(size, number, 1, ctypes.byref(listed))
    game = make_game("capture_conquer", size=size)
    moves, ours_listed = np.empty(game.num_actions * 64, np.uint32), np.zeros(1, np.int64)
    state = random_streams.streams(1, 1)[0]
    our_turns = listed_moves.play_listed(game.initial, number, state, moves, ours_listed)
    assert turns == pytest.approx(our_turns, rel=0.05)
    assert listed.value / turns == pytest.approx(ours_listed[0] / our_turns, rel=0.03)


@needs_compiler
def test_c_program_has_positive_rates(monkeypatch):
    monkeypatch.setattr(by_hand, "GAMES_PER_CHUNK", 2)
    rows = list(commands.measure_tasks(by_hand.tasks(), TINY))
    assert [measured.unit for measured in rows] == ["turns/s", "times"] * 2
    assert all(measured.value > 0 for measured in rows)


def test_missing_compiler_is_reported_in_its_row(monkeypatch):
    by_hand.load_program.cache_clear()
    by_hand.compare.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    missing = measure_row(by_hand.tasks()[0], TINY)
    assert missing.value is None
    assert missing.note == "not measured: there is no C compiler: cc, gcc, clang"


@pytest.mark.parametrize(
    ("value", "text"), [(1.234, "1.23"), (45.67, "45.7"), (999.6, "1.00 k"), (2.5e6, "2.50 M")]
)
def test_rates_have_three_digits(value, text):
    assert commands._format_rate(value) == text


@pytest.mark.slow
def test_server_is_measured_under_load():
    measured = load.measure(["mini_checkers"] * 4, ["mini_checkers"], seconds=2)
    assert len(measured.latencies) >= 4
    assert min(measured.latencies) > 0
    assert measured.received_bytes / len(measured.latencies) < 4000
    assert re.fullmatch(
        r"[\d,]+ moves: p50 .* bytes a move, [\d.]+ s of CPU; .* kB a game", str(measured)
    )
