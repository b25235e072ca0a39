"""Worker processes: every task has a value or a failure, even if processes die."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from worker_tasks import (
    check_closing_stops_tasks,
    check_values_and_failures,
    check_worker_environment,
    work,
)

from cc_env.processes import Failure, ProcessPool, in_order, map_unordered


class Unloadable:
    """Work that kills the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (7,)


def test_zero_workers_run_in_this_process_in_order():
    assert list(map_unordered(work, [3, 1, 2], 0)) == [(3, 9), (1, 1), (2, 4)]


def test_dead_process_loses_only_its_task():
    check_values_and_failures(map_unordered, "the process died (SIGKILL)")


def run_main(statement):
    """Run a statement in the main module of a process of its own; return the finished process."""
    code = f"from test_processes import *\nif __name__ == '__main__':\n    {statement}"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )


def receives_interrupts(task):
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_workers_ignore_interrupts():
    code = "print(sorted(map_unordered(receives_interrupts, [1, 2], 2)), receives_interrupts(0))"
    process = run_main(code)
    assert (process.stdout, process.stderr) == ("[(1, False), (2, False)] True\n", "")


def kill_parent(task):
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        os.sched_yield()


def test_workers_exit_quietly_after_their_parent():
    code = "list(map_unordered(kill_parent, [1], 1))"
    # The call waits until the workers, too, have closed stderr.
    process = run_main(code)
    assert (process.returncode, process.stderr) == (-signal.SIGKILL, "")


def test_workers_have_one_thread():
    check_worker_environment(map_unordered)


def test_closing_the_iterator_stops_the_workers():
    check_closing_stops_tasks(map_unordered)
    assert not multiprocessing.active_children()


def test_workers_that_cannot_start_raise():
    with pytest.raises(ChildProcessError, match=r"could not start: the process died .*status 7"):
        list(map_unordered(Unloadable(), [1, 2], 1))


def test_pool_keeps_its_processes_between_calls():
    with ProcessPool(process_id, 2) as pool:
        processes = [{pid for _, pid in pool.map_unordered(range(20))} for _ in range(3)]
    assert len(set.union(*processes)) <= 2
    assert os.getpid() not in set.union(*processes)
    assert not multiprocessing.active_children()


def test_pool_survives_the_end_of_an_iterator_and_of_a_process():
    with ProcessPool(work, 2) as pool:
        results = pool.map_unordered([1, "sleep"])
        assert next(results) == (1, 1)
        results.close()
        assert isinstance(dict(pool.map_unordered(["die"]))["die"], Failure)
        assert dict(pool.map_unordered([2, 3])) == {2: 4, 3: 9}


def test_values_are_in_order_and_a_failure_raises():
    with ProcessPool(work, 2) as pool:
        assert in_order(pool.map_unordered([3, 1, 2]), [3, 1, 2]) == [9, 1, 4]
        with pytest.raises(ChildProcessError, match="task fail failed: RuntimeError: broken"):
            in_order(pool.map_unordered(["sleep", "fail"]), ["sleep", "fail"])


def process_id(task):
    return os.getpid()
