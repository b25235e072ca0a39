"""Solving: against a proof in plain Python, published counts, and runs that are stopped."""

import math
import multiprocessing
import re
import signal
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from conftest import command_line
from forward_proof import Board
from solved_boards import SMALL, solve

from cc_env.__main__ import main
from cc_env.accuracy.decisions import sample_uniform
from cc_env.errors import BadOption, BadTable, InsufficientSpace
from cc_env.games.factory import make_game
from cc_env.search.alphabeta import AlphaBeta
from cc_env.solver import solver
from cc_env.solver.retrograde import mark_draws
from cc_env.solver.solver import STATE_SUFFIX, check_space
from cc_env.tablebase.ranking import make_ranking_tables, parse_pieces, position_fields
from cc_env.tablebase.table_file import ExactTable, TableHeader, TableView, write_table
from cc_env.tablebase.tablebase import SHIPPED, Tablebase
from cc_env.tablebase.values import MARGIN_SHIFT, MAX_MARGIN, result_of, turns_of


def proven(game, position):
    """Return a position in the form of `forward_proof`."""
    sides, size = [0, 0], game.options["size"]
    for (row, column), letter in game.pieces(position).items():
        sides["br".index(letter)] |= 1 << (size * row + column)
    return *sides, int(position.player)


def assert_proven(game, paths, most):
    """Compare every value in the tables, and their counts, with the proof."""
    proof, compared = Board(game.options["size"]).solved(most), 0
    for path in paths:
        table = ExactTable(path)
        materials = [view.material for view in table.header.views]
        ranking = make_ranking_tables(game.numbering, materials)
        for view, values in zip(table.header.views, table.read(), strict=True):
            for number, value in enumerate(values.tolist()):
                fields = position_fields(number, view.material, ranking, game.numbering.like)
                position = game.make_position(fields)
                solved = int(result_of(value)), int(turns_of(value))
                assert solved == proof[proven(game, position)], game.to_text(position)
                compared += 1
            sides = [
                value[0]
                for (blue, red, mover), value in proof.items()
                if mover == 0 and (blue.bit_count(), red.bit_count()) == view.material
            ]
            counts = [sides.count(result) for result in (1, 0, -1)]
            assert [view.won, view.drawn, view.lost] == counts
    return compared


def test_tables_of_few_pieces_agree_with_plain_python(tmp_path):
    assert assert_proven(SMALL, solve(SMALL, tmp_path, "2v2"), 2) == 150 + 1974 + 6006


@pytest.mark.slow
def test_all_4x4_tables_agree_with_plain_python(tmp_path):
    assert assert_proven(SMALL, solve(SMALL, tmp_path, "3v3"), 3) == 147_542


@pytest.mark.parametrize(
    ("name", "options", "pieces", "depth"),
    [
        ("capture_conquer", {"size": 5}, "2v2", 6),
        ("checkers", {"no_progress_limit": None}, "2v1", 6),
        ("checkers", {"no_progress_limit": None, "crowning": "ends_move"}, "1v1", 6),
        ("morris", {"free_move": "never"}, "3v3", 3),
        ("mini_checkers", {}, "2v2", 80),
    ],
)
def test_tables_agree_with_alpha_beta(name, options, pieces, depth, tmp_path):
    """Alpha-beta proves the values of the tables; it searches mini checkers to the end."""
    game = make_game(name, **options)
    solve(game, tmp_path, pieces)
    tables, search = Tablebase(game, tmp_path), AlphaBeta(game, table_megabytes=1)
    rng, proven = np.random.default_rng(0), 0
    for view, size in enumerate(tables.sizes):
        for number in rng.integers(size, size=40).tolist():
            position = tables.position_at(view, number)
            solved = tables.probe(position)
            if len(solved.actions) < 2:
                continue
            result = search.search(position, depth=depth)
            margin = solved.value * solved.margin
            if result.is_exact or result.margin:
                assert result.margin == margin
                proven += 1
            else:
                assert solved.turns > depth or margin == 0
    assert proven > 5


@pytest.mark.parametrize("size", [4, 5])
def test_alpha_beta_needs_the_same_number_of_turns(size):
    """Without quiescence, a win in n turns of Capture & Conquer is proven first at depth n."""
    game = make_game("capture_conquer", size=size)
    tables, search = Tablebase(game), AlphaBeta(game, table_megabytes=1)
    compared = 0
    for position in sample_uniform(tables, 150):
        solved = tables.probe(position)
        if 1 < solved.turns <= 7 and len(solved.actions) > 1:
            assert not search.search(position, depth=solved.turns - 1).margin
            assert search.search(position, depth=solved.turns).margin == solved.value
            compared += 1
    assert compared > 30


