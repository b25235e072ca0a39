"""Boards stepped by several threads play the same games as with one thread."""

import copy
import os
import pickle
import threading

import gymnasium
import numpy as np
import pytest

from cc_env.errors import BadOption, IllegalAction
from cc_env.jit.threads import ThreadPool

BOARDS = 11


def make(threads, game="CaptureConquer", **options):
    envs = gymnasium.make_vec(
        f"cc_env/{game}-v0",
        num_envs=BOARDS,
        vectorization_mode="vector_entry_point",
        threads=threads,
        **options,
    )
    envs.reset(seed=3)
    envs.action_space.seed(5)
    return envs


def flat(result):
    """Return every array in the result of a step or reset, by its path."""
    if isinstance(result, tuple):
        result = dict(enumerate(result))
    if not isinstance(result, dict):
        return {(): np.asarray(result)}
    return {(key, *rest): array for key in result for rest, array in flat(result[key]).items()}


def same(first, other):
    first, other = flat(first), flat(other)
    return first.keys() == other.keys() and all((first[key] == other[key]).all() for key in first)


def results_of(envs, steps=40):
    """Yield the results of steps, and of a reset of some boards in between."""
    for number in range(steps):
        yield envs.step(envs.action_space.sample())
        if number == steps // 2:
            yield envs.reset(options={"reset_mask": np.arange(BOARDS) % 3 == 0})


@pytest.mark.parametrize("opponent", [None, "random", "greedy"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("threads", [3, 40])
def test_games_are_independent_of_threads(threads, mode, opponent):
    options = {"opponent": opponent, "autoreset_mode": mode, "size": 4, "illegal": "random"}
    alone, several = make(1, **options), make(threads, **options)
    ended = 0
    for result, expected in zip(results_of(several), results_of(alone), strict=True):
        assert same(result, expected)
        ended += result[2].sum() if len(result) > 2 else 0
    assert ended > BOARDS
    assert alone.position(BOARDS - 1) == several.position(BOARDS - 1)
    several.close()


def test_start_positions_are_distributed_to_threads(game):
    first, other = game.to_text(game.initial), "6/1bb3/1brrr1/1r1r2/6/6 b"
    texts = [other if board % 4 else first for board in range(BOARDS)]
    envs = make(3, opponent=None)
    for positions in (texts, other):
        envs.reset(options={"position": positions})
        expected = positions if positions is texts else [other] * BOARDS
        assert [game.to_text(envs.position(board)) for board in range(BOARDS)] == expected


@pytest.mark.parametrize("board", [0, 5, 10])
def test_illegal_action_is_rejected_before_any_thread_runs(board):
    envs, alone = make(3, opponent=None), make(1, opponent=None)
    actions = envs.action_space.sample()
    wrong = actions.copy()
    wrong[board] = int(np.flatnonzero(alone.reset(seed=3)[1]["action_mask"][board] == 0)[0])
    with pytest.raises(IllegalAction, match=f"board {board}: action"):
        envs.step(wrong)
    assert same(envs.step(actions), alone.step(actions))


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.5, None, "2"])
def test_invalid_number_of_threads_is_rejected(threads):
    with pytest.raises(BadOption, match=f"threads={threads!r}; expected: an integer, 1 to 1,024"):
        make(threads)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
def test_copies_have_their_own_threads(copied):
    envs = make(3)
    envs.step(envs.action_space.sample())
    other = copied(envs)
    for result, expected in zip(results_of(other), results_of(envs), strict=True):
        assert same(result, expected)
    other.close()
    envs.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # what is tested
def test_fork_has_its_own_threads():
    envs, alone = make(3), make(1)
    actions = envs.action_space.sample()
    envs.step(actions)
    child = os.fork()
    if not child:
        status = 1
        try:
            alone.step(actions)
            actions = envs.action_space.sample()
            status = 0 if same(envs.step(actions), alone.step(actions)) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    envs.close()


def test_threads_end_when_the_environment_is_closed():
    before = set(threading.enumerate())
    envs = make(3)
    assert 1 <= len(set(threading.enumerate()) - before) <= 2
    envs.close()
    assert set(threading.enumerate()) <= before


def test_one_thread_starts_no_others():
    before = set(threading.enumerate())
    envs = make(1)
    envs.step(envs.action_space.sample())
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("wrong", [0, 4, 9])
def test_run_slices_waits_for_all_and_raises(wrong):
    threads, done, late = ThreadPool(3), [], threading.Event()

    def some(index, part):
        assert part.start == 10 * index // 3
        if wrong in range(10)[part]:
            late.set()
            raise ValueError(f"at {wrong}")
        late.wait()
        done.extend(range(10)[part])

    with pytest.raises(ValueError, match=f"at {wrong}"):
        threads.run_slices(some, 10)
    assert len(done) in (6, 7)
    calls = []
    threads.run_slices(lambda index, part: calls.append((index, part)), 2)
    assert sorted(calls) == [(0, slice(0, 1)), (1, slice(1, 2))]
    threads.close()


def test_helpers_are_called_without_the_caller():
    pool, threads, is_called = ThreadPool(2), [], threading.Event()

    def work(thread):
        threads.append(thread)
        is_called.set()
        return True

    pool.call_helpers(work)
    assert is_called.wait(60)
    pool.close()
    assert threads == [1]
