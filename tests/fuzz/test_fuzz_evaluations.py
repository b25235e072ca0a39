"""Altered evaluation networks, also with a valid hash, are rejected or usable."""

import hashlib
import json
import zlib

import numpy as np
import pytest
from fuzz.damage import bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st
from learned_evaluation.networks import plain_correction, random_network

from cc_env.core import rules
from cc_env.games.factory import make_game
from cc_env.learned_evaluation.network_file import corrected_evaluation, read_network, write_network

GAME = make_game("capture_conquer", size=4)
NETWORK = random_network(np.random.default_rng(0), (0, 1, 9))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "altered.network"


@pytest.fixture(scope="module")
def whole(path):
    write_network(path, GAME, NETWORK)
    return path.read_bytes()


def used(path):
    """Read the network, and evaluate a position by it."""
    network, position = read_network(path, GAME), GAME.initial
    base = rules.evaluate(position, 0, GAME.evaluation())
    return network, rules.evaluate(position, 0, corrected_evaluation(GAME, network)) - base


@given(st.data())
def test_damaged_evaluations_raise_only_cc_env_errors(path, whole, data):
    """Every byte is covered by a hash: nothing that was altered is believed."""
    damaged = data.draw(bytes_damaged(whole))
    path.write_bytes(damaged)
    assert call_or_reject(used, path) is None or damaged == whole


@given(st.data())
def test_altered_evaluations_with_a_valid_hash_raise_only_cc_env_errors(path, whole, data):
    first, rest = whole.split(b"\n", 1)
    end = int(first.split()[3])
    header, raw = rest[:end], zlib.decompress(rest[end:])
    if data.draw(st.booleans()):
        header = json.dumps(data.draw(json_damaged(json.loads(header)))).encode()
    else:
        raw = data.draw(bytes_damaged(raw))
    packed = zlib.compress(raw, 1)
    digest = hashlib.sha256(header + packed).hexdigest()
    content = b"cc_env network 3 %d %s\n" % (len(header), digest.encode()) + header + packed
    path.write_bytes(content)
    used_network = call_or_reject(used, path)
    assert used_network is None or used_network[1] == plain_correction(
        GAME.initial, used_network[0]
    )