def assert_same_tables(games, pieces, folder):
    """Solve variants of one game; return the values of each table."""
    tables = []
    for number, game in enumerate(games):
        (folder / str(number)).mkdir()
        paths = solve(game, folder / str(number), pieces, threads=number + 1)
        headers = [replace(ExactTable(path).header, seconds=0) for path in paths]
        tables.append([(header, read(path)) for header, path in zip(headers, paths, strict=True)])
    assert tables[0] == tables[1]
    return [values for _, views in tables[0] for values in views]


def test_passes_and_recursion_give_the_same_tables(tmp_path):
    game = make_game("mini_checkers")
    cyclic = game.replace(numbering=replace(game.numbering, is_acyclic=False))
    views = assert_same_tables((game, cyclic), "2v2", tmp_path)
    assert len(views) == 4
    values = np.concatenate(views)
    assert len(np.unique(values >> MARGIN_SHIFT & MAX_MARGIN)) > 2


@pytest.mark.parametrize(
    ("name", "options", "pieces"),
    [
        ("capture_conquer", {"size": 4}, "3v2"),
        ("capture_conquer", {"size": 5}, "2v2"),
        ("checkers", {}, "2v1"),
        pytest.param("checkers", {"crowning": "ends_move"}, "2v1", marks=pytest.mark.slow),
        ("morris", {"free_move": "never"}, "3v3"),
        pytest.param("morris", {"flying": True}, "3v3", marks=pytest.mark.slow),
    ],
)
def test_passes_and_predecessors_give_the_same_tables(name, options, pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(solver, "CHUNK_SIZE", 5000)
    game = make_game(name, **options)
    assert game.numbering.unmoves
    without = game.replace(numbering=replace(game.numbering, unmoves=None))
    assert assert_same_tables((game, without), pieces, tmp_path)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_tables_are_independent_of_threads(threads, tmp_path):
    paths = solve(SMALL, tmp_path, "2v2", threads=threads)
    headers = [ExactTable(path).header for path in paths]
    assert [header.views[0].won for header in headers] == [115, 1572, 7741]
    assert [header.views[0].turns for header in headers] == [7, 1, 15]


def interrupt(step, after, monkeypatch):
    """Interrupt the solver, as by Ctrl+C, before run number `after` of its threads."""
    run, calls = solver._run_threads, iter(range(after))

    def interrupted_run(*arguments):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return run(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(solver, "_run_threads", interrupted_run)
        with pytest.raises(KeyboardInterrupt):
            solver.Solver(SMALL, step).solve()


@pytest.mark.parametrize("after", [0, 1, 4, 9, -1])
@pytest.mark.parametrize("chunk_size", [100, solver.CHUNK_SIZE])
def test_interrupted_run_resumes_to_the_same_table(after, chunk_size, tmp_path, monkeypatch):
    """The last runs are those of the verification."""
    monkeypatch.setattr(solver, "CHUNK_SIZE", chunk_size)
    monkeypatch.setattr(solver, "_CHUNKS_PER_WAVE", 10)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()
        solve(SMALL, folder, "2v1")
    with monkeypatch.context() as patch:
        all_runs = count_runs(patch)
        solver.Solver(SMALL, solver.plan(SMALL, whole, "2v2")[-1]).solve()
    step = solver.plan(SMALL, stopped, "2v2")[-1]
    after %= len(all_runs)
    interrupt(step, after, monkeypatch)
    part = step.path.with_name(step.path.name + STATE_SUFFIX)
    assert part.exists() == (after > 0)
    assert not step.path.exists()
    spent = solver.Solver(SMALL, step)
    spent._state.load(spent._parts())
    assert (spent._state.seconds > 0) == (after > 0)
    runs = count_runs(monkeypatch)
    header = solver.Solver(SMALL, step).solve()
    assert header.seconds >= round(spent._state.seconds, 1)
    assert len(runs) == len(all_runs) - after
    assert not part.exists()
    tables = [[read(path) for path in sorted(folder.iterdir())] for folder in (whole, stopped)]
    assert tables[0] == tables[1]


def test_progress_is_saved_at_intervals(tmp_path, monkeypatch):
    monkeypatch.setattr(solver, "SAVE_INTERVAL_SECONDS", -1.0)
    monkeypatch.setattr(solver, "_MAX_SAVE_SHARE", math.inf)
    step = solver.plan(SMALL, tmp_path, "1v1")[-1]
    part = step.path.with_name(step.path.name + STATE_SUFFIX)
    work, was_saved = solver.Solver(SMALL, step), []
    work.report = lambda progress: was_saved.append(part.exists())
    work.solve()
    assert not was_saved[0]
    assert all(was_saved[1:])


def read(path):
    return [values.tolist() for values in ExactTable(path).read()]


def count_runs(monkeypatch):
    """Return a list that receives the arguments of each run of the solver's threads."""
    run, calls = solver._run_threads, []

    def counted_run(*arguments):
        calls.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(solver, "_run_threads", counted_run)
    return calls


def test_threads_end_before_an_interrupted_run_returns(monkeypatch):
    """The first Ctrl+C comes while both threads work, the second during the shutdown."""
    barrier, resumed = threading.Barrier(3), threading.Event()
    all_submitted = threading.Event()
    finished, results, shutdowns = [], [], []
    tasks = [solver._Task(None, low, low + 1) for low in range(20)]

    def work(task):
        barrier.wait(60)
        resumed.wait(60)
        finished.append(task.low)
        return task.low

    class Executor(ThreadPoolExecutor):
        def submit(self, function, task):
            future = super().submit(function, task)
            if task is tasks[-1]:
                all_submitted.set()
            return future

        def shutdown(self, **options):
            shutdowns.append(len(finished))
            if len(shutdowns) == 1:
                raise KeyboardInterrupt
            resumed.set()
            super().shutdown(**options)

    def press():
        barrier.wait(60)
        all_submitted.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(solver, "ThreadPoolExecutor", Executor)
    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        solver._run_threads(work, tasks, results, 2)
    presser.join()
    assert shutdowns[0] == 0
    assert sorted(finished) == sorted(results) == [0, 1]


@pytest.mark.parametrize("damage", ["cut", "byte", "words", "nothing", "turns", "margin", "rules"])
def test_damaged_state_file_is_ignored(damage, tmp_path, monkeypatch):
    step = solver.plan(SMALL, tmp_path, "1v1")[-1]
    interrupt(step, 3, monkeypatch)
    part = step.path.with_name(step.path.name + STATE_SUFFIX)
    content = part.read_bytes()
    damaged = {
        "cut": content[:-3],
        "byte": content[:-1] + bytes([content[-1] ^ 1]),
        "words": b"[" * 5000,
        "nothing": b"",
        "turns": content.replace(b'"turns": ', b'"turns": 4', 1),
        "margin": content.replace(b'"margin": 1', b'"margin": 1e400', 1),
        "rules": content.replace(b"-v0", b"-v9", 1),
    }
    assert damaged[damage] != content
    part.write_bytes(damaged[damage])
    header = solver.Solver(SMALL, step).solve()
    assert [header.views[0].won, header.views[0].drawn, header.views[0].lost] == [115, 71, 54]


def test_verification_detects_a_wrong_value(tmp_path, monkeypatch):
    step = solver.plan(SMALL, tmp_path, "1v1")[-1]

    def mark_draws_and_change_a_value(values):
        mark_draws(values)
        values[77] ^= 1

    monkeypatch.setattr(solver, "mark_draws", mark_draws_and_change_a_value)
    with pytest.raises(BadTable, match=r"1v1: .* wrong values, the first of '"):
        solver.Solver(SMALL, step).solve()
    assert not step.path.exists()


def test_state_that_fails_verification_is_deleted(tmp_path, monkeypatch):
    step = solver.plan(SMALL, tmp_path, "1v1")[-1]
    interrupt(step, 3, monkeypatch)
    resumed = solver.Solver(SMALL, step)
    resumed._state.load(resumed._parts())
    resumed._part(resumed._views[0])[:] = 7
    resumed._save()
    with pytest.raises(BadTable, match="wrong values"):
        solver.Solver(SMALL, step).solve()
    assert not list(tmp_path.iterdir())
    solver.Solver(SMALL, step).solve()


def test_king_against_king_has_published_counts(tmp_path):
    """Ed Trice's report of a database of English draughts, one king against one."""
    game = make_game("checkers", crowning="ends_move")
    (step,) = (step for step in solver.plan(game, tmp_path, "1v1") if step.label == "1kv1k")
    (kings,) = solver.Solver(game, step).solve().views
    assert kings.numbers == 992
    assert (kings.won, kings.drawn, kings.lost, kings.turns) == (230, 654, 108, 11)


def test_invalid_table_in_the_folder_is_rejected(tmp_path):
    (path,) = solve(SMALL, tmp_path, "1v1")
    path.write_bytes(b"rubbish")
    with pytest.raises(BadTable, match=r"1v1\.exact: .*\. Delete it"):
        solver.plan(SMALL, tmp_path, "2v2")


def test_too_many_positions_are_rejected_before_numbering(tmp_path):
    with pytest.raises(
        InsufficientSpace, match=r"12v12 has .* of memory or more; .* are free; choose fewer"
    ):
        solver.plan(make_game("capture_conquer", size=8), tmp_path, "12v12")
    with pytest.raises(InsufficientSpace, match=r"^pieces='12': .* of memory or more"):
        solver.plan(make_game("checkers"), tmp_path, "12")


def test_pieces_are_limited_by_cells(tmp_path):
    materials = SMALL.numbering.materials(*parse_pieces("18"))
    assert materials == SMALL.numbering.materials(*parse_pieces("16"))
    assert SMALL.numbering.label(materials[-1]) == "15v1"
    assert SMALL.numbering.parse_label("15v1") == (15, 1)
    assert SMALL.numbering.parse_label("16v1") is None


def test_number_of_pieces_without_positions_is_rejected(tmp_path):
    with pytest.raises(BadOption, match="each side has 1 to 15 pieces"):
        solver.plan(SMALL, tmp_path, "0")


def test_missing_required_table_is_an_error(tmp_path):
    step = solver.plan(SMALL, tmp_path, "2v2")[-1]
    with pytest.raises(BadTable, match="is required and missing"):
        solver.Solver(SMALL, step)


def test_material_that_turns_lead_to_must_be_solved(tmp_path, monkeypatch):
    monkeypatch.setattr(type(SMALL.numbering), "prerequisites", lambda numbering, material: [])
    step = solver.plan(SMALL, tmp_path, "3v2")[-1]
    with pytest.raises(BadTable, match=r"3v2: [\d,]+ turns lead to positions without a table"):
        solver.Solver(SMALL, step).solve()
    assert not list(tmp_path.iterdir())


def test_win_in_more_turns_than_a_value_can_have_is_an_error(tmp_path, monkeypatch):
    work = solver.Solver(SMALL, solver.plan(SMALL, tmp_path, "1v1")[-1])
    monkeypatch.setattr(solver, "MAX_TURNS", 3)
    with pytest.raises(BadTable, match="1v1: a win or loss takes more than 3 turns"):
        work.solve()


def test_positions_with_many_quiet_turns_are_solved_by_passes():
    """The number of open turns is a byte."""
    game = make_game("capture_conquer", size=8)
    assert solver._has_predecessors(game, (4, 4))
    assert not solver._has_predecessors(game, (6, 6))


def test_insufficient_space_is_reported_before_solving(tmp_path, monkeypatch):
    steps = solver.plan(SMALL, tmp_path, "3v3")
    check_space(steps, tmp_path / "not" / "there")
    with monkeypatch.context() as patch:
        patch.setattr(solver, "available_memory", lambda: 1024)
        with pytest.raises(InsufficientSpace, match=r"3v3 needs .* of memory; 1 KiB are free"):
            check_space(steps, tmp_path)
    monkeypatch.setattr(solver.shutil, "disk_usage", lambda path: mock.Mock(free=1000))
    with pytest.raises(InsufficientSpace, match="1,000 bytes are free on that disk"):
        check_space(steps, tmp_path)


def test_verification_needs_memory_but_no_disk_space(tmp_path, monkeypatch):
    assert all(path.exists() for path in solve(SMALL, tmp_path, "1v1"))
    existing = solver.plan(SMALL, tmp_path, "1v1")
    monkeypatch.setattr(solver.shutil, "disk_usage", lambda path: mock.Mock(free=1000))
    check_space(existing, tmp_path)
    monkeypatch.setattr(solver, "available_memory", lambda: 1024)
    with pytest.raises(InsufficientSpace, match=r"1v1 needs .* of memory; 1 KiB are free"):
        check_space(existing, tmp_path)
    solve_ = "solve", "capture_conquer", "-o", "size=4", "--pieces", "1v1", "--out", tmp_path
    assert "1v1 needs" in command_line(main, *solve_, "--verify", status=2)
    assert "existing tables: 1 of 1" in command_line(main, *solve_)
    other = *solve_[:-1], tmp_path / "other"
    assert "positions" in command_line(main, *other, "--dry-run")
    assert "1v1 needs" in command_line(main, *other, status=2)
    assert not other[-1].exists()


def test_verification_stays_within_the_memory_estimate():
    game = make_game("capture_conquer", size=5)
    first, *_, step = solver.plan(game, SHIPPED, "3v3")
    # Compiles, which needs memory, too.
    solver.Solver(game, first, threads=1).verify()
    work = solver.Solver(game, step, threads=1)
    tracemalloc.start()
    try:
        work.verify()
        assert tracemalloc.get_traced_memory()[1] < step.memory / 4
    finally:
        tracemalloc.stop()


def test_solve_prints_progress_at_intervals(tmp_path, monkeypatch):
    command = "solve", "capture_conquer", "-o", "size=4", "--pieces", "2v2", "--check", 9
    monkeypatch.setattr("cc_env.cli.tablebase_commands.PROGRESS_INTERVAL_SECONDS", 3600)
    assert "M/s" not in command_line(main, *command, "--out", tmp_path / "seldom")
    monkeypatch.setattr("cc_env.cli.tablebase_commands.PROGRESS_INTERVAL_SECONDS", 0)
    out = command_line(main, *command, "--out", tmp_path / "often")
    assert re.search(r"^alpha-beta, \d+ of at most 36 positions$", out, re.M)
    assert re.search(r"^2v2, turn 3, [\d.]+ M/s, 100%$", out, re.M)
    assert re.search(r"^2v2, verifying, [\d.]+ M/s, 100%$", out, re.M)


def test_unsolvable_requests_are_rejected(tmp_path):
    with pytest.raises(BadOption, match="cannon: it cannot be solved"):
        solver.plan(make_game("cannon"), tmp_path, "4")
    with pytest.raises(BadOption, match="has no such position, each side has 3 to 9 pieces"):
        solver.plan(make_game("morris"), tmp_path, "5")
    with pytest.raises(BadOption, match="threads=0"):
        solver.Solver(SMALL, solver.plan(SMALL, tmp_path, "1v1")[0], threads=0)


def test_existing_table_is_verified(tmp_path):
    paths = solve(SMALL, tmp_path, "2v2")
    step = next(step for step in solver.plan(SMALL, tmp_path, "2v2") if step.label == "2v1")
    path = next(path for path in paths if "2v1" in path.name)
    table = ExactTable(path)
    assert solver.Solver(SMALL, step).verify() == table.header
    values = table.read()
    counts = replace(table.header.views[0], won=table.header.views[0].won + 1)
    write_table(path, replace(table.header, views=(counts, table.header.views[1])), values)
    with pytest.raises(BadTable, match=r"2v1\.exact: the counts in the header .*; expected: "):
        solver.Solver(SMALL, step).verify()
    # The number of turns changes by 1.
    values[0][7] ^= 1
    write_table(path, table.header, values)
    with pytest.raises(BadTable, match=r"2v1: [0-9,]+ wrong values, the first of '"):
        solver.Solver(SMALL, step).verify()


def test_two_processes_may_write_one_table(tmp_path):
    step = solver.plan(SMALL, tmp_path, "1v1")[0]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        # The process has started when it has written a table.
        pool.submit(write_often, step.path, 2).result()
        other = pool.submit(write_often, step.path, 1)
        headers = [write_often(step.path, 0), other.result()]
    assert [path.name for path in tmp_path.iterdir()] == [step.path.name]
    assert ExactTable(step.path).header in headers


def write_often(path, seed):
    values = [np.random.default_rng(seed).integers(9, size=70_000).astype(np.uint16)]
    view = TableView(material=(1, 1), numbers=70_000, won=1, drawn=1, lost=1, turns=1, longest="")
    header = TableHeader(game="a", options={}, rules="r", label="1v1", views=(view,), seconds=seed)
    for _ in range(20):
        write_table(path, header, values)
        assert all(map(len, ExactTable(path).read()))
    return header


def test_boards_that_differ_in_corner_share_tables(tmp_path):
    solve(SMALL, tmp_path, "1v1")
    other = make_game("capture_conquer", size=4, corner=3)
    assert [step.is_done for step in solver.plan(other, tmp_path, "1v1")] == [True]
    larger = make_game("capture_conquer", size=5)
    assert [step.is_done for step in solver.plan(larger, tmp_path, "1v1")] == [False]
