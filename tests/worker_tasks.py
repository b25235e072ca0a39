"""Tasks for workers, and checks that hold for processes and for a cluster."""

import os
import time

from cc_env.processes import THREAD_VARIABLES, Failure


def work(task):
    """Run a task in a worker."""
    match task:
        case "die":
            os.kill(os.getpid(), 9)
        case "exit":
            raise SystemExit(3)
        case "fail":
            raise RuntimeError("broken")
        case "sleep":
            time.sleep(3600)
        case "environment":
            return os.getpid(), [os.environ[name] for name in THREAD_VARIABLES]
    return task * task


def check_values_and_failures(map_unordered, death):
    """Check that a dead process loses only its own task; `death` is the expected failure."""
    values = dict(map_unordered(work, [1, "die", 2, "fail", 3, "exit", 4], 2))
    failures = {"die": death, "fail": "RuntimeError: broken", "exit": "SystemExit: 3"}
    assert values == {1: 1, 2: 4, 3: 9, 4: 16, **failures}
    assert {task for task in values if isinstance(values[task], Failure)} == set(failures)


def check_worker_environment(map_unordered):
    before = dict(os.environ)
    ((_, (pid, threads)),) = map_unordered(work, ["environment"], 3)
    assert pid != os.getpid()
    assert threads == ["1"] * len(THREAD_VARIABLES)
    assert dict(os.environ) == before


def check_closing_stops_tasks(map_unordered):
    results = map_unordered(work, [1, "sleep", "sleep"], 2)
    assert next(results) == (1, 1)
    results.close()
