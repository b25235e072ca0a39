"""Files of networks: written networks are read, and all other files are rejected."""

import hashlib
import json
import pickle
import zlib

import numpy as np
import pytest
from learned_evaluation.networks import random_network

from cc_env.errors import BadNetwork, UnknownOption
from cc_env.games.factory import make_game
from cc_env.learned_evaluation import network_file
from cc_env.learned_evaluation.network_file import (
    SHIPPED,
    add_learned_evaluation,
    evaluation_hash,
    file_name,
    find_evaluation,
    read_network,
    write_network,
)

GAME = make_game("capture_conquer", size=5)


@pytest.fixture
def network():
    return random_network(np.random.default_rng(0), (0, 9, 27))


@pytest.fixture
def path(tmp_path, network):
    path = tmp_path / file_name(GAME)
    write_network(path, GAME, network)
    return path


def rewrite(path, change=lambda header: None, weights=lambda raw: raw, pack=zlib.compress):
    """Rewrite a file with a valid hash.

    `change` modifies the header in place; `weights` and `pack` return the new weights.
    """
    first, rest = path.read_bytes().split(b"\n", 1)
    end = int(first.split()[3])
    header, raw = json.loads(rest[:end]), zlib.decompress(rest[end:])
    change(header)
    encoded, packed = json.dumps(header).encode(), pack(weights(raw))
    digest = hashlib.sha256(encoded + packed).hexdigest()
    line = b"cc_env network 3 %d %s\n" % (len(encoded), digest.encode())
    path.write_bytes(line + encoded + packed)


def assert_rejected(path, message, game=GAME):
    with pytest.raises(BadNetwork, match=message) as caught:
        read_network(path, game)
    assert str(path) in str(caught.value)


def test_written_network_can_be_read(path, network):
    again = read_network(path, GAME)
    for name, array in network._asdict().items():
        loaded = getattr(again, name)
        assert np.array_equal(array, loaded), name
        assert array.dtype == loaded.dtype
        assert name == "third_bias" or loaded.ctypes.data % 64 == 0
    assert path.name == "capture_conquer-corner=3,size=5.network"


def test_network_of_another_game_or_option_is_rejected(path):
    message = r"of capture_conquer {.*'size': 5} .*; expected: .*'size': 6"
    assert_rejected(path, message, make_game("capture_conquer"))
    assert_rejected(path, "expected: checkers", make_game("checkers"))
    rewrite(path, lambda header: header.update(rules="cc_env/CaptureConquer-v9"))
    assert_rejected(path, "CaptureConquer-v9.*expected.*CaptureConquer-v0")


def test_network_for_another_evaluation_is_rejected(path):
    base = GAME.evaluation()
    changed = {
        "a weight": base._replace(weights=base.weights + np.eye(1, len(base.weights), 3, int)[0]),
        "its order": base._replace(weights=base.weights[::-1]),
        "its type": (base.weights,),
    }
    assert evaluation_hash(base) == evaluation_hash(base._replace(weights=base.weights.copy()))
    assert (
        len({evaluation_hash(other) for other in changed.values()} | {evaluation_hash(base)}) == 4
    )
    evaluations = {**GAME.evaluations, "standard": changed["a weight"]}
    game = GAME.replace(evaluations=evaluations)
    assert_rejected(path, "capture_conquer now has", game)


