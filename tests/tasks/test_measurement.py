"""The share of tasks that players solve: programs, and a scripted language model."""

import shlex
import sys

import pytest
from players.chat_server import say, serving, wait_for_each_other

from cc_env.errors import BadOption
from cc_env.games.factory import make_game
from cc_env.protocols import chat_client
from cc_env.tasks import make_tasks, measure
from cc_env.tasks.measurement import share_solved
from cc_env.tasks.task import KINDS, PUZZLE, WINNER


@pytest.fixture(scope="module")
def tasks():
    game = make_game("capture_conquer", size=4)
    return [task for kind in KINDS for task in make_tasks(game, kind, 6)]


def test_perfect_player_solves_puzzles_and_finds_winners(tasks):
    answers = measure("perfect:delay", tasks)
    assert [answer.task.kind for answer in answers] == [PUZZLE] * 6 + [WINNER] * 6
    assert all(answer.grade == 1.0 for answer in answers)
    assert share_solved(answers).value == 1.0


def test_random_player_solves_few(tasks):
    answers = measure("random", tasks, seed=1)
    assert share_solved(answers).value < 0.5
    assert answers == measure("random", tasks, seed=1, workers=2)


def test_language_model_replies_to_all_kinds(tasks):
    solutions = {task.prompt: task.solution for task in tasks}

    def answer(handler, request):
        handler.reply(f"I think so.\n{solutions[request['messages'][-1]['content']]}")

    with serving(answer) as server:
        answers = measure(server.spec, tasks)
    assert [answer.task for answer in answers] == tasks
    assert all(answer.grade == 1.0 for answer in answers)


def test_language_model_gets_several_requests_at_once(tasks):
    with serving(wait_for_each_other(2, say("<answer>draw</answer>"))) as server:
        answers = measure(server.spec, tasks[:4], workers=2)
    assert [answer.task for answer in answers] == tasks[:4]
    assert not any(answer.fault for answer in answers)


def test_wrong_replies_solve_nothing(tasks):
    with serving(say("I do not know.", "<answer>draw</answer>", "<turn>a1-a1</turn>")) as server:
        answers = measure(server.spec, [task for task in tasks if task.key != ("draw",)])
    assert not any(answer.grade or answer.fault for answer in answers)


def test_absent_server_is_a_fault(tasks, monkeypatch):
    monkeypatch.setattr(chat_client, "RETRY_SECONDS", 0.0)
    with serving(say("")) as server:
        spec = server.spec
    (answer,) = measure(spec, tasks[:1])
    assert answer.grade == 0.0
    assert answer.fault.startswith("error: scripted: ")


def test_fault_of_a_program_is_a_fault(tasks):
    program = f"program:command={shlex.join([sys.executable, '-c', ''])}"
    answers = measure(program, tasks[:1] + tasks[-1:])
    assert [answer.task.kind for answer in answers] == [PUZZLE, WINNER]
    assert all(answer.fault.startswith("error: ") for answer in answers)


def test_invalid_arguments_are_refused(tasks):
    with pytest.raises(BadOption, match="workers=-1"):
        measure("random", tasks, workers=-1)
    with pytest.raises(BadOption, match="seed"):
        measure("random", tasks, seed=-1)
