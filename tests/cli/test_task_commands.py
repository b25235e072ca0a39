"""The commands `tasks` and `solve-rate --tasks`."""

import json

import pytest
from conftest import command_line

from cc_env.__main__ import main
from cc_env.registry.catalogue import GAMES
from cc_env.tasks.task import KINDS


def run(*arguments, status=0):
    return command_line(main, *arguments, status=status)


def read(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_tasks_of_all_games_and_kinds_are_written(tmp_path):
    path = tmp_path / "tasks.jsonl"
    assert f"tasks written to {path}" in run("tasks", "--to", path, "--count", 2)
    tasks = read(path)
    assert {task["game"] for task in tasks} == set(GAMES)
    assert {task["kind"] for task in tasks} == set(KINDS)
    assert all(task["prompt"].endswith(task["question"]) for task in tasks)


def test_game_kind_split_and_seed_can_be_chosen(tmp_path):
    path = tmp_path / "tasks.jsonl"
    choice = "--game", "capture_conquer", "--size", 4, "--kind", "winner", "--split", "test"
    run("tasks", "--to", path, *choice, "--count", 30, "--seed", 3)
    tasks = read(path)
    assert 0 < len(tasks) < 30
    assert {(task["kind"], task["split"]) for task in tasks} == {("winner", "test")}


def test_fewer_tasks_than_requested_are_a_note(tmp_path):
    path = tmp_path / "tasks.jsonl"
    out = run("tasks", "--to", path, "-g", "morris", "--kind", "puzzle", "--count", 500)
    assert "note: morris has 120 tasks of the kind puzzle, fewer than 500\n" in out
    assert len(read(path)) == 120
    other = tmp_path / "other.jsonl"
    assert "note" not in run(
        "tasks", "--to", other, "-g", "morris", "--kind", "puzzle", "--count", 120
    )


@pytest.mark.parametrize(
    "choice",
    [("--size", 8, "--kind", "puzzle"), ("--size", 4, "--count", 1, "--kind", "legal")],
)
def test_no_tasks_are_an_error(tmp_path, choice):
    path = tmp_path / "tasks.jsonl"
    common = "tasks", "--to", path, "-g", "capture_conquer", "--split", "test"
    assert "error: there are no tasks with these options" in run(*common, *choice, status=2)
    assert not path.exists()


def test_solved_tasks_are_counted_by_kind(tmp_path):
    path = tmp_path / "tasks.jsonl"
    run("tasks", "--to", path, "--game", "capture_conquer", "--size", 4, "--count", 3)
    out = run("solve-rate", "perfect:delay", "--tasks", path)
    rows = {line.split()[0]: line.split()[1:4] for line in out.splitlines()[1:] if line.strip()}
    assert rows["puzzle"] == rows["winner"] == ["3", "100", "%"]
    assert "legal" not in rows


@pytest.mark.parametrize(
    "option", [("-g", "checkers"), ("--size", 4), ("-o", "size=4"), ("--file", "x"), ("--check",)]
)
def test_options_of_puzzles_are_rejected_with_tasks(tmp_path, option):
    path = tmp_path / "tasks.jsonl"
    out = run("solve-rate", "random", "--tasks", path, *option, status=2)
    assert "with --tasks; expected: only for puzzles" in out


def test_bad_input_has_one_clear_error(tmp_path):
    path = tmp_path / "tasks.jsonl"
    assert "essay" in run("tasks", "--to", path, "--kind", "essay", status=2)
    assert "exam" in run("tasks", "--to", path, "--split", "exam", status=2)
    assert not path.exists()
    path.write_text("{}\n")
    assert "exists" in run("tasks", "--to", path, status=2)
    assert "line 1" in run("solve-rate", "random", "--tasks", path, status=2)
    path.write_text("")
    assert "no tasks" in run("solve-rate", "random", "--tasks", path, status=2)
