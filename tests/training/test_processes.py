"""Worker processes: all tasks are answered, whatever happens to the processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from training.processes import THREADS, Failure, map_unordered


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
            return os.getpid(), [os.environ[name] for name in THREADS]
    return task * task


class Unloadable:
    """Work that a worker cannot even take up."""

    def __reduce__(self):
        return os._exit, (7,)


def test_without_workers_it_all_happens_here_in_order():
    assert list(map_unordered(work, [3, 1, 2], 0)) == [(3, 9), (1, 1), (2, 4)]


def test_a_process_that_dies_takes_only_its_own_task_along():
    values = dict(map_unordered(work, [1, "die", 2, "fail", 3, "exit", 4], 2))
    assert {task: value for task, value in values.items() if isinstance(task, int)} == {
        1: 1,
        2: 4,
        3: 9,
        4: 16,
    }
    assert values["die"] == "its process died (SIGKILL)"
    assert values["fail"] == "RuntimeError: broken"
    assert values["exit"] == "SystemExit: 3"
    assert all(isinstance(values[task], Failure) for task in ("die", "fail", "exit"))


def hears_interrupts(task):
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_no_worker_hears_interrupts_not_even_the_first_of_a_process():
    code = (
        "from test_processes import *\n"
        "if __name__ == '__main__':\n"
        "    print(dict(map_unordered(hears_interrupts, [1, 2], 2)), hears_interrupts(0))"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.split(), done.stderr) == (["{1:", "False,", "2:", "False}", "True"], "")


def test_workers_have_one_thread_and_leave_this_process_as_it_was():
    before = dict(os.environ)
    ((_, (process, threads)),) = map_unordered(work, ["who"], 3)
    assert process != os.getpid()
    assert threads == ["1"] * len(THREADS)
    assert dict(os.environ) == before


def test_who_stops_iterating_stops_the_workers():
    playing = map_unordered(work, [1, "sleep", "sleep"], 2)
    assert next(playing) == (1, 1)
    playing.close()  # waits for them to have ended
    assert not multiprocessing.active_children()


def test_workers_that_cannot_begin_are_an_error():
    with pytest.raises(ChildProcessError, match=r"could not begin: its process died .*status 7"):
        list(map_unordered(Unloadable(), [1, 2], 1))
