"""What is kept of a network's evaluations."""

import numpy as np

from cc_env.search import evaluations


def kept_of(*items, slots=8, room=16):
    """Return room in which values and logits are kept under keys."""
    kept = evaluations.empty(slots, room)
    for key, value, logits in items:
        row = np.array(logits, np.float32)
        evaluations.keep(kept, np.uint64(key), value, row, np.int64(len(logits)))
    return kept


def found(kept, key, count):
    """Return the value and the logits under a key, or None."""
    slot = evaluations.find(kept, np.uint64(key))
    if slot < 0:
        return None
    logits = np.zeros(count, np.float32)
    value = evaluations.take(kept, np.int64(slot), logits, np.int64(count))
    return float(value), logits.tolist()


def test_what_is_kept_is_found():
    kept = kept_of((1, 0.5, [1, 2, 3]), (3, -0.25, [4]), (5, 0.0, []))
    assert found(kept, 1, 3) == (0.5, [1, 2, 3])
    assert found(kept, 3, 1) == (-0.25, [4])
    assert found(kept, 5, 0) == (0.0, [])
    assert found(kept, 7, 1) is None
    assert found(kept, 1 + 16, 3) is None  # in the slot of another


def test_the_newest_takes_the_place_of_what_has_its_slot():
    kept = kept_of((1, 0.5, [1, 2]), (1 + 16, 0.25, [7]))
    assert found(kept, 1, 2) is None
    assert found(kept, 1 + 16, 1) == (0.25, [7])


def test_logits_are_lost_when_the_ring_comes_round():
    six = [[float(10 * n + place) for place in range(6)] for n in range(3)]
    kept = kept_of(*((2 * n + 1, 0.0, row) for n, row in enumerate(six)))
    assert found(kept, 1, 6) is None  # 18 logits in a ring of 16
    assert found(kept, 3, 6) == (0.0, six[1])
    assert found(kept, 5, 6) == (0.0, six[2])  # across the end of the ring


def test_hashes_tell_observations_apart(game):
    rng, seen = np.random.default_rng(0), {}
    for _ in range(200):
        position = game.initial
        while len(legal := game.legal_actions(position)):
            planes = game.observe(position)
            key = int(evaluations.hash_of(planes, legal, np.int64(len(legal))))
            assert key != 0
            assert seen.setdefault(key, planes.tobytes()) == planes.tobytes()
            fewer = int(evaluations.hash_of(planes, legal, np.int64(len(legal) - 1)))
            assert fewer != key
            position = game.apply(position, int(rng.choice(legal)))
    assert len(seen) > 5000
    buckets = 2**14  # by their lowest bits, as evenly filled as by chance
    expected = buckets * (1 - np.exp(-len(seen) / buckets))
    assert len({key // 2 % buckets for key in seen}) > 0.97 * expected
