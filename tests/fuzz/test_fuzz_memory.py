"""Memories of games whose rows or bytes somebody altered: refused, or of use."""

import sqlite3
from contextlib import nullcontext

import numpy as np
import pytest
from fuzz.damage import bytes_damaged
from fuzz.harness import call_or_reject
from hypothesis import given
from hypothesis import strategies as st

from agents.reproductions.memory_player import Memory, MemoryPlayer
from cc_env.games.factory import make_game
from cc_env.match.referee import Clock

GAME = make_game("capture_conquer", size=4)
COLUMNS = {
    "choices": ("id", "game", "parent", "action", "first_wins", "second_wins"),
    "games": ("id", "name"),
    "remembered": ("record",),
}
CELLS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.integers(-2, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.binary(max_size=9)
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a memory of a few short lines."""
    memory = Memory(tmp_path_factory.mktemp("fuzz") / "memory.sqlite", GAME)
    first, second = map(int, GAME.legal_actions(GAME.initial)[:2])
    for number, line in enumerate([(first,), (first, 3), (first, 3, 5), (second,), (second, 4)]):
        lines = {line[: n + 1]: (number, 1) for n in range(len(line))}
        memory.add(lines, source=f"game {number}")
    return memory.path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "memory.sqlite"


def remembers(path):
    """Use a memory in every way."""
    memory = Memory(path, GAME)
    player = MemoryPlayer(GAME, path=str(path))
    chosen = player.choose(GAME.initial, np.random.default_rng(0), Clock()).action
    assert chosen in GAME.legal_actions(GAME.initial)
    memory.counts()
    first = int(GAME.legal_actions(GAME.initial)[0])
    # SQLite opens a file of a later write version read-only.
    is_writable = path.read_bytes()[18:19] <= b"\2"
    with nullcontext() if is_writable else pytest.raises(OSError, match="readonly"):
        memory.add({(first,): (1, 0), (first, 3): (1, 0)}, source="another")
    memory.counts()


@st.composite
def altered(draw):
    """Draw a command of SQL that alters a cell or adds a row, and its values."""
    table = draw(st.sampled_from(sorted(COLUMNS)))
    column, row = draw(st.sampled_from(COLUMNS[table])), draw(st.integers(0, 6))
    if table == "choices" and draw(st.booleans()):
        values = [draw(st.integers(0, 9) | CELLS) for _ in COLUMNS[table]]
        return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values
    value = "CAST(? AS TEXT)" if draw(st.booleans()) else "?"
    which = f"SELECT {COLUMNS[table][0]} FROM {table} LIMIT 1 OFFSET {row}"
    set_to = f"UPDATE OR REPLACE {table} SET {column} = {value}"
    return f"{set_to} WHERE {COLUMNS[table][0]} = ({which})", [draw(CELLS)]


@given(st.lists(altered(), min_size=1, max_size=3))
def test_memory_with_altered_rows_is_read_or_rejected(whole, place, commands):
    place.write_bytes(whole)
    with sqlite3.connect(place) as base:
        for command, values in commands:
            try:
                base.execute(command, values)
            except (sqlite3.Error, OverflowError):  # what SQLite itself does not let in
                continue
    base.close()
    call_or_reject(remembers, place)


@given(st.data())
def test_memory_with_altered_bytes_is_read_or_rejected(whole, place, data):
    place.write_bytes(data.draw(bytes_damaged(whole)))
    call_or_reject(remembers, place)


@given(st.binary(max_size=200))
def test_memory_with_any_bytes_is_read_or_rejected(whole, place, content):
    place.write_bytes(whole[:100] + content)
    call_or_reject(remembers, place)
