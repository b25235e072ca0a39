"""The transposition table."""

import numpy as np
import pytest

from cc_env.errors import BadOption
from cc_env.search import transposition
from cc_env.search.transposition import EXACT, LOWER, NO_ACTION, UPPER, TableEntry, make_table


def entry(value=5, action=7, depth=3, bound=EXACT):
    return TableEntry(*map(np.int64, (value, action, depth, bound)))


def keep(entries, key, new_entry, age=1):
    transposition.store(entries, np.uint64(key), new_entry, np.int64(age))


def probe(entries, key):
    return tuple(transposition.probe(entries, np.uint64(key)))


@pytest.mark.parametrize("value", [0, 1, -1, 999_999, -1_000_000])
@pytest.mark.parametrize("action", [NO_ACTION, 0, 409, 65_534])
@pytest.mark.parametrize("bound", [EXACT, LOWER, UPPER])
def test_stored_entry_is_found(value, action, bound):
    entries = make_table(1)
    for depth in (1, 100):
        keep(entries, 2**63 + 12, entry(value, action, depth, bound), age=63)
        assert probe(entries, 2**63 + 12) == (value, action, depth, bound)
    assert probe(entries, 12) == (0, NO_ACTION, 0, 0)


def test_bucket_keeps_the_deepest_and_the_latest():
    # A single bucket.
    entries = make_table(1)[:2]
    assert entries.shape == (2, 2)
    keep(entries, 1, entry(depth=5))
    keep(entries, 2, entry(depth=3))
    keep(entries, 3, entry(depth=4))
    assert [probe(entries, key)[2] for key in (1, 2, 3)] == [5, 0, 4]
    keep(entries, 4, entry(depth=6))
    assert [probe(entries, key)[2] for key in (1, 3, 4)] == [0, 4, 6]


def test_entries_of_older_searches_are_replaced():
    entries = make_table(1)[:2]
    keep(entries, 1, entry(depth=50), age=1)
    keep(entries, 2, entry(depth=1), age=2)
    assert [probe(entries, key)[2] for key in (1, 2)] == [0, 1]


@pytest.mark.parametrize(("megabytes", "entries"), [(16, 2**20), (17, 2**20), (1 / 1024, 64)])
def test_table_size_is_the_greatest_power_of_two_that_fits(megabytes, entries):
    assert len(make_table(megabytes)) == entries


def test_table_larger_than_memory_is_rejected(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(np, "zeros", refuse)
    with pytest.raises(BadOption, match="table_megabytes=65536: this machine does not have enough"):
        make_table(65536)
