"""Tasks for workers, and what holds of them whether they are processes here or on a cluster."""

import os
import time

from training.parallel.processes import THREAD_VARIABLES, Failure


def work(task):
    """Do what the task says, in the worker."""
    match task:
        case "die":
            os.kill(os.getpid(), 9)
        case "exit":
            raise SystemExit(3)
        case "fail":
            raise RuntimeError("broken")
        case "sleep":
            time.sleep(3600)
        case "who":
            return os.getpid(), [os.environ[name] for name in THREAD_VARIABLES]
    return task * task


def check_that_all_tasks_are_answered(map_unordered, death):
    """Check that a process which dies, as `death` says, takes only its own task along."""
    answers = dict(map_unordered(work, [1, "die", 2, "fail", 3, "exit", 4], 2))
    failures = {"die": death, "fail": "RuntimeError: broken", "exit": "SystemExit: 3"}
    assert answers == {1: 1, 2: 4, 3: 9, 4: 16, **failures}
    assert {task for task in answers if isinstance(answers[task], Failure)} == set(failures)


def check_that_a_worker_is_another_process_of_one_thread(map_unordered):
    before = dict(os.environ)
    ((_, (process, threads)),) = map_unordered(work, ["who"], 3)
    assert process != os.getpid()
    assert threads == ["1"] * len(THREAD_VARIABLES)
    assert dict(os.environ) == before


def check_that_who_stops_iterating_stops_the_tasks(map_unordered):
    playing = map_unordered(work, [1, "sleep", "sleep"], 2)
    assert next(playing) == (1, 1)
    playing.close()
