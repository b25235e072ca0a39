"""Worker processes: all tasks are answered, whatever happens to the processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tasks import (
    check_that_a_worker_is_another_process_of_one_thread,
    check_that_all_tasks_are_answered,
    check_that_who_stops_iterating_stops_the_tasks,
    work,
)

from training.parallel.processes import map_unordered


class Unloadable:
    """Work that a worker cannot even take up."""

    def __reduce__(self):
        return os._exit, (7,)


def test_without_workers_it_all_happens_here_in_order():
    assert list(map_unordered(work, [3, 1, 2], 0)) == [(3, 9), (1, 1), (2, 4)]


def test_a_process_that_dies_takes_only_its_own_task_along():
    check_that_all_tasks_are_answered(map_unordered, "its process died (SIGKILL)")


def hears_interrupts(task):
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_no_worker_hears_interrupts_not_even_the_first_of_a_process():
    code = (
        "from test_processes import *\n"
        "if __name__ == '__main__':\n"
        "    print(sorted(map_unordered(hears_interrupts, [1, 2], 2)), hears_interrupts(0))"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("[(1, False), (2, False)] True\n", "")


def kill_parent(task):
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        os.sched_yield()


def test_workers_end_quietly_when_their_parent_was_killed():
    code = (
        "from test_processes import *\n"
        "if __name__ == '__main__':\n"
        "    list(map_unordered(kill_parent, [1], 1))"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(  # until the workers, too, have closed stderr
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")


def test_workers_have_one_thread_and_leave_this_process_as_it_was():
    check_that_a_worker_is_another_process_of_one_thread(map_unordered)


def test_who_stops_iterating_stops_the_workers():
    check_that_who_stops_iterating_stops_the_tasks(map_unordered)  # waits for them to have ended
    assert not multiprocessing.active_children()


def test_workers_that_cannot_begin_are_an_error():
    with pytest.raises(ChildProcessError, match=r"could not start: its process died .*status 7"):
        list(map_unordered(Unloadable(), [1, 2], 1))
