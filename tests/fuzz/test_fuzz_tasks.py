"""Altered files of tasks, and any replies, are rejected or usable."""

from fuzz.harness import call_or_reject
from fuzz.mutations import lines
from hypothesis import given
from hypothesis import strategies as st

from cc_env.games.factory import make_game
from cc_env.tasks import grade, make_tasks, read_tasks
from cc_env.tasks.task import KINDS


def tasks():
    game = make_game("capture_conquer", size=4)
    return [make_tasks(game, kind, 1)[0] for kind in KINDS]


def test_altered_tasks_raise_only_cc_env_errors(tmp_path):
    path, good = tmp_path / "tasks.jsonl", [task.to_json() for task in tasks()]

    @given(lines(good))
    def fuzz(line):
        path.write_text(f"{good[0]}\n{line}", "utf-8", "surrogatepass")
        for task in call_or_reject(lambda: list(read_tasks(path))) or ():
            assert grade(task, task.solution) in (0.0, 1.0)

    fuzz()


def test_replies_are_graded():
    all_tasks = tasks()

    @given(st.text() | st.text(st.sampled_from("<answer></turn>;,ab123-x \n")))
    def fuzz(reply):
        for task in all_tasks:
            assert grade(task, reply) == 0.0
            assert grade(task, f"<answer>{reply}</answer>") in (0.0, 1.0)

    fuzz()
