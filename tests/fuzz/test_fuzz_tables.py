"""Altered tables of exact values, also with a valid hash, are rejected or usable."""

import hashlib
import json
import struct

import pytest
from fuzz.damage import bytes_damaged, json_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from cc_env.games.factory import make_game
from cc_env.solver import solver
from cc_env.tablebase.tablebase import Tablebase

GAME = make_game("capture_conquer", size=4)
POSITIONS = [GAME.from_text(text) for text in ("b3/4/2r1/4 b", "4/1b2/4/2r1 r", "3b/4/4/r3 b")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def whole(folder):
    """The table of one piece against one: its path, and its bytes."""
    (step,) = solver.plan(GAME, folder, "1v1")
    solver.Solver(GAME, step).solve()
    return step.path, step.path.read_bytes()


def probes(folder):
    """Use the tables of a folder in every way."""
    tables = Tablebase(GAME, folder)
    solved = [tables.get(position) for position in POSITIONS]
    tables.table((1, 1)).read()
    tables.close()
    return solved


@given(st.data())
def test_damaged_tables_raise_only_cc_env_errors(whole, folder, data):
    """Every byte is covered by a hash: nothing that was altered is believed."""
    path, content = whole
    damaged = data.draw(bytes_damaged(content))
    path.write_bytes(damaged)
    solved = call_or_reject(probes, folder)
    assert solved is None or damaged == content


@given(st.data())
def test_altered_tables_with_a_valid_hash_raise_only_cc_env_errors(whole, folder, data):
    path, content = whole
    first, rest = content.split(b"\n", 1)
    length = int(first.split()[3])
    header, index, blocks = rest[:length], rest[length : length + 12], rest[length + 12 :]
    if data.draw(st.booleans()):
        header = json.dumps(data.draw(json_damaged(json.loads(header)))).encode()
    else:
        size = data.draw(st.integers(0, 2**32 - 1) | st.integers(0, 2 * len(blocks)))
        digest = hashlib.blake2b(blocks[:size], digest_size=8).digest()
        index = struct.pack("<I", size) + digest
    right = hashlib.sha256(header + index).hexdigest()
    path.write_bytes(
        b"cc_env exact 1 %d %s\n" % (len(header), right.encode()) + header + index + blocks
    )
    call_or_reject(probes, folder)
