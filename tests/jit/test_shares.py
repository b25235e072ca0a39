"""Shares of work that threads take in compiled code."""

import threading

import numpy as np
import pytest

from cc_env.jit.compiler import jit
from cc_env.jit.shares import Shares, finish_share, is_finished, open_shares, take_share
from cc_env.jit.threads import ThreadPool


@jit
def open_all(shares):
    open_shares(shares)


@jit(nogil=True)
def add_one(items, shares, is_helper):
    share = take_share(shares, is_helper)
    while share >= 0:
        for item in range(shares.bounds[share], shares.bounds[share + 1]):
            items[item] += 1
        finish_share(shares)
        share = take_share(shares, is_helper)
    return is_finished(shares)


@jit(nogil=True)
def take_one(shares):
    return take_share(shares, False)


@pytest.mark.parametrize("threads", [1, 2, 5, 64, 1024])
@pytest.mark.parametrize("length", [1, 2, 16, 1000, 16384])
def test_shares_divide_all_items_and_become_shorter(length, threads):
    bounds = Shares.make(length, threads).bounds
    lengths = np.diff(bounds)
    assert (bounds[0], bounds[-1]) == (0, length)
    assert (lengths > 0).all()
    assert (np.diff(lengths) <= 0).all()
    assert lengths[0] <= max(1, length / (2 * threads), min(16, length // (8 * threads)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_item_is_done_once_for_each_opening(threads):
    pool, shares, items = ThreadPool(threads), Shares.make(1000, threads), np.zeros(1000, int)
    for repeats in range(1, 300):
        open_all(shares)
        pool.share(lambda thread: add_one(items, shares, thread > 0))
        assert (items == repeats).all()
    pool.close()


def test_no_share_can_be_taken_before_the_first_opening():
    items, shares = np.zeros(10, int), Shares.make(10, 2)
    assert add_one(items, shares, True)
    assert not items.any()


def test_share_that_a_helper_has_taken_is_awaited_even_after_an_interrupt():
    pool, shares, items = ThreadPool(2), Shares.make(100, 2), np.zeros(100, int)
    taken, released, calls = threading.Event(), threading.Event(), []

    def work(thread):
        if thread:
            take_one(shares)
            taken.set()
            released.wait()
            finish_one(shares)
            return True
        taken.wait()
        calls.append(add_one(items, shares, False))
        if len(calls) == 2:
            raise KeyboardInterrupt
        if len(calls) == 3:
            released.set()
        return calls[-1]

    open_all(shares)
    with pytest.raises(KeyboardInterrupt):
        pool.share(work)
    assert calls[:2] == [False, False]
    assert calls[-1]
    pool.close()


@jit
def finish_one(shares):
    finish_share(shares)