def test_every_altered_byte_is_detected(path):
    whole = path.read_bytes()
    for index in range(0, len(whole), 293):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert_rejected(path, r"\w")
    for length in (0, 5, 40, 200, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert_rejected(path, r"\w")
    path.write_bytes(whole + b"\n")
    assert_rejected(path, "altered or truncated")


def test_newer_version_is_named_in_the_error(path):
    path.write_bytes(path.read_bytes().replace(b"network 3 ", b"network 4 ", 1))
    assert_rejected(path, "version '4'; expected: 3")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(sets=3), "the data does not decompress to exactly"),
        (lambda header: header.update(sets=10**9), "1000000000 sets of cells"),
        (lambda header: header.update(sets="2"), "'2' sets"),
        (lambda header: header.update(windows=[0, 9, 64]), "the windows are not cells"),
        (lambda header: header.update(windows=[0] * 50), "the windows are not cells"),
        (lambda header: header.update(windows=None), "the header cannot be read"),
        (lambda header: header.update(more=1), "the header cannot be read"),
        (lambda header: header.pop("game"), "the header cannot be read"),
        (lambda header: header.update(game=7), "not strings"),
        (lambda header: header.update(corrects=None), "not strings"),
        (lambda header: header.update(options=[["size", 5]]), "options are not named"),
        (lambda header: header.pop("corrects"), "the header cannot be read"),
    ],
)
def test_invalid_header_with_valid_hash_is_rejected(path, change, message):
    rewrite(path, change)
    assert_rejected(path, message)


def test_weights_of_wrong_size_or_compression_are_rejected(path):
    whole = path.read_bytes()
    for weights in (lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: b""):
        path.write_bytes(whole)
        rewrite(path, weights=weights)
        assert_rejected(path, "the data does not decompress to exactly")
    path.write_bytes(whole)
    rewrite(path, pack=lambda raw: b"zlib would not write this")
    assert_rejected(path, "compressed data is invalid")


def test_weights_out_of_range_are_rejected_on_read_and_write(path, network):
    largest = np.full(len(network.first_bias), 2**15 - 1, np.int16)
    begin = 2 * (len(network.cells) + len(network.states))
    out_of_range = largest.astype("<i2").tobytes()
    rewrite(path, weights=lambda raw: raw[:begin] + out_of_range + raw[begin + len(out_of_range) :])
    assert_rejected(path, "the sums of the first layer can reach")
    before = path.read_bytes()
    with pytest.raises(BadNetwork, match="first layer"):
        write_network(path, GAME, network._replace(first_bias=largest))
    assert path.read_bytes() == before


def test_overlong_file_is_not_read_to_its_end(path, monkeypatch):
    monkeypatch.setattr(network_file, "MAX_FILE_BYTES", 1000)
    assert_rejected(path, "more than 1,000 bytes")


def test_shipped_networks_are_found_by_game_and_options():
    names = "checkers", "mini_checkers", "morris", "cannon"
    games = [make_game("capture_conquer", size=size) for size in (6, 8)] + [*map(make_game, names)]
    for game in games:
        assert "learned" in game.evaluations
    assert sorted(map(file_name, games)) == sorted(path.name for path in SHIPPED.glob("*.network"))
    assert all(path.stat().st_size < 600_000 for path in SHIPPED.glob("*.network"))


def test_missing_network_error_names_the_training_command():
    with pytest.raises(
        UnknownOption, match=r"size=7.*no network is shipped.*training\.learned_evaluation trains"
    ):
        find_evaluation(make_game("capture_conquer", size=7), "learned")


def test_network_with_too_many_inputs_is_rejected(path):
    write_network(path, GAME, random_network(np.random.default_rng(0), (0, 9, 27), sets=4))
    assert_rejected(path, "4 sets of cells; expected: at most 2")


def test_unpickled_network_is_aligned(network):
    for _ in range(20):
        arrived = pickle.loads(pickle.dumps(network))
        assert type(arrived) is type(network)
        for name, array in network._asdict().items():
            assert np.array_equal(array, getattr(arrived, name)), name
            assert name == "third_bias" or getattr(arrived, name).ctypes.data % 64 == 0


def test_damaged_shipped_network_is_named(monkeypatch, path):
    monkeypatch.setattr(network_file, "SHIPPED", path.parent)
    assert "learned" in add_learned_evaluation(GAME).evaluations
    network_file._read_cached.cache_clear()
    path.write_bytes(b"")
    with pytest.raises(BadNetwork, match=r"corner=3,size=5\.network: not a file of the format"):
        make_game("capture_conquer", size=5)
