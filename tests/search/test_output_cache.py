"""The cache of network output_cache."""

import numpy as np

from cc_env.search import output_cache
from cc_env.search.output_cache import find_slot, hash_observation, make_cache


def cache_of(*items, slots=8, ring=16):
    """Return a cache with these entries: key, value, logits."""
    cache = make_cache(slots, ring)
    for key, value, logits in items:
        row = np.array(logits, np.float32)
        output_cache.store(cache, np.uint64(key), value, row, np.int64(len(logits)))
    return cache


def lookup(cache, key, count):
    """Return the value and the logits stored with a key, or None."""
    slot = find_slot(cache, np.uint64(key))
    if slot < 0:
        return None
    logits = np.zeros(count, np.float32)
    value = output_cache.read(cache, np.int64(slot), logits, np.int64(count))
    return float(value), logits.tolist()


def test_stored_entries_are_found():
    cache = cache_of((1, 0.5, [1, 2, 3]), (3, -0.25, [4]), (5, 0.0, []))
    assert lookup(cache, 1, 3) == (0.5, [1, 2, 3])
    assert lookup(cache, 3, 1) == (-0.25, [4])
    assert lookup(cache, 5, 0) == (0.0, [])
    assert lookup(cache, 7, 1) is None
    # The slot holds another key.
    assert lookup(cache, 1 + 16, 3) is None


def test_new_entry_replaces_the_one_in_its_slot():
    cache = cache_of((1, 0.5, [1, 2]), (1 + 16, 0.25, [7]))
    assert lookup(cache, 1, 2) is None
    assert lookup(cache, 1 + 16, 1) == (0.25, [7])


def test_old_logits_are_overwritten_in_the_ring():
    six = [[float(10 * n + place) for place in range(6)] for n in range(3)]
    cache = cache_of(*((2 * n + 1, 0.0, row) for n, row in enumerate(six)))
    # There are 18 logits for a ring of 16.
    assert lookup(cache, 1, 6) is None
    assert lookup(cache, 3, 6) == (0.0, six[1])
    # These logits continue at the beginning of the ring.
    assert lookup(cache, 5, 6) == (0.0, six[2])


def test_every_cell_changes_the_hash():
    """The last word of these cells is incomplete."""
    planes, legal = np.zeros((3, 5, 7), np.int8), np.arange(3, dtype=np.int32)
    keys = {int(hash_observation(planes, legal, np.int64(3)))}
    for index in np.ndindex(planes.shape):
        for value in (1, 2, -1):
            changed = planes.copy()
            changed[index] = value
            keys.add(int(hash_observation(changed, legal, np.int64(3))))
    assert len(keys) == 1 + 3 * planes.size


def test_observations_have_different_hashes(game):
    rng, hashed = np.random.default_rng(0), {}
    for _ in range(200):
        position = game.initial
        while len(legal := game.legal_actions(position)):
            planes = game.observe(position)
            key = int(hash_observation(planes, legal, np.int64(len(legal))))
            assert key != 0
            assert hashed.setdefault(key, planes.tobytes()) == planes.tobytes()
            fewer = int(hash_observation(planes, legal, np.int64(len(legal) - 1)))
            assert fewer != key
            position = game.apply(position, int(rng.choice(legal)))
    assert len(hashed) > 5000
    # The lowest bits of the hashes fill buckets as evenly as random numbers.
    buckets = 2**14
    expected = buckets * (1 - np.exp(-len(hashed) / buckets))
    assert len({key // 2 % buckets for key in hashed}) > 0.97 * expected
